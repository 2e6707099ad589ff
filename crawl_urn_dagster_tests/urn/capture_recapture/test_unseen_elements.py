"""Elements that were never captured: published estimates, and the stated biases in an urn."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import Urn, simulate
from crawl_urn_dagster.urn.capture_recapture.unseen_elements import chao1, chao2, good_turing


@pytest.mark.parametrize("site", ["Girdled", "Logged"])
def test_published_richness(shared_data, reference, site):
    published = reference["chao1_spider"][site]
    abundances = np.loadtxt(shared_data / "capture_recapture" / f"iNEXT_spider_{site}.csv", skiprows=1, dtype=int)
    frequencies = np.bincount(abundances)
    found = chao1(frequencies)
    assert found.estimate == pytest.approx(published["chao1"], abs=5e-4)
    assert found.se == pytest.approx(published["se"], abs=5e-4)
    assert published["S"] < found.low < found.estimate < found.high
    coverage, new = good_turing(frequencies)
    assert coverage.estimate == pytest.approx(published["coverage"], abs=5e-5)
    assert new.estimate == pytest.approx(1 - coverage.estimate)
    assert (1 - new.high, 1 - new.low) == pytest.approx((coverage.low, coverage.high))


@pytest.mark.parametrize("coverage", [0.3, 0.7])
def test_chao_gives_the_stated_multiple_of_the_unseen(coverage):
    shell, n_crawls, urn = 400, 2_000, Urn(0.9, coverage)
    counts = simulate(times=np.arange(n_crawls), core=0, shell=shell, alpha=0.9, coverage=coverage, seed=7).counts()
    frequencies, distinct = counts.capture_frequencies(), counts.distinct_elements
    replaced = shell * (n_crawls - 1) * 0.1
    truth = shell + replaced - distinct
    factor = 1 / (2 * urn.fates().missed)
    for found in (chao1(frequencies), chao2(frequencies, n_crawls)):
        ratio = (found.estimate - distinct) / truth
        # Relative variances of the estimate and of the true number; the ends of the window contribute 1/(W (1-α)).
        error = np.sqrt(found.se**2 / (found.estimate - distinct) ** 2 + replaced * 0.9 / truth**2)
        assert ratio == pytest.approx(factor, rel=4 * error + 1 / (n_crawls * 0.1))
        # The estimate is not a lower bound if α c̄ < 1/2.
        assert (found.low > distinct + truth) == (urn.fates().missed < 0.5)


def test_good_turing_predicts_too_few_new_elements():
    counts = simulate(times=np.arange(1_000), core=0, shell=400, alpha=0.9, coverage=0.3, seed=7).counts()
    _, new = good_turing(counts.capture_frequencies())
    nu_inf = Urn(0.9, 0.3).asymptote().nu_inf
    assert new.estimate == pytest.approx(nu_inf * nu_inf, abs=4 * new.se, rel=0)
    assert new.high < nu_inf


def test_coverage_se_matches_repeated_samples():
    rng, repeats = np.random.default_rng(3), 400
    chances = rng.dirichlet(np.ones(300))
    differences, errors = [], []
    for _ in range(repeats):
        captures = rng.multinomial(500, chances)
        found, _ = good_turing(np.bincount(captures))
        differences.append(found.estimate - chances[captures > 0].sum())
        errors.append(found.se)
    # Esty's variance refers to the difference from the coverage of the given sample.
    spread, stated = np.sqrt(np.mean(np.square(differences))), np.sqrt(np.mean(np.square(errors)))
    assert spread == pytest.approx(stated, rel=4 / np.sqrt(2 * repeats))


def test_chao1_without_elements_captured_twice():
    # f_1 = 5 and n = 14: by hand, 13/14 · 5 · 4/2 unseen.
    found = chao1([0, 5, 0, 3])
    unseen = 13 / 14 * 10
    assert found.estimate == pytest.approx(8 + unseen)
    variance = unseen + (13 / 14) ** 2 * (5 * 81 / 4 - 5**4 / (4 * (8 + unseen)))
    assert found.se == pytest.approx(np.sqrt(variance))
    assert (
        chao1([0, 0, 4]).reason
        == "With f_1 = 0 and f_2 = 4, the estimate of elements not captured is 0, without an error."
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chao1([0, 3, -2]), "f_2 is -2"),
        (lambda: chao2([0, -3], 4), "f_1 is -3"),
    ],
)
def test_impossible_counts_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
