"""Every rule of the decision table holds for the findings that it names, and earlier rules come first."""

import pytest

from crawl_urn_dagster.estimates.assessment.decision import FEWEST_CRAWLS, WIDEST_KAPPA, Findings, decide
from crawl_urn_dagster.urn.open_population.members import MEMBERS

SOUND = {"n_crawls": 24, "model": "core_shell", "is_tested_enough": True, "kappa_width": 0.02}
BY_MODEL = {
    "no_core_needed": ["homogeneous"],
    "uneven_no_core": ["two_shells_no_core"],
    "core_missed": ["core_missed"],
    "uneven_shell": ["core_two_shells", "core_three_shells"],
    "population_changes": [
        "homogeneous_growing",
        "core_shell_growing",
        "two_shells_no_core_growing",
        "core_missed_growing",
        "core_two_shells_growing",
        "long_lived_growing",
    ],
    "population_fluctuates": ["core_shell_fluctuating", "core_two_shells_fluctuating"],
    "long_lived_part": ["long_lived", "long_lived_two_shells"],
    "sound": ["core_shell"],
}


def verdict(**changes):
    return decide(Findings(**SOUND | changes)).value


@pytest.mark.parametrize(("name", "model"), [(name, model) for name, models in BY_MODEL.items() for model in models])
def test_model_decides(name, model):
    assert verdict(model=model) == name


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"n_crawls": FEWEST_CRAWLS - 1}, "too_short"),
        ({"model": "markov_2", "memory": 0.5}, "temporary_absence"),
        ({"model": "markov_2", "memory": -0.5}, "revisit_avoidance"),
        ({"model": None, "dependence_fails": True}, "order_matters"),
        ({"model": None}, "misfit"),
        ({"kappa_width": 1.01 * WIDEST_KAPPA}, "inconclusive"),
        ({"is_tested_enough": False}, "not_tested_enough"),
    ],
)
def test_findings_come_before_the_model(changes, name):
    assert verdict(**changes) == name


def test_earlier_rules_come_first():
    assert verdict(n_crawls=FEWEST_CRAWLS - 1, model=None, dependence_fails=True) == "too_short"
    assert verdict(model="core_missed", kappa_width=1) == "inconclusive"
    assert verdict(model="homogeneous", kappa_width=None, is_tested_enough=False) == "not_tested_enough"
    assert verdict(model="core_two_shells", is_tested_enough=False) == "uneven_shell"


def test_every_model_of_the_ladder_has_a_rule():
    for member in MEMBERS:
        assert verdict(model=member.name)
    with pytest.raises(ValueError, match="no rule covers the model 'no_such'"):
        verdict(model="no_such")
