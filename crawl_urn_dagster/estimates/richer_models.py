"""Richer urns than core and shell, and which urn to prefer: tables `model_comparison` and `revisit_regimes`.

Here: urns with two shells, with spread coverage and with a revisit delay, each with limits, and their comparison. Not
here: the urns and their fits (`urn`), or the fits that may speak for the collection (`fitting`).

Where there are capture histories, urns are compared by their likelihood. Else they are compared by how well they
predict the curves of start crawls that were left out. Limits of a fit to curves are by what its estimates make of the
joint fit's replicates, or, where no urn holds to draw them from, of curves with a block of start crawls left out.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from crawl_urn_dagster.estimates.intervals import times_of
from crawl_urn_dagster.observables.schema import MODEL_COMPARISON, REVISIT_REGIMES
from crawl_urn_dagster.urn import (
    compare_likelihoods,
    cross_validate,
    find_regimes,
    fit_curves,
    fit_histories,
    fit_revisit_delay,
    recaptures_from_unions,
)
from crawl_urn_dagster.urn.data.block_means import BLOCK
from crawl_urn_dagster.urn.fits.histories_likelihood import Estimate
from crawl_urn_dagster.urn.goodness_of_fit.model_comparison import ComparedModel
from crawl_urn_dagster.urn.uncertainty.bootstrap import fraction_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.estimates.intervals import Fitted
    from crawl_urn_dagster.urn import (
        CaptureHistoryCounts,
        Clock,
        Counts,
        HistoriesFit,
        Interval,
        Regime,
        UrnFit,
        Violation,
    )
    from crawl_urn_dagster.urn.fits.histories_likelihood import HistoriesModel
    from crawl_urn_dagster.urn.goodness_of_fit.model_comparison import InformationCriterion

    FloatArray = npt.NDArray[np.float64]

_OF_HISTORIES: tuple[HistoriesModel, ...] = ("homogeneous", "core_shell", "core_two_shells")
_CRITERIA: tuple[InformationCriterion, ...] = ("aicc", "bic")
_FITS: dict[str, Callable[..., UrnFit]] = {
    "homogeneous": partial(fit_curves, "homogeneous"),
    "core_shell": partial(fit_curves, "core_shell"),
    "core_two_shells": partial(fit_curves, "core_two_shells"),
    "beta_shell": partial(fit_curves, "beta_shell"),
    "revisit_delay_1": partial(fit_revisit_delay, delay=1),
    "revisit_delay_2": partial(fit_revisit_delay, delay=2),
}
_OF_SHELLS = ("alpha", "coverage", "revisit_coverage", "coverage_sd")
# All that is outside the core.
_WHOLE = Estimate(1.0, None, None)


class Curves(NamedTuple):
    """Containment and discovery curve of every start crawl, in units of that crawl; NaN where unknown.

    Attributes
    ----------
    lag
        Crawls after the first, shape (points,); those of containment come first.
    is_containment
        Shape (points,).
    ratios
        Shape (..., start crawls, points).
    """

    lag: npt.NDArray[np.intp]
    is_containment: npt.NDArray[np.bool_]
    ratios: FloatArray

    def up_to(self, longest: int) -> Curves:
        """Those with no more crawls after the first."""
        kept = self.lag <= longest
        return Curves(self.lag[kept], self.is_containment[kept], self.ratios[..., kept])

    @property
    def mean(self) -> FloatArray:
        """Mean over the start crawls, shape (..., points)."""
        return _mean(self.ratios)


def curves_of(counts: Counts) -> Curves:
    """Every point that is known for some start crawl."""
    n = len(counts.times)
    lag = np.arange(1, n)
    start = np.arange(n)[:, None]
    end = np.minimum(start + lag, n - 1)
    inside = start + lag < n
    values = [
        np.where(inside, matrix[..., start, end] / counts.sizes[..., start], np.nan)
        for matrix in (counts.intersections, counts.unions)
    ]
    whole = Curves(np.tile(lag, 2), np.repeat([True, False], n - 1), np.concatenate(values, axis=-1))
    known = np.isfinite(whole.ratios).any(axis=tuple(range(whole.ratios.ndim - 1)))
    return Curves(whole.lag[known], whole.is_containment[known], whole.ratios[..., known])


class ModelTables(NamedTuple):
    """What `model_tables` gives: rows for table `parameters`, and two tables."""

    parameters: list[dict[str, Any]]
    model_comparison: pd.DataFrame
    revisit_regimes: pd.DataFrame


def model_tables(
    crawls: pd.DataFrame,
    counts: Counts | None,
    histories: CaptureHistoryCounts | None,
    fitted: Sequence[Fitted],
    violation: Violation | None,
    *,
    clock: Clock,
    one_in: int,
) -> ModelTables:
    """Fit the richer urns, and compare all.

    Parameters
    ----------
    crawls
        Table `crawls`.
    counts
        Raw counts on clock ``crawl``, as of `intervals.raw_counts`.
    histories
        Capture-history counts, None where the source has none.
    fitted
        Fits of the collection with their replicates.
    violation
        The verdict that no urn holds, None if none says so.
    clock
        Of fits to histories; those to curves are per crawl.
    one_in
        Elements of which one was counted in the histories; 1: all were.
    """
    labels = crawls["crawl"].tolist()
    rows: list[dict[str, Any]] = []
    compared: list[tuple[Clock, ComparedModel]] = []
    regimes: list[Regime] = []
    if histories is not None and len(labels) > 1 and histories.distinct_elements:
        counted, times = histories.divided_by(one_in), times_of(crawls, clock)
        of_histories = [fit_histories(counted, times, model=model) for model in _OF_HISTORIES]
        rows += [{"clock": clock, **row} for fit in of_histories for row in _histories_rows(fit)]
        compared += [(clock, row) for criterion in _CRITERIA for row in compare_likelihoods(of_histories, criterion)]
    if counts is not None:
        curves = curves_of(counts)
        spread = _spread(curves, fitted)
        # Histories tell two shells far better than their mean curves do.
        for model in ("beta_shell",) if histories else ("core_two_shells", "beta_shell"):
            fit = _fit(model, curves)(curves.mean)
            rows += [{"clock": "crawl", **row} for row in _urn_rows(fit, _limits(fit, spread))]
        compared += [] if histories else [("crawl", row) for row in _cross_validated(curves)]
        regimes = find_regimes(counts.sizes, _recaptures(counts))
    whole = {"first_crawl": labels[0], "last_crawl": labels[-1]}
    verdict = {"status": "model_violation", "reason": violation.reason} if violation else {}
    rows = [{**whole, **row, **verdict} for row in rows]
    if counts is not None:
        rows += [{"clock": "crawl", **row} for regime in regimes for row in _delay_rows(counts, regime, labels)]
    return ModelTables(
        [{"form": "exact", "headline": False, **row} for row in rows],
        pd.DataFrame(
            [{"clock": of_clock, **row._asdict()} for of_clock, row in compared],
            columns=list(MODEL_COMPARISON.column_names),
        ),
        _regimes_table(regimes, labels),
    )


def _histories_rows(fit: HistoriesFit) -> list[dict[str, Any]]:
    """Rows of table `parameters`; limits are of counting, coverage of each crawl given."""
    shells: dict[str, dict[str, Estimate | None]] = {}
    if fit.alpha is not None and fit.coverage is not None and fit.share is not None:
        names = {"homogeneous": ["urn"], "core_shell": ["shell"], "core_two_shells": ["shell_1", "shell_2"]}[fit.model]
        each = zip(fit.share, fit.alpha, fit.coverage, strict=True)
        shells = {
            name: {"share": share, "alpha": alpha, "coverage": coverage}
            for name, (share, alpha, coverage) in zip(names, each, strict=True)
        }
    return _component_rows(fit, {"n_points": fit.n_elements}, fit.kappa, fit.core_share, shells)


def _urn_rows(fit: UrnFit, limits: Mapping[str, Interval]) -> list[dict[str, Any]]:
    """Rows of table `parameters` of a fit to curves."""
    found = {name: Estimate(value, *limits.get(name, (None, None))) for name, value in fit.estimates.items()}
    suffixes = ("_1", "_2") if "alpha_1" in found else ("",) if found else ()
    shells = {
        f"shell{suffix}" if "kappa" in found else "urn": {
            "share": found.get(f"share{suffix}", _WHOLE),
            **{name: found.get(f"{name}{suffix}") for name in _OF_SHELLS},
        }
        for suffix in suffixes
    }
    own = {"residual_rms": fit.residual_rms, "n_points": fit.observed.size}
    return _component_rows(fit, own, found.get("kappa"), found.get("core_share"), shells)


def _component_rows(
    fit: HistoriesFit | UrnFit,
    own: Mapping[str, Any],
    kappa: Estimate | None,
    core_share: Estimate | None,
    shells: Mapping[str, Mapping[str, Estimate | None]],
) -> list[dict[str, Any]]:
    """Rows of table `parameters`: the core, if there is one, and each shell; one row where nothing was estimated.

    Parameters
    ----------
    own
        Columns of this kind of fit.
    shells
        By component, its estimates; ``share`` is of what is outside the core.
    """
    common = {
        "projection": fit.projection,
        "model": fit.model,
        "status": fit.status,
        "reason": fit.reason,
        **own,
        **_named("kappa", kappa),
        **_named("core_share", core_share),
    }
    rows = [{"component": "core", "alpha": 1.0, "coverage": 1.0, **_named("share", kappa)}] if kappa and shells else []
    for component, estimates in shells.items():
        row: dict[str, Any] = {"component": component}
        for name, estimate in estimates.items():
            row |= _named(name, _of_urn(estimate, kappa) if name == "share" and estimate else estimate)
        rows.append(row)
    return [{**common, **row} for row in rows or [{"component": "urn"}]]


def _named(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    """Columns of an estimate; none when there is none."""
    if estimate is None:
        return {}
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _of_urn(share: Estimate, kappa: Estimate | None) -> Estimate:
    """Share of the urn from a share of what is outside the core; limits are wide enough for both errors."""
    if kappa is None:
        return share
    low = None if share.low is None or kappa.high is None else share.low * (1 - kappa.high)
    high = None if share.high is None or kappa.low is None else share.high * (1 - kappa.low)
    if share == _WHOLE:
        low, high = (None if limit is None else 1 - limit for limit in (kappa.high, kappa.low))
    return Estimate(share.value * (1 - kappa.value), low, high)


def _fit(model: str, curves: Curves, near: UrnFit | None = None) -> Callable[[FloatArray], UrnFit]:
    """Make the function that fits a model to a mean curve."""

    def fit(mean: FloatArray) -> UrnFit:
        g, u = curves.is_containment, ~curves.is_containment
        points = {"lag": curves.lag[g], "containment": mean[g], "t": curves.lag[u], "ratio": mean[u]}
        return _FITS[model](**points, near=near)

    return fit


def _cross_validated(curves: Curves) -> list[ComparedModel]:
    """Compare by prediction; where there are too few crawls for that, the rows say so."""
    n = curves.ratios.shape[-2]
    short = curves.up_to(max(min(n // 2, n - 3 * BLOCK - 1), 1))
    near = {model: _fit(model, short)(short.mean) for model in _FITS}
    if np.isfinite(short.ratios).any(axis=-1).sum() >= 4 * BLOCK:
        return cross_validate(short.ratios, {model: _fit(model, short, fit) for model, fit in near.items()})
    reason = f"Comparing by prediction takes {4 * BLOCK} start crawls, and has {n}."
    return [
        ComparedModel(
            model=model,
            projection=fit.projection,
            n_parameters=fit.n_parameters,
            criterion="cross_validation",
            value=None,
            delta=None,
            at_bound=fit.status == "at_bound",
            identified=fit.identified,
            status=fit.status,
            reason=reason,
            preferred=False,
        )
        for model, fit in near.items()
    ]


class Spread(NamedTuple):
    """What the mean curve could have been: deviations from it, shape (replicates, points), and their freedom."""

    deviations: FloatArray
    freedom: float


def _spread(curves: Curves, fitted: Sequence[Fitted]) -> Spread | None:
    """Deviations of the joint fit's replicates, else of means without a block of start crawls, else nothing."""
    drawn = next((one.bootstrap for one in fitted if one.bootstrap and one.fit.clock == "crawl"), None)
    if drawn is None:
        return _jackknife(curves.ratios)
    replicated = curves_of(drawn.replicates.counts)
    known = set(zip(curves.lag, curves.is_containment, strict=True))
    same = [point in known for point in zip(replicated.lag, replicated.is_containment, strict=True)]
    means = replicated.mean[:, same]
    return Spread(means - means.mean(axis=0), drawn.freedom)


