"""Compute the curves of every start crawl and their mean, and fit richer urns to the mean.

Does not compare urns; see `model_comparison`.

Intervals of a fit to curves come from the replicates of the joint fit. If the joint fit is not reported, they come from
a jackknife that leaves out blocks of start crawls.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn import fit_curves, fit_revisit_delay
from crawl_urn_dagster.urn.data.block_means import BLOCK
from crawl_urn_dagster.urn.uncertainty.bootstrap import CORE_PARAMETERS, fraction_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from crawl_urn_dagster.urn import Bootstrap, Counts
    from crawl_urn_dagster.urn.fits.mean_curves import UrnFit

    FloatArray = npt.NDArray[np.float64]

#: Fits of both curves together by name of the model.
CURVE_MODELS: Mapping[str, Callable[..., UrnFit]] = {
    "homogeneous": partial(fit_curves, "homogeneous"),
    "core_shell": partial(fit_curves, "core_shell"),
    "core_two_shells": partial(fit_curves, "core_two_shells"),
    "beta_shell": partial(fit_curves, "beta_shell"),
    "revisit_delay_1": partial(fit_revisit_delay, delay=1),
    "revisit_delay_2": partial(fit_revisit_delay, delay=2),
}


class StartCurves(NamedTuple):
    """Containment and discovery curve of every start crawl, in units of that crawl's size; NaN where unknown.

    Attributes
    ----------
    lag
        Crawls after the first, shape (points,); points of containment are first.
    is_containment
        Shape (points,).
    ratios
        Shape (..., start crawls, points).
    """

    lag: npt.NDArray[np.intp]
    is_containment: npt.NDArray[np.bool_]
    ratios: FloatArray

    def up_to(self, longest: int) -> StartCurves:
        """Return the points with at most this many crawls after the first."""
        kept = self.lag <= longest
        return StartCurves(self.lag[kept], self.is_containment[kept], self.ratios[..., kept])

    @property
    def mean(self) -> FloatArray:
        """Mean over the start crawls, shape (..., points)."""
        return mean_of_known(self.ratios)


def start_curves(counts: Counts) -> StartCurves:
    """Return every point that is known for some start crawl; replicates of a long collection only have the mean."""
    n = len(counts.times)
    lag, start = np.arange(1, n), np.arange(n)[:, None]
    if counts.of_lags is None:
        end = np.minimum(start + lag, n - 1)
        inside = start + lag < n
        values = [
            np.where(inside, counted(start, end) / counts.sizes[..., start], np.nan)
            for counted in (counts.overlaps_of, counts.unions_of)
        ]
    else:
        values = [counts.of_lags[..., [kind], 1:] for kind in range(2)]
    whole = StartCurves(np.tile(lag, 2), np.repeat([True, False], len(lag)), np.concatenate(values, axis=-1))
    known = np.isfinite(whole.ratios).any(axis=tuple(range(whole.ratios.ndim - 1)))
    return StartCurves(whole.lag[known], whole.is_containment[known], whole.ratios[..., known])


def curve_fitter(model: str, curves: StartCurves, near: UrnFit | None = None) -> Callable[[FloatArray], UrnFit]:
    """Return the function that fits a model to a mean curve, searching near another fit if one is given."""

    def fit(mean: FloatArray) -> UrnFit:
        g, u = curves.is_containment, ~curves.is_containment
        points = {"lag": curves.lag[g], "containment": mean[g], "t": curves.lag[u], "ratio": mean[u]}
        return CURVE_MODELS[model](**points, near=near)

    return fit


def fit_mean_curves(model: str, counts: Counts, bootstrap: Bootstrap | None) -> UrnFit:
    """Fit a model to the mean curves, with intervals.

    Parameters
    ----------
    model
        Key of `CURVE_MODELS`.
    counts
        Raw counts on clock ``crawl``.
    bootstrap
        Replicates of the joint fit on the same clock; None: intervals by the jackknife.
    """
    curves = start_curves(counts)
    return with_spread(curve_fitter(model, curves)(curves.mean), _spread(curves, bootstrap))


def with_spread(fit: UrnFit, spread: Spread | None) -> UrnFit:
    """Return a fit with the 95 % intervals of its estimates, to first order."""
    if spread is None:
        return fit
    moves = (spread.deviations @ fit.details.response.T).T
    intervals = {
        name: fraction_interval(
            value, np.clip(value + move, 0, 1), freedom=spread.freedom, may_be_zero=name in CORE_PARAMETERS
        )
        for (name, value), move in zip(fit.estimates.items(), moves, strict=True)
        if np.isfinite(move).all()
    }
    return replace(fit, intervals=intervals)


class Spread(NamedTuple):
    """Deviations of possible mean curves from the mean curve, shape (replicates, points), and degrees of freedom."""

    deviations: FloatArray
    freedom: float


def _spread(curves: StartCurves, bootstrap: Bootstrap | None) -> Spread | None:
    """Return deviations of the joint fit's replicates; without them, those of the jackknife, if there are any."""
    if bootstrap is None:
        return jackknife(curves.ratios)
    replicated = start_curves(bootstrap.replicates.counts)
    known = set(zip(curves.lag, curves.is_containment, strict=True))
    same = [point in known for point in zip(replicated.lag, replicated.is_containment, strict=True)]
    means = replicated.mean[:, same]
    return Spread(means - means.mean(axis=0), bootstrap.freedom)


def jackknife(values: FloatArray) -> Spread | None:
    """Return deviations by the delete-block jackknife over start crawls; their sd is the standard error of the mean."""
    starts = np.flatnonzero(np.isfinite(values).any(axis=-1))
    k = len(starts) // BLOCK
    if k < 2:
        return None
    means = np.stack([mean_of_known(np.delete(values, block, axis=0)) for block in np.array_split(starts, k)])
    # A point that is known in one block only is unknown without that block.
    deviations = np.nan_to_num(means - mean_of_known(values))
    return Spread((k - 1) / np.sqrt(k) * (deviations - deviations.mean(axis=0)), k - 1)


def mean_of_known(values: FloatArray) -> FloatArray:
    """Return the mean over the known start crawls; NaN where none is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=-2))
