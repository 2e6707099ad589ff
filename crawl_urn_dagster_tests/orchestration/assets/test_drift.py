"""Assets `drift` and `planning` conclude nothing from a refuted fit."""

import pytest

from crawl_urn_dagster_tests.orchestration.checks.running import Broken

pytestmark = pytest.mark.slow


def materialise(pipeline):
    """Materialise drift and planning again; return both tables."""
    names = ("drift", "control_chart", "planning", "equal_budget")
    assert pipeline.materialise(*names).success
    tables = pipeline.tables(*names)
    return tables["drift"], tables["planning"]


def refuted(parameters):
    return parameters.assign(status=parameters["status"].mask(parameters["headline"].astype(bool), "refuted"))


def too_short(diagnosis):
    return diagnosis.assign(verdict=diagnosis["verdict"].mask(diagnosis["test"] == "collection", "too_short"))


@pytest.mark.parametrize(
    ("table", "change", "reason"), [("parameters", refuted, "refuted: "), ("diagnosis", too_short, "too_short: ")]
)
def test_drift_is_tested_on_observables_and_nothing_is_planned(listed, table, change, reason):
    before = listed.tables("drift")["drift"], listed.tables("planning")["planning"]
    with Broken(listed, table, change):
        drift, planning = materialise(listed)
    parameters = drift[drift["parameter"].isin(["kappa", "core_share", "alpha", "coverage"])]
    assert parameters["reason"].str.startswith(reason).all()
    assert {"first_returns_1", "crawl_size"} <= set(drift["parameter"])
    assert planning.empty
    assert all(again.equals(one) for again, one in zip(materialise(listed), before, strict=True))
