"""Assets of the observables."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.orchestration.assets.elements import ELEMENT_TABLES
from crawl_urn_dagster_tests.collections_for_tests import (
    N_CRAWLS,
    histories,
    lists_collection,
    presence_of,
    write_list,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, FIGURES, Pipeline

OBSERVABLES = ("crawls", "capture_history_counts", "discovery_curve", "containment", "m_array", "first_returns")
FITTED = ("parameters", "operator_terms", "drift", "parameter_history", "forecast", "planning")
NOT_COMPARED = {
    *("report", "export", "headline", "capture_recapture", "per_crawl", "comparators"),
    *("elements", *ELEMENT_TABLES),
}


def ordered(tables):
    """Sort the histories, because their order depends on how they were counted."""
    counts = tables["capture_history_counts"].sort_values("history", ignore_index=True)
    return {**tables, "capture_history_counts": counts}


def test_tables_equal_the_simulated_histories(listed):
    counts = histories().counts()
    containment = listed.home.observables.read("containment")
    i, j = np.triu_indices(N_CRAWLS, k=1)
    assert containment["intersection"].tolist() == counts.intersections()[i, j].tolist()
    m_array = listed.home.observables.read("m_array")
    assert m_array["elements"].sum() == np.diagonal(counts.intersections()).sum()
    curve = listed.home.observables.read("discovery_curve")
    assert curve["distinct_elements"].max() == counts.distinct_elements


@pytest.mark.slow
def test_incremental_counts_equal_counts_at_once(tmp_path):
    """Crawls arrive late, one is revised and one is withdrawn; the result does not depend on this order."""
    crawls = presence_of(histories(12, urn=1_000, kappa=0.05, coverage=0.3))
    collection = lists_collection(tmp_path, memory_gb=0.0625)
    grown, labels = Pipeline(collection, tmp_path / "grown"), list(crawls)

    def arrive(*positions):
        for position in positions:
            write_list(tmp_path, labels[position], crawls[labels[position]])
        assert grown.run(without=ALL_BUT_OBSERVABLES).success, grown.outcome.errors
        return (grown.home.histories / "manifest.json").read_bytes()

    write_list(tmp_path, "2019-01", ["a mistake"])
    write_list(tmp_path, labels[9], crawls[labels[0]])
    base = arrive(*range(2, 9))
    assert arrive(11) == base  # reused
    (tmp_path / "lists" / "2019-01.csv").unlink()
    assert arrive(0, 9) != base  # rewritten
    arrive(1, 10)
    at_once = Pipeline(collection, tmp_path / "at_once")
    for pipeline in (grown, at_once):
        pipeline.run(without=FIGURES | NOT_COMPARED)
        assert pipeline.outcome.errors == ()

    names = (*OBSERVABLES, *FITTED, "inputs")
    expected = ordered(at_once.tables(*names))
    for name, table in ordered(grown.tables(*names)).items():
        pd.testing.assert_frame_equal(table, expected[name], check_exact=True, obj=name)
    assert len(expected["crawls"]) == 12
    arrived = [pipeline.instance.get_dynamic_partitions("split_crawls") for pipeline in (grown, at_once)]
    assert arrived[0] != arrived[1] == labels
