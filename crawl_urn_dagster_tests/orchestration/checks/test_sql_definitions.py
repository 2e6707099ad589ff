"""The check of the observables against their SQL definitions."""

import pytest

from crawl_urn_dagster.orchestration.checks import collection_checks, sql_definitions
from crawl_urn_dagster_tests.collections_for_tests import (
    tables_collection,
)
from crawl_urn_dagster_tests.orchestration.checks.running import assert_broken, run_checks, set_row

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("table", "change", "check", "severity", "message"),
    [
        (
            "m_array",
            set_row(0, elements=1),
            "observables_equal_sql",
            "ERROR",
            "table m_array, row released_crawl=2020-01-06 recaptured_crawl=2020-02-03, column elements, stored 1.0",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_rule_is_found_and_explained(checked, table, change, check, severity, message):
    assert_broken(checked, table, change, check, severity, message)


def test_sql_check_is_skipped_above_its_limit(checked, monkeypatch):
    monkeypatch.setattr(sql_definitions, "_MAX_HISTORY_PAIRS", 1000)
    result = run_checks(checked, "observables_equal_sql")["observables_equal_sql"]
    assert result.passed
    assert result.description.startswith("Skipped: found ")
    assert "expected at most 1,000" in result.description


def test_sql_check_exists_only_with_capture_histories(checked, tmp_path):
    def names(collection):
        checks = collection_checks(collection, checked.home)
        return {spec.key.name for step in checks for spec in step.check_specs}

    assert "observables_equal_sql" in names(checked.collection)
    assert "observables_equal_sql" not in names(tables_collection(tmp_path))
