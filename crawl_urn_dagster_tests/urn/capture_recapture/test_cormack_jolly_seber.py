"""The Cormack-Jolly-Seber model: published estimates, an independent likelihood, simulation, what is not identified.

Recaptures of a released cohort are multinomial: a second likelihood is written here from the cells of the m-array,
where the module's own is in sums over them.
"""

import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from crawl_urn_dagster.urn import CaptureHistoryCounts, simulate
from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.jolly_seber import jolly_seber
from crawl_urn_dagster.urn.capture_recapture.recaptures import (
    never_seen_again,
    never_seen_again_gradient,
    recapture_counts,
)
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

UNEVEN = np.array([0.0, 0.1, 0.35, 0.4, 1.0, 1.2, 1.25, 2.0])


def m_array(counts):
    return np.diagonal(counts.intersections()), counts.recaptures()


def by_name(estimates, prefix, field="values"):
    return np.array(
        [value for name, value in zip(estimates.names, getattr(estimates, field), strict=True) if prefix in name]
    )


def minus_two_log_likelihood(sizes, recaptures, phi, p):
    """-2 ln L cell by cell; phi of every gap, and p of the crawl that ends it."""
    total = 0.0
    for i in range(len(phi)):
        reached = np.cumprod(phi[i:]) * np.cumprod(np.append(1, 1 - p[i:-1])) * p[i:]
        cells, seen = recaptures[i, i + 1 :], recaptures[i, i + 1 :] > 0
        never = sizes[i] - cells.sum()
        total += cells[seen] @ np.log(reached[seen]) + (never * np.log(1 - reached.sum()) if never else 0)
    return -2 * total


def errors_by_second_differences(function, values, step=1e-4):
    """Standard errors from second differences of -2 ln L."""
    steps = step * np.eye(len(values))
    curvature = [
        [
            sum(a * b * function(values + a * up + b * across) for a in (-1, 1) for b in (-1, 1)) / (4 * step**2)
            for across in steps
        ]
        for up in steps
    ]
    return np.sqrt(np.diagonal(np.linalg.inv(np.array(curvature) / 2)))


@pytest.fixture(scope="module")
def reference(shared_reference):
    return json.loads((shared_reference / "capture_recapture.json").read_text())["dipper"]


@pytest.fixture(scope="module")
def dippers(shared_data):
    """Sizes and recaptures of females and of males."""
    rows = [line.split() for line in (shared_data / "capture_recapture" / "dipper.txt").read_text().splitlines()]
    tables = []
    for sex in ("Female", "Male"):
        seen = np.array([[mark == "1" for mark in history] for history, of in rows if of == sex])
        tables.append(m_array(CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64))))
    sizes, recaptures = (np.stack(arrays) for arrays in zip(*tables, strict=True))
    return sizes, recaptures


@pytest.fixture(scope="module")
def all_dippers(dippers):
    return tuple(array.sum(axis=0) for array in dippers)


def test_m_array_of_dippers(all_dippers, reference):
    sizes, recaptures = all_dippers
    published = np.array(reference["m_array"])
    np.testing.assert_array_equal(sizes[:-1], published[:, 0])
    np.testing.assert_array_equal(recaptures[:-1, 1:], published[:, 1:])


def test_dippers_of_constant_survival_and_coverage(all_dippers, reference):
    published = reference["phi(.)p(.)"]
    found = fit_cormack_jolly_seber(*all_dippers)
    assert found.names == ("alpha", "coverage")
    assert found.values == pytest.approx([published["phi"], published["p"]], abs=5e-7)
    assert found.se == pytest.approx([published["phi_se"], published["p_se"]], abs=5e-7)
    assert found.minus_two_log_likelihood == pytest.approx(published["m2lnL"], abs=5e-5)
    # The published limits are of 1.96 standard errors.
    for which, limit in enumerate([found.low, found.high]):
        rounded = expit(logit(found.values) + 1.96 / NORMAL_QUANTILE * (logit(limit) - logit(found.values)))
        assert rounded == pytest.approx([published["phi_ci"][which], published["p_ci"][which]], abs=5e-7)
    assert (found.status, found.reason, found.n_parameters) == ("ok", None, 2)
    assert found.sample_size == sum(row[0] for row in reference["m_array"])
    assert found.aicc == pytest.approx(published["m2lnL"] + 4 + 12 / (found.sample_size - 3), abs=5e-5)


