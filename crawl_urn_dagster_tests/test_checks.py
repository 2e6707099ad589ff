"""Every check passes on good tables and fails on tables that break its rule."""

import dagster as dg
import pandas as pd
import pytest

from crawl_urn_dagster_tests.collections_for_tests import histories, presence_collection, tables_collection
from crawl_urn_dagster_tests.line import QUIET, Line

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checks")
    line = Line(presence_collection(folder), folder)
    assert line.run().success, line.outcome.errors
    return line


def run_checks(line, *names):
    """Results of the named checks (without names: of all), by name, without materialising anything."""
    keys = [spec.key for checks in line.defs.asset_checks for spec in checks.check_specs]
    selection = dg.AssetSelection.checks(*(key for key in keys if not names or key.name in names))
    job = dg.define_asset_job("only_checks", selection=selection, executor_def=dg.in_process_executor)
    defs = dg.Definitions.merge(line.defs, dg.Definitions(jobs=[job]))
    result = defs.resolve_job_def("only_checks").execute_in_process(
        instance=line.instance, raise_on_error=False, run_config=QUIET
    )
    return {evaluation.check_name: evaluation for evaluation in result.get_asset_check_evaluations()}


class Broken:
    """Replaces a table while its rule is broken, and puts it back."""

    def __init__(self, line, name, change):
        self._file, self._name, self._change = line.home.observables, name, change

    def __enter__(self):
        self._good = self._file.read(self._name)
        self._file.replace({self._name: self._change(self._good.copy())})

    def __exit__(self, *_):
        self._file.replace({self._name: self._good})


def test_all_rules_hold_of_a_good_collection(line):
    results = run_checks(line)
    rules = {
        *("calendar_strictly_increasing", "calendar_complete", "histories_sum_to_elements", "non_decreasing"),
        *("at_least_largest_crawl", "in_range", "headline_fit", "kappa_drift"),
    }
    assert rules <= set(results)
    assert [name for name in rules if not results[name].passed] == []


def set_row(row, **values):
    def change(table):
        for column, value in values.items():
            table.loc[row, column] = value
        return table

    return change


@pytest.mark.parametrize(
    ("table", "change", "check", "severity", "words"),
    [
        (
            "crawls",
            set_row(3, started_at=pd.Timestamp("2020-01-06")),
            "calendar_strictly_increasing",
            "ERROR",
            "2020-03-30",
        ),
        ("crawls", set_row(2, dated_by="iso_week"), "calendar_complete", "WARN", "2020-03-02"),
        (
            "capture_history_counts",
            lambda table: table.head(-1),
            "histories_sum_to_elements",
            "ERROR",
            "Materialise presence",
        ),
        ("discovery_curve", set_row(5, distinct_elements=1), "non_decreasing", "ERROR", "end_crawl 2020-05-25"),
        (
            "discovery_curve",
            set_row(5, distinct_elements=1),
            "at_least_largest_crawl",
            "ERROR",
            "end_crawl 2020-05-25",
        ),
        ("containment", set_row(0, intersection=-1), "in_range", "ERROR", "intersection -1"),
        (
            "parameters",
            lambda table: table.assign(status="not_converged", reason="no end was found"),
            "headline_fit",
            "ERROR",
            "no end was found",
        ),
        (
            "parameters",
            lambda table: table.assign(status="at_bound", reason="alpha is at its bound 1."),
            "containment_homogeneous_exact_per_year",
            "WARN",
            "at_bound: alpha is at its bound 1.",
        ),
        (
            "drift",
            lambda table: table.assign(drifted=True, value=0.2, reference_value=0.4, difference=-0.2),
            "kappa_drift",
            "WARN",
            "κ went from 0.400 to 0.200 since",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_rule_is_found_and_explained(line, table, change, check, severity, words):
    with Broken(line, table, change):
        result = run_checks(line, check)[check]
    assert not result.passed
    assert result.severity.value == severity
    assert words in result.description


def test_only_the_headline_blocks(line):
    specs = [spec for checks in line.defs.asset_checks for spec in checks.check_specs]
    blocking = {spec.key.name for spec in specs if spec.blocking}
    assert blocking == {"headline_fit"}


def test_a_check_that_raises_hides_no_other(line):
    with Broken(line, "drift", lambda table: table.iloc[:0]):
        results = run_checks(line, "kappa_drift", "headline_fit", "in_range")
    assert "kappa_drift" not in results
    assert results["headline_fit"].passed
    assert results["in_range"].passed


def test_the_error_of_the_source_is_allowed_for(tmp_path):
    collection = tables_collection(tmp_path, histories(12), pairs=False)
    exact = Line(collection, tmp_path)
    exact.run()
    sketched = collection.model_copy(update={"source": collection.source.model_copy(update={"relative_error": 0.01})})
    tolerant = Line(sketched, tmp_path)
    change = set_row(1, distinct_elements=exact.home.observables.read("discovery_curve")["distinct_elements"][0] - 1)
    with Broken(exact, "discovery_curve", change):
        assert not run_checks(exact, "non_decreasing")["non_decreasing"].passed
        assert run_checks(tolerant, "non_decreasing")["non_decreasing"].passed


def test_drift_that_cannot_be_judged_is_said_not_guessed(tmp_path):
    line = Line(tables_collection(tmp_path, histories(12), windows=False), tmp_path)
    line.run()
    result = run_checks(line, "kappa_drift")["kappa_drift"]
    assert result.passed
    assert result.description == (
        "Drift of the core was not judged: two windows of 12 crawls need 24 crawls; there are 12."
    )
