"""Moves between strata against pandas."""

import numpy as np

from crawl_urn_dagster.observables.stratum_moves import count_stratum_moves
from crawl_urn_dagster_tests.observables.test_stratum_counts import BANDS, captures_with_ranks, write


def test_moves_equal_those_of_pandas_in_any_memory(tmp_path):
    rows = captures_with_ranks(n_crawls=5)
    partitions = write(tmp_path, rows, BANDS)
    strata, moves = count_stratum_moves(partitions, BANDS)
    assert strata == ["1-50", "51-200", "201+", "unknown"]
    band = np.searchsorted([50, 200], rows["rank"].astype(float))
    rows = rows.assign(band=np.where(rows["rank"].isna(), 3, band))
    by_crawl = rows.groupby(["element", "crawl"])["band"].min().unstack().fillna(4).astype(int)
    for crawl in range(4):
        pairs = by_crawl[[crawl, crawl + 1]].value_counts()
        expected = np.zeros((5, 5), dtype=int)
        for (here, there), elements in pairs.items():
            expected[here, there] = elements
        expected[4, 4] = 0
        assert moves[crawl].tolist() == expected.tolist()
    _, in_parts = count_stratum_moves(partitions, BANDS, memory_bytes=20_000)
    assert in_parts.tolist() == moves.tolist()
