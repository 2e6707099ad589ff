"""Observables of capture histories: against set operations on real presence lists, and by identities."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crawl_urn_dagster.urn import CaptureHistoryCounts, count_cells, recaptures_from_unions, unions_from_recaptures


def histories(max_crawls=7):
    shapes = st.tuples(st.integers(0, 30), st.integers(1, max_crawls))
    return shapes.flatmap(
        lambda shape: st.builds(
            CaptureHistoryCounts,
            hnp.arrays(np.bool_, shape),
            hnp.arrays(np.int64, shape[0], elements=st.integers(0, 10**9)),
        )
    )


@pytest.fixture(params=["cc_webgraph_top1000", "us_gov_hosts"], scope="module")
def real(request, shared_data, shared_reference):
    """Counts of a real presence list, and the results of set operations on it."""
    rows = pd.read_csv(shared_data / "presence" / f"{request.param}.csv.gz")
    element, crawl = rows["element"].factorize()[0], rows["snapshot"].factorize(sort=True)[0]
    presence = np.zeros((element.max() + 1, crawl.max() + 1), dtype=bool)
    presence[element, crawl] = True
    seen, elements = np.unique(presence, axis=0, return_counts=True)
    reference = json.loads((shared_reference / f"{request.param}.json").read_text())
    return CaptureHistoryCounts(seen, elements), reference


def test_real_presence_lists_give_exact_reference_values(real):
    counts, reference = real
    n = counts.n_crawls
    frequency = np.zeros(n + 1, dtype=np.int64)
    for times, elements in reference["capture_frequency"].items():
        frequency[int(times)] = elements
    unions = counts.unions()

    assert n == len(reference["crawls"])
    assert len(counts.elements) == reference["distinct_capture_histories"]
    assert counts.distinct_elements == reference["distinct_elements"]
    np.testing.assert_array_equal(np.diagonal(counts.intersections()), reference["sizes"])
    np.testing.assert_array_equal(counts.intersections(), reference["intersection"])
    np.testing.assert_array_equal(counts.recaptures(), reference["m_array"])
    np.testing.assert_array_equal(counts.capture_frequencies(), frequency)
    for start, row in enumerate(reference["union_from_start"]):
        np.testing.assert_array_equal(unions[start, start:], row)


def test_real_m_arrays_give_the_never_recaptured(real):
    counts, reference = real
    released = np.diagonal(counts.intersections()) - counts.recaptures().sum(axis=1)
    np.testing.assert_array_equal(released, reference["never_recaptured"])


@given(histories())
def test_observables_equal_their_definitions(counts):
    n = counts.n_crawls
    for i in range(n):
        for j in range(i, n):
            in_both = counts.seen[:, i] & counts.seen[:, j]
            between = counts.seen[:, i + 1 : j].any(axis=1)
            window = counts.seen[:, i : j + 1].any(axis=1)
            assert counts.intersections()[i, j] == counts.elements[in_both].sum()
            assert counts.unions()[i, j] == counts.elements[window].sum()
            if i < j:
                assert counts.recaptures()[i, j] == counts.elements[in_both & ~between].sum()
    assert counts.capture_frequencies().sum() == counts.distinct_elements


@given(histories())
def test_unions_and_recaptures_determine_each_other(counts):
    unions = counts.unions()
    recaptures = recaptures_from_unions(unions.astype(np.float64))
    np.testing.assert_array_equal(recaptures, counts.recaptures())
    np.testing.assert_array_equal(unions_from_recaptures(np.diagonal(unions), recaptures), unions)


def test_recaptures_are_unknown_where_a_window_is():
    counts = CaptureHistoryCounts(np.array([[1, 0, 1, 1], [0, 1, 1, 0]], dtype=bool), np.array([5, 7]))
    unions = counts.unions().astype(np.float64)
    unions[0, 3] = np.nan
    recaptures = recaptures_from_unions(unions)
    unknown = np.isnan(recaptures)
    assert np.argwhere(unknown).tolist() == [[0, 3]]
    np.testing.assert_array_equal(recaptures[~unknown], counts.recaptures()[~unknown])


@pytest.mark.parametrize(
    ("seen", "elements", "message"),
    [
        (np.ones((2, 3), dtype=bool), np.ones(3, dtype=np.int64), r"\(2, 3\) and elements \(3,\)"),
        (np.ones(3, dtype=bool), np.ones(3, dtype=np.int64), r"seen has shape \(3,\)"),
        (np.ones((2, 3), dtype=bool), np.array([1, -4]), "a history has -4 elements"),
    ],
)
def test_ill_shaped_or_negative_counts_are_refused(seen, elements, message):
    with pytest.raises(ValueError, match=message):
        CaptureHistoryCounts(seen, elements)


def test_cells_of_a_few_histories_by_hand():
    seen = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1], [1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
    cells = count_cells(CaptureHistoryCounts(seen.astype(bool), np.array([5, 7, 1, 2, 4, 9, 0])))
    rows = list(zip(*(column.tolist() for column in cells), strict=True))
    assert rows == [(1, 1, 1, 7), (1, 2, 2, 5), (0, 3, 2, 1), (0, 3, 3, 6)]


@pytest.mark.parametrize("crawls", [1, 4, 7])
def test_all_histories_fill_the_stated_number_of_cells(crawls):
    seen = np.array(list(product([False, True], repeat=crawls)))
    cells = count_cells(CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64)))
    assert len(cells.elements) == (crawls**3 + 5 * crawls) / 6
    assert cells.elements.sum() == 2**crawls - 1
