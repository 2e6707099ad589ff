"""Every check passes on valid tables and fails on tables that break its rule."""

import dagster as dg
import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.observables.tables import capture_history_counts_table, read_capture_histories
from crawl_urn_dagster.orchestration.checks import collection_checks, sql_definitions
from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    labels,
    presence_collection,
    tables_collection,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, QUIET, UNCHECKED, Pipeline

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checks")
    pipeline = Pipeline(presence_collection(folder, drift={"window_crawls": 12}), folder)
    assert pipeline.run(without=UNCHECKED).success, pipeline.outcome.errors
    return pipeline


def run_checks(pipeline, *names):
    """Results of the named checks, or of all checks, by name; materialises nothing."""
    keys = [spec.key for checks in pipeline.defs.asset_checks for spec in checks.check_specs]
    selection = dg.AssetSelection.checks(*(key for key in keys if not names or key.name in names))
    job = dg.define_asset_job("only_checks", selection=selection, executor_def=dg.in_process_executor)
    defs = dg.Definitions.merge(pipeline.defs, dg.Definitions(jobs=[job]))
    result = defs.resolve_job_def("only_checks").execute_in_process(
        instance=pipeline.instance, raise_on_error=False, run_config=QUIET
    )
    return {evaluation.check_name: evaluation for evaluation in result.get_asset_check_evaluations()}


class Broken:
    """Replace a table while its rule is broken, then restore it."""

    def __init__(self, pipeline, name, change):
        self._file, self._name, self._change = pipeline.home.observables, name, change

    def __enter__(self):
        self._good = self._file.read(self._name)
        self._file.replace({self._name: self._change(self._good.copy())})

    def __exit__(self, *_):
        self._file.replace({self._name: self._good})


