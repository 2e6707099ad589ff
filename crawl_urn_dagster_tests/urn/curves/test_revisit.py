"""Test the urn with a revisit delay: its formulas against the Markov chain and against calculation by hand."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import RevisitDelayUrn, Urn

LAGS = np.arange(1, 16)
ONE_CRAWL = RevisitDelayUrn(0.86, 0.27, 0.03, delay=1)
TWO_CRAWLS = RevisitDelayUrn(0.9, 0.26, 0.02, delay=2)


def test_urn_without_delay_is_homogeneous():
    urn, plain = RevisitDelayUrn(0.9, 0.4, 0.1, delay=0), Urn(0.9, 0.4)
    np.testing.assert_allclose(urn.containment(LAGS), plain.containment(LAGS))
    np.testing.assert_allclose(urn.discovery_curve(LAGS), plain.discovery_curve(LAGS))
    assert urn.crawl_coverage == pytest.approx(0.4)


def test_delay_with_equal_coverages_is_homogeneous():
    urn, plain = RevisitDelayUrn(0.9, 0.4, 0.4, delay=3), Urn(0.9, 0.4)
    np.testing.assert_allclose(urn.containment(LAGS), plain.containment(LAGS))
    np.testing.assert_allclose(urn.discovery_curve(LAGS), plain.discovery_curve(LAGS))
    assert urn.crawl_coverage == pytest.approx(0.4)


def test_delay_of_one_crawl_has_closed_form():
    alpha, c, c1 = 0.86, 0.27, 0.03
    x = c / (1 + c - c1)
    np.testing.assert_allclose(ONE_CRAWL.containment(LAGS), alpha**LAGS * (x + (1 - x) * (c1 - c) ** LAGS))
    later = LAGS[1:]
    returns = np.append(alpha * c1, alpha**later * (1 - c1) * (1 - c) ** (later - 2.0) * c)
    np.testing.assert_allclose(ONE_CRAWL.first_returns(LAGS), returns)
    assert ONE_CRAWL.crawl_coverage == pytest.approx(c / (1 + alpha * (c - c1)))


def test_delay_of_two_crawls_by_hand():
    alpha, c, c1 = 0.9, 0.26, 0.02
    first_returns = [alpha * c1, alpha**2 * (1 - c1) * c1, alpha**3 * (1 - c1) ** 2 * c]
    first_returns.append(alpha**4 * (1 - c1) ** 2 * (1 - c) * c)
    np.testing.assert_allclose(TWO_CRAWLS.first_returns([1, 2, 3, 4]), first_returns)
    # Fetched at 0 and 2 with or without 1, then by paths to 3: only one that was not fetched at 1 or 2 has chance c.
    third = (1 - c1) ** 2 * c + (1 - (1 - c1) ** 2) * c1
    np.testing.assert_allclose(TWO_CRAWLS.containment([1, 2, 3]), [alpha * c1, alpha**2 * c1, alpha**3 * third])
    assert TWO_CRAWLS.crawl_coverage == pytest.approx(c / (1 + (c - c1) * (alpha + alpha**2 * (1 - c1))))


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
def test_first_returns_and_containment_satisfy_renewal(delay):
    """An element in both of two crawls first returned in some crawl up to the later one."""
    urn = RevisitDelayUrn(0.8, 0.5, 0.1, delay=delay)
    h, g = urn.first_returns(LAGS), urn.containment(np.append(0, LAGS))
    for lag in LAGS:
        assert g[lag] == pytest.approx(h[:lag] @ g[lag - 1 :: -1][:lag])
    assert urn.discovery_curve(0) == 1
    new = np.diff(urn.discovery_curve(np.append(0, LAGS)))
    np.testing.assert_allclose(new, 1 - h.cumsum())


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
def test_crawl_coverage_is_that_of_the_steady_state(delay):
    urn = RevisitDelayUrn(0.8, 0.5, 0.1, delay=delay)
    # Shares of the urn by crawls since the last fetch; the last entry is the share past its delay.
    since = np.zeros(delay + 1)
    since[-1] = 1
    for _ in range(200):
        fetched = since @ np.append(np.full(delay, 0.1), 0.5)
        waiting = np.append(fetched, 0.9 * since[:-1])[:delay]
        since = np.append(0.8 * waiting, 1 - 0.8 * waiting.sum())
    assert urn.crawl_coverage == pytest.approx(fetched)


def test_revisit_delay_out_of_range_is_refused():
    with pytest.raises(ValueError, match="delay is -1; expected a whole number of crawls of at least 0"):
        RevisitDelayUrn(0.9, 0.5, 0.1, delay=-1)
    with pytest.raises(ValueError, match="revisit_coverage is 2"):
        RevisitDelayUrn(0.9, 0.5, 2)
    with pytest.raises(ValueError, match=r"lag is 0\.0; expected whole numbers of at least 1"):
        ONE_CRAWL.first_returns(0)
