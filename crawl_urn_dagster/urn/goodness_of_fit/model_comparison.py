"""Compare urns: information criteria for likelihoods, cross-validation for least squares.

Does not fit urns (see `histories_likelihood`, `shells` and `revisit`) and does not test whether one fits (see
`violation`).

Points of a curve share crawls, so their residuals are not a sample of independent errors. An information criterion
computed from their sum of squares would count one unusual crawl as dozens of observations. Least-squares fits are
therefore compared by how well they predict start crawls that were left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.data.block_means import BLOCK, block_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.fits.histories import HistoriesFit
    from crawl_urn_dagster.urn.fits.mean_curves import UrnFit
    from crawl_urn_dagster.urn.results.reasons import Reason
    from crawl_urn_dagster.urn.results.result import Status

    AnyFit: TypeAlias = HistoriesFit | UrnFit

InformationCriterion = Literal["aicc", "bic"]

# Models whose criteria differ by at most this have similar support (Burnham and Anderson, 2002).
_SUPPORTED_ALIKE = 2.0


class ComparedModel(NamedTuple):
    """One row of a comparison.

    Attributes
    ----------
    model, projection, n_parameters
        The model, the observables it was fitted to, and its number of parameters.
    criterion
        ``aicc``, ``bic`` or ``cross_validation``.
    value
        Value of the criterion; lower is better. For ``cross_validation``, the mean squared error of prediction in
        squared crawl sizes. None if the fit is not reported.
    delta
        Value minus the lowest value; None if the fit is not reported.
    at_bound, identified
        Whether the fit to all data has a parameter at its bound, and whether it identifies all parameters.
    status, reasons
        Status and reason of the fit to all data.
    preferred
        True for one row: the model with the fewest parameters among those as good as the best, and the first one if
        there are several.
    """

    model: str
    projection: str
    n_parameters: int
    criterion: str
    value: float | None
    delta: float | None
    at_bound: bool
    identified: bool
    status: Status
    reasons: tuple[Reason, ...]
    preferred: bool


def compare_likelihoods(fits: Sequence[HistoriesFit], criterion: InformationCriterion = "aicc") -> list[ComparedModel]:
    """Compare urns fitted to the same capture histories.

    AICc = -2 log L + 2 k + 2 k (k+1)/(n-k-1) and BIC = -2 log L + k log n, for k parameters and n captured elements.
    Models within 2 of the lowest value count as equally good.

    Parameters
    ----------
    fits
        Fits to the same histories, at most one per model.
    criterion
        ``aicc`` or ``bic``.

    Returns
    -------
    list of ComparedModel
        One row per fit, in the order of `fits`.

    Raises
    ------
    ValueError
        If the fits are to different histories.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import fit_histories, simulate
    >>> times = np.arange(8.0)
    >>> counts = simulate(times=times, core=400, shell=600, alpha=0.8, coverage=0.5, seed=1).counts()
    >>> fits = [fit_histories(counts, times, model=model) for model in ("homogeneous", "core_shell")]
    >>> [row.model for row in compare_likelihoods(fits, "bic") if row.preferred]
    ['core_shell']

    References
    ----------
    Burnham, K. P. and Anderson, D. R. (2002). Model Selection and Multimodel Inference, 2nd edition. Springer.
    """
    if len({fit.details.n_elements for fit in fits}) > 1:
        raise ValueError(
            f"fits are of {[fit.details.n_elements for fit in fits]} elements; expected fits of the same histories"
        )
    values = [_information(fit, criterion) for fit in fits]
    known = [value for value in values if value is not None]
    alike = [value is not None and value - min(known) <= _SUPPORTED_ALIKE for value in values]
    return _rows({fit.kind.model: fit for fit in fits}, criterion, values, alike)


def cross_validate(curves: npt.ArrayLike, models: Mapping[str, Callable[[FloatArray], UrnFit]]) -> list[ComparedModel]:
    """Compare urns fitted by least squares, by their errors in predicting start crawls that were left out.

    Blocks of 4 consecutive start crawls are left out, one at a time. A model is fitted to the mean curve of the other
    start crawls, except for the 4 on either side of the block, whose windows share the most crawls with it (h-block
    cross-validation). Its error is the mean squared difference from the mean curve of the block. Windows of the other
    start crawls still share crawls with the block, so errors for future crawls are larger. A model is as good as the
    best one if its error is larger by at most one standard error of the difference over the blocks.

    Parameters
    ----------
    curves
        Observables of each start crawl, such as g(i, i+d) and U(i, t)/M_i, shape (n_start_crawls, n_points), in time
        order; NaN where unknown.
    models
        For each name, a function that fits the model to a mean curve of shape (n_points,).

    Returns
    -------
    list of ComparedModel
        One row per model, in the order of `models`.

    Raises
    ------
    ValueError
        If there are fewer than 16 start crawls, or a point is unknown for all start crawls outside a block.

    Examples
    --------
    >>> from functools import partial
    >>> from crawl_urn_dagster.urn import CoreShellUrn, fit_curves
    >>> t = np.arange(1, 9)
    >>> noise = 0.01 * np.random.default_rng(1).standard_normal((16, 8))
    >>> curves = CoreShellUrn(kappa=0.4, alpha=0.8, coverage=0.5).discovery_curve(t) + noise
    >>> def fit(mean, model):
    ...     return fit_curves(model, t=t, ratio=mean)
    >>> models = {model: partial(fit, model=model) for model in ("homogeneous", "core_shell")}
    >>> [row.model for row in cross_validate(curves, models)]
    ['homogeneous', 'core_shell']

    References
    ----------
    Burman, P., Chow, E. and Nolan, D. (1994). A cross-validatory method for dependent data. Biometrika 81, 351-358.
    """
    values = np.asarray(curves, dtype=np.float64)
    values = values[np.isfinite(values).any(axis=1)]
    n = len(values)
    if n < 4 * BLOCK:
        raise ValueError(f"there are {n} start crawls; expected at least {4 * BLOCK} to leave out {BLOCK} at a time")
    blocks = np.array_split(np.arange(n), n // BLOCK)
    outside = [(np.arange(n) < block[0] - BLOCK) | (np.arange(n) > block[-1] + BLOCK) for block in blocks]
    training = [_mean_curve(values[others]) for others in outside]
    unknown = np.isnan(training).any(axis=0)
    if unknown.any():
        raise ValueError(
            f"point {int(unknown.argmax())} is known for start crawls of one neighbourhood only; leave out the point"
        )
    held_out = [_mean_curve(values[block]) for block in blocks]
    fits = {name: fit(_mean_curve(values)) for name, fit in models.items()}
    errors = {
        name: [_mean_square(seen - fit(mean).details.fitted) for mean, seen in zip(training, held_out, strict=True)]
        for name, fit in models.items()
        if fits[name].is_reported
    }
    least = min(errors.values(), key=np.mean, default=[])
    excess = {name: block_mean(np.subtract(error, least), block=1) for name, error in errors.items()}
    alike = [name in excess and excess[name][0] <= excess[name][1] for name in fits]
    scores = [float(np.mean(errors[name])) if name in errors else None for name in fits]
    return _rows(fits, "cross_validation", scores, alike)


def _information(fit: HistoriesFit, criterion: InformationCriterion) -> float | None:
    if fit.details.log_likelihood is None or not fit.is_reported:
        return None
    k, n = fit.details.n_parameters, fit.details.n_elements
    if n <= k + 1:  # AICc is undefined, and neither criterion is meaningful
        return None
    penalty = k * np.log(n) if criterion == "bic" else 2 * k + 2 * k * (k + 1) / (n - k - 1)
    return float(penalty - 2 * fit.details.log_likelihood)


def _mean_curve(values: FloatArray) -> FloatArray:
    """Average each point over the start crawls for which it is known; NaN if it never is."""
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    sums = np.where(known, values, 0).sum(axis=0)
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def _mean_square(values: FloatArray) -> float:
    """Average the squares of the known values."""
    return float(np.mean(values[np.isfinite(values)] ** 2))


def _rows(
    fits: Mapping[str, AnyFit], criterion: str, values: list[float | None], alike: list[bool]
) -> list[ComparedModel]:
    """Assemble the rows of a comparison, given whether each model is as good as the best one."""
    lowest = min((value for value in values if value is not None), default=None)
    candidates = [
        name for name, value, as_good in zip(fits, values, alike, strict=True) if value is not None and as_good
    ]
    preferred = min(candidates, key=lambda name: fits[name].details.n_parameters, default=None)
    return [
        ComparedModel(
            model=name,
            projection=fit.kind.projection,
            n_parameters=fit.details.n_parameters,
            criterion=criterion,
            value=value,
            delta=None if value is None or lowest is None else value - lowest,
            at_bound=fit.status == "at_bound",
            identified=fit.details.is_identified,
            status=fit.status,
            reasons=fit.reasons,
            preferred=name == preferred,
        )
        for (name, fit), value in zip(fits.items(), values, strict=True)
    ]