def test_dippers_of_varying_survival(all_dippers, reference):
    published = reference["phi(t)p(.)"]
    found = fit_cormack_jolly_seber(*all_dippers, survival="crawl")
    assert by_name(found, "alpha") == pytest.approx(published["phi"], abs=5.1e-5)
    assert by_name(found, "coverage") == pytest.approx([published["p"]], abs=5.1e-5)
    # The published errors are by numerical differentiation and up to one off in their last digit.
    assert found.se == pytest.approx([*published["phi_se"], published["p_se"]], abs=1e-5)
    assert found.se == pytest.approx(
        errors_by_second_differences(
            lambda values: minus_two_log_likelihood(*all_dippers, values[:6], np.full(6, values[6])), found.values
        ),
        rel=1e-5,
    )
    assert found.minus_two_log_likelihood == pytest.approx(published["m2lnL"], abs=5.1e-5)
    assert found.status == "ok"


def test_dippers_of_varying_survival_and_coverage(all_dippers, reference):
    published = reference["phi(t)p(t)"]
    found = fit_cormack_jolly_seber(*all_dippers, survival="crawl", coverage="crawl")
    assert by_name(found, "alpha")[:-1] == pytest.approx(published["phi"], abs=5.1e-5)
    assert by_name(found, "coverage")[:-1] == pytest.approx(published["p"], abs=5.1e-5)
    assert found.minus_two_log_likelihood == pytest.approx(published["m2lnL"], abs=5.1e-5)
    assert (found.status, found.n_parameters) == ("not_identified", 11)
    assert found.reason.endswith("likelihood: alpha_5, coverage_6.")
    assert np.isnan(found.values[[5, 11]]).all()
    assert np.isfinite(np.delete(found.se, [5, 11])).all()


def test_dippers_by_sex(dippers, reference):
    for survival, coverage, published in [
        ("stratum", "constant", reference["phi(sex)p(.)_m2lnL"]),
        ("stratum", "stratum", reference["phi(sex)p(sex)_m2lnL"]),
        ("crawl", "stratum", reference["phi(time)p(sex)_m2lnL"]),
    ]:
        found = fit_cormack_jolly_seber(*dippers, survival=survival, coverage=coverage)
        assert found.minus_two_log_likelihood == pytest.approx(published, abs=5.1e-5)


def test_closed_forms_of_dippers_are_the_maximum_likelihood(all_dippers, reference):
    closed = jolly_seber(*all_dippers)
    found = fit_cormack_jolly_seber(*all_dippers, survival="crawl", coverage="crawl")
    for field in ("estimate", "se", "low", "high"):
        maximum = field.replace("estimate", "values")
        assert getattr(closed.alpha, field)[:5] == pytest.approx(by_name(found, "alpha", maximum)[:-1], rel=1e-6)
        assert getattr(closed.coverage, field)[1:6] == pytest.approx(by_name(found, "coverage", maximum)[:-1], rel=1e-6)
    assert closed.last_product == pytest.approx(reference["phi(t)p(t)"]["phi6*p7"], abs=5.1e-6)
    released = reference["m_array"][-1][0]
    variance = closed.last_product * (1 - closed.last_product) / released
    assert closed.last_product_se == pytest.approx(np.sqrt(variance))


def test_what_closed_forms_do_not_identify(all_dippers):
    closed = jolly_seber(*all_dippers)
    known = {
        name: np.isfinite(getattr(closed, name).se).tolist()
        for name in ("alpha", "coverage", "marked", "population", "births")
    }
    assert known["alpha"] == [True] * 5 + [False] * 2
    assert known["coverage"] == known["marked"] == known["population"] == [False] + [True] * 5 + [False]
    assert known["births"] == [False] + [True] * 4 + [False] * 2
    for name, of_crawl in known.items():
        assert [reason is None for reason in getattr(closed, name).reason] == of_crawl


