"""Abundance of closed populations: published estimates, and the stated biases in an urn."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import Urn, simulate
from crawl_urn_dagster.urn.capture_recapture.closed_populations import chapman, petersen, schnabel, schumacher_eschmeyer


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


def test_schnabel_interval_is_poisson():
    # Tables of the Poisson distribution give the exact interval 15.38 to 35.71 for a count of 24.
    found = schnabel([50, 30], [0, 24], [0, 40])
    assert (30 * 40 / found.high, 30 * 40 / found.low) == pytest.approx((15.38, 35.71), abs=5e-3)


@pytest.mark.parametrize("lag", [1, 5, 20])
@pytest.mark.parametrize("estimator", [petersen, chapman])
@pytest.mark.parametrize("core", [0, 100_000])
def test_two_crawls_give_the_stated_bias_by_lag(estimator, lag, core):
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
def test_multiple_censuses_grow_with_the_number_of_crawls(estimator):
    shell, urn = 20_000, Urn(0.9, 0.3)
    counts = simulate(times=np.arange(40), core=0, shell=shell, alpha=0.9, coverage=0.3, seed=1).counts()
    sizes, distinct = np.diagonal(counts.intersections()), counts.unions()[0]
    marked = np.append(0, distinct[:-1])
    recaptured = sizes - (distinct - marked)
    estimates = [estimator(sizes[:n], recaptured[:n], marked[:n]).estimate for n in (3, 5, 10, 20, 40)]
    assert (np.diff(estimates) > 0).all()
    assert estimates[-1] > 3 * shell
    # Expectations in crawl sizes: M_t is the discovery curve, R_t the seen fraction.
    expected_marked = np.append(0, urn.discovery_curve(np.arange(39)))
    expected = estimator(np.ones(40), np.minimum(urn.seen_fraction(np.arange(40)), expected_marked), expected_marked)
    # Recaptures are counts: their sum has at most a relative standard error of 1/sqrt(sum).
    assert estimates[-1] / (0.3 * shell) == pytest.approx(expected.estimate, rel=4 / np.sqrt(recaptured.sum()))
    assert "grows with the number of crawls" in expected.bias


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: petersen(5, 6, 7), "crawls of 5 and 6 elements share 7"),
        (lambda: chapman(5, 6, -1), "crawls of 5 and 6 elements share -1"),
        (lambda: schnabel([5, 5], [0, 6], [0, 5]), "crawl 1 recaptured 6 elements of 5 caught and 5 marked"),
        (lambda: schumacher_eschmeyer([5, 5], [0, 1], [0]), r"shapes \(2,\), \(2,\) and \(1,\)"),
    ],
)
def test_impossible_counts_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
