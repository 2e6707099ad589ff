"""Fit the homogeneous or the core-shell urn to many curves at once by unweighted least squares.

The curves share their lags, or are at equal gaps. Does not fit windows with different gaps, whose curve does not
separate as below; see `discovery`. Target, bounds and global optimum are the same as in `containment` and `discovery`.

The method is variable projection (Golub and Pereyra, 1973). For a fixed decay r both curves are linear in two
coefficients, and the bounds of the parameters are a triangle of these, a ≥ 0, b ≥ 0, a + b ≤ 1:

- containment: g(d) = a + b r^d with r = α; the floor μ is a, and b = (1-μ) c;
- discovery curve: t + 1 - U(t)/M = a t + b φ(t) with φ(t) = Σ_(k ≤ t) (1 - r^k) and r = α (1-c); μ is a, and
  b = (1-μ) ρ∞, from which α = r + ρ∞ (1-r) and α c = ρ∞ (1-r).

The homogeneous urn has a = 0. Least squares over the triangle are exact and leave a smooth function of r alone. Each
interval of a grid of r in which the slope of this function changes from negative to positive is refined. The fit is the
smallest minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.curves.conversions import kappa_from_core_share
from crawl_urn_dagster.urn.data.arguments import require_whole_numbers
from crawl_urn_dagster.urn.fits.two_columns import Columns, products_of, products_of_rows, project, quotient

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.urn.curves.model import Form
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray

BatchedModel = Literal["homogeneous", "core_shell"]

_N_PARAMETERS: dict[BatchedModel, int] = {"homogeneous": 2, "core_shell": 3}
# Decays are denser towards 0 and 1: a curve there responds to relative changes of r or 1 - r, of every order of
# magnitude. At 0 and 1 themselves the two columns are collinear, so the best coefficients are not unique.
_NEAR_END = np.geomspace(1e-9, 5e-4, 12)
_GRID = np.concatenate([_NEAR_END, np.sin(np.linspace(0, np.pi / 2, 49)[1:-1]) ** 2, 1 - _NEAR_END[::-1]])
# Values of one array in memory at once, 8 MB.
_CHUNK = 2**20
# Values of a problem and point in memory at once, if problems share their columns on the grid.
_SHARED = 2
_STEPS = 60
_RESOLUTION = 1e-12
# A parameter this close to a bound is at the bound: rounding moves a parameter of a noiseless curve as far.
_ON_BOUND = 1e-8


@dataclass(frozen=True, eq=False)
class BatchedFits:
    """Fitted urns, one per problem; every array but ``fitted`` has shape (problems,).

    Attributes
    ----------
    kappa, core_share
        Core fraction of the urn and core share of a crawl, in [0, 1]; 0 in the homogeneous urn. In the paper's form of
        containment both are the printed κ.
    alpha, coverage
        Survival per unit of the lags, and coverage, of the urn or of its shell, in [0, 1]. They are 0 and 1 if only
        the core is recaptured, since many values then fit.
    residual_rms
        Root mean square of the residuals, in the unit of the curves.
    n_points
        Known points.
    status
        ``too_few_points``, ``at_bound`` or ``ok``, as in `Status`. Whether the curve identifies each parameter is not
        tested; see `identification`.
    fitted
        The model at every point, known or not; shape (problems, points).

    Notes
    -----
    Numbers are NaN where there are too few points.
    """

    kappa: FloatArray
    core_share: FloatArray
    alpha: FloatArray
    coverage: FloatArray
    residual_rms: FloatArray
    n_points: IntArray
    status: npt.NDArray[np.str_]
    fitted: FloatArray


class _Optimum(NamedTuple):
    """Least-squares solution, one row per problem: decay and coefficients, shape (...); combination, (..., points)."""

    decay: FloatArray
    a: FloatArray
    b: FloatArray
    combination: FloatArray


if TYPE_CHECKING:
    Basis: TypeAlias = Callable[[FloatArray], Columns]


def fit_containment_batch(
    lag: npt.ArrayLike, containment: npt.ArrayLike, *, model: BatchedModel, form: Form = "exact"
) -> BatchedFits:
    """Fit floor + (1 - floor) c α^d to many containment curves; the homogeneous urn has floor 0.

    Parameters
    ----------
    lag
        Shape (points,), above 0, in any unit of time.
    containment
        Shape (problems, points); NaN where unknown.
    model
        ``homogeneous`` is fitted to g itself, not to log g as in `containment.fit_containment_log_linear`.
    form
        Whether the floor is μ (``exact``) or the printed κ (``paper``).

    Returns
    -------
    BatchedFits
        Survival is per unit of the lags.

    Raises
    ------
    ValueError
        When shapes do not match, a containment is infinite, or a lag is not a finite number above 0.

    Examples
    --------
    >>> lag = np.arange(1, 13)
    >>> fits = fit_containment_batch(lag, [0.5 * 0.9**lag, 0.6 * 0.8**lag], model="homogeneous")
    >>> fits.alpha.round(3).tolist(), fits.coverage.round(3).tolist()
    ([0.9, 0.8], [0.5, 0.6])
    """
    d, g = _validate("lag", lag, containment)
    unit = float(d.min())
    steps = d / unit

    def basis(decay: FloatArray) -> Columns:
        one_less = decay[..., None] ** (steps - 1)
        return Columns(np.ones_like(steps), one_less * decay[..., None], one_less * steps)

    best = _minimise(basis, g, model)
    coverage = np.where(best.b > 0, quotient(best.b, 1 - best.a), 1.0)
    kappa = best.a if form == "paper" else kappa_from_core_share(best.a, coverage)
    return _fits(
        model,
        abscissa=d,
        observed=g,
        fitted=best.combination,
        core_share=best.a,
        parameters=(kappa, best.decay ** (1 / unit), coverage),
    )


def fit_discovery_batch(t: npt.ArrayLike, ratio: npt.ArrayLike, *, model: BatchedModel) -> BatchedFits:
    """Fit the discovery curve of crawls at equal gaps to many curves.

    Parameters
    ----------
    t
        Crawls after the first, whole numbers above 0; shape (points,).
    ratio
        Distinct elements of t + 1 crawls divided by those of the first, shape (problems, points); NaN where unknown.
    model
        ``homogeneous`` or ``core_shell``.

    Returns
    -------
    BatchedFits
        Survival is per crawl.

    Raises
    ------
    ValueError
        When shapes do not match, a ratio is infinite, or a t is not a whole number above 0.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import CoreShellUrn
    >>> t = np.arange(1, 25)
    >>> curve = CoreShellUrn(kappa=0.4, alpha=0.8, coverage=0.5).discovery_curve(t)
    >>> fit_discovery_batch(t, [curve], model="core_shell").kappa.round(3).tolist()
    [0.4]
    """
    lengths, curve = _validate("t", t, ratio)
    crawls = require_whole_numbers("t", lengths, least=1).astype(np.int64)
    k = np.arange(1.0, crawls.max() + 1)

    def basis(decay: FloatArray) -> Columns:
        one_less = decay[..., None] ** (k - 1)
        resolved = (1 - one_less * decay[..., None]).cumsum(axis=-1)
        return Columns(lengths, resolved[..., crawls - 1], -(one_less * k).cumsum(axis=-1)[..., crawls - 1])

    best = _minimise(basis, lengths + 1 - curve, model)
    sampled = quotient(best.b, 1 - best.a) * (1 - best.decay)
    alpha = best.decay + sampled
    coverage = np.where(best.b > 0, quotient(sampled, alpha), 1.0)
    return _fits(
        model,
        abscissa=lengths,
        observed=curve,
        fitted=lengths + 1 - best.combination,
        core_share=best.a,
        parameters=(kappa_from_core_share(best.a, coverage), alpha, coverage),
    )


def _validate(name: str, abscissa: npt.ArrayLike, curves: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(abscissa, dtype=np.float64), np.asarray(curves, dtype=np.float64)
    if x.ndim != 1 or x.size == 0 or y.ndim != 2 or y.shape[1] != x.size:
        raise ValueError(f"{name} has shape {x.shape} and the curves {y.shape}; expected (points,), (problems, points)")
    outside = ~((x > 0) & np.isfinite(x))
    if outside.any():
        raise ValueError(f"{name} is {x[outside][0]}; expected finite numbers above 0")
    if np.isinf(y).any():
        row, column = np.argwhere(np.isinf(y))[0]
        raise ValueError(f"problem {row}, point {column} is {y[row, column]}; expected finite numbers, NaN if unknown")
    return x, y


def _minimise(basis: Basis, target: FloatArray, model: BatchedModel) -> _Optimum:
    """Fit a first + b second to each row by least squares, over the triangle and over decays in [0, 1]."""
    known = np.isfinite(target)
    observed, with_core = np.where(known, target, 0.0), model == "core_shell"
    shared = bool(len(known)) and bool((known == known[0]).all())
    rows = max(1, _CHUNK // (target.shape[1] * (_SHARED if shared else _GRID.size)))
    # If all problems have the same known points, products of columns with the curves are products of matrices.
    grid = basis(_GRID)
    if shared:
        grid = Columns(*(known[0] * column for column in grid))
    chunks = []
    for low in range(0, max(1, len(target)), rows):
        part = slice(low, low + rows)
        if shared:
            products = products_of(grid, lambda column, part=part: observed[part] @ np.atleast_2d(column).T)  # type: ignore[misc]
        else:
            products = products_of_rows(grid, observed[part, None], known[part, None])
        slopes = project(products, with_core=with_core)[2]
        chunks.append(_minimise_chunk(basis, observed[part], known[part], slopes, with_core=with_core))
    return _Optimum(*(np.concatenate(part) for part in zip(*chunks, strict=True)))


def _minimise_chunk(
    basis: Basis, observed: FloatArray, known: BoolArray, slopes: FloatArray, *, with_core: bool
) -> _Optimum:
    """Refine the minima that the slopes on the grid enclose, and choose the smallest of each problem."""

    def slope_of(problem: IntArray, decay: FloatArray) -> FloatArray:
        return project(products_of_rows(basis(decay), observed[problem], known[problem]), with_core=with_core)[2]

    problem, cell = np.nonzero((slopes[:, :-1] < 0) & (slopes[:, 1:] >= 0))
    inside = _turning_points(slope_of, problem, cell, slopes)
    at_0, at_1 = np.flatnonzero(slopes[:, 0] >= 0), np.flatnonzero(slopes[:, -1] <= 0)
    problem = np.concatenate([problem, at_0, at_1])
    decay = np.concatenate([inside, np.zeros(at_0.size), np.ones(at_1.size)])

    columns = basis(decay)
    a, b, _ = project(products_of_rows(columns, observed[problem], known[problem]), with_core=with_core)
    combination = a[:, None] * columns.first + b[:, None] * columns.second
    cost = (((observed[problem] - combination) * known[problem]) ** 2).sum(axis=1)
    order = np.lexsort((cost, problem))
    least = order[np.unique(problem[order], return_index=True)[1]]
    # Without the second column every decay fits equally well.
    return _Optimum(np.where(b[least] > 0, decay[least], 0.0), a[least], b[least], combination[least])


def _turning_points(
    slope_of: Callable[[IntArray, FloatArray], FloatArray], problem: IntArray, cell: IntArray, slopes: FloatArray
) -> FloatArray:
    """Find zeros of the slope in cells of the grid by the method of Ridders (1979), which also halves the bracket."""
    low, high = _GRID[cell], _GRID[cell + 1]
    slope_low, slope_high = slopes[problem, cell], slopes[problem, cell + 1]
    found = high.copy()
    active = np.arange(problem.size)
    for _ in range(_STEPS):
        if not active.size:
            break
        lo, hi, at_lo, at_hi = low[active], high[active], slope_low[active], slope_high[active]
        middle = (lo + hi) / 2
        at_middle = slope_of(problem[active], middle)
        new = middle - (middle - lo) * quotient(at_middle, np.sqrt(at_middle**2 - at_lo * at_hi))
        at_new = slope_of(problem[active], new)
        points = np.stack([lo, np.minimum(middle, new), np.maximum(middle, new), hi])
        values = np.stack(
            [at_lo, np.where(new < middle, at_new, at_middle), np.where(new < middle, at_middle, at_new), at_hi]
        )
        # The first interval of the three at whose end the slope is not negative.
        end = 1 + (values[1:] >= 0).argmax(axis=0)
        column = np.arange(active.size)
        low[active], high[active] = points[end - 1, column], points[end, column]
        slope_low[active], slope_high[active] = values[end - 1, column], values[end, column]
        moved = abs(new - found[active])
        found[active] = new
        active = active[(moved > _RESOLUTION) & (high[active] - low[active] > _RESOLUTION)]
    return found


def _fits(
    model: BatchedModel,
    *,
    abscissa: FloatArray,
    observed: FloatArray,
    fitted: FloatArray,
    core_share: FloatArray,
    parameters: tuple[FloatArray, FloatArray, FloatArray],
) -> BatchedFits:
    """Return fits with their status; parameters within `_ON_BOUND` of a bound are set to the bound."""
    known = np.isfinite(observed)
    n_points = known.sum(axis=1)
    distinct = (known @ (abscissa[:, None] == np.unique(abscissa))).sum(axis=1)
    too_few = distinct <= _N_PARAMETERS[model]
    squares = (np.where(known, observed - fitted, 0) ** 2).sum(axis=1)
    snapped = [
        np.where(abs(value - np.rint(value)) <= _ON_BOUND, np.rint(value), value) for value in (core_share, *parameters)
    ]
    at_bound = np.any([(value == 0) | (value == 1) for value in snapped[-_N_PARAMETERS[model] :]], axis=0)
    rms = np.sqrt(squares / np.maximum(n_points, 1))
    share, kappa, alpha, coverage, rms = (np.where(too_few, np.nan, value) for value in (*snapped, rms))
    return BatchedFits(
        kappa=kappa,
        core_share=share,
        alpha=alpha,
        coverage=coverage,
        residual_rms=rms,
        n_points=n_points,
        status=np.where(too_few, "too_few_points", np.where(at_bound, "at_bound", "ok")),
        fitted=np.where(too_few[:, None], np.nan, fitted),
    )
