"""Test the counts of elements by the lists that hold them."""

import numpy as np

from crawl_urn_dagster.observables.keys import elements_in_sample
from crawl_urn_dagster.observables.list_patterns import list_counting
from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.observables.strata import StratumSettings


def count_list_patterns(partitions):
    with list_counting(2**26) as count:
        return count(partitions)


def _partition(folder, name, elements, *, one_in=1, strata=None):
    texts = np.array(elements, dtype=object)
    values = () if strata is None else (np.array(strata, dtype=object),)
    settings = None if strata is None else StratumSettings(column="kind")
    written = PresenceFolder(folder / name).write(
        [("2024-01", texts, True, *values)], {"2024-01": "r"}, one_in=one_in, stratum=settings
    )
    return next(iter(written))


def test_patterns_are_counted_as_by_sets(tmp_path):
    rng = np.random.default_rng(2)
    lists = [{f"e{i}" for i in rng.choice(200, size, replace=False)} for size in (120, 60, 90)]
    partitions = [_partition(tmp_path, f"o'{i}", sorted(one)) for i, one in enumerate(lists)]
    (counts,) = count_list_patterns(partitions).values()
    for code in range(1, 8):
        inside = [one for i, one in enumerate(lists) if code >> i & 1]
        outside = [one for i, one in enumerate(lists) if not code >> i & 1]
        assert counts[code - 1] == len(set.intersection(*inside).difference(*outside))


def test_element_has_the_first_stratum_of_any_list(tmp_path):
    first = _partition(tmp_path, "first", ["a", "b", "c"])
    second = _partition(tmp_path, "second", ["b", "c", "d"], strata=["x", None, "y"])
    counts = count_list_patterns([first, second])
    assert {stratum: found.tolist() for stratum, found in counts.items()} == {
        None: [1, 1, 2],
        "unknown": [1, 0, 1],
        "x": [0, 0, 1],
        "y": [0, 1, 0],
    }


def test_the_smaller_sample_is_counted_in_both_lists(tmp_path):
    elements = np.array([f"e{i}" for i in range(1000)], dtype=object)
    whole = _partition(tmp_path, "whole", elements)
    sample = _partition(tmp_path, "sample", elements[:600], one_in=4)
    (counts,) = count_list_patterns([whole, sample]).values()
    is_counted = elements_in_sample(elements, 4)
    assert counts.tolist() == [is_counted[600:].sum(), 0, is_counted[:600].sum()]
