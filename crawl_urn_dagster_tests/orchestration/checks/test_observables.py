"""Checks of capture histories, the discovery curve and containment."""

import dagster as dg
import numpy as np
import pytest

from crawl_urn_dagster.observables.tables import capture_history_counts_table, read_capture_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    labels,
    presence_collection,
    tables_collection,
)
from crawl_urn_dagster_tests.orchestration.checks.running import Broken, assert_broken, run_checks, set_row
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, Pipeline

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("table", "change", "check", "severity", "message"),
    [
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
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_rule_is_found_and_explained(checked, table, change, check, severity, message):
    assert_broken(checked, table, change, check, severity, message)


def test_missing_histories_are_found(checked):
    counts = read_capture_histories(checked.home.observables)
    wrong = CaptureHistoryCounts(counts.seen[1:], counts.elements[1:])

    def keep(counts):
        checked.home.observables.replace({"capture_history_counts": capture_history_counts_table(counts)})

    keep(wrong)
    result = run_checks(checked, "histories_sum_to_elements")["histories_sum_to_elements"]
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
