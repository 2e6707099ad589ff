"""Models of closed populations: published estimates, simulation, and where there is no maximum."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.capture_recapture.closed_models import m0, mb, mh_darroch, mh_poisson2, mt
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

# Snowshoe hares of Cormack (1989), as `descriptive` of Rcapture prints them: numbers captured k times, new at each
# occasion and captured at each occasion. Estimates and standard errors as printed by its `closedp`.
HARES = [0, 25, 22, 13, 5, 1, 2]
NEW_HARES = [16, 24, 9, 9, 6, 4]
HARES_BY_OCCASION = [16, 28, 20, 26, 23, 32]
# Seber (1982, p. 107), also as `closedp` prints it: 781 captured by the first occasion only, 254 by the second, 167 by
# both.
TWO_OCCASIONS = [0, 1035, 167]
PUBLISHED = [
    ("hares, M0", lambda: m0(HARES), 75.4, 3.5),
    ("hares, Mt", lambda: mt(HARES_BY_OCCASION, 68), 75.1, 3.4),
    ("hares, Mh Poisson2", lambda: mh_poisson2(HARES), 81.5, 5.7),
    ("hares, Mh Darroch", lambda: mh_darroch(HARES), 90.4, 11.6),
    ("hares, Mb", lambda: mb(NEW_HARES), 81.1, 8.3),
    ("two occasions, M0", lambda: m0(TWO_OCCASIONS), 2805.6, 164.1),
    ("two occasions, Mt", lambda: mt([948, 421], 1202), 2389.9, 130.4),
    ("two occasions, Mb", lambda: mb([948, 254]), 1295.0, 17.3),
]
# Birds on 11 visits: numbers of sites by number of detections, and p of M0 as Royle (2006, table 2) prints it.
SITES = [
    ([9, 11, 6, 5, 2], 0.199),
    ([6, 7, 5, 3, 1, 4, 5, 3, 2], 0.385),
    ([5, 1, 5, 1, 5, 3, 1, 3, 1, 0, 1], 0.419),
    ([7, 8, 1, 3, 3, 1, 2, 3, 0, 1], 0.331),
]


@pytest.mark.parametrize(("estimate", "abundance", "se"), [row[1:] for row in PUBLISHED], ids=[r[0] for r in PUBLISHED])
def test_published_abundances_and_errors(estimate, abundance, se):
    found = estimate()
    assert found.estimate == pytest.approx(abundance, abs=0.051)
    assert found.se == pytest.approx(se, abs=0.051)
    assert found.low < found.estimate < found.high
    assert found.reason is None


def test_interval_is_log_normal_in_the_hares_not_captured():
    found = m0(HARES)
    unseen = found.estimate - 68
    spread = np.exp(NORMAL_QUANTILE * np.sqrt(np.log(1 + (found.se / unseen) ** 2)))
    assert [found.low, found.high] == pytest.approx([68 + unseen / spread, 68 + unseen * spread])


@pytest.mark.parametrize(("sites", "p"), SITES)
def test_published_capture_probability_of_m0(sites, p):
    frequencies = np.zeros(12)
    frequencies[1 : len(sites) + 1] = sites
    captures = frequencies @ np.arange(12)
    assert captures / (11 * m0(frequencies).estimate) == pytest.approx(p, abs=5.1e-4)


def test_equal_numbers_of_captures_identify_one_probability():
    # 100 elements captured twice by 4 crawls: p = 200/(4 N), and 1 - (1 - p)^4 of N is 100.
    found = m0([0, 0, 100, 0, 0])
    assert found.estimate * (1 - (1 - 50 / found.estimate) ** 4) == pytest.approx(100)


def test_almost_certain_capture_leaves_almost_no_element():
    frequencies = np.zeros(114)
    frequencies[112] = 1
    found = m0(frequencies)
    # An element is missed by all 113 crawls with probability 113^-113, whose square is 0 in double precision.
    assert (found.estimate, found.low) == (1, 1)
    assert found.se == pytest.approx(113 ** (-113 / 2), rel=1e-6)
    frequencies[[100, 111, 113]] = [1, 40, 5]
    assert (mh_darroch(frequencies).reason is None) == bool(mh_darroch(frequencies).se > 0)


def test_reference_of_two_occasions(reference):
    known = reference["petersen"]
    found = mt([known["M"], known["C"]], known["M"] + known["C"] - known["R"])
    assert round(found.estimate) == known["petersen"]


def simulated(rng, logit_p, *, after_capture=None):
    """Return captures of 2,000 elements by 8 crawls; a capture may change the probability."""
    seen = np.zeros((2_000, 8), dtype=bool)
    for crawl in range(8):
        p = 1 / (1 + np.exp(-np.broadcast_to(logit_p[..., crawl : crawl + 1], (2_000, 1))[:, 0]))
        if after_capture is not None:
            p = np.where(seen.any(axis=1), after_capture, p)
        seen[:, crawl] = rng.random(2_000) < p
    return seen


def frequencies_of(seen):
    return np.bincount(seen.sum(axis=1), minlength=9)


@pytest.mark.parametrize("model", ["m0", "mt", "mb"])
def test_estimates_and_errors_match_repeated_populations(model):
    rng, found = np.random.default_rng(5), []
    for _ in range(200):
        if model == "m0":
            found.append(m0(frequencies_of(simulated(rng, np.full((1, 8), -1.4)))))
        elif model == "mt":
            seen = simulated(rng, np.linspace(-2.5, -0.5, 8)[None])
            found.append(mt(seen.sum(axis=0), seen.any(axis=1).sum()))
        else:
            seen = simulated(rng, np.full((1, 8), -1.4), after_capture=0.1)
            found.append(mb((seen & (seen.cumsum(axis=1) == 1)).sum(axis=0)))
    estimates, errors = np.array([(row.estimate, row.se) for row in found]).T
    # A standard deviation of 200 normals has a relative standard error of 1/sqrt(400).
    assert estimates.std() == pytest.approx(np.sqrt((errors**2).mean()), rel=4 / np.sqrt(400))
    assert estimates.mean() == pytest.approx(2_000, abs=4 * estimates.std() / np.sqrt(200) + 5)


@pytest.mark.parametrize("estimator", [m0, mh_poisson2, mh_darroch])
def test_expected_frequencies_give_the_population(estimator):
    k = np.arange(9)
    choices = np.array([1, 8, 28, 56, 70, 56, 28, 8, 1])
    expected = 1e6 * choices * 0.2**k * 0.8 ** (8 - k)
    assert estimator(expected).estimate == pytest.approx(1e6, rel=1e-6)


@pytest.mark.parametrize("n_crawls", [40, 130])
def test_many_crawls_and_elements(n_crawls):
    k = np.arange(n_crawls + 1)
    rng = np.random.default_rng(1)
    frequencies = np.bincount(rng.binomial(n_crawls, 0.1, 10**6), minlength=k.size)
    for found in (m0(frequencies), mh_darroch(frequencies), mh_poisson2(frequencies)):
        assert np.isnan(found.estimate) == (found.reason is not None)
    captured = frequencies[1:].sum()
    assert m0(frequencies).estimate == pytest.approx(10**6, abs=4 * m0(frequencies).se + 1)
    assert mh_darroch(frequencies).estimate >= captured


@pytest.mark.parametrize(
    ("found", "estimate", "reason"),
    [
        (m0([0, 5, 0]), np.nan, "No element was captured twice."),
        (m0([0, 0, 0, 5]), 5, "Every crawl captured every element"),
        (m0([0, 0]), np.nan, "No element was captured twice."),
        (mh_darroch([0, 5, 3, 0]), np.nan, "too little to identify heterogeneity"),
        (mh_poisson2([0, 5, 0, 0, 2]), np.nan, "too little to identify heterogeneity"),
        (mt([3, 2], 5), np.nan, "No element was captured twice."),
        (mt([5, 2], 5), 5, "A crawl captured every element"),
        (mt([9] * 40, 10), 10, "likely to have captured every element"),
        (mt([0, 0], 0), np.nan, "No element was captured twice."),
        (mb([5, 5]), np.nan, "does not fall"),
        (mb([5, 0, 0]), 5, "No crawl but the first"),
        (mb([0, 0]), np.nan, "does not fall"),
        (mb([7]), 7, "No crawl but the first"),
    ],
)
def test_without_a_maximum_there_is_a_reason(found, estimate, reason):
    assert found.estimate == pytest.approx(estimate, nan_ok=True)
    assert np.isnan([found.se, found.low, found.high]).all()
    assert reason in found.reason


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        (lambda: m0([0, -1, 2]), "f_1 is -1"),
        (lambda: mt([5, -1], 5), "captured is 5"),
        (lambda: mt([5, 3], 4), "captured is 4 and sizes are 0 to 5, in all 8"),
        (lambda: mt([5, 3], 9), "captured is 9"),
        (lambda: mb([5, -1]), "crawl 1 has -1 new elements"),
    ],
)
def test_impossible_counts_are_refused(estimate, message):
    with pytest.raises(ValueError, match=message):
        estimate()
