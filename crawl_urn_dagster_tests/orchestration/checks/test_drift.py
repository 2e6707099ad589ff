"""Checks of drift."""

import pytest

from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    tables_collection,
)
from crawl_urn_dagster_tests.orchestration.checks.running import Broken, assert_broken, run_checks
from crawl_urn_dagster_tests.pipeline import UNCHECKED, Pipeline

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("table", "change", "check", "severity", "message"),
    [
        (
            "drift",
            lambda table: table.assign(
                drifted=True,
                value=0.2,
                reference_value=0.4,
                difference=-0.2,
                statistic=9.0,
                threshold=4.0,
                since_crawl="2021-03-01",
                reason=None,
            ),
            "kappa_drift",
            "WARN",
            "κ changed by -0.200, from 0.400 to 0.200, since 2021-03-01. Its control chart is at 9 standard deviations "
            "(alarm threshold 4).",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_rule_is_found_and_explained(checked, table, change, check, severity, message):
    assert_broken(checked, table, change, check, severity, message)


def test_only_the_attributed_parameter_fails_its_drift_check(checked):
    def drifted(table):
        changed = table.assign(
            drifted=True, value=0.2, reference_value=0.4, difference=-0.2, statistic=0.2, reason=None
        )
        return changed.assign(attributed=changed["parameter"] == "coverage")

    with Broken(checked, "drift", drifted):
        results = run_checks(checked, "kappa_drift", "core_share_drift", "alpha_drift", "coverage_drift")
    assert {name for name, result in results.items() if not result.passed} == {"coverage_drift"}


def test_drift_of_too_few_crawls_is_not_assessed(tmp_path):
    pipeline = Pipeline(tables_collection(tmp_path, histories(12), windows=False), tmp_path)
    pipeline.run(without=UNCHECKED)
    result = run_checks(pipeline, "kappa_drift")["kappa_drift"]
    assert result.passed
    assert result.description == (
        "Drift of κ was not assessed: a reference period of 24 crawls needs 25 crawls; there are 12."
    )
