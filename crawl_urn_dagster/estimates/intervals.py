"""The joint fits of a collection, and intervals of all fits from replicates of it.

Here: raw counts from the observable tables, replicates drawn once per clock, and what they make of every fit. Not here:
the fits of averaged curves (`fitting`), how replicates are drawn (`urn.resample`), or tables of fits (`tables`).

Every interval is of the whole sequence of crawls repeated: another sample of the urn, another coverage of every crawl
and survival of every gap.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.headline import NO_CORE
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.observables.tables import overlaps_matrix, unions_matrix
from crawl_urn_dagster.urn import (
    WITHHELD,
    Counts,
    Fit,
    JointFit,
    bootstrap_joint,
    check_core,
    fit_joint,
    intervals_of,
    no_fit,
    refit,
)
from crawl_urn_dagster.urn.fits.batched import BatchedFits, fit_containment_batch, fit_discovery_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.urn import Bootstrap, Clock, CountingError, Interval
    from crawl_urn_dagster.urn.fits.curves import Model

    FloatArray = npt.NDArray[np.float64]

REPLICATES = 200
# Of a test whose outcome is doubted: 1 in 1,000 collections with a core would fail it.
_DOUBTFUL = 1e-3
_SEED = 1


class Fitted(NamedTuple):
    """A fit with its error.

    Attributes
    ----------
    limits
        95 % limits by name: of `ESTIMATES` and of operator terms; those that are not known are absent.
    replicated
        Estimates of the replicates by name, shape (replicates,).
    bootstrap
        Of a joint fit: its replicates, the same for all fits of a clock; None where nothing was drawn.
    """

    fit: Fit
    limits: Mapping[str, Interval] = {}
    replicated: Mapping[str, FloatArray] = {}
    bootstrap: Bootstrap | None = None


def times_of(crawls: pd.DataFrame, clock: Clock) -> FloatArray:
    """Say when the crawls were since the first, in units of a clock."""
    return crawls["years"].to_numpy() if clock == "year" else np.arange(float(len(crawls)))


def raw_counts(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    clock: Clock,
    error: CountingError,
) -> Counts | None:
    """Raw counts of the tables, NaN where they have none; None when the size of a crawl is not known.

    Parameters
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    clock
        What time counts.
    error
        How the elements were counted.
    """
    n = len(crawls)
    unions = np.full((n, n), np.nan) if discovery_curve is None else unions_matrix(crawls, discovery_curve)
    intersections = np.full((n, n), np.nan) if containment is None else overlaps_matrix(crawls, containment)
    sizes = crawls["elements"].to_numpy(dtype=np.float64, na_value=np.nan)
    sizes = np.where(np.isnan(sizes), np.diagonal(unions), sizes)
    if n < 2 or not (sizes > 0).all():
        return None
    return Counts(
        times_of(crawls, clock), sizes, intersections, unions, relative_error=error.relative, one_in=error.one_in
    )


def fit_joint_models(counts: Counts | None, clock: Clock) -> list[Fit]:
    """Joint fits of core and shell, and of the homogeneous urn; without counts they say why there is nothing."""
    models: tuple[Model, ...] = ("core_shell", "homogeneous")
    if counts is not None:
        return [fit_joint(counts, model=model, clock=clock) for model in models]
    reason = "The joint fit needs two crawls or more, and the size of every crawl."
    return [no_fit("joint", model, clock, reason) for model in models]


def with_limits(
    fits: Sequence[Fit],
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    in_all: int | None = None,
    *,
    n_replicates: int = REPLICATES,
) -> list[Fitted]:
    """Find the limits of all fits; a clock whose joint fits are withheld has none.

    Replicates are drawn from the joint fit of core and shell, or of the homogeneous urn when there is no core.

    Parameters
    ----------
    fits
        As of `fitting.fit_all`.
    crawls, containment, discovery_curve
        The tables that were fitted.
    in_all
        Elements that are in every crawl, where histories tell it: when they are not as many as its core makes them, the
        joint fit of core and shell gets a reason, whatever its status.
    n_replicates
        Replicates of each clock.
    """
    found: dict[int, Fitted] = {}
    for clock in ("crawl", "year"):
        on_clock = [fit for fit in fits if fit.clock == clock]
        joint = [fit for fit in on_clock if isinstance(fit, JointFit) and fit.status not in WITHHELD]
        drawn_from = next((fit for fit in joint if fit.kappa != 0), None)
        if drawn_from is None:
            continue
        bootstrap = bootstrap_joint(drawn_from, seed=_SEED, n_replicates=n_replicates)
        for fit in on_clock:
            if isinstance(fit, JointFit):
                if fit.status not in WITHHELD:
                    same = fit is drawn_from
                    again = bootstrap if same else refit(fit, bootstrap.noise, bootstrap.replicates)
                    limits = again.intervals()
                    doubted = _judged_by(limits, with_doubt(fit, _doubt_of_core(again, in_all)))
                    found[id(fit)] = Fitted(doubted, limits, again.estimates, again)
            elif fit.alpha is not None:
                curves = _replicated(fit, crawls, containment, discovery_curve, bootstrap.replicates.counts)
                found[id(fit)] = _curve_fit_with_limits(fit, curves, bootstrap)
    return [found.get(id(fit), Fitted(fit)) for fit in fits]


def with_doubt(fit: Fit, doubt: str) -> Fit:
    """Add a doubt, if there is one, to the reason of a fit."""
    return replace(fit, reason=f"{fit.reason} {doubt}" if fit.reason else doubt) if doubt else fit


def _doubt_of_core(bootstrap: Bootstrap, in_all: int | None) -> str:
    """Say that the elements that are in every crawl are not as many as an immortal core makes them, if so."""
    if in_all is None or bootstrap.fit.model == "homogeneous":
        return ""
    test = check_core(bootstrap, in_all)
    if test.p_value >= _DOUBTFUL:
        return ""
    found = f"{test.in_all:,.0f} elements are in all crawls, {test.expected:,.0f} would be (p = {test.p_value:.1g})"
    if test.in_all > test.expected:
        return f"More is permanent than the fitted core: {found}."
    return f"{NO_CORE}: {found}; what is called core is the part that lives longest."


def _judged_by(limits: Mapping[str, Interval], fit: Fit) -> Fit:
    """Add to the reason of a fit what its limits tell; a fit is not ok that leaves an estimate open."""
    fit = with_doubt(fit, _doubt_of_bias(fit, limits))
    left_open = [
        f"{SYMBOLS[name]} ({limits[name].low:.3f} to {limits[name].high:.3f})"
        for name in fit.estimates
        if name in limits and limits[name].is_open
    ]
    if not left_open:
        return fit
    open_fit = with_doubt(fit, f"Its 95 % limits leave {', '.join(left_open)} open.")
    return replace(open_fit, status="not_identified") if fit.status == "ok" else open_fit


def _doubt_of_bias(fit: Fit, limits: Mapping[str, Interval]) -> str:
    """Say that limits end at an estimate because the fits of replicates are off it by more than they scatter."""
    off = [
        SYMBOLS[name]
        for name, estimate in fit.estimates.items()
        if name in limits and estimate is not None and 0 < estimate < 1 and estimate in limits[name]
    ]
    if not off:
        return ""
    return f"Fitted again, replicates of it are all to one side: the limits of {', '.join(off)} end at the estimate."


def _curve_fit_with_limits(fit: Fit, curves: FloatArray, bootstrap: Bootstrap) -> Fitted:
    """Limits from what the fit makes of the replicates' curves.

    The replicates are of the joint fit, so the fit's bias is what it is off that by in the mean; an urn of another
    model has no bias to tell.
    """
    drawn = bootstrap.fit
    replicated = _refitted(fit, curves)
    estimated: dict[str, float] = {}
    about: dict[str, FloatArray] = {}
    for name, again in replicated.items():
        estimate = fit.estimates[name]
        if estimate is None or not (0 <= estimate <= 1 and np.isfinite(again).all()):
            continue
        truth = drawn.estimates[name] if (fit.model, fit.form) == (drawn.model, drawn.form) else None
        estimated[name] = estimate
        about[name] = np.clip(estimate + again - (again.mean() if truth is None else truth), 0, 1)
    limits = intervals_of(estimated, about, gap=drawn.counts.mean_gap, freedom=bootstrap.freedom)
    return Fitted(_judged_by(limits, fit), limits, replicated)


def _refitted(fit: Fit, curves: FloatArray) -> dict[str, FloatArray]:
    """Estimates from each replicate's curve; to first order where many curves cannot be fitted at once."""
    again: BatchedFits | None = None
    if fit.projection == "containment" and fit.model == "core_shell":
        again = fit_containment_batch(fit.abscissa, curves, model="core_shell", form=fit.form)
    elif fit.projection == "discovery_curve" and fit.clock == "crawl":
        again = fit_discovery_batch(fit.abscissa, curves, model=fit.model)
    if again is not None:
        return {name: getattr(again, name) for name, known in fit.estimates.items() if known is not None}
    estimates = zip(fit.estimates.items(), ((curves - fit.observed) @ fit.response.T).T, strict=True)
    return {name: estimate + move for (name, estimate), move in estimates if estimate is not None}


