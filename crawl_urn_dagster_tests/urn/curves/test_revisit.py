"""The revisit delay: formulas against the chain and simulation, fits, regimes, and Common Crawl's URLs."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.urn import Urn, mean_by, recaptures_from_unions
from crawl_urn_dagster.urn.curves.revisit import (
    RevisitDelayUrn,
    find_regimes,
    fit_revisit_delay,
    simulate_revisit_delay,
)
from crawl_urn_dagster.urn.curves.shells import fit_curves

LAGS = np.arange(1, 16)
ONE_ROUND = RevisitDelayUrn(0.86, 0.27, 0.03, delay=1)
TWO_ROUNDS = RevisitDelayUrn(0.9, 0.26, 0.02, delay=2)


def test_without_delay_it_is_the_homogeneous_urn():
    urn, plain = RevisitDelayUrn(0.9, 0.4, 0.1, delay=0), Urn(0.9, 0.4)
    np.testing.assert_allclose(urn.containment(LAGS), plain.containment(LAGS))
    np.testing.assert_allclose(urn.discovery_curve(LAGS), plain.discovery_curve(LAGS))
    assert urn.crawl_coverage == pytest.approx(0.4)


def test_equal_chances_make_the_delay_immaterial():
    urn, plain = RevisitDelayUrn(0.9, 0.4, 0.4, delay=3), Urn(0.9, 0.4)
    np.testing.assert_allclose(urn.containment(LAGS), plain.containment(LAGS))
    np.testing.assert_allclose(urn.discovery_curve(LAGS), plain.discovery_curve(LAGS))
    assert urn.crawl_coverage == pytest.approx(0.4)


def test_one_round_in_closed_form():
    alpha, c, c1 = 0.86, 0.27, 0.03
    x = c / (1 + c - c1)
    np.testing.assert_allclose(ONE_ROUND.containment(LAGS), alpha**LAGS * (x + (1 - x) * (c1 - c) ** LAGS))
    later = LAGS[1:]
    returns = np.append(alpha * c1, alpha**later * (1 - c1) * (1 - c) ** (later - 2.0) * c)
    np.testing.assert_allclose(ONE_ROUND.first_returns(LAGS), returns)
    assert ONE_ROUND.crawl_coverage == pytest.approx(c / (1 + alpha * (c - c1)))


def test_two_rounds_by_hand():
    alpha, c, c1 = 0.9, 0.26, 0.02
    first_returns = [alpha * c1, alpha**2 * (1 - c1) * c1, alpha**3 * (1 - c1) ** 2 * c]
    first_returns.append(alpha**4 * (1 - c1) ** 2 * (1 - c) * c)
    np.testing.assert_allclose(TWO_ROUNDS.first_returns([1, 2, 3, 4]), first_returns)
    # Fetched at 0 and 2 with or without 1, then by paths to 3: only one that was not fetched at 1 or 2 has chance c.
    third = (1 - c1) ** 2 * c + (1 - (1 - c1) ** 2) * c1
    np.testing.assert_allclose(TWO_ROUNDS.containment([1, 2, 3]), [alpha * c1, alpha**2 * c1, alpha**3 * third])
    assert TWO_ROUNDS.crawl_coverage == pytest.approx(c / (1 + (c - c1) * (alpha + alpha**2 * (1 - c1))))


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
def test_returns_renew(delay):
    """An element in both of two crawls was first seen again at some crawl up to the later one."""
    urn = RevisitDelayUrn(0.8, 0.5, 0.1, delay=delay)
    h, g = urn.first_returns(LAGS), urn.containment(np.append(0, LAGS))
    for lag in LAGS:
        assert g[lag] == pytest.approx(h[:lag] @ g[lag - 1 :: -1][:lag])
    assert urn.discovery_curve(0) == 1
    new = np.diff(urn.discovery_curve(np.append(0, LAGS)))
    np.testing.assert_allclose(new, 1 - h.cumsum())


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
def test_crawl_size_is_that_of_the_settled_urn(delay):
    urn = RevisitDelayUrn(0.8, 0.5, 0.1, delay=delay)
    # Shares of the urn by rounds since the last fetch; the last entry holds all who need not wait.
    since = np.zeros(delay + 1)
    since[-1] = 1
    for _ in range(200):
        fetched = since @ np.append(np.full(delay, 0.1), 0.5)
        waiting = np.append(fetched, 0.9 * since[:-1])[:delay]
        since = np.append(0.8 * waiting, 1 - 0.8 * waiting.sum())
    assert urn.crawl_coverage == pytest.approx(fetched)


@pytest.mark.parametrize("urn", [ONE_ROUND, TWO_ROUNDS], ids=["one round", "two rounds"])
def test_simulation_agrees_to_three_standard_errors(urn):
    elements, crawls, start = 300_000, 12, 2
    counts = simulate_revisit_delay(
        delays=np.full(crawls, urn.delay),
        elements=elements,
        alpha=urn.alpha,
        coverage=urn.coverage,
        revisit_coverage=urn.revisit_coverage,
        seed=17,
    ).counts()
    shared, later = counts.intersections(), np.arange(1, 8)
    # Slots of the urn are independent of each other: every count of pairs is binomial.
    share = float(urn.crawl_coverage)
    for observed, p in [
        (np.diagonal(shared)[[0, 5, 11]], np.full(3, share)),
        (shared[start, start + later], share * urn.containment(later)),
        (counts.recaptures()[start, start + later], share * urn.first_returns(later)),
        (np.diff(counts.unions()[start])[start:], share * np.diff(urn.discovery_curve(np.arange(crawls - start)))),
    ]:
        z = (observed - elements * p) / np.sqrt(elements * p * (1 - p))
        assert abs(z).max() < 3


@pytest.mark.parametrize("urn", [ONE_ROUND, TWO_ROUNDS], ids=["one round", "two rounds"])
def test_fit_recovers_the_urn(urn):
    fit = fit_revisit_delay(LAGS, urn.discovery_curve(LAGS), delay=urn.delay)
    found = (fit.urn.alpha, fit.urn.coverage, fit.urn.revisit_coverage, fit.urn.delay)
    assert found == pytest.approx((urn.alpha, urn.coverage, urn.revisit_coverage, urn.delay), abs=1e-6)
    assert (fit.projection, fit.model, fit.n_parameters) == ("discovery_curve", "revisit_delay", 3)
    assert (fit.status, fit.identified) == ("ok", True)


def test_response_predicts_the_refit_of_a_changed_curve():
    curve = TWO_ROUNDS.discovery_curve(LAGS)
    change = 1e-6 * np.random.default_rng(4).normal(size=LAGS.size)
    fit, refit = (fit_revisit_delay(LAGS, values, delay=2) for values in (curve, curve + change))
    assert list(fit.estimates) == ["alpha", "coverage", "revisit_coverage", "crawl_coverage"]
    assert fit.estimates["crawl_coverage"] == pytest.approx(TWO_ROUNDS.crawl_coverage, abs=1e-8)
    moved = np.array(list(refit.estimates.values())) - list(fit.estimates.values())
    assert fit.response @ change == pytest.approx(moved, rel=0.01, abs=1e-9)
    assert abs(moved).min() > 1e-8


def test_wrong_delay_misses_the_curve():
    assert fit_revisit_delay(LAGS, TWO_ROUNDS.discovery_curve(LAGS), delay=1).residual_rms > 0.02


def test_crawls_that_never_return_are_at_bound():
    fit = fit_revisit_delay(LAGS, LAGS + 1.0, delay=1)
    assert fit.status == "at_bound"
    np.testing.assert_allclose(fit.fitted, LAGS + 1.0, atol=1e-6)


def test_what_is_out_of_range_is_refused():
    with pytest.raises(ValueError, match="delay is -1; expected a number of rounds of at least 0"):
        RevisitDelayUrn(0.9, 0.5, 0.1, delay=-1)
    with pytest.raises(ValueError, match="revisit_coverage is 2"):
        RevisitDelayUrn(0.9, 0.5, 2)
    with pytest.raises(ValueError, match=r"lag is 0\.0; expected whole numbers of at least 1"):
        ONE_ROUND.first_returns(0)
    with pytest.raises(ValueError, match="delay is 0; expected a number of rounds of at least 1"):
        fit_revisit_delay([1, 2, 3, 4], [1.5, 2, 2.5, 3], delay=0)
    with pytest.raises(ValueError, match=r"t has shape \(2,\) and ratio \(1,\)"):
        fit_revisit_delay([1, 2], [1.5], delay=1)


def sketched_first_returns(delays, seed):
    """Sizes and recaptures of a simulated crawl sequence, from unions with the error of published sketches."""
    rng = np.random.default_rng(seed)
    n = len(delays)
    counts = simulate_revisit_delay(
        delays=delays,
        elements=10_000,
        alpha=0.9,
        coverage=np.clip(rng.normal(0.3, 0.05, n), 0, 1),
        revisit_coverage=0.03,
        seed=seed,
    ).counts()
    unions = counts.unions() * np.where(np.eye(n, dtype=bool), 1, 1 + 0.008 * rng.normal(size=(n, n)))
    return np.diagonal(unions), recaptures_from_unions(unions)


def test_a_change_of_the_delay_is_found_where_it_is():
    delays = np.repeat([1, 2], [30, 20])
    found = [find_regimes(*sketched_first_returns(delays, seed)) for seed in range(10)]
    for regimes in found:
        before, after = regimes[0], regimes[-1]
        assert (before.delay, after.delay) == (1, 2)
        # From start crawl 28 on, the return after two rounds falls under the delay of two.
        assert min(abs(regime.first - 28) for regime in regimes[1:]) <= 1
        assert (before.first, before.p_value) == (0, None)
        assert after.last == 46
        urns = [RevisitDelayUrn(0.9, 0.3, 0.03, delay=delay).first_returns([1, 2, 3]) for delay in (1, 2)]
        for regime, expected in zip((before, after), urns, strict=True):
            assert regime.fraction == pytest.approx(expected, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 1, 2])
def test_without_a_change_there_is_one_regime(delay):
    found = [find_regimes(*sketched_first_returns(np.full(50, delay), 100 + seed)) for seed in range(60)]
    assert all(regimes[0].delay == delay for regimes in found)
    # False alarms at a level of 1 %, and three standard errors.
    assert sum(len(regimes) > 1 for regimes in found) <= 60 * 0.01 + 3 * np.sqrt(60 * 0.01 * 0.99)


def test_unknown_and_too_short_sequences():
    sizes, recaptures = sketched_first_returns(np.full(12, 1), 1)
    assert [(regime.first, regime.last) for regime in find_regimes(sizes, recaptures)] == [(0, 8)]
    recaptures[[2, 5]] = np.nan
    (regime,) = find_regimes(sizes, recaptures)
    assert (regime.first, regime.last, regime.delay) == (0, 8, 1)
    assert np.isnan(regime.fraction_se).all()
    assert find_regimes(sizes[:3], recaptures[:3, :3]) == []
    assert find_regimes(sizes, np.full((12, 12), np.nan)) == []


@pytest.fixture(scope="module")
def published_urls(shared_data):
    """Labels, and U(i..j) of the windows of 1 to 12 crawls that Common Crawl publishes, 2020-2025."""
    table = pd.read_csv(shared_data / "common_crawl_statistics" / "url_last_n_crawls.csv", index_col="crawl")
    table = table.loc["CC-MAIN-2020-05":"CC-MAIN-2025-51"]
    unions = np.full((51, 51), np.nan)
    for length, column in table.items():
        ends = np.arange(int(length) - 1, 51)
        unions[ends - int(length) + 1, ends] = column.to_numpy()[ends]
    return list(table.index), unions


def largest_miss(fit):
    return abs(fit.fitted - fit.observed).max()


def test_published_urls_with_a_delay_of_one_round(published_urls):
    _, unions = published_urls
    start, end = np.nonzero(np.triu(np.isfinite(unions), k=1))
    t, ratio, _ = mean_by(end - start, unions[start, end] / unions[start, start])
    fit = fit_revisit_delay(t, ratio, delay=1)
    assert largest_miss(fit) < 0.015
    assert fit.status == "ok"
    assert largest_miss(fit_curves("core_shell", t=t, ratio=ratio)) > 0.1


def test_published_urls_to_2024_with_a_delay_of_one_round(published_urls):
    labels, unions = published_urls
    n = labels.index("CC-MAIN-2024-51") + 1
    unions = unions[:n, :n]
    start, end = np.nonzero(np.triu(np.isfinite(unions), k=1))
    sizes = np.diagonal(unions)
    mean_size = [sizes[i : j + 1].mean() for i, j in zip(start, end, strict=True)]
    fit = fit_revisit_delay(*mean_by(end - start, unions[start, end] / mean_size)[:2], delay=1)
    assert largest_miss(fit) < 0.005
    found = (fit.urn.alpha, fit.urn.coverage, fit.urn.revisit_coverage)
    assert found == pytest.approx((0.86, 0.27, 0.035), abs=0.005)


def test_published_urls_have_a_delay_of_two_rounds_since_2024(published_urls):
    labels, unions = published_urls
    before, after = find_regimes(np.diagonal(unions), recaptures_from_unions(unions))
    assert (before.delay, after.delay) == (1, 2)
    # Elements of the start crawl return in the crawls after it, which are of 2024.
    assert labels[after.first + 1] == "CC-MAIN-2024-10"
    assert after.p_value <= 0.01
    assert before.fraction[1] == pytest.approx(0.24, abs=0.01)
    assert after.fraction[1] < 0.03
    assert after.fraction[2] == pytest.approx(0.154, abs=0.005)
    since = unions[after.first + 2 :, after.first + 2 :]
    start, end = np.nonzero(np.triu(np.isfinite(since), k=1))
    curve = mean_by(end - start, since[start, end] / since[start, start])[:2]
    assert largest_miss(fit_revisit_delay(*curve, delay=2)) < 0.025
    assert largest_miss(fit_revisit_delay(*curve, delay=1)) > 0.1
