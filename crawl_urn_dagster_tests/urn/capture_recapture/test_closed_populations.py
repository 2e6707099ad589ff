"""Comparators: published estimates, and the biases in an urn that their texts state."""

import json

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts, Urn, simulate
from crawl_urn_dagster.urn.capture_recapture.closed_populations import chapman, petersen, schnabel, schumacher_eschmeyer
from crawl_urn_dagster.urn.capture_recapture.comparators import comparators, heaps
from crawl_urn_dagster.urn.capture_recapture.unseen_elements import chao1, chao2, good_turing


@pytest.fixture(scope="module")
def reference(shared_reference):
    return json.loads((shared_reference / "capture_recapture.json").read_text())


def test_published_petersen_and_chapman(reference):
    published = reference["petersen"]
    counts = (published["M"], published["C"], published["R"])
    assert round(petersen(*counts).estimate) == published["petersen"]
    assert petersen(*counts).se == pytest.approx(130.4, abs=0.05)
    assert round(chapman(*counts).estimate) == published["chapman"]
    for more in reference["chapman_more"]:
        found = chapman(more["M"], more["n"], more["m"])
        assert round(found.estimate) == more["N"]
        if "CI" in more:
            assert [round(found.low), round(found.high)] == more["CI"]
        if "SE" in more:
            assert round(found.se) == more["SE"]


def test_published_multiple_censuses(shared_data, reference):
    published = reference["schnabel_sunfish"]
    table = np.loadtxt(shared_data / "capture_recapture" / "sunfish.csv", delimiter=",", skiprows=1)
    caught, recaptured, marked = table[:, 0], table[:, 1], table[:, 3]
    assert schnabel(caught, recaptured, marked).estimate == published["schnabel"]
    found = schumacher_eschmeyer(caught, recaptured, marked)
    assert round(found.estimate) == published["schumacher_eschmeyer"]
    assert [round(found.low), round(found.high)] == published["SE_CI"]


def test_limits_of_schnabel_are_those_of_a_poisson_count():
    # Of a count of 24 the exact limits are 15.38 and 35.71 in any table of the Poisson distribution.
    found = schnabel([50, 30], [0, 24], [0, 40])
    assert (30 * 40 / found.high, 30 * 40 / found.low) == pytest.approx((15.38, 35.71), abs=5e-3)


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


@pytest.mark.parametrize("lag", [1, 5, 20])
@pytest.mark.parametrize("estimator", [petersen, chapman])
@pytest.mark.parametrize("core", [0, 100_000])
def test_two_crawls_estimate_the_urn_and_its_turnover(estimator, lag, core):
    shell, alpha, coverage = 200_000, 0.9, 0.4
    urn = {"core": core, "shell": shell, "alpha": alpha, "coverage": coverage}
    shared = simulate(times=[0, lag], seed=lag, **urn).counts().intersections()
    found = estimator(int(shared[0, 0]), int(shared[1, 1]), int(shared[0, 1]))
    size = core + coverage * shell
    stated = size**2 / (core + (size - core) * coverage * alpha**lag)
    assert abs(found.estimate - stated) < 4 * found.se
    assert core or stated == pytest.approx(shell * alpha**-lag)
    assert "M²/(K + (M - K) c α^D), which is N α^(-D) without a core" in found.bias


@pytest.mark.parametrize("estimator", [schnabel, schumacher_eschmeyer])
def test_multiple_censuses_grow_with_the_crawls(estimator):
    shell, urn = 20_000, Urn(0.9, 0.3)
    counts = simulate(times=np.arange(40), core=0, shell=shell, alpha=0.9, coverage=0.3, seed=1).counts()
    sizes, distinct = np.diagonal(counts.intersections()), counts.unions()[0]
    marked = np.append(0, distinct[:-1])
    recaptured = sizes - (distinct - marked)
    estimates = [estimator(sizes[:n], recaptured[:n], marked[:n]).estimate for n in (3, 5, 10, 20, 40)]
    assert (np.diff(estimates) > 0).all()
    assert estimates[-1] > 3 * shell
    # Expectations, in units of a crawl: M_t is the discovery curve, R_t the seen fraction.
    expected_marked = np.append(0, urn.discovery_curve(np.arange(39)))
    expected = estimator(np.ones(40), np.minimum(urn.seen_fraction(np.arange(40)), expected_marked), expected_marked)
    # Recaptures are counts: their sum has at most a relative standard error of 1/sqrt(sum).
    assert estimates[-1] / (0.3 * shell) == pytest.approx(expected.estimate, rel=4 / np.sqrt(recaptured.sum()))
    assert "grows with the number of crawls" in expected.bias


