"""All checks together: results on valid tables, and a check that raises."""

import pytest

from crawl_urn_dagster_tests.orchestration.checks.running import Broken, run_checks

pytestmark = pytest.mark.slow


def test_all_checks_pass_on_a_valid_collection(checked):
    results = run_checks(checked)
    rules = {
        *("calendar_strictly_increasing", "calendar_complete", "histories_sum_to_elements", "non_decreasing"),
        *(
            "at_least_largest_crawl",
            "in_range",
            "observables_equal_sql",
            "headline_fit",
            "numbers_may_be_quoted",
            "coverage_drop",
            "revised_history",
            "projections_agree",
        ),
        *("kappa_drift", "core_share_drift", "alpha_drift", "coverage_drift", "observed_drift"),
    }
    assert rules <= set(results)
    assert [name for name in rules if not results[name].passed] == []


def test_check_that_raises_does_not_hide_others(checked):
    with Broken(checked, "drift", lambda table: table.iloc[:0]):
        results = run_checks(checked, "kappa_drift", "headline_fit", "in_range")
    assert "kappa_drift" not in results
    assert results["headline_fit"].passed
    assert results["in_range"].passed
