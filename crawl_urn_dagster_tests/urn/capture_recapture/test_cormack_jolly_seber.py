"""The Cormack-Jolly-Seber model: published estimates, an independent likelihood, simulation, lack of identification.

Recaptures of a released cohort are multinomial. The independent likelihood is computed from the cells of the m-array,
the one of the module from sums over them.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from crawl_urn_dagster.urn import FitKind, ReasonCode, simulate
from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.jolly_seber import jolly_seber
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE
from crawl_urn_dagster_tests.urn.capture_recapture.m_arrays import UNEVEN, ends, having, histories, in_order, m_array


def minus_two_log_likelihood(sizes, recaptures, phi, p):
    """Return -2 ln L from the cells, given phi of every gap and p of the crawl that ends it."""
    total = 0.0
    for i in range(len(phi)):
        reached = np.cumprod(phi[i:]) * np.cumprod(np.append(1, 1 - p[i:-1])) * p[i:]
        cells, seen = recaptures[i, i + 1 :], recaptures[i, i + 1 :] > 0
        never = sizes[i] - cells.sum()
        total += cells[seen] @ np.log(reached[seen]) + (never * np.log(1 - reached.sum()) if never else 0)
    return -2 * total


def errors_by_second_differences(function, values, step=1e-4):
    """Return standard errors from second differences of -2 ln L."""
    steps = step * np.eye(len(values))
    curvature = [
        [
            sum(a * b * function(values + a * up + b * across) for a in (-1, 1) for b in (-1, 1)) / (4 * step**2)
            for across in steps
        ]
        for up in steps
    ]
    return np.sqrt(np.diagonal(np.linalg.inv(np.array(curvature) / 2)))


def test_dippers_of_constant_survival_and_coverage(all_dippers, dipper_reference):
    published = dipper_reference["phi(.)p(.)"]
    found = fit_cormack_jolly_seber(*all_dippers)
    assert found.details.parameters == ("alpha", "coverage")
    assert in_order(found) == pytest.approx([published["phi"], published["p"]], abs=5e-7)
    assert in_order(found, "standard_errors") == pytest.approx([published["phi_se"], published["p_se"]], abs=5e-7)
    assert found.details.minus_two_log_likelihood == pytest.approx(published["m2lnL"], abs=5e-5)
    # The published intervals use 1.96 standard errors.
    for which, limit in enumerate(ends(found)):
        rounded = expit(logit(in_order(found)) + 1.96 / NORMAL_QUANTILE * (logit(limit) - logit(in_order(found))))
        assert rounded == pytest.approx([published["phi_ci"][which], published["p_ci"][which]], abs=5e-7)
    assert (found.status, found.reasons, found.details.n_parameters) == ("ok", (), 2)
    assert found.details.sample_size == sum(row[0] for row in dipper_reference["m_array"])
    assert found.details.aicc == pytest.approx(published["m2lnL"] + 4 + 12 / (found.details.sample_size - 3), abs=5e-5)


def test_dippers_of_varying_survival(all_dippers, dipper_reference):
    published = dipper_reference["phi(t)p(.)"]
    found = fit_cormack_jolly_seber(*all_dippers, survival="crawl")
    assert having(found, "alpha", in_order(found)) == pytest.approx(published["phi"], abs=5.1e-5)
    assert having(found, "coverage", in_order(found)) == pytest.approx([published["p"]], abs=5.1e-5)
    # The published errors were differentiated numerically and can differ by one in their last digit.
    assert in_order(found, "standard_errors") == pytest.approx([*published["phi_se"], published["p_se"]], abs=1e-5)
    assert in_order(found, "standard_errors") == pytest.approx(
        errors_by_second_differences(
            lambda values: minus_two_log_likelihood(*all_dippers, values[:6], np.full(6, values[6])), in_order(found)
        ),
        rel=1e-5,
    )
    assert found.details.minus_two_log_likelihood == pytest.approx(published["m2lnL"], abs=5.1e-5)
    assert found.status == "ok"


def test_dippers_of_varying_survival_and_coverage(all_dippers, dipper_reference):
    published = dipper_reference["phi(t)p(t)"]
    found = fit_cormack_jolly_seber(*all_dippers, survival="crawl", coverage="crawl")
    assert having(found, "alpha", in_order(found))[:-1] == pytest.approx(published["phi"], abs=5.1e-5)
    assert having(found, "coverage", in_order(found))[:-1] == pytest.approx(published["p"], abs=5.1e-5)
    assert found.details.minus_two_log_likelihood == pytest.approx(published["m2lnL"], abs=5.1e-5)
    assert (found.status, found.details.n_parameters) == ("not_identified", 11)
    assert found.reason_codes == (ReasonCode.FLAT_LIKELIHOOD,)
    assert found.reason.endswith(": alpha_5, coverage_6.")
    assert set(found.details.parameters) - set(found.estimates) == {"alpha_5", "coverage_6"}
    assert np.isfinite(np.delete(in_order(found, "standard_errors"), [5, 11])).all()


def test_dispersion_widens_intervals_and_gives_qaicc(all_dippers):
    plain, inflated = fit_cormack_jolly_seber(*all_dippers), fit_cormack_jolly_seber(*all_dippers, dispersion=2.25)
    assert in_order(inflated).tolist() == in_order(plain).tolist()
    assert in_order(inflated, "standard_errors") == pytest.approx(1.5 * in_order(plain, "standard_errors"))
    widths = [np.diff(logit(ends(fit)), axis=0) for fit in (plain, inflated)]
    assert widths[1] == pytest.approx(1.5 * widths[0])
    n, deviance = plain.details.sample_size, plain.details.minus_two_log_likelihood
    # MARK: -2 ln L/c-hat + 2K + 2K(K + 1)/(n - K - 1).
    assert inflated.details.qaicc == pytest.approx(deviance / 2.25 + 4 + 12 / (n - 3))
    assert inflated.details.aicc == plain.details.aicc == plain.details.qaicc
    # MARK prints 670.866 for AICc.
    assert plain.details.aicc == pytest.approx(670.866, abs=5.1e-4)


def test_kind_has_the_clock_of_the_caller(all_dippers):
    fit = fit_cormack_jolly_seber(*all_dippers, clock="year")
    assert fit.kind == FitKind("recaptures", "cormack_jolly_seber", "exact", "year")


def test_dippers_by_sex(dippers, dipper_reference):
    for survival, coverage, published in [
        ("stratum", "constant", dipper_reference["phi(sex)p(.)_m2lnL"]),
        ("stratum", "stratum", dipper_reference["phi(sex)p(sex)_m2lnL"]),
        ("crawl", "stratum", dipper_reference["phi(time)p(sex)_m2lnL"]),
    ]:
        found = fit_cormack_jolly_seber(*dippers, survival=survival, coverage=coverage)
        assert found.details.minus_two_log_likelihood == pytest.approx(published, abs=5.1e-5)


@pytest.mark.parametrize(("survival", "coverage"), [("constant", "crawl"), ("crawl", "constant"), ("crawl", "crawl")])
def test_maximum_matches_an_independent_likelihood(survival, coverage):
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
    assert found.details.minus_two_log_likelihood == pytest.approx(independent.fun, abs=1e-4)
    assert found.details.minus_two_log_likelihood <= independent.fun + 1e-6


def test_unit_of_time_changes_only_survival():
    sizes, recaptures = m_array(simulate(times=UNEVEN, core=0, shell=5_000, alpha=0.4, coverage=0.4, seed=5).counts())
    years = fit_cormack_jolly_seber(sizes, recaptures, times=UNEVEN)
    months = fit_cormack_jolly_seber(sizes, recaptures, times=12 * UNEVEN)
    assert in_order(months)[0] ** 12 == pytest.approx(in_order(years)[0], rel=1e-6)
    assert in_order(months)[1] == pytest.approx(in_order(years)[1], rel=1e-6)
    relative = in_order(months, "standard_errors")[0] / in_order(months)[0] * 12
    assert relative == pytest.approx(in_order(years, "standard_errors")[0] / in_order(years)[0], rel=1e-6)
    assert months.details.minus_two_log_likelihood == pytest.approx(years.details.minus_two_log_likelihood)


def test_constant_urn_is_recovered_with_uneven_gaps():
    urn = {"times": UNEVEN, "core": 0, "shell": 40_000, "alpha": 0.4, "coverage": 0.35}
    found = fit_cormack_jolly_seber(*m_array(simulate(**urn, seed=1).counts()), times=UNEVEN)
    assert found.status == "ok"
    assert (abs(in_order(found) - [0.4, 0.35]) < 4 * in_order(found, "standard_errors")).all()
    assert (in_order(found, "standard_errors") < 0.01).all()


def test_hundreds_of_millions_of_elements_in_120_crawls():
    rng = np.random.default_rng(2)
    gaps, coverage = rng.uniform(0.6, 2, 119), rng.uniform(0.2, 0.6, 120)
    times = np.append(0, np.cumsum(gaps))
    sizes = np.rint(4e8 * coverage)
    recaptures = np.zeros((120, 120))
    for i in range(119):
        missed = np.append(1, np.cumprod(1 - coverage[i + 1 : -1]))
        recaptures[i, i + 1 :] = sizes[i] * coverage[i + 1 :] * 0.97 ** (times[i + 1 :] - times[i]) * missed
    # The counts are expectations, so the estimates equal the parameters except for rounding to elements.
    found = fit_cormack_jolly_seber(sizes, np.rint(recaptures), times=times, survival="crawl", coverage="crawl")
    assert found.details.n_parameters == 237
    np.testing.assert_allclose(having(found, "alpha", in_order(found))[:-1], 0.97, rtol=1e-5)
    np.testing.assert_allclose(having(found, "coverage", in_order(found))[:-1], coverage[1:-1], rtol=1e-5)


@pytest.mark.parametrize("structure", ["constant", "crawl"])
@pytest.mark.parametrize(
    "counts",
    [histories("1 7"), histories("10 5", "01 4"), histories("1000 5", "0100 3", "0001 2"), histories("000 4")],
    ids=["one crawl", "two crawls", "four crawls", "no elements"],
)
def test_no_recaptures_is_too_few_points(counts, structure):
    found = fit_cormack_jolly_seber(*counts, survival=structure, coverage=structure)
    assert (found.status, found.reason_codes) == ("too_few_points", (ReasonCode.NO_RECAPTURES,))
    assert (found.estimates, found.intervals) == ({}, {})
    assert np.isnan(found.details.aicc)
    closed = jolly_seber(*counts)
    for series in (closed.alpha, closed.coverage, closed.population, closed.births):
        assert np.isnan(series.estimate).all()
        assert all(series.reason)


def test_two_crawls_identify_only_the_product():
    counts = histories("11 30", "10 20", "01 10")
    found = fit_cormack_jolly_seber(*counts)
    assert (found.status, found.details.n_parameters) == ("not_identified", 1)
    assert found.details.minus_two_log_likelihood == pytest.approx(-2 * (30 * np.log(0.6) + 20 * np.log(0.4)))
    closed = jolly_seber(*counts)
    assert closed.last_product == 0.6
    assert np.isnan(closed.alpha.estimate).all()


def test_every_element_in_every_crawl_is_at_bound():
    counts = histories("11111 50")
    found = fit_cormack_jolly_seber(*counts)
    assert (found.status, in_order(found).tolist()) == ("at_bound", [1, 1])
    assert found.reason_codes == (ReasonCode.AT_BOUND_WITHOUT_ERROR,)
    assert found.reason.endswith(": alpha at 1, coverage at 1.")
    assert (found.intervals, found.details.standard_errors) == ({}, {})
    assert found.details.minus_two_log_likelihood == pytest.approx(0, abs=1e-6)
    closed = jolly_seber(*counts)
    assert closed.population.estimate[1:4].tolist() == [50, 50, 50]
    assert "coverage is at its bound 1" in closed.population.reason[2]
    assert np.isnan(closed.population.se).all()


def test_empty_crawl_has_a_reason():
    counts = simulate(
        times=np.arange(6), core=0, shell=2_000, alpha=0.9, coverage=[0.5, 0.5, 0, 0.5, 0.5, 0.5], seed=1
    ).counts()
    closed = jolly_seber(*m_array(counts))
    assert closed.coverage.reason[2] == closed.alpha.reason[1] == closed.alpha.reason[2] == "Crawl 2 is empty."
    assert np.isfinite(closed.alpha.estimate[[0, 3]]).all()
    found = fit_cormack_jolly_seber(*m_array(counts), survival="crawl", coverage="crawl")
    assert found.status == "at_bound"
    assert found.reason_codes == (ReasonCode.AT_BOUND_WITHOUT_ERROR, ReasonCode.FLAT_LIKELIHOOD)
    assert found.estimates["coverage_2"] == 0
    assert {"alpha_1", "alpha_2"}.isdisjoint(found.estimates)
    assert "coverage_2 at 0" in found.reason
    assert "alpha_1, alpha_2" in found.reason


def test_crawls_at_the_same_time_have_a_reason():
    counts = simulate(times=np.arange(5), core=0, shell=2_000, alpha=0.9, coverage=0.5, seed=1).counts()
    closed = jolly_seber(*m_array(counts), times=[0, 1, 1, 2, 3])
    assert closed.alpha.reason[1] == "No time passes between crawl 1 and the next."
    assert np.isnan(closed.alpha.estimate[1])
    assert np.isfinite(closed.births.estimate[1])
    found = fit_cormack_jolly_seber(*m_array(counts), times=[0, 1, 1, 2, 3], survival="crawl")
    assert found.reason_codes == (ReasonCode.FLAT_LIKELIHOOD,)
    assert set(found.details.parameters) - set(found.estimates) == {"alpha_1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"recaptures": [[0, 1], [0, 0], [0, 0]]}, r"sizes has shape \(2,\), recaptures \(3, 2\) and losses \(2,\)"),
        ({"recaptures": [[0, -1], [0, 0]]}, r"recaptures\[0, 1\] is -1.0"),
        ({"sizes": [5, np.nan]}, r"sizes\[1\] is nan"),
        ({"recaptures": [[0, 6], [0, 0]]}, "crawl 0 contains 5 elements, of which 6 were captured again or lost"),
        (
            {"sizes": [5, 2], "recaptures": [[0, 3], [0, 0]]},
            "crawl 1 contains 2 elements, of which 3 were captured before",
        ),
        ({"times": [0, 1, 2]}, r"times has shape \(3,\); expected \(2,\)"),
        ({"times": [1, 0]}, "expected them in time order"),
        ({"survival": "sex"}, "the structure of alpha is 'sex'"),
        ({"dispersion": 0.9}, "dispersion is 0.9; expected at least 1"),
    ],
)
def test_impossible_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit_cormack_jolly_seber(**{"sizes": [5, 6], "recaptures": [[0, 3], [0, 0]], **arguments})