@pytest.mark.parametrize("coverage", [0.3, 0.7])
def test_chao_misses_the_unseen_by_its_factor(coverage):
    shell, n_crawls, urn = 400, 2_000, Urn(0.9, coverage)
    counts = simulate(times=np.arange(n_crawls), core=0, shell=shell, alpha=0.9, coverage=coverage, seed=7).counts()
    frequencies, distinct = counts.capture_frequencies(), counts.distinct_elements
    replaced = shell * (n_crawls - 1) * 0.1
    truth = shell + replaced - distinct
    factor = 1 / (2 * urn.fates().missed)
    for found in (chao1(frequencies), chao2(frequencies, n_crawls)):
        ratio = (found.estimate - distinct) / truth
        # Relative variances of the estimate and of the number that lived; the ends of the window are 1/(W (1-α)).
        error = np.sqrt(found.se**2 / (found.estimate - distinct) ** 2 + replaced * 0.9 / truth**2)
        assert ratio == pytest.approx(factor, rel=4 * error + 1 / (n_crawls * 0.1))
        # No lower bound where α c̄ < 1/2.
        assert (found.low > distinct + truth) == (urn.fates().missed < 0.5)


def test_good_turing_predicts_too_few_new_elements():
    counts = simulate(times=np.arange(1_000), core=0, shell=400, alpha=0.9, coverage=0.3, seed=7).counts()
    _, new = good_turing(counts.capture_frequencies())
    nu_inf = Urn(0.9, 0.3).asymptote().nu_inf
    assert new.estimate == pytest.approx(nu_inf * nu_inf, abs=4 * new.se, rel=0)
    assert new.high < nu_inf


def test_standard_error_of_coverage_is_that_of_repeated_samples():
    rng, repeats = np.random.default_rng(3), 400
    chances = rng.dirichlet(np.ones(300))
    differences, errors = [], []
    for _ in range(repeats):
        captures = rng.multinomial(500, chances)
        found, _ = good_turing(np.bincount(captures))
        differences.append(found.estimate - chances[captures > 0].sum())
        errors.append(found.se)
    # Esty's variance is of the difference from the coverage of the sample at hand.
    spread, stated = np.sqrt(np.mean(np.square(differences))), np.sqrt(np.mean(np.square(errors)))
    assert spread == pytest.approx(stated, rel=4 / np.sqrt(2 * repeats))


def test_heaps_exponent_of_an_urn_tends_to_one():
    urn = Urn(0.9, 0.3)
    exponents = [heaps(t := np.arange(n, 2 * n + 1), urn.discovery_curve(t - 1)).estimate for n in (2, 20, 200, 20_000)]
    assert (np.diff(exponents) > 0).all()
    # U is ν∞ T + I - ν∞: the exponent is 1 less what the constant is of it.
    end = urn.asymptote()
    assert exponents[0] < 0.8
    assert 0 < 1 - exponents[-1] < (end.intercept - end.nu_inf) / (end.nu_inf * 20_000)


def test_heaps_recovers_a_power():
    crawls = np.arange(1, 30)
    assert heaps(crawls, 1_000 * crawls**0.6).estimate == pytest.approx(0.6)


def test_all_comparators_of_histories():
    counts = simulate(times=np.arange(12), core=0, shell=5_000, alpha=0.9, coverage=0.4, seed=1).counts()
    found = {row.name: row for row in comparators(counts)}
    assert list(found) == [
        "petersen_lag_1",
        "petersen_lag_11",
        "chapman_lag_1",
        "chapman_lag_11",
        "schnabel",
        "schumacher_eschmeyer",
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
    # Schnabel's by hand: whether an element of a history had been captured before a crawl.
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
        # The 2,000 elements of a crawl have a relative standard error below 1/sqrt(2000), and unions less.
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


def test_no_element_captured_twice():
    counts = CaptureHistoryCounts(np.eye(4, dtype=bool), np.array([5, 4, 3, 2]))
    found = {row.name: row for row in comparators(counts)}
    assert found["petersen_lag_1"].reason == "No element is in both crawls."
    assert found["schnabel"].reason == found["schumacher_eschmeyer"].reason == "No element was captured twice."
    # Chapman's estimate is finite still, and its lower limit no less than the elements known to exist.
    assert found["chapman_lag_1"].estimate == 11
    assert found["chapman_lag_1"].low == 5
    assert found["good_turing_new_fraction"].reason == "14 of 14 captures are of elements captured only once."


def test_unseen_without_elements_captured_twice():
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
        (lambda: petersen(5, 6, 7), "crawls of 5 and 6 elements share 7"),
        (lambda: chapman(5, 6, -1), "crawls of 5 and 6 elements share -1"),
        (lambda: schnabel([5, 5], [0, 6], [0, 5]), "crawl 1 recaptured 6 elements of 5 caught and 5 marked"),
        (lambda: schumacher_eschmeyer([5, 5], [0, 1], [0]), r"shapes \(2,\), \(2,\) and \(1,\)"),
        (lambda: chao1([0, 3, -2]), "f_2 is -2"),
        (lambda: chao2([0, -3], 4), "f_1 is -3"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