def test_all_checks_pass_on_a_valid_collection(pipeline):
    results = run_checks(pipeline)
    rules = {
        *("calendar_strictly_increasing", "calendar_complete", "histories_sum_to_elements", "non_decreasing"),
        *(
            "at_least_largest_crawl",
            "in_range",
            "observables_equal_sql",
            "headline_fit",
            "coverage_drop",
            "revised_history",
            "projections_agree",
        ),
        *("kappa_drift", "core_share_drift", "alpha_drift", "coverage_drift", "observed_drift"),
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
    ("table", "change", "check", "severity", "message"),
    [
        (
            "crawls",
            set_row(3, started_at=pd.Timestamp("2020-01-06")),
            "calendar_strictly_increasing",
            "ERROR",
            "2020-03-30",
        ),
        ("crawls", set_row(2, dated_by="iso_week"), "calendar_complete", "WARN", "2020-03-02"),
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
            "m_array",
            set_row(0, elements=1),
            "observables_equal_sql",
            "ERROR",
            "table m_array, row released_crawl=2020-01-06 recaptured_crawl=2020-02-03, column elements, stored 1.0",
        ),
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
        (
            "containment",
            lambda table: table.assign(
                **{
                    name: table[name].where(table["crawl_j"] != table["crawl_j"].iloc[-1], 0.5)
                    for name in ("containment", "containment_high")
                }
            ),
            "coverage_drop",
            "WARN",
            "Crawl 2021-10-11 contains 50.0 % of the previous crawl. The median of the previous 12 pairs is 74.2 %",
        ),
        (
            "diagnosis",
            lambda table: table.assign(
                verdict=table["verdict"].where(table["test"] != "projections", "fails"),
                p_value=table["p_value"].where(table["subject"] != "alpha", 1e-9),
                observed=table["observed"].where(table["subject"] != "alpha", 0.987),
            ),
            "projections_agree",
            "WARN",
            "alpha is 0.987 in the containment fit and 0.7",
        ),
        *(
            (
                "parameters",
                lambda table, status=status: table.assign(status=status, reason="for a test"),
                "joint_core_shell_exact_per_crawl",
                "WARN",
                message,
            )
            for status, message in (
                ("model_violation", "model_violation: for a test. No numbers of this fit are reported."),
                ("at_bound", "at_bound: for a test. Use its numbers with this reservation."),
                (
                    "not_identified",
                    "not_identified: for a test. Only confidence intervals of this fit are reported.",
                ),
                ("ok", "ok with reservation: for a test. Use its numbers with this reservation."),
            )
        ),
        (
            "revisions",
            lambda _: pd.DataFrame(
                [("crawls", "2020-02-03", "2020-02-03", 3752, 3000)],
                columns=["observable", "first_crawl", "last_crawl", "count_before", "count_now"],
            ),
            "revised_history",
            "WARN",
            "first_crawl 2020-02-03, last_crawl 2020-02-03, count_before 3752, count_now 3000",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_rule_is_found_and_explained(pipeline, table, change, check, severity, message):
    with Broken(pipeline, table, change):
        result = run_checks(pipeline, check)[check]
    assert not result.passed
    assert result.severity.value == severity
    assert message in result.description
    metadata = {name: entry.value for name, entry in result.metadata.items()}
    assert {"observed", "threshold", "reason", "what_to_do"} <= set(metadata)
    assert result.description == f"{metadata['reason']} {metadata['what_to_do']}"


def test_only_the_attributed_parameter_fails_its_drift_check(pipeline):
    def drifted(table):
        changed = table.assign(
            drifted=True, value=0.2, reference_value=0.4, difference=-0.2, statistic=0.2, reason=None
        )
        return changed.assign(attributed=changed["parameter"] == "coverage")

    with Broken(pipeline, "drift", drifted):
        results = run_checks(pipeline, "kappa_drift", "core_share_drift", "alpha_drift", "coverage_drift")
    assert {name for name, result in results.items() if not result.passed} == {"coverage_drift"}


def test_missing_histories_are_found(pipeline):
    counts = read_capture_histories(pipeline.home.observables)
    wrong = CaptureHistoryCounts(counts.seen[1:], counts.elements[1:])

    def keep(counts):
        pipeline.home.observables.replace({"capture_history_counts": capture_history_counts_table(counts)})

    keep(wrong)
    result = run_checks(pipeline, "histories_sum_to_elements")["histories_sum_to_elements"]
    keep(counts)
    assert not result.passed
    assert result.severity == dg.AssetCheckSeverity.ERROR
    assert result.metadata["observed"].value == counts.seen[0].sum()
    assert result.metadata["distinct_in_presence"].value == counts.distinct_elements
    assert result.metadata["elements"].value == wrong.distinct_elements
    first = int(counts.seen[0].argmax())
    assert f"The first is {{'crawl': '{labels()[first]}'" in result.description
    assert "Delete the folder histories" in result.description


def test_partition_changed_since_counting_is_found(tmp_path):
    pipeline = Pipeline(presence_collection(tmp_path, histories(4, urn=200)), tmp_path)
    pipeline.run(without=ALL_BUT_OBSERVABLES)
    crawl = labels()[1]
    captures = [(crawl, np.array(["only this"], dtype=object), True)]
    list(pipeline.home.presence.write(captures, {crawl: "another"}))
    result = run_checks(pipeline, "histories_sum_to_elements")["histories_sum_to_elements"]
    assert not result.passed
    assert result.metadata["observed"].value == 1
    assert f"'crawl': '{crawl}'" in result.description
    assert "'in_presence': 1}" in result.description


def test_sql_check_is_skipped_above_its_limit(pipeline, monkeypatch):
    monkeypatch.setattr(sql_definitions, "_MAX_HISTORY_PAIRS", 1000)
    result = run_checks(pipeline, "observables_equal_sql")["observables_equal_sql"]
    assert result.passed
    assert result.description.startswith("Skipped: found ")
    assert "expected at most 1,000" in result.description


def test_sql_check_exists_only_with_capture_histories(pipeline, tmp_path):
    def names(collection):
        return {spec.key.name for checks in collection_checks(collection) for spec in checks.check_specs}

    assert "observables_equal_sql" in names(pipeline.collection)
    assert "observables_equal_sql" not in names(tables_collection(tmp_path))


def test_only_the_headline_check_blocks(pipeline):
    specs = [spec for checks in pipeline.defs.asset_checks for spec in checks.check_specs]
    blocking = {spec.key.name for spec in specs if spec.blocking}
    assert blocking == {"headline_fit"}


def test_check_that_raises_does_not_hide_others(pipeline):
    with Broken(pipeline, "drift", lambda table: table.iloc[:0]):
        results = run_checks(pipeline, "kappa_drift", "headline_fit", "in_range")
    assert "kappa_drift" not in results
    assert results["headline_fit"].passed
    assert results["in_range"].passed


def test_counting_error_of_the_source_is_allowed(tmp_path):
    collection = tables_collection(tmp_path, histories(12), pairs=False)
    exact = Pipeline(collection, tmp_path)
    exact.run(without=ALL_BUT_OBSERVABLES)
    sketched = collection.model_copy(update={"source": collection.source.model_copy(update={"relative_error": 0.01})})
    tolerant = Pipeline(sketched, tmp_path)
    change = set_row(1, distinct_elements=exact.home.observables.read("discovery_curve")["distinct_elements"][0] - 1)
    with Broken(exact, "discovery_curve", change):
        assert not run_checks(exact, "non_decreasing")["non_decreasing"].passed
        assert run_checks(tolerant, "non_decreasing")["non_decreasing"].passed


def test_drift_of_too_few_crawls_is_not_assessed(tmp_path):
    pipeline = Pipeline(tables_collection(tmp_path, histories(12), windows=False), tmp_path)
    pipeline.run(without=UNCHECKED)
    result = run_checks(pipeline, "kappa_drift")["kappa_drift"]
    assert result.passed
    assert result.description == (
        "Drift of κ was not assessed: a reference of 24 crawls needs 25 crawls; there are 12."
    )
