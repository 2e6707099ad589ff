"""Closed forms of every crawl: against the maximum likelihood, in simulation, and where they are not identified."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import ReasonCode, simulate
from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.jolly_seber import jolly_seber
from crawl_urn_dagster.urn.capture_recapture.recaptures import recapture_counts
from crawl_urn_dagster_tests.urn.capture_recapture.m_arrays import ends, having, histories, in_order, m_array


def test_reasons_where_closed_forms_are_not_identified(all_dippers):
    closed = jolly_seber(*all_dippers)
    known = {
        name: np.isfinite(getattr(closed, name).se).tolist()
        for name in ("alpha", "coverage", "marked", "population", "births")
    }
    assert known["alpha"] == [True] * 5 + [False] * 2
    assert known["coverage"] == known["marked"] == known["population"] == [False] + [True] * 5 + [False]
    assert known["births"] == [False] + [True] * 4 + [False] * 2
    for name, is_known in known.items():
        assert [reason is None for reason in getattr(closed, name).reason] == is_known


def test_standard_errors_match_repeated_urns():
    shell, alpha, repeats = 3_000, 0.8, 400
    found = [
        jolly_seber(
            *m_array(simulate(times=np.arange(6), core=0, shell=shell, alpha=alpha, coverage=0.4, seed=s).counts())
        )
        for s in range(repeats)
    ]
    # Births are binomial, and the standard error refers to the births that happened, not to their expectation.
    happened = {"births": shell * alpha * (1 - alpha)}
    truth = {"alpha": alpha, "coverage": 0.4, "population": shell, "births": shell * (1 - alpha)}
    for name, expected in truth.items():
        crawls = slice(1, 4)
        estimates = np.array([getattr(urn, name).estimate[crawls] for urn in found])
        errors = np.array([getattr(urn, name).se[crawls] for urn in found])
        stated = np.sqrt((errors**2).mean(axis=0) + happened.get(name, 0))
        spread = np.sqrt(((estimates - expected) ** 2).mean(axis=0))
        # A standard deviation of n normals has relative standard error 1/sqrt(2 n).
        assert spread == pytest.approx(stated, rel=4 / np.sqrt(2 * repeats))


def test_se_of_births_in_the_notation_of_pollock(all_dippers):
    # Equation 4.14 in M, N and B. Two of its terms are too small for simulated urns to test them.
    closed, counts = jolly_seber(*all_dippers), recapture_counts(*all_dippers)
    for i in range(1, 5):
        j = i + 1
        marked, population, births = closed.marked.estimate, closed.population.estimate, closed.births.estimate[i]
        phi = closed.alpha.estimate[i]
        n, _, r, m, _ = counts
        variance = (
            births**2 * (marked[j] - m[j]) * (marked[j] - m[j] + n[j]) / marked[j] ** 2 * (1 / r[j] - 1 / n[j])
            + (marked[i] - m[i])
            / (marked[i] - m[i] + n[i])
            * (phi * n[i] * (population[i] - marked[i]) / marked[i]) ** 2
            * (1 / r[i] - 1 / n[i])
            + (population[i] - n[i])
            * (population[j] - births)
            * (population[i] - marked[i])
            * (1 - phi)
            / (population[i] * (marked[i] - m[i] + n[i]))
            + (population[j] - n[j]) * (population[j] - marked[j]) / m[j]
            + phi**2 * (population[i] - n[i]) * (population[i] - marked[i]) / m[i]
        )
        assert closed.births.se[i] == pytest.approx(np.sqrt(variance))


def test_intervals_contain_the_true_value_at_their_level():
    repeats, inside = 400, 0
    for seed in range(repeats):
        counts = simulate(times=np.arange(6), core=0, shell=500, alpha=0.8, coverage=0.4, seed=seed).counts()
        closed = jolly_seber(*m_array(counts))
        inside += closed.population.low[2] <= 500 <= closed.population.high[2]
    assert inside / repeats == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / repeats))


def test_closed_forms_of_dippers_are_the_maximum_likelihood(all_dippers, dipper_reference):
    closed = jolly_seber(*all_dippers)
    found = fit_cormack_jolly_seber(*all_dippers, survival="crawl", coverage="crawl")
    maxima = (in_order(found), in_order(found, "standard_errors"), *ends(found))
    for field, maximum in zip(("estimate", "se", "low", "high"), maxima, strict=True):
        alpha, coverage = (having(found, name, maximum)[:-1] for name in ("alpha", "coverage"))
        assert getattr(closed.alpha, field)[:5] == pytest.approx(alpha, rel=1e-6)
        assert getattr(closed.coverage, field)[1:6] == pytest.approx(coverage, rel=1e-6)
    assert closed.last_product == pytest.approx(dipper_reference["phi(t)p(t)"]["phi6*p7"], abs=5.1e-6)
    released = dipper_reference["m_array"][-1][0]
    variance = closed.last_product * (1 - closed.last_product) / released
    assert closed.last_product_se == pytest.approx(np.sqrt(variance))


def test_survival_above_one_is_at_bound():
    counts = simulate(times=np.arange(6), core=0, shell=60, alpha=0.97, coverage=0.3, seed=3).counts()
    closed, found = (
        jolly_seber(*m_array(counts)),
        fit_cormack_jolly_seber(*m_array(counts), survival="crawl", coverage="crawl"),
    )
    beyond = [crawl for crawl, reason in enumerate(closed.alpha.reason) if reason and "1 or more" in reason]
    assert beyond
    assert found.status == "at_bound"
    assert ReasonCode.AT_BOUND_WITHOUT_ERROR in found.reason_codes
    for crawl in beyond:
        assert f"alpha_{crawl} at 1" in found.reason
        assert closed.alpha.estimate[crawl] == found.estimates[f"alpha_{crawl}"] == 1
        assert np.isnan(closed.alpha.se[crawl])
        assert f"alpha_{crawl}" not in found.details.standard_errors


def test_varying_urn_of_many_crawls_is_recovered():
    rng = np.random.default_rng(8)
    times, coverage = np.cumsum(rng.uniform(0.06, 0.3, 51)), rng.uniform(0.2, 0.6, 51)
    alpha = rng.uniform(0.3, 0.7, 50)
    counts = simulate(times=times, core=0, shell=100_000, alpha=alpha, coverage=coverage, seed=1).counts()
    closed = jolly_seber(*m_array(counts), times)
    found = fit_cormack_jolly_seber(*m_array(counts), times=times, survival="crawl", coverage="crawl")
    np.testing.assert_allclose(
        np.minimum(closed.alpha.estimate[:49], 1), having(found, "alpha", in_order(found))[:-1], rtol=1e-5
    )
    for truth, series in [
        (np.append(alpha, 0), closed.alpha),
        (coverage, closed.coverage),
        (100_000, closed.population),
    ]:
        z = (series.estimate - truth) / series.se
        z = z[np.isfinite(z)]
        assert z.size >= 48
        assert abs(z).max() < 4
        # Mean square of 49 standard normals that are nearly independent: 1, with standard deviation 0.2.
        assert np.mean(z**2) == pytest.approx(1, abs=0.8)


def test_crawl_whose_elements_never_return_has_a_reason():
    closed = jolly_seber(*histories("1101 40", "1001 10", "0010 25", "1100 10"))
    assert closed.coverage.reason[2] == "No element of crawl 2 was captured again."
    assert np.isnan(closed.alpha.estimate[1])
