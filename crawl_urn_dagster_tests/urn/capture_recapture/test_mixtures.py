"""Two-class mixtures: published estimates, histories enumerated one by one, simulation, and what is not identified."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts, FitKind, ReasonCode, simulate
from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.mixtures import fit_core_and_shell, fit_two_classes
from crawl_urn_dagster.urn.curves.model import core_share_from_kappa
from crawl_urn_dagster_tests.urn.capture_recapture.m_arrays import in_order

UNEVEN = np.array([0.0, 0.5, 0.6, 1.4, 2.0])


@pytest.fixture(scope="module")
def published_histories(shared_data):
    lines = (shared_data / "capture_recapture" / "mixture.inp").read_text().splitlines()
    seen = np.array([[mark == "1" for mark in line.split()[0]] for line in lines])
    return CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64))


def test_published_mixture(published_histories, reference):
    published = reference["mixture_phi"]["CJSMixture phi(mix)p(.)"]
    found = fit_two_classes(published_histories, coverage="common")
    assert found.status == "ok"
    assert in_order(found) == pytest.approx([published[name] for name in ("pi", "phi1", "phi2", "p")], abs=5e-7)
    assert in_order(found, "standard_errors") == pytest.approx(
        [published[f"{name}_se"] for name in ("pi", "phi1", "phi2", "p")], abs=5e-7
    )
    assert found.details.aicc == pytest.approx(published["AICc"], abs=5e-4)


def test_published_histories_of_one_class(published_histories, reference):
    sizes = np.diagonal(published_histories.intersections())
    found = fit_cormack_jolly_seber(sizes, published_histories.recaptures())
    assert found.details.aicc == pytest.approx(reference["mixture_phi"]["homogeneous_AICc"], abs=5.1e-4)


def probability(history, times, alpha, coverage):
    """Return the probability after the first capture, summed over the crawl after which the element dies."""
    first, last = np.flatnonzero(history)[[0, -1]]
    total = 0.0
    for final in range(last, len(history)):
        lives = alpha ** (times[final] - times[first])
        dies = 1 - alpha ** (times[final + 1] - times[final]) if final + 1 < len(history) else 1.0
        total += lives * dies * np.prod(np.where(history[first + 1 : final + 1], coverage, 1 - coverage))
    return total


FEW_CRAWLS = simulate(times=UNEVEN, core=400, shell=3_000, alpha=0.5, coverage=0.5, seed=3).counts()


@cache
def two_classes(*, survival="class", coverage="class"):
    """Fit two classes to few crawls, once."""
    return fit_two_classes(FEW_CRAWLS, UNEVEN, survival=survival, coverage=coverage)


@pytest.mark.parametrize(("survival", "coverage"), [("class", "class"), ("class", "common"), ("common", "class")])
def test_two_class_likelihood_is_the_product_over_histories(survival, coverage):
    found = two_classes(survival=survival, coverage=coverage)
    value = {f"{name}_{k}": found.estimates.get(name) for name in ("alpha", "coverage") for k in (1, 2)}
    value |= found.estimates
    total = 0.0
    for history, elements in zip(FEW_CRAWLS.seen, FEW_CRAWLS.elements, strict=True):
        chances = [probability(history, UNEVEN, value[f"alpha_{k}"], value[f"coverage_{k}"]) for k in (1, 2)]
        total += elements * np.log(value["share"] * chances[0] + (1 - value["share"]) * chances[1])
    assert found.details.minus_two_log_likelihood == pytest.approx(-2 * total, rel=1e-9)


def test_core_shell_likelihood_is_the_product_over_histories():
    found = fit_core_and_shell(FEW_CRAWLS, UNEVEN)
    value = found.estimates
    total = 0.0
    for history, elements in zip(FEW_CRAWLS.seen, FEW_CRAWLS.elements, strict=True):
        chance = probability(history, UNEVEN, value["alpha"], value["coverage"])
        if history[0]:
            chance = value["core_share"] * history.all() + (1 - value["core_share"]) * chance
        total += elements * np.log(chance)
    assert found.details.minus_two_log_likelihood == pytest.approx(-2 * total, rel=1e-9)
    assert found.details.sample_size == FEW_CRAWLS.seen[:, :-1].sum(axis=1) @ FEW_CRAWLS.elements


def test_urn_of_core_and_shell_is_recovered():
    times = np.cumsum(np.random.default_rng(1).uniform(0.06, 0.3, 51))
    counts = simulate(times=times, core=10_000, shell=40_000, alpha=0.4, coverage=0.3, seed=2).counts()
    assert len(counts.seen) > 20_000
    found = fit_core_and_shell(counts, times)
    truth = [float(core_share_from_kappa(0.2, 0.3)), 0.4, 0.3]
    assert found.status == "ok"
    assert (abs(in_order(found) - truth) < 4 * in_order(found, "standard_errors")).all()
    assert (in_order(found, "standard_errors") < 0.01).all()


def test_standard_errors_match_repeated_urns():
    repeats = 50
    urn = {"times": np.arange(6), "core": 200, "shell": 1_000, "alpha": 0.7, "coverage": 0.5}
    found = [fit_core_and_shell(simulate(**urn, seed=seed).counts()) for seed in range(repeats)]
    # The urns have the same core, but not the same core share of the first crawl, so α and c are compared.
    estimates, errors = (
        np.array([in_order(fit, field)[1:] for fit in found]) for field in ("estimates", "standard_errors")
    )
    stated = np.sqrt((errors**2).mean(axis=0))
    spread = np.sqrt(((estimates - [0.7, 0.5]) ** 2).mean(axis=0))
    assert spread == pytest.approx(stated, rel=4 / np.sqrt(2 * repeats))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("classes", "varying"),
    [
        ([(0.6, 0.7), (0.95, 0.3)], {}),
        ([(0.6, 0.3), (0.95, 0.7)], {}),
        ([(0.7, 0.2), (0.7, 0.8)], {"survival": "common"}),
        ([(0.5, 0.5), (0.9, 0.5)], {"coverage": "common"}),
    ],
)
def test_two_classes_of_one_cohort_are_recovered(classes, varying, seed):
    # In one cohort, that of the first crawl, the shares are those at the first capture.
    rng = np.random.default_rng(seed)
    parts = []
    for elements, (alpha, coverage) in zip((30_000, 20_000), classes, strict=True):
        lifetime = rng.geometric(1 - alpha, elements)
        seen = (rng.random((elements, 8)) < coverage) & (np.arange(8) < lifetime[:, None])
        seen[:, 0] = True
        parts.append(seen)
    seen = np.concatenate(parts)
    counts = CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64))
    found = fit_two_classes(counts, **varying)
    (alpha_1, coverage_1), (alpha_2, coverage_2) = classes
    truth = {"share": 0.6, "alpha_1": alpha_1, "alpha_2": alpha_2, "coverage_1": coverage_1, "coverage_2": coverage_2}
    truth |= {"alpha": alpha_1, "coverage": coverage_1}
    assert found.status == "ok"
    for name in found.details.parameters:
        assert abs(found.estimates[name] - truth[name]) < 4 * found.details.standard_errors[name]
    assert (
        found.details.aicc
        < fit_cormack_jolly_seber(np.diagonal(counts.intersections()), counts.recaptures()).details.aicc
    )


def test_classes_are_in_order_of_survival_then_coverage():
    found = two_classes(survival="common").estimates
    assert found["coverage_1"] < found["coverage_2"]
    found = two_classes(coverage="common").estimates
    assert found["alpha_1"] < found["alpha_2"]


def test_unit_of_time_changes_only_survival():
    years, months = fit_core_and_shell(FEW_CRAWLS, UNEVEN), fit_core_and_shell(FEW_CRAWLS, 12 * UNEVEN)
    assert in_order(months) * [1, 0, 1] == pytest.approx(in_order(years) * [1, 0, 1], rel=1e-6)
    assert in_order(months)[1] ** 12 == pytest.approx(in_order(years)[1], rel=1e-6)


def test_homogeneous_urn_has_core_share_at_bound():
    counts = simulate(times=np.arange(8), core=0, shell=20_000, alpha=0.9, coverage=0.4, seed=1).counts()
    core = fit_core_and_shell(counts)
    assert (core.status, core.core_share) == ("at_bound", 0)
    assert core.reason_codes == (ReasonCode.AT_BOUND_WITHOUT_ERROR,)
    assert core.reason.endswith(": core_share at 0.")
    assert (abs(in_order(core)[1:] - [0.9, 0.4]) < 4 * in_order(core, "standard_errors")[1:]).all()


def test_histories_of_one_class_do_not_identify_two():
    # These expected counts of one class are whole numbers.
    seen = np.array([(True, *rest) for rest in product([False, True], repeat=3)])
    elements = np.array([6_400 * probability(history, np.arange(4), 0.5, 0.5) for history in seen])
    np.testing.assert_array_equal(elements, elements.astype(np.int64))
    counts = CaptureHistoryCounts(seen, elements.astype(np.int64))
    one = fit_cormack_jolly_seber(np.diagonal(counts.intersections()), counts.recaptures())
    assert in_order(one) == pytest.approx([0.5, 0.5])
    two = fit_two_classes(counts)
    assert (two.status, two.details.n_parameters) == ("not_identified", 2)
    assert two.reason_codes == (ReasonCode.ONE_CLASS_SUFFICES,)
    assert (two.estimates, two.intervals) == ({}, {})
    assert two.details.aicc == pytest.approx(one.details.aicc)


@pytest.mark.parametrize("rows", [["1"], ["10", "01"], ["100", "010", "001"], ["000"]])
@pytest.mark.parametrize("fit", [fit_core_and_shell, fit_two_classes])
def test_no_recaptures_is_too_few_points(fit, rows):
    seen = np.array([[mark == "1" for mark in row] for row in rows])
    found = fit(CaptureHistoryCounts(seen, np.full(len(rows), 5)))
    assert (found.status, found.reason_codes) == ("too_few_points", (ReasonCode.NO_RECAPTURES,))
    assert (found.estimates, found.intervals) == ({}, {})


@pytest.mark.parametrize("fit", [fit_core_and_shell, fit_two_classes])
def test_two_crawls_do_not_identify_classes(fit):
    counts = simulate(times=np.arange(2), core=100, shell=1_000, alpha=0.9, coverage=0.4, seed=1).counts()
    found = fit(counts)
    assert (found.status, found.details.n_parameters) == ("not_identified", 1)
    assert found.estimates == {}


def test_every_element_in_every_crawl_has_no_error():
    counts = CaptureHistoryCounts(np.ones((1, 5), dtype=bool), np.array([80]))
    for fit in (fit_core_and_shell, fit_two_classes):
        found = fit(counts)
        assert found.status in {"at_bound", "not_identified"}
        assert found.details.minus_two_log_likelihood == pytest.approx(0, abs=1e-6)
        assert found.details.standard_errors == {}


def test_an_empty_crawl_does_not_stop_the_fits():
    counts = simulate(
        times=np.arange(5), core=0, shell=500, alpha=0.9, coverage=[0.5, 0, 0.5, 0.5, 0.5], seed=1
    ).counts()
    for fit in (fit_core_and_shell, fit_two_classes):
        assert np.isfinite(fit(counts).details.minus_two_log_likelihood)


@pytest.mark.parametrize(("fit", "model"), [(fit_core_and_shell, "core_and_shell"), (fit_two_classes, "two_classes")])
def test_kind_has_the_clock_of_the_caller(fit, model):
    assert fit(FEW_CRAWLS, UNEVEN, clock="year").kind == FitKind("recaptures", model, "exact", "year")


@pytest.mark.parametrize(("survival", "coverage"), [*product(["class", "common"], ["class", "common"])])
def test_more_parameters_fit_no_worse(survival, coverage):
    sizes = np.diagonal(FEW_CRAWLS.intersections())
    one = fit_cormack_jolly_seber(sizes, FEW_CRAWLS.recaptures(), times=UNEVEN)
    found = two_classes(survival=survival, coverage=coverage)
    every = two_classes()
    rounding = 1e-6
    assert every.details.minus_two_log_likelihood <= found.details.minus_two_log_likelihood + rounding
    assert found.details.minus_two_log_likelihood <= one.details.minus_two_log_likelihood + rounding


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"survival": "constant"}, "alpha varies by 'constant'; expected 'class' or 'common'"),
        ({"coverage": "crawl"}, "coverage varies by 'crawl'"),
        ({"times": [0, 1]}, r"times has shape \(2,\); expected \(5,\)"),
    ],
)
def test_invalid_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit_two_classes(FEW_CRAWLS, **arguments)
