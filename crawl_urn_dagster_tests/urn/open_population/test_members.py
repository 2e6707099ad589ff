"""Members of the ladder of models."""

import pytest

from crawl_urn_dagster.urn.open_population.members import MEMBERS, MEMBERS_BY_NAME


@pytest.mark.parametrize(
    ("name", "growing"),
    [
        ("core_shell", ["core_shell_growing", "core_two_shells_growing"]),
        ("core_missed", ["core_missed_growing"]),
        ("long_lived_two_shells", ["long_lived_growing"]),
        ("core_three_shells", []),
    ],
)
def test_growing_models_include_those_of_constant_size(name, growing):
    member = MEMBERS_BY_NAME[name]
    assert [other.name for other in MEMBERS if member.is_special_case_of(other)] == growing


def test_names_are_unique():
    assert len(MEMBERS_BY_NAME) == len(MEMBERS)