@pytest.mark.parametrize(("survival", "coverage"), [("constant", "crawl"), ("crawl", "constant"), ("crawl", "crawl")])
def test_maximum_is_that_of_an_independent_likelihood(survival, coverage):
    counts = simulate(times=UNEVEN, core=0, shell=60, alpha=0.7, coverage=0.4, seed=11).counts()
    sizes, recaptures = m_array(counts)
    gaps = np.diff(UNEVEN)

    def objective(parameters):
        return minus_two_log_likelihood(sizes, recaptures, parameters[0:7] ** gaps, parameters[7:])

    def tied(free):
        n_alpha = 7 if survival == "crawl" else 1
        return np.concatenate([np.broadcast_to(free[:n_alpha], 7), np.broadcast_to(free[n_alpha:], 7)])

    n_free = {"constant": 1, "crawl": 7}
    start = np.full(n_free[survival] + n_free[coverage], 0.5)
    independent = minimize(
        lambda free: objective(tied(free)),
        start,
        method="L-BFGS-B",
        bounds=[(1e-9, 1 - 1e-9)] * start.size,
        options={"ftol": 1e-14},
    )
    found = fit_cormack_jolly_seber(sizes, recaptures, times=UNEVEN, survival=survival, coverage=coverage)
    assert found.minus_two_log_likelihood == pytest.approx(independent.fun, abs=1e-4)
    assert found.minus_two_log_likelihood <= independent.fun + 1e-6


def test_survival_above_one_is_said_to_be_at_its_bound():
    counts = simulate(times=np.arange(6), core=0, shell=60, alpha=0.97, coverage=0.3, seed=3).counts()
    closed, found = (
        jolly_seber(*m_array(counts)),
        fit_cormack_jolly_seber(*m_array(counts), survival="crawl", coverage="crawl"),
    )
    beyond = [crawl for crawl, reason in enumerate(closed.alpha.reason) if reason and "1 or more" in reason]
    assert beyond
    assert found.status == "at_bound"
    for crawl in beyond:
        assert f"alpha_{crawl} at 1" in found.reason
        assert closed.alpha.estimate[crawl] == found.values[crawl] == 1
        assert np.isnan(closed.alpha.se[crawl])
        assert np.isnan(found.se[crawl])


def test_never_seen_again_against_all_fates():
    phi, p = np.array([0.7, 0.5, 0.9]), np.array([0.3, 0.6, 0.2])
    # It dies in the first, the second or the third gap, or lives on.
    fates = [0.3, 0.7 * 0.7 * 0.5, 0.7 * 0.7 * 0.5 * 0.4 * 0.1, 0.7 * 0.7 * 0.5 * 0.4 * 0.9 * 0.8]
    chi = never_seen_again(phi, p)
    assert chi[0] == pytest.approx(sum(fates))
    assert chi[-1] == 1


def test_gradient_against_differences():
    rng = np.random.default_rng(1)
    phi, p, weights = rng.uniform(0.1, 0.9, (2, 6)), rng.uniform(0.1, 0.9, (2, 6)), rng.uniform(0, 5, (2, 7))

    def value(phi, p):
        return (weights * np.log(never_seen_again(phi, p))).sum()

    by_phi, by_p = never_seen_again_gradient(weights, phi, p, never_seen_again(phi, p))
    for index in np.ndindex(phi.shape):
        step = np.zeros_like(phi)
        step[index] = 1e-6
        assert by_phi[index] == pytest.approx((value(phi + step, p) - value(phi - step, p)) / 2e-6, rel=1e-6, abs=1e-8)
        assert by_p[index] == pytest.approx((value(phi, p + step) - value(phi, p - step)) / 2e-6, rel=1e-6, abs=1e-8)


def test_unit_of_time_changes_survival_alone():
    sizes, recaptures = m_array(simulate(times=UNEVEN, core=0, shell=5_000, alpha=0.4, coverage=0.4, seed=5).counts())
    years = fit_cormack_jolly_seber(sizes, recaptures, times=UNEVEN)
    months = fit_cormack_jolly_seber(sizes, recaptures, times=12 * UNEVEN)
    assert months.values[0] ** 12 == pytest.approx(years.values[0], rel=1e-6)
    assert months.values[1] == pytest.approx(years.values[1], rel=1e-6)
    relative = months.se[0] / months.values[0] * 12
    assert relative == pytest.approx(years.se[0] / years.values[0], rel=1e-6)
    assert months.minus_two_log_likelihood == pytest.approx(years.minus_two_log_likelihood)