def _replicated(
    fit: Fit,
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    counts: Counts,
) -> FloatArray:
    """Find the points of a fit in each replicate, shape (replicates, points)."""
    index = pd.Index(crawls["crawl"])
    if fit.projection == "containment":
        assert containment is not None  # noqa: S101 - it was fitted
        known = containment[containment["containment"].notna()]
        first, last = index.get_indexer(known["crawl_i"]), index.get_indexer(known["crawl_j"])
        values = counts.intersections[:, first, last] / counts.sizes[:, first]
        observed = known["containment"].to_numpy(dtype=np.float64)
        if fit.clock == "crawl":
            values, observed = _means(values, last - first), _means(observed, last - first)
        return values[:, observed > 0] if fit.model == "homogeneous" else values
    assert discovery_curve is not None  # noqa: S101 - it was fitted
    known = discovery_curve[discovery_curve["ratio"].notna() & (discovery_curve["window_crawls"] > 1)]
    first, last = index.get_indexer(known["start_crawl"]), index.get_indexer(known["end_crawl"])
    values = counts.unions[:, first, last] / counts.sizes[:, first]
    if fit.clock == "year":
        return values
    values, lengths = _means(values, last - first), np.unique(last - first)
    if fit.projection == "discovery_tail":
        return values[:, np.isin(lengths, fit.abscissa)]
    if fit.projection == "discovery_increments":
        whole = np.concatenate([np.ones((len(values), 1)), values], axis=1)
        return np.diff(whole, axis=1)[:, np.isin(lengths, fit.abscissa)]
    return values


def _means(values: FloatArray, groups: npt.NDArray[np.intp]) -> FloatArray:
    """Mean of the values of each group on the last axis, in the order of the groups."""
    _, group, size = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(values @ ((group[:, None] == np.arange(len(size))) / size))
