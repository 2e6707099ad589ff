"""First returns and the violation rule: on urns, and on a crawler that avoids recent fetches."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts, apply_violation_rule, first_returns, simulate


def test_first_returns_by_hand():
    recaptures = [[0, 4, 2, 1], [0, 0, 6, np.nan], [0, 0, 0, 5], [0, 0, 0, 0]]
    returns = first_returns([10, 20, 10, 10], recaptures)
    assert returns.lag.tolist() == [1, 2, 3]
    assert returns.fraction == pytest.approx([(0.4 + 0.3 + 0.5) / 3, 0.2, 0.1])
    assert np.isnan(returns.fraction_se).all()
    assert returns.n_starts.tolist() == [3, 1, 1]


def test_unknown_lags_and_empty_crawls_are_left_out():
    recaptures = np.full((4, 4), np.nan)
    recaptures[[0, 1, 2], [1, 2, 3]] = [4, 0, 5]
    returns = first_returns([10, 0, 10, 10], recaptures)
    assert returns.lag.tolist() == [1]
    assert returns.fraction == pytest.approx([0.45])
    assert returns.n_starts.tolist() == [2]


def test_first_returns_of_an_urn_match_the_model():
    alpha, coverage = 0.8, 0.3
    histories = simulate(times=np.arange(41), core=0, shell=50_000, alpha=alpha, coverage=coverage, seed=8).counts()
    sizes, recaptures = np.diagonal(histories.intersections()), histories.recaptures()
    returns = first_returns(sizes, recaptures)
    lag = np.arange(1, 9)
    expected = alpha**lag * coverage * (1 - coverage) ** (lag - 1)
    z = (returns.fraction[:8] - expected) / returns.fraction_se[:8]
    assert abs(z).max() < 4
    assert returns.n_starts[:8].tolist() == (41 - lag).tolist()
    assert apply_violation_rule("first_returns", sizes, recaptures).violated is False
    assert apply_violation_rule("containment", sizes, histories.intersections()).violated is False


def avoiding_crawler(crawls, elements, coverage, coverage_of_recent, seed):
    """Return the counts of a permanent urn whose elements are fetched less often just after a fetch."""
    rng = np.random.default_rng(seed)
    seen = np.zeros((elements, crawls), dtype=bool)
    for crawl in range(crawls):
        recent = seen[:, crawl - 1] if crawl else np.zeros(elements, dtype=bool)
        seen[:, crawl] = rng.random(elements) < np.where(recent, coverage_of_recent, coverage)
    distinct, counts = np.unique(seen, axis=0, return_counts=True)
    return CaptureHistoryCounts(distinct, counts)


def test_revisit_delay_violates_both_rules():
    counts = avoiding_crawler(crawls=20, elements=20_000, coverage=0.3, coverage_of_recent=0.02, seed=9)
    sizes = np.diagonal(counts.intersections())
    returns = apply_violation_rule("first_returns", sizes, counts.recaptures())
    shares = apply_violation_rule("containment", sizes, counts.intersections())
    assert returns.violated is True
    assert shares.violated is True
    # h(1) = c1 and h(2) = (1 - c1) c, which containment at lag 2 equals except for c1².
    assert returns.difference == pytest.approx(0.98 * 0.3 - 0.02, abs=4 * returns.se)
    assert shares.difference == pytest.approx(0.98 * 0.3 + 0.02**2 - 0.02, abs=4 * shares.se)
    assert returns.reason.startswith(
        f"Elements first return more often after 2 crawls than after 1 (difference {returns.difference:.3f} ± "
        f"{returns.se:.3f}; allowed: 0.02 and 3 standard errors)"
    )
    assert "an urn with constant coverage does not fit" in returns.reason


def rising_by(rises):
    """Return sizes and intersections with given g(2) - g(1) of each start crawl."""
    n = len(rises) + 2
    shared = np.full((n, n), np.nan)
    index = np.arange(n - 1)
    shared[index, index + 1] = 30
    shared[index[:-1], index[:-1] + 2] = 30 + 100 * np.asarray(rises)
    return np.full(n, 100), shared


@pytest.mark.parametrize(
    ("rises", "violated"),
    [
        ([0.05] * 8, True),
        ([0.015] * 8, False),  # below the threshold, however certain
        ([0.2] * 4 + [-0.1] * 4, False),  # 0.05 ± 0.15
        ([-0.2] * 8, False),
        ([0.05] * 7, None),  # one block
        ([0.05] * 7 + [np.nan], None),
    ],
)
def test_rule_needs_the_threshold_and_three_standard_errors(rises, violated):
    verdict = apply_violation_rule("containment", *rising_by(rises))
    assert verdict.violated is violated
    assert verdict.difference == pytest.approx(np.nanmean(rises))
    assert np.isnan(verdict.se) == (violated is None)
    if violated is None:
        assert verdict.reason == (
            "7 start crawls have values at lags 1 and 2; the violation test needs 8, so at least 10 crawls."
        )
    elif not violated:
        assert "do not return more often" in verdict.reason