def test_constant_urn_is_recovered_with_uneven_gaps():
    urn = {"times": UNEVEN, "core": 0, "shell": 40_000, "alpha": 0.4, "coverage": 0.35}
    found = fit_cormack_jolly_seber(*m_array(simulate(**urn, seed=1).counts()), times=UNEVEN)
    assert found.status == "ok"
    assert (abs(found.values - [0.4, 0.35]) < 4 * found.se).all()
    assert (found.se < 0.01).all()


def test_varying_urn_of_many_crawls_is_recovered():
    rng = np.random.default_rng(8)
    times, coverage = np.cumsum(rng.uniform(0.06, 0.3, 51)), rng.uniform(0.2, 0.6, 51)
    alpha = rng.uniform(0.3, 0.7, 50)
    counts = simulate(times=times, core=0, shell=100_000, alpha=alpha, coverage=coverage, seed=1).counts()
    closed = jolly_seber(*m_array(counts), times)
    found = fit_cormack_jolly_seber(*m_array(counts), times=times, survival="crawl", coverage="crawl")
    np.testing.assert_allclose(np.minimum(closed.alpha.estimate[:49], 1), by_name(found, "alpha")[:-1], rtol=1e-5)
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


def test_standard_errors_are_those_of_repeated_urns():
    shell, alpha, repeats = 3_000, 0.8, 400
    found = [
        jolly_seber(
            *m_array(simulate(times=np.arange(6), core=0, shell=shell, alpha=alpha, coverage=0.4, seed=s).counts())
        )
        for s in range(repeats)
    ]
    # The births that happened are binomial; the error is told against those, not their expectation.
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


def test_standard_errors_of_births_in_the_notation_of_pollock(all_dippers):
    # Equation 4.14 in M, N and B, as a check of the rewritten one: two of its terms are too small to show in urns.
    closed, counts = jolly_seber(*all_dippers), recapture_counts(*all_dippers)
    for i in range(1, 5):
        j = i + 1
        marked, population, births = closed.marked.estimate, closed.population.estimate, closed.births.estimate[i]
        phi = closed.alpha.estimate[i]
        n, r, m, _ = counts
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


def test_limits_hold_the_truth_as_often_as_they_claim():
    repeats, inside = 400, 0
    for seed in range(repeats):
        counts = simulate(times=np.arange(6), core=0, shell=500, alpha=0.8, coverage=0.4, seed=seed).counts()
        closed = jolly_seber(*m_array(counts))
        inside += closed.population.low[2] <= 500 <= closed.population.high[2]
    assert inside / repeats == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / repeats))


def test_hundreds_of_millions_of_elements_in_120_crawls():
    rng = np.random.default_rng(2)
    gaps, coverage = rng.uniform(0.6, 2, 119), rng.uniform(0.2, 0.6, 120)
    times = np.append(0, np.cumsum(gaps))
    sizes = np.rint(4e8 * coverage)
    recaptures = np.zeros((120, 120))
    for i in range(119):
        missed = np.append(1, np.cumprod(1 - coverage[i + 1 : -1]))
        recaptures[i, i + 1 :] = sizes[i] * coverage[i + 1 :] * 0.97 ** (times[i + 1 :] - times[i]) * missed
    # These are expectations and no draw: what is estimated is what they were made with, but for rounding to elements.
    found = fit_cormack_jolly_seber(sizes, np.rint(recaptures), times=times, survival="crawl", coverage="crawl")
    assert found.n_parameters == 237
    np.testing.assert_allclose(by_name(found, "alpha")[:-1], 0.97, rtol=1e-5)
    np.testing.assert_allclose(by_name(found, "coverage")[:-1], coverage[1:-1], rtol=1e-5)


def histories(*rows):
    seen = np.array([[mark == "1" for mark in row.split()[0]] for row in rows])
    return m_array(CaptureHistoryCounts(seen, np.array([int(row.split()[1]) for row in rows])))


@pytest.mark.parametrize("structure", ["constant", "crawl"])
@pytest.mark.parametrize(
    "counts",
    [histories("1 7"), histories("10 5", "01 4"), histories("1000 5", "0100 3", "0001 2"), histories("000 4")],
    ids=["one crawl", "two crawls", "four crawls", "no elements"],
)
def test_no_recaptures(counts, structure):
    found = fit_cormack_jolly_seber(*counts, survival=structure, coverage=structure)
    assert (found.status, found.reason) == ("too_few_points", "No element was captured in two crawls.")
    assert np.isnan(found.values).all()
    assert np.isnan(found.aicc)
    closed = jolly_seber(*counts)
    for series in (closed.alpha, closed.coverage, closed.population, closed.births):
        assert np.isnan(series.estimate).all()
        assert all(series.reason)


