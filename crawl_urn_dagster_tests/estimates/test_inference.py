"""All that is estimated, of collections so small that hardly anything can be."""

import numpy as np
import pytest

from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
from crawl_urn_dagster.estimates.inference import estimate_tables
from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster_tests.estimates.observed import EXACT, observables


@pytest.mark.parametrize(
    "histories",
    [
        *(["111", "111", "100", "010", "001"], ["110", "110", "101", "011"], ["11", "11"], ["1"], ["10", "01"]),
        ["1" * 12],  # all is core
    ],
)
def test_a_few_elements_give_tables_and_no_error(histories):
    seen = np.array([[mark == "1" for mark in history] for history in histories])
    counts = CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64))
    observed = observables(counts)
    tables = estimate_tables(*observed, counts, clock="crawl", error=EXACT)
    tables |= capture_recapture_tables(observed[0], counts, clock="crawl", one_in=1)
    (verdict,) = tables["diagnosis"].query("test == 'collection'")["verdict"]
    assert verdict in {"too_short", "not_identified"}
    assert tables["parameters"]["headline"].any()
