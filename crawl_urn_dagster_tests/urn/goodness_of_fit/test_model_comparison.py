"""Test the comparison of models: criteria by hand, preference on simulated urns and on Common Crawl's URLs."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.urn import (
    BetaShellUrn,
    ReasonCode,
    Status,
    fit_curves,
    fit_histories,
    fit_revisit_delay,
    simulate,
)
from crawl_urn_dagster.urn.goodness_of_fit.model_comparison import compare_likelihoods, cross_validate

CRAWLS = 32
# Lags and window lengths known for at least half of the start crawls.
T = np.arange(1, 13)


@pytest.fixture(scope="module")
def counts():
    return simulate(times=np.arange(CRAWLS), core=6_000, shell=14_000, alpha=0.85, coverage=0.5, seed=2).counts()


@pytest.fixture(scope="module")
def likelihoods(counts):
    return [fit_histories(counts, np.arange(CRAWLS), model=model) for model in ("homogeneous", "core_shell")]


def with_details(fit, **changes):
    return replace(fit, details=replace(fit.details, **changes))


def test_information_criteria_by_hand(likelihoods):
    fit, n = likelihoods[1], likelihoods[1].details.n_elements
    k = 3 + CRAWLS - 1
    for criterion, penalty in [("aicc", 2 * k + 2 * k * (k + 1) / (n - k - 1)), ("bic", k * np.log(n))]:
        worse, better = compare_likelihoods(likelihoods, criterion)
        assert better.value == pytest.approx(penalty - 2 * fit.details.log_likelihood, rel=1e-14)
        assert (better.model, better.projection, better.n_parameters) == ("core_shell", "histories", k)
        assert (better.criterion, better.delta, better.preferred) == (criterion, 0, True)
        assert (better.at_bound, better.identified) == (False, True)
        assert (better.status, better.reasons) == (Status.OK, ())
        assert worse.delta == pytest.approx(worse.value - better.value)
        assert not worse.preferred


def test_smaller_of_equally_good_models_is_preferred(likelihoods):
    small, large = likelihoods
    for gain, preferred in [(0.5, [True, False]), (1.9, [True, False]), (2.1, [False, True])]:
        # One parameter more costs 2, and models within 2 of each other are equally good.
        alike = with_details(large, log_likelihood=small.details.log_likelihood + gain)
        assert [row.preferred for row in compare_likelihoods([small, alike])] == preferred


def test_first_of_equally_good_and_large_models_is_preferred(likelihoods):
    first = likelihoods[1]
    other = with_details(first, log_likelihood=first.details.log_likelihood + 0.5)
    other = replace(other, kind=first.kind._replace(model="core_two_shells"))
    assert [row.preferred for row in compare_likelihoods([first, other])] == [True, False]


def test_unreported_fit_has_no_criterion_value(likelihoods):
    rows = compare_likelihoods([likelihoods[0], replace(likelihoods[1], status=Status.NOT_CONVERGED)])
    assert (rows[1].value, rows[1].delta, rows[1].preferred) == (None, None, False)
    assert (rows[0].delta, rows[0].preferred) == (0, True)
    nothing = compare_likelihoods([replace(fit, status=Status.NOT_CONVERGED) for fit in likelihoods])
    assert not any(row.preferred for row in nothing)


def test_fits_of_different_histories_are_not_compared(likelihoods):
    with pytest.raises(ValueError, match="expected fits of the same histories"):
        compare_likelihoods([likelihoods[0], with_details(likelihoods[1], n_elements=7)])


def curves_by_start(counts):
    """Containment at lags T, then discovery curve at T, for each start crawl."""
    shared, unions = counts.intersections(), counts.unions()
    start = np.arange(CRAWLS - 1)[:, None]
    end = start + T
    inside = end < CRAWLS
    end = np.minimum(end, CRAWLS - 1)
    parts = [np.where(inside, table[start, end] / shared[start, start], np.nan) for table in (shared, unions)]
    return np.concatenate(parts, axis=1)


def fit_both(model, mean):
    return fit_curves(model, lag=T, containment=mean[: T.size], t=T, ratio=mean[T.size :])


MODELS = {model: partial(fit_both, model) for model in ("homogeneous", "core_shell", "beta_shell")}


@pytest.mark.slow
def test_cross_validation_prefers_true_core_and_shell(counts):
    rows = cross_validate(curves_by_start(counts), MODELS)
    assert [row.model for row in rows] == list(MODELS)
    assert [row.preferred for row in rows] == [False, True, False]
    assert [row.n_parameters for row in rows] == [2, 3, 4]
    assert {(row.projection, row.criterion) for row in rows} == {("curves", "cross_validation")}
    assert min(row.delta for row in rows) == 0
    # Two parameters miss by a hundredth of a crawl, squared, and more.
    assert rows[0].value > 10 * rows[1].value


@pytest.mark.slow
def test_cross_validation_prefers_true_beta_shell():
    rng = np.random.default_rng(4)
    urn = BetaShellUrn(0.3, 0.9, 0.5, 0.2)
    curve = np.concatenate([urn.containment(T), urn.discovery_curve(T)])
    rows = cross_validate(curve + 0.004 * rng.normal(size=(24, curve.size)), MODELS)
    assert [row.preferred for row in rows] == [False, False, True]


def test_score_is_mean_squared_error_of_left_out_blocks():
    rng = np.random.default_rng(5)
    curves = 0.8 * 0.9**T + 0.01 * rng.normal(size=(18, T.size))
    curves[rng.random(curves.shape) < 0.1] = np.nan
    # A start crawl without known points is left out.
    (row,) = cross_validate(
        [*curves, np.full(T.size, np.nan)], {"one": lambda mean: fit_curves("homogeneous", lag=T, containment=mean)}
    )
    errors = []
    for low, high in [(0, 5), (5, 10), (10, 14), (14, 18)]:
        rest = np.concatenate([curves[: max(low - 4, 0)], curves[high + 4 :]])
        fit = fit_curves("homogeneous", lag=T, containment=np.nanmean(rest, axis=0))
        errors.append(np.nanmean((np.nanmean(curves[low:high], axis=0) - fit.details.fitted) ** 2))
    assert row.value == pytest.approx(np.mean(errors))
    assert (row.delta, row.preferred, row.at_bound, row.identified) == (0, True, False, True)


def test_unreported_fit_has_no_cross_validation_score():
    curves = 0.8 * 0.9 ** T[:3] + 0.01 * np.random.default_rng(6).normal(size=(16, 3))
    models = {
        model: partial(lambda model, mean: fit_curves(model, lag=T[:3], containment=mean), model) for model in MODELS
    }
    rows = cross_validate(curves, models)
    assert [row.value is None for row in rows] == [False, True, True]
    assert [row.preferred for row in rows] == [True, False, False]
    rows = cross_validate(curves, {"beta_shell": models["beta_shell"]})
    assert (rows[0].value, rows[0].preferred) == (None, False)
    assert [reason.code for reason in rows[0].reasons] == [ReasonCode.TOO_FEW_POINTS]


def test_too_few_start_crawls_are_not_cross_validated():
    with pytest.raises(ValueError, match="there are 15 start crawls; expected at least 16"):
        cross_validate(np.ones((15, 3)), {})
    curves = np.ones((16, 3))
    curves[4:, 1] = np.nan
    with pytest.raises(ValueError, match="point 1 is known for start crawls of one neighbourhood only"):
        cross_validate(curves, {})


@pytest.mark.slow
def test_published_urls_prefer_the_revisit_delay(shared_data):
    table = pd.read_csv(shared_data / "common_crawl_statistics" / "url_last_n_crawls.csv", index_col="crawl")
    table = table.loc["CC-MAIN-2020-05":"CC-MAIN-2024-51"]
    lengths = sorted(int(column) for column in table.columns if column != "1")
    # A window ends at its crawl: it starts N - 1 crawls earlier.
    ratios = [(table[str(n)] / table["1"].rolling(n).mean()).shift(1 - n).to_numpy() for n in lengths]
    t = np.array(lengths) - 1
    rows = cross_validate(
        np.stack(ratios, axis=1)[:-1],
        {
            "homogeneous": lambda mean: fit_curves("homogeneous", t=t, ratio=mean),
            "one round": lambda mean: fit_revisit_delay(t, mean, delay=1),
            "two rounds": lambda mean: fit_revisit_delay(t, mean, delay=2),
        },
    )
    assert [row.preferred for row in rows] == [False, True, False]
    assert [row.model for row in rows] == ["homogeneous", "one round", "two rounds"]