def test_two_crawls_identify_the_product_alone():
    counts = histories("11 30", "10 20", "01 10")
    found = fit_cormack_jolly_seber(*counts)
    assert (found.status, found.n_parameters) == ("not_identified", 1)
    assert found.minus_two_log_likelihood == pytest.approx(-2 * (30 * np.log(0.6) + 20 * np.log(0.4)))
    closed = jolly_seber(*counts)
    assert closed.last_product == 0.6
    assert np.isnan(closed.alpha.estimate).all()


def test_every_element_in_every_crawl():
    counts = histories("11111 50")
    found = fit_cormack_jolly_seber(*counts)
    assert (found.status, found.values.tolist()) == ("at_bound", [1, 1])
    assert found.reason == "At a bound, so without a standard error: alpha at 1, coverage at 1."
    assert found.minus_two_log_likelihood == pytest.approx(0, abs=1e-6)
    closed = jolly_seber(*counts)
    assert closed.population.estimate[1:4].tolist() == [50, 50, 50]
    assert "coverage is at its bound 1" in closed.population.reason[2]
    assert np.isnan(closed.population.se).all()


def test_an_empty_crawl_is_said_to_be_one():
    counts = simulate(
        times=np.arange(6), core=0, shell=2_000, alpha=0.9, coverage=[0.5, 0.5, 0, 0.5, 0.5, 0.5], seed=1
    ).counts()
    closed = jolly_seber(*m_array(counts))
    assert closed.coverage.reason[2] == closed.alpha.reason[1] == closed.alpha.reason[2] == "Crawl 2 is empty."
    assert np.isfinite(closed.alpha.estimate[[0, 3]]).all()
    found = fit_cormack_jolly_seber(*m_array(counts), survival="crawl", coverage="crawl")
    assert found.status == "at_bound"
    assert "coverage_2 at 0" in found.reason
    assert "alpha_1, alpha_2" in found.reason


def test_a_crawl_whose_elements_never_return():
    closed = jolly_seber(*histories("1101 40", "1001 10", "0010 25", "1100 10"))
    assert closed.coverage.reason[2] == "No element of crawl 2 was captured again."
    assert np.isnan(closed.alpha.estimate[1])


def test_no_time_between_two_crawls():
    counts = simulate(times=np.arange(5), core=0, shell=2_000, alpha=0.9, coverage=0.5, seed=1).counts()
    closed = jolly_seber(*m_array(counts), times=[0, 1, 1, 2, 3])
    assert closed.alpha.reason[1] == "No time passes between crawl 1 and the next."
    assert np.isnan(closed.alpha.estimate[1])
    assert np.isfinite(closed.births.estimate[1])
    found = fit_cormack_jolly_seber(*m_array(counts), times=[0, 1, 1, 2, 3], survival="crawl")
    assert found.reason == "Not identified separately by the likelihood: alpha_1."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"recaptures": [[0, 1], [0, 0], [0, 0]]}, r"sizes has shape \(2,\) and recaptures \(3, 2\)"),
        ({"recaptures": [[0, -1], [0, 0]]}, r"recaptures\[0, 1\] is -1.0"),
        ({"sizes": [5, np.nan]}, r"sizes\[1\] is nan"),
        ({"recaptures": [[0, 6], [0, 0]]}, "crawl 0 contains 5 elements, of which 6 were captured again"),
        (
            {"sizes": [5, 2], "recaptures": [[0, 3], [0, 0]]},
            "crawl 1 contains 2 elements, of which 3 were captured before",
        ),
        ({"times": [0, 1, 2]}, r"times has shape \(3,\); expected \(2,\)"),
        ({"times": [1, 0]}, "expected them in time order"),
        ({"survival": "sex"}, "the structure of alpha is 'sex'"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit_cormack_jolly_seber(**{"sizes": [5, 6], "recaptures": [[0, 3], [0, 0]], **arguments})


def test_recapture_counts_of_histories():
    found = recapture_counts(*histories("101 3", "110 2", "011 4"))
    assert [array.tolist() for array in found] == [[5, 6, 7], [5, 4, 0], [0, 2, 7], [0, 3, 0]]
