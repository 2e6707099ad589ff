"""Test log-linear models of several lists against the values that Rcapture's tests and documentation print."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.capture_recapture.loglinear import chao_bound, fit_loglinear, list_patterns, select_loglinear

# In the order of Rcapture: 1111, 1110, 1101, ...; Bruno et al. (1994), Darroch et al. (1993) and Cormack et al. (2000).
_DIABETES = [58, 157, 18, 104, 46, 650, 12, 709, 14, 20, 7, 74, 8, 182, 10]
_DARROCH_R3 = [72, 155, 7, 71, 13, 53, 43]
_DEATHS = [72, 5, 29, 53, 24, 3, 12, 14, 0, 0, 0, 1, 0, 0, 2]
_CHOSEN = ((0, 2), (1, 3), (2, 3))


def _in_our_order(frequencies):
    """Return frequencies by pattern with list i as bit i; Rcapture has its first list as the highest bit."""
    n_lists = len(frequencies).bit_length()
    counts = np.zeros(len(frequencies))
    for position, frequency in enumerate(frequencies):
        code = f"{len(frequencies) - position:0{n_lists}b}"
        counts[int(code[::-1], 2) - 1] = frequency
    return counts


@pytest.mark.parametrize(
    ("frequencies", "pairs", "heterogeneity", "estimate", "se", "deviance", "degrees"),
    [
        (_DIABETES, ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)), None, 2771, 145, 7.62, 5),
        (_DIABETES, _CHOSEN, None, 2472, 53, 21.97, 7),
        (_DIABETES, _CHOSEN, "chao", 2588, 75, 3.13, 6),
        (_DIABETES, _CHOSEN, "poisson2", 2573, 76, 12.88, 6),
        (_DIABETES, _CHOSEN, "darroch", 2752, 133, 8.32, 6),
        (_DARROCH_R3, ((0, 1), (0, 2), (1, 2)), None, 1240, 451, 0.0, 0),
        (_DARROCH_R3, ((0, 1), (1, 2)), None, 850, 186, 3.79, 1),
        (_DARROCH_R3, ((0, 1),), "chao", 681, 78, 3.45, 1),
    ],
)
def test_models_have_the_printed_values(frequencies, pairs, heterogeneity, estimate, se, deviance, degrees):
    fit = fit_loglinear(_in_our_order(frequencies), pairs, heterogeneity)
    assert fit.estimate == pytest.approx(estimate, abs=0.5)
    assert fit.se == pytest.approx(se, abs=0.6)
    assert fit.deviance == pytest.approx(deviance, abs=0.006)
    assert fit.degrees == degrees


def test_independent_lists_give_petersen_as_printed():
    fit = fit_loglinear([781, 254, 167])  # Seber (1982), page 107
    assert fit.estimate == pytest.approx(421 * 948 / 167)
    assert fit.se == pytest.approx(130.4, abs=0.05)
    assert fit.aic == pytest.approx(28.831, abs=5e-4)


def test_patterns_without_elements_leave_the_estimate_finite():
    fit = fit_loglinear(_in_our_order(_DEATHS), ((0, 1), (0, 2), (2, 3)))
    assert fit.estimate == pytest.approx(218, abs=0.5)
    assert fit.deviance == pytest.approx(2.6, abs=0.05)


def test_an_infinite_estimate_is_unknown_and_not_selected():
    counts = _in_our_order(_DEATHS)
    every_pair = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    assert np.isnan(fit_loglinear(counts, every_pair).estimate)
    assert all(np.isfinite(fit.estimate) for fit in select_loglinear(counts))


def test_selection_finds_the_dependent_pair():
    rng = np.random.default_rng(5)
    first = rng.random(40_000) < 0.5
    second = rng.random(40_000) < np.where(first, 0.6, 0.3)
    held = np.stack([first, second, rng.random(40_000) < 0.4, rng.random(40_000) < 0.3], axis=1)
    counts = np.bincount(held @ [1, 2, 4, 8], minlength=16)[1:]
    best = select_loglinear(counts)[0]
    assert (0, 1) in best.pairs
    low, high = best.interval
    assert low < 40_000 < high
    assert fit_loglinear(counts).interval[1] < 40_000  # without dependence, elements are missed


def test_five_lists_are_searched_one_pair_at_a_time():
    rng = np.random.default_rng(7)
    held = rng.random((20_000, 5)) < [0.5, 0.4, 0.3, 0.4, 0.5]
    held[:, 1] = np.where(rng.random(20_000) < 0.4, held[:, 0], held[:, 1])
    counts = np.bincount(held @ (1 << np.arange(5)), minlength=32)[1:]
    best = select_loglinear(counts)[0]
    assert (0, 1) in best.pairs
    assert best.estimate == pytest.approx(20_000, rel=0.02)


def test_chao_bound_is_below_the_truth_if_unequal():
    rng = np.random.default_rng(3)
    logit = rng.normal(0, 1.5, 30_000)[:, None] + [-1.0, -0.5, 0.0, 0.5]
    held = rng.random((30_000, 4)) < 1 / (1 + np.exp(-logit))
    bound = chao_bound(np.bincount(held @ [1, 2, 4, 8], minlength=16)[1:])
    independent = fit_loglinear(np.bincount(held @ [1, 2, 4, 8], minlength=16)[1:])
    assert independent.estimate < bound.estimate < 30_000


def test_counts_must_be_of_all_patterns():
    with pytest.raises(ValueError, match=r"counts have shape \(4,\)"):
        fit_loglinear([1, 2, 3, 4])
    assert list_patterns(3).shape == (7, 3)
