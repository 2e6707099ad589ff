"""Expected counts of a general urn: against the stepped recurrence, reference values, and simulated elements."""

import json

import numpy as np
import pytest

from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.data.histories import unions_from_recaptures, window_sums

CRAWLS = 9
TIMES = np.cumsum(np.append(0.0, np.random.default_rng(3).uniform(0.2, 2.0, CRAWLS - 1)))
COVERAGE = np.random.default_rng(4).uniform(0.2, 0.9, CRAWLS)
SIZE = np.array([1000.0, 1100, 1050, 1200, 1300, 1250, 1280, 1400, 1500])
PAIRS = np.triu_indices(CRAWLS, k=1)


def stepped(times, size, coverage, alpha):
    """Return overlaps and recaptures by following the elements of each crawl from gap to gap."""
    overlaps, recaptures = np.zeros((2, len(times), len(times)))
    for i in range(len(times)):
        alive = unseen = size[i] * coverage[i]
        for j in range(i + 1, len(times)):
            survival = alpha ** (times[j] - times[j - 1])
            alive, unseen = alive * survival, unseen * survival
            overlaps[i, j], recaptures[i, j] = alive * coverage[j], unseen * coverage[j]
            unseen *= 1 - coverage[j]
    return overlaps, recaptures


def stepped_union(times, size, coverage, alpha):
    """Return U(0..T) for every T, by the recurrence of the seen part s_t of the urn."""
    seen, unions = 0.0, [size[0] * coverage[0]]
    for t in range(1, len(times)):
        seen = alpha ** (times[t] - times[t - 1]) * (seen + coverage[t - 1] * (size[t - 1] - seen))
        unions.append(unions[-1] + coverage[t] * (size[t] - seen))
    return unions


def test_counts_match_the_stepped_recurrence():
    urn = ElementClass(TIMES, SIZE, COVERAGE, np.array(0.7))
    overlaps, recaptures = stepped(TIMES, SIZE, COVERAGE, 0.7)
    assert urn.intersections(*PAIRS) == pytest.approx(overlaps[PAIRS], rel=1e-12)
    assert urn.recaptures(*PAIRS) == pytest.approx(recaptures[PAIRS], rel=1e-12)
    assert urn.unions()[0] == pytest.approx(stepped_union(TIMES, SIZE, COVERAGE, 0.7), rel=1e-12)


def test_unions_of_a_window_match_the_window_alone():
    unions = ElementClass(TIMES, SIZE, COVERAGE, np.array(0.7)).unions()
    for start in range(CRAWLS):
        window = TIMES[start:], SIZE[start:], COVERAGE[start:]
        assert unions[start, start:] == pytest.approx(stepped_union(*window, 0.7), rel=1e-12)
    assert not unions[np.tril_indices(CRAWLS, k=-1)].any()


def test_unions_at_uneven_gaps_match_reference_values(shared_reference):
    known = json.loads((shared_reference / "closed_forms.json").read_text())["uneven_cadence"]
    times = np.array(known["times_years"])
    coverage = np.full(len(times), known["coverage"])
    urn = ElementClass(times, 1 / coverage, coverage, np.array(known["alpha_per_year"]))
    assert urn.unions()[0] == pytest.approx(known["discovery_curve"], rel=1e-9)


def test_urns_and_classes_share_leading_axes():
    alpha = np.array([[0.6], [0.9]])
    coverage = np.stack([COVERAGE, COVERAGE[::-1], COVERAGE / 2])
    urns = ElementClass(TIMES, SIZE, coverage, alpha)
    assert urns.recaptures(*PAIRS).shape == (2, 3, len(PAIRS[0]))
    assert urns.unions().shape == (2, 3, CRAWLS, CRAWLS)
    one = ElementClass(TIMES, SIZE, coverage[2], np.array(0.9))
    assert urns.recaptures(*PAIRS)[1, 2] == pytest.approx(one.recaptures(*PAIRS), rel=1e-14)
    assert urns.unions()[1, 2] == pytest.approx(one.unions(), rel=1e-14)


def test_sum_over_core_and_shell_matches_simulation():
    size = np.array([[1500.0], [4000.0]]) * np.ones(CRAWLS)
    coverage = np.stack([np.ones(CRAWLS), COVERAGE])
    urn = ElementClass(TIMES, size, coverage, np.array([1.0, 0.8]))
    counts = simulate(times=TIMES, core=1500, shell=4000, alpha=0.8, coverage=COVERAGE, seed=11).counts()
    for expected, observed, sure in (
        (urn.intersections(*PAIRS), counts.intersections()[PAIRS], 1500),
        (urn.recaptures(*PAIRS), counts.recaptures()[PAIRS], 1500 * (PAIRS[1] - PAIRS[0] == 1)),
        (urn.unions(), counts.unions(), 1500),
    ):
        total = expected.sum(axis=0)
        # Counts of shell elements vary less than Poisson counts; 5 standard deviations for some hundred counts.
        assert (abs(observed - total) <= 5 * np.sqrt(np.maximum(total - sure, 1))).all()


def test_crawl_of_coverage_one_misses_no_element():
    coverage = np.where(np.arange(CRAWLS) == 4, 1.0, COVERAGE)
    recaptures = ElementClass(TIMES, SIZE, coverage, np.array(0.7)).recaptures(*PAIRS)
    across = (PAIRS[0] < 4) & (PAIRS[1] > 4)
    assert recaptures[across] == pytest.approx(0, abs=1e-200)
    assert (recaptures[~across] > 1).all()


def test_unions_of_integer_counts_are_integers():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1000, 2000, CRAWLS)
    recaptures = np.triu(rng.integers(0, 50, (CRAWLS, CRAWLS)), k=1)
    unions = unions_from_recaptures(sizes, recaptures)
    assert unions.dtype == np.int64
    assert unions[2, 5] == sizes[2:6].sum() - recaptures[2:6, 2:6].sum()
    many = unions_from_recaptures(np.stack([sizes, 0.5 * sizes]), np.stack([recaptures, 0.5 * recaptures]))
    assert (many == [unions, 0.5 * unions]).all()
    assert window_sums(sizes.astype(float))[2, 5] == sizes[2:6].sum()
