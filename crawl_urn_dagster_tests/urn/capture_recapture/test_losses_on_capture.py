"""Losses on capture: published estimates, the likelihood of releases, simulation, and impossible losses."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts, simulate
from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.jolly_seber import jolly_seber
from crawl_urn_dagster_tests.urn.capture_recapture.m_arrays import having, in_order, m_array

# Black-kneed capsids: Jolly (1965); Seber (1982), The Estimation of Animal Abundance, tables 5.1 to 5.3.
CAPTURED = np.array([54, 146, 169, 209, 220, 209, 250, 176, 172, 127, 123, 120, 142])
RELEASED = np.array([54, 143, 164, 202, 214, 207, 243, 175, 169, 126, 120, 120, 142])
# By the crawl of the next capture: elements last captured by each crawl before it.
LAST_CAPTURED = [
    [10],
    [3, 34],
    [5, 18, 33],
    [2, 8, 13, 30],
    [2, 4, 8, 20, 43],
    [1, 6, 5, 10, 34, 56],
    [0, 4, 0, 3, 14, 19, 46],
    [0, 2, 4, 2, 11, 12, 28, 51],
    [0, 0, 1, 2, 3, 5, 17, 22, 34],
    [1, 2, 3, 1, 0, 4, 8, 12, 16, 30],
    [0, 1, 3, 1, 1, 2, 7, 4, 11, 16, 26],
    [0, 1, 0, 2, 3, 3, 2, 10, 9, 12, 18, 35],
]
MARKED = [35.02, 170.54, 258.00, 227.73, 324.99, 359.50, 319.33, 402.13, 316.45, 317.00, 277.71]
POPULATION = [511.2, 779.1, 963.0, 945.3, 882.2, 802.5, 653.6, 628.8, 478.5, 506.4, 462.8]
SURVIVAL = [0.649, 1.015, 0.867, 0.564, 0.836, 0.790, 0.651, 0.985, 0.686, 0.884, 0.771]
BIRTHS = [263.2, 291.8, 406.4, 96.9, 107.0, 135.7, -13.8, 49.0, 84.1, 74.5]


@pytest.fixture(scope="module")
def capsids():
    """Sizes, recaptures and losses."""
    recaptures = np.zeros((13, 13))
    for crawl, column in enumerate(LAST_CAPTURED, start=1):
        recaptures[: len(column), crawl] = column
    return CAPTURED, recaptures, CAPTURED - RELEASED


def with_losses(counts, share, seed):
    """Return counts of which a share of each crawl's elements is lost, so they are not captured again."""
    rng = np.random.default_rng(seed)
    seen = np.repeat(counts.seen, counts.elements, axis=0)
    is_loss = seen & (rng.random(seen.shape) < share)
    crawls = np.arange(seen.shape[1])
    seen &= crawls <= np.where(is_loss.any(axis=1), is_loss.argmax(axis=1), crawls[-1])[:, None]
    return CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64), is_loss.any(axis=1).astype(np.int64))


def test_closed_forms_of_capsids_as_published(capsids):
    sizes, recaptures, losses = capsids
    found = jolly_seber(sizes, recaptures, losses=losses)
    assert found.marked.estimate[1:-1] == pytest.approx(MARKED, abs=0.0051)
    # The table divides M by m/n rounded to four decimals, and computes births from its rounded numbers.
    share_marked = recaptures.sum(axis=0)[1:-1] / sizes[1:-1]
    assert (abs(found.population.estimate[1:-1] / POPULATION - 1) < 0.00005 / share_marked + 0.0001).all()
    assert found.alpha.estimate[:-2] == pytest.approx(np.minimum(SURVIVAL, 1), abs=0.00051)
    assert found.births.estimate[1:-2] == pytest.approx(BIRTHS, abs=0.25)


def test_maximum_likelihood_of_capsids_is_their_closed_form(capsids):
    sizes, recaptures, losses = capsids
    closed = jolly_seber(sizes, recaptures, losses=losses)
    found = fit_cormack_jolly_seber(sizes, recaptures, survival="crawl", coverage="crawl", losses=losses)
    assert found.details.sample_size == RELEASED[:-1].sum()
    # The closed form of the second survival is above 1, which changes the maximum at the crawls next to it only.
    assert having(found, "alpha", in_order(found))[3:-1] == pytest.approx(closed.alpha.estimate[3:-2], abs=1e-6)
    assert having(found, "coverage", in_order(found))[3:-1] == pytest.approx(closed.coverage.estimate[4:-1], abs=1e-6)


def test_survival_is_biased_only_if_losses_are_ignored():
    counts = simulate(times=np.arange(8), core=0, shell=20_000, alpha=0.8, coverage=0.4, seed=2).counts()
    lossy = with_losses(counts, 0.05, seed=3)
    table = m_array(lossy)
    known, ignored = fit_cormack_jolly_seber(*table, losses=lossy.losses()), fit_cormack_jolly_seber(*table)
    se = known.details.standard_errors["alpha"]
    assert abs(known.alpha - 0.8) < 4 * se
    assert ignored.alpha < 0.8 - 5 * se
    closed, biased = jolly_seber(*table, losses=lossy.losses()), jolly_seber(*table)
    assert closed.alpha.estimate[1:6].mean() == pytest.approx(0.8, abs=4 * np.sqrt((closed.alpha.se[1:6] ** 2).mean()))
    assert (biased.alpha.estimate[:6] < closed.alpha.estimate[:6]).all()
    # Births do not include elements that were lost.
    inside = (closed.births.low < 4_000) & (closed.births.high > 4_000)
    assert inside[1:6].sum() >= 4


def test_losses_by_crawl_of_the_last_capture():
    seen = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 0]], dtype=bool)
    counts = CaptureHistoryCounts(seen, np.array([5, 7, 2]), np.array([3, 4, 0]))
    assert counts.losses().tolist() == [0, 4, 3]
    doubled = CaptureHistoryCounts(seen, np.array([10, 14, 4]), np.array([6, 8, 0]))
    assert doubled.divided_by(2).losses().tolist() == [0, 4, 3]
    assert CaptureHistoryCounts(seen, np.array([5, 7, 2])).losses().tolist() == [0, 0, 0]


def test_more_losses_than_elements_are_refused():
    seen = np.array([[1, 0], [0, 1]], dtype=bool)
    with pytest.raises(ValueError, match="expected from 0 to all of the elements"):
        CaptureHistoryCounts(seen, np.array([5, 7]), np.array([6, 0]))
    with pytest.raises(ValueError, match="of which 6 were captured again or lost"):
        fit_cormack_jolly_seber([5, 6], [[0, 3], [0, 0]], losses=[3, 0])
    with pytest.raises(ValueError, match=r"losses\[1\] is -1.0"):
        jolly_seber([5, 6], [[0, 3], [0, 0]], losses=[0, -1])