def _jackknife(values: FloatArray) -> Spread | None:
    """Deviations by the delete-block jackknife over start crawls, scaled so that their sd is the mean's error."""
    starts = np.flatnonzero(np.isfinite(values).any(axis=-1))
    k = len(starts) // BLOCK
    if k < 2:
        return None
    means = np.stack([_mean(np.delete(values, block, axis=0)) for block in np.array_split(starts, k)])
    # A point that only one block knows is not known without it.
    deviations = np.nan_to_num(means - _mean(values))
    return Spread((k - 1) / np.sqrt(k) * (deviations - deviations.mean(axis=0)), k - 1)


def _limits(fit: UrnFit, spread: Spread | None) -> dict[str, Interval]:
    """95 % limits of a fit's estimates, to first order."""
    if spread is None:
        return {}
    moves = (spread.deviations @ fit.response.T).T
    return {
        name: fraction_interval(value, np.clip(value + move, 0, 1), freedom=spread.freedom)
        for (name, value), move in zip(fit.estimates.items(), moves, strict=True)
        if np.isfinite(move).all()
    }


def _mean(values: FloatArray) -> FloatArray:
    """Mean of the known start crawls; NaN where none is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=-2))


def _recaptures(counts: Counts) -> FloatArray:
    unions = counts.unions.copy()
    np.fill_diagonal(unions, counts.sizes)
    return recaptures_from_unions(unions)


def _delay_rows(counts: Counts, regime: Regime, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of table `parameters` of a run of start crawls that has a revisit delay.

    Each window is in units of the mean size of its own crawls, and within the crawls that are as the run is: what is
    first seen again after two crawls tells of two more crawls than it starts.
    """
    last = len(labels) - 1 if regime.last == len(labels) - 4 else regime.last + 2
    n = last - regime.first + 1
    if regime.delay < 1:
        return []
    sizes = counts.sizes[regime.first : last + 1]
    unions = counts.unions[regime.first : last + 1, regime.first : last + 1]
    lengths = np.arange(1, n // 2 + 1)
    whole = np.concatenate([[0.0], np.cumsum(sizes)])
    start = np.arange(n)[:, None]
    end = np.minimum(start + lengths, n - 1)
    mean_sizes = (whole[end + 1] - whole[start]) / (lengths + 1)
    values = np.where(start + lengths < n, unions[start, end] / mean_sizes, np.nan)
    known = np.isfinite(values).any(axis=0)
    if not known.any():
        return []
    fit = fit_revisit_delay(lengths[known], _mean(values[:, known]), delay=regime.delay)
    run = {"first_crawl": labels[regime.first], "last_crawl": labels[last], "delay_crawls": regime.delay}
    return [{**row, **run} for row in _urn_rows(fit, _limits(fit, _jackknife(values[:, known])))]


def _regimes_table(regimes: Sequence[Regime], labels: Sequence[str]) -> pd.DataFrame:
    half = norm.ppf(0.975)
    rows = [
        {
            "first_crawl": labels[regime.first],
            "last_crawl": labels[regime.last],
            "delay_crawls": regime.delay,
            "lag_crawls": lag,
            "fraction": fraction,
            "fraction_low": fraction - half * se,
            "fraction_high": fraction + half * se,
            "p_value": regime.p_value,
        }
        for regime in regimes
        for lag, (fraction, se) in enumerate(zip(regime.fraction, regime.fraction_se, strict=True), start=1)
    ]
    return pd.DataFrame(rows, columns=list(REVISIT_REGIMES.column_names))
