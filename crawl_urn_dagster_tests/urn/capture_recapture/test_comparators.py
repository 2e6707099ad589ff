"""All comparators of capture histories, and Heaps' law."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts, Urn, simulate
from crawl_urn_dagster.urn.capture_recapture.comparators import comparators, heaps


def test_heaps_exponent_of_an_urn_tends_to_one():
    urn = Urn(0.9, 0.3)
    exponents = [heaps(t := np.arange(n, 2 * n + 1), urn.discovery_curve(t - 1)).estimate for n in (2, 20, 200, 20_000)]
    assert (np.diff(exponents) > 0).all()
    # U is ν∞ T + I - ν∞, so the exponent is 1 minus the relative size of the constant.
    end = urn.asymptote()
    assert exponents[0] < 0.8
    assert 0 < 1 - exponents[-1] < (end.intercept - end.nu_inf) / (end.nu_inf * 20_000)


def test_heaps_recovers_a_power():
    crawls = np.arange(1, 30)
    assert heaps(crawls, 1_000 * crawls**0.6).estimate == pytest.approx(0.6)


def test_comparators_of_simulated_histories():
    counts = simulate(times=np.arange(12), core=0, shell=5_000, alpha=0.9, coverage=0.4, seed=1).counts()
    found = {row.name: row for row in comparators(counts)}
    assert list(found) == [
        "petersen_lag_1",
        "petersen_lag_11",
        "chapman_lag_1",
        "chapman_lag_11",
        "schnabel",
        "schumacher_eschmeyer",
        "m0",
        "mt",
        "mh_poisson2",
        "mh_darroch",
        "mb",
        "chao1",
        "chao2",
        "good_turing_coverage",
        "good_turing_new_fraction",
        "heaps",
        "heaps_first_half",
        "heaps_second_half",
    ]
    shared = counts.intersections()
    assert found["petersen_lag_1"].estimate == shared[10, 10] * shared[11, 11] / shared[10, 11]
    assert found["petersen_lag_11"].estimate == shared[0, 0] * shared[11, 11] / shared[0, 11]
    # Schnabel's estimate by hand, from whether an element of a history was captured before a crawl.
    earlier = np.cumsum(counts.seen, axis=1) - counts.seen > 0
    exposure = (counts.elements @ counts.seen) @ (counts.elements @ earlier)
    recaptures = (counts.elements @ (counts.seen & earlier)).sum()
    assert found["schnabel"].estimate == pytest.approx(exposure / recaptures)
    for name, lengths in [
        ("heaps", np.arange(1, 13)),
        ("heaps_first_half", np.arange(1, 7)),
        ("heaps_second_half", np.arange(7, 13)),
    ]:
        expected = heaps(lengths, Urn(0.9, 0.4).discovery_curve(lengths - 1)).estimate
        # The 2,000 elements of a crawl have a relative standard error below 1/sqrt(2000), and unions a smaller one.
        assert found[name].estimate == pytest.approx(
            expected, abs=4 / np.sqrt(2_000) / np.log(lengths[-1] / lengths[0])
        )
    for row in found.values():
        assert row.target
        assert row.assumption
        assert row.bias
        assert np.isfinite(row.estimate)
        if not row.name.startswith("heaps"):
            assert row.low < row.estimate < row.high
            assert row.reason is None


@pytest.mark.parametrize("n_crawls", [1, 2, 3])
@pytest.mark.parametrize("coverage", [0, 1, [0.5, 0, 0.5]], ids=["empty", "all", "one empty"])
def test_degenerate_histories_have_a_reason(n_crawls, coverage):
    coverage = np.broadcast_to(coverage, 3)[:n_crawls]
    counts = simulate(times=np.arange(n_crawls), core=5, shell=40, alpha=1, coverage=coverage, seed=1).counts()
    for row in comparators(counts):
        assert (row.reason is None) == bool(np.isfinite([row.estimate, row.se]).all())
        assert np.isnan(row.se) == np.isnan(row.low) == np.isnan(row.high)


def test_no_element_captured_twice_has_a_reason():
    counts = CaptureHistoryCounts(np.eye(4, dtype=bool), np.array([5, 4, 3, 2]))
    found = {row.name: row for row in comparators(counts)}
    assert found["petersen_lag_1"].reason == "No element is in both crawls."
    assert found["schnabel"].reason == found["schumacher_eschmeyer"].reason == "No element was captured twice."
    # Chapman's estimate is still finite, and its interval starts at the number of captured elements.
    assert found["chapman_lag_1"].estimate == 11
    assert found["chapman_lag_1"].low == 5
    assert found["good_turing_new_fraction"].reason == "14 of 14 captures are of elements captured only once."
