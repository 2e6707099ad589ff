"""Everything that is estimated, for collections too small for most of it."""

import numpy as np
import pytest

from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster_tests.estimates.observed import collection_data, urn


@pytest.mark.parametrize(
    "histories",
    [
        *(["111", "111", "100", "010", "001"], ["110", "110", "101", "011"], ["11", "11"], ["1"], ["10", "01"]),
        ["1" * 12],  # all is core
    ],
)
def test_a_few_elements_give_tables_without_error(histories):
    seen = np.array([[mark == "1" for mark in history] for history in histories])
    counts = CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64))
    data = collection_data(counts)
    tables = {**estimate(data, clock="crawl").tables}
    tables |= capture_recapture_tables(data.crawls, counts, clock="crawl", one_in=1)
    (verdict,) = tables["diagnosis"].query("test == 'collection'")["verdict"]
    assert verdict in {"too_short", "not_identified"}
    assert tables["parameters"]["headline"].any()


def test_intervals_widen_with_the_confidence_level():
    estimation = estimate(
        collection_data(urn(10, core=400, shell=600, alpha=0.75, coverage=0.6, seed=3)), clock="crawl"
    )
    stored, narrow = estimation.headline.intervals, estimation.headline_intervals(0.5)
    assert estimation.headline_intervals(0.95) == stored
    for name in estimation.headline.estimates:
        assert stored[name].low < narrow[name].low < narrow[name].high < stored[name].high


def test_stages_are_reported():
    lines = []
    data = collection_data(urn(4, core=40, shell=60, alpha=0.75, coverage=0.6, seed=3))
    estimate(data, clock="crawl", n_replicates=30, report=lines.append)
    assert lines[0] == "fitting all urns"
    assert "30 bootstrap replicates" in lines[1]
