"""Draw replicates of a collection from a fitted urn whose coverage and survival vary from crawl to crawl.

Does not refit replicates (see `bootstrap`), nor return elements (see `simulation`).

The urn is sampled element by element, so its counts have the correlations of an urn. Only a part of a large urn is
sampled. The counts of S elements are their expectation plus sampling noise, and this noise is √(S/n) times the noise of
n sampled elements, because the elements are independent.

Replicates of a long collection hold a part of their counts: those of the points of the joint fit, those of the pairs
and windows that fits use (see `data.thinning`), and the means by lag over all pairs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, gammaincinv, logit, ndtr

from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.data.counts import Counts, HeldPairs
from crawl_urn_dagster.urn.data.histories import unions_from_recaptures
from crawl_urn_dagster.urn.data.thinning import is_long, kept_pairs, kept_windows
from crawl_urn_dagster.urn.uncertainty.shell_samples import Sample, count_captures, sample_shell, stack_captures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.curves.data_points import Points
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray
    from crawl_urn_dagster.urn.fits.joint import JointFit

# Shell elements that are sampled one by one. Counts are then in the hundreds, so their noise is nearly normal.
_SAMPLED = 2_000
_PURE_REPLICATES = 60
# Marks of each sketch that is drawn with the elements. With this many, its errors are nearly normal.
_MARKS = 32
# A series of a few dozen crawls does not distinguish a longer memory from a trend.
_LONGEST_MEMORY = 0.8
# The variance of a shorter series cannot be estimated.
_FEWEST = 5
_ITERATIONS = 10
# Pairs of all replicates of a long collection that are drawn at once, before a part of their counts is held.
_DRAWN_AT_ONCE = 1_000_000


class Series(NamedTuple):
    """Variation of a quantity from crawl to crawl: normal with mean 0 and correlation rho^d at distance d.

    Attributes
    ----------
    sd
        Standard deviation after subtraction of sampling noise; at least 0.
    rho
        Correlation of neighbours, in [0, 1). Values below 0 are excluded because means would then be more precise than
        means of independent crawls.
    rho_se
        Standard error of ``rho``. It is the least precise of the three, so each replicate draws its own ``rho``.
    """

    sd: float
    rho: float
    rho_se: float


#: No variation.
CONSTANT = Series(0.0, 0.0, 0.0)


class Noise(NamedTuple):
    """Variation of coverage and survival beyond the sampling noise of a constant urn.

    Attributes
    ----------
    coverage
        Variation of the logit of c_t.
    survival
        Variation of the survival over a gap, relative to its expectation.
    """

    coverage: Series
    survival: Series


class _SketchErrors(NamedTuple):
    """Relative errors of sketches, with mean 0 and correlated like the sets, shape (..., crawls, crawls).

    Attributes
    ----------
    pairs
        Errors of the union of i and j; on the diagonal, errors of the size of i.
    windows
        Errors of the union of i to j, for i < j.
    """

    pairs: FloatArray
    windows: FloatArray


class Replicates(NamedTuple):
    """Counts of replicates: pairs and windows, and elements in all crawls.

    Attributes
    ----------
    counts
        Counts with a leading axis, NaN where the counts of the collection are NaN.
    in_all
        Elements in all crawls, shape (replicates,).
    """

    counts: Counts
    in_all: FloatArray


def estimate_noise(fit: JointFit, *, seed: int) -> Noise:
    """Estimate the variation of coverage and survival from crawl sizes and overlaps of neighbouring crawls.

    c_t follows from M_t. Given the sizes, the overlap of two neighbours determines the survival between them. Sampling
    noise is the variance and the covariance of neighbours in replicates with constant coverage and survival. Both are
    subtracted.

    Parameters
    ----------
    fit
        A joint fit.
    seed
        Seed of the replicates with constant coverage and survival.
    """
    pure = draw(fit, Noise(CONSTANT, CONSTANT), _PURE_REPLICATES, seed=seed).counts
    observed, sampled = (deviations(*fit.details.urn, counts) for counts in (fit.details.counts, pure))
    return Noise(*map(_series, observed, sampled))


def draw(
    fit: JointFit,
    noise: Noise,
    n_replicates: int,
    *,
    seed: int,
    published: Counts | None = None,
    pairs: BoolArray | None = None,
) -> Replicates:
    """Draw replicates of a collection from the urn fitted to it.

    Parameters
    ----------
    fit
        The joint fit. Replicates have the times of its counts, the same published counts, and the same counting errors.
        Errors of sketches come from sketches of the sampled elements, scaled to the collection.
    noise
        Variation of coverage and survival.
    n_replicates
        Number of replicates.
    seed
        Equal seeds give equal replicates.
    published
        Counts whose times, errors and unknown values the replicates have, in the same unit of time; None: the counts of
        the fit.
    pairs
        Pairs whose intersections the replicates of a long collection hold, shape (crawls, crawls), above the diagonal;
        None: those that fits use.

    Raises
    ------
    ValueError
        When the fit has no estimates.
    """
    if np.isnan(fit.details.parameters).any():
        raise ValueError(f"the joint fit has no estimates to draw replicates from: {fit.reason}")
    rng = np.random.default_rng(seed)
    counts, (core, fitted_shell) = published or fit.details.counts, fit.details.urn
    alpha, shell = float(fitted_shell.alpha), float(fitted_shell.size[0])
    k, n_crawls = counts.one_in, len(counts.times)
    variation = noise.coverage.sd * _autoregressive(rng, noise.coverage, (n_replicates, n_crawls))
    coverages = expit(np.mean(_logit(fitted_shell.coverage, shell / k)) + variation)
    times = _warped(rng, counts.times / fit.details.counts.mean_gap, alpha, noise.survival, n_replicates)
    urn = _DrawnUrn(float(core), shell, alpha, counts)
    if not is_long(n_crawls):
        return urn.draw(rng, times, coverages)
    held = _held(n_crawls, pairs)
    parts, at_once = [], max(_DRAWN_AT_ONCE // n_crawls**2, 1)
    for first in range(0, n_replicates, at_once):
        some = slice(first, first + at_once)
        parts.append(_hold(urn.draw(rng, times[some], coverages[some]), held, fit.details.points))
    return _joined(parts)


def _held(n_crawls: int, pairs: BoolArray | None) -> HeldPairs:
    """Return what replicates of a long collection hold: neighbours, windows from the first crawl, and what fits use."""
    neighbours = np.eye(n_crawls, k=1, dtype=bool)
    windows = np.triu(kept_windows(n_crawls) | neighbours, 1)
    windows[0, 1:] = True
    return HeldPairs(kept_pairs(n_crawls) | neighbours if pairs is None else pairs, windows)


def _hold(drawn: Replicates, held: HeldPairs, points: Points) -> Replicates:
    """Hold a part of the counts; the points may be those of a fit to the first crawls."""
    fitted = drawn.counts.window(0, int(points.j.max(initial=0)) + 1)
    return drawn._replace(counts=drawn.counts.hold(held, points.count(fitted)))


def _joined(parts: Sequence[Replicates]) -> Replicates:
    of_points = [part.counts.of_points for part in parts if part.counts.of_points is not None]
    counts = replace(
        parts[0].counts,
        sizes=np.concatenate([part.counts.sizes for part in parts]),
        intersections=np.concatenate([part.counts.intersections for part in parts]),
        unions=np.concatenate([part.counts.unions for part in parts]),
        of_points=np.concatenate(of_points),
        of_lags=np.concatenate([part.counts.means_by_lag() for part in parts]),
    )
    return Replicates(counts, np.concatenate([part.in_all for part in parts]))


class _DrawnUrn(NamedTuple):
    """Urn that replicates are drawn from: core and shell in elements, survival, and the counts to publish."""

    core: float
    shell: float
    alpha: float
    published: Counts

    def draw(self, rng: np.random.Generator, times: FloatArray, coverages: FloatArray) -> Replicates:
        """Draw a replicate for each row of times in mean gaps and of coverages, shape (replicates, crawls)."""
        counts, core, k = self.published, self.core, self.published.one_in
        sampled = max(int(min(round(self.shell / k), _SAMPLED)), 1)
        scale = self.shell / k / sampled
        urn = ElementClass(times, np.full((1, coverages.shape[1]), float(sampled)), coverages, np.array(self.alpha))
        n_marks = _MARKS if counts.relative_error else 0
        drawn = [
            sample_shell(rng, c, self.alpha**gaps, sampled, births_vary=k > 1, n_marks=n_marks)
            for c, gaps in zip(coverages, np.diff(times), strict=True)
        ]
        samples = count_captures(*stack_captures([captures for captures, _ in drawn]))
        whole = Sample(
            *(
                scale * expected + np.sqrt(scale) * (sample - expected)
                for expected, sample in zip(_expected(urn), samples, strict=True)
            )
        )
        cores = core / k + np.sqrt(core / k * (1 - 1 / k)) * rng.standard_normal(len(coverages))
        errors = None
        if counts.relative_error:
            with_core = [
                _sketch_errors(rng, Sample(*(part[row] for part in samples)), smallest, core / k / scale)
                for row, (_, smallest) in enumerate(drawn)
            ]
            errors = _SketchErrors(*(counts.relative_error * np.stack(one) for one in zip(*with_core, strict=True)))
        return _published(counts, np.maximum(cores, 0), whole, errors)


def _published(counts: Counts, core: FloatArray, shell: Sample, errors: _SketchErrors | None) -> Replicates:
    """Add the core to the counts of a shell; then scale, sketch and omit counts as the collection does."""
    k = counts.one_in
    everywhere = core[:, None, None]
    sizes = k * (core[:, None] + shell.sizes)
    unions = k * (everywhere + unions_from_recaptures(shell.sizes, shell.recaptures))
    either = sizes[:, :, None] + sizes[:, None, :] - k * (everywhere + shell.overlaps)
    if errors is not None:
        sizes = sizes * (1 + np.diagonal(errors.pairs, axis1=1, axis2=2))
        unions, either = unions * (1 + errors.windows), either * (1 + errors.pairs)
    sizes = np.maximum(sizes, 1.0)
    intersections = sizes[:, :, None] + sizes[:, None, :] - either
    replicated = replace(
        counts,
        sizes=sizes,
        intersections=np.where(np.isfinite(counts.intersections), intersections, np.nan),
        unions=np.where(np.isfinite(counts.unions), unions, np.nan),
    )
    return Replicates(replicated, k * (core + shell.in_all))


def _expected(urn: ElementClass) -> Sample:
    """Return the expectation of `count_captures`, for urns on a leading axis."""
    captured = urn.size * urn.coverage
    n_crawls = captured.shape[-1]
    i, j = np.triu_indices(n_crawls, k=1)
    overlaps, recaptures = np.zeros((2, len(captured), n_crawls, n_crawls))
    overlaps[:, i, j], recaptures[:, i, j] = urn.intersections(i, j), urn.recaptures(i, j)
    return Sample(captured, overlaps, recaptures, urn.in_all())


def _sketch_errors(rng: np.random.Generator, sample: Sample, smallest: FloatArray, core: float) -> _SketchErrors:
    """Return the errors of the sketches of a sample, core included, in units of the error of a sketch.

    The smallest of n exponential marks is exponential with rate n. The inverse of its mean over k marks, times
    (k - 1)/k, estimates n with relative variance 1/(k - 2). The sketch of a union is the smaller of each two marks.
    """
    k = smallest.shape[-1]
    if core > 0:
        smallest = np.minimum(smallest, rng.standard_exponential(k) / core)
    n_crawls = len(smallest)
    pairs, windows = np.minimum(smallest[:, None], smallest), np.ones((n_crawls, n_crawls, k))
    for first in range(n_crawls):
        windows[first, first:] = np.minimum.accumulate(smallest[first:])
    either = sample.sizes[:, None] + sample.sizes - sample.overlaps - sample.overlaps.T
    either[np.diag_indices(n_crawls)] = sample.sizes
    unions = unions_from_recaptures(sample.sizes, sample.recaptures)
    return _SketchErrors(
        *(
            np.sqrt(k - 2) * ((k - 1) / marks.sum(axis=-1) / np.maximum(core + true, 1) - 1)
            for marks, true in ((pairs, either), (windows, unions))
        )
    )


def _warped(
    rng: np.random.Generator, times: FloatArray, alpha: float, survival: Series, n_replicates: int
) -> FloatArray:
    """Draw times at which a constant survival per unit of time varies as `survival` states.

    Gaps are stretched by a gamma distributed factor with mean 1, which keeps survival between 0 and 1.

    Returns
    -------
    FloatArray
        Shape (replicates, crawls).
    """
    gaps = np.diff(times)
    losses = -np.log(alpha) * gaps
    if survival.sd == 0 or alpha == 1:
        return np.broadcast_to(times, (n_replicates, len(times)))
    shape = float(np.mean(losses**2)) / survival.sd**2
    normal = _autoregressive(rng, survival, (n_replicates, len(gaps)))
    stretch = gammaincinv(shape, ndtr(normal)) / shape
    return np.concatenate([np.zeros((n_replicates, 1)), np.cumsum(gaps * stretch, axis=-1)], axis=-1)


def _autoregressive(rng: np.random.Generator, series: Series, shape: tuple[int, int]) -> FloatArray:
    """Draw series with variance 1 along the last axis, each with its own correlation."""
    rho = series.rho + series.rho_se * rng.standard_normal(shape[0])
    rho = np.clip(rho, -_LONGEST_MEMORY, _LONGEST_MEMORY)
    values = rng.standard_normal(shape)
    for crawl in range(1, shape[-1]):
        values[:, crawl] = rho * values[:, crawl - 1] + np.sqrt(1 - rho**2) * values[:, crawl]
    return values


def deviations(core: FloatArray, shell: ElementClass, counts: Counts) -> tuple[FloatArray, FloatArray]:
    """Return logits of c_t, and the relative deviation of survival over each gap from its expectation.

    Parameters
    ----------
    core, shell
        Urns of constant size as returned by `urn_of`; K has shape (...).
    counts
        Counts whose leading axes broadcast with the urns.

    Returns
    -------
    tuple
        Shapes (..., crawls) and (..., gaps); NaN where the overlap of two neighbours is unknown.
    """
    elements, held = shell.size[..., :1], core[..., None]
    sizes, first = counts.sizes, np.arange(len(counts.times) - 1)
    overlap, union = counts.overlaps_of(first, first + 1), counts.unions_of(first, first + 1)
    overlap = np.where(np.isfinite(overlap), overlap, sizes[..., :-1] + sizes[..., 1:] - union)
    captured = np.maximum(sizes - held, 0.5)
    survival = shell.alpha[..., None] ** np.diff(shell.times)
    expected = captured[..., :-1] * captured[..., 1:] / elements * survival
    return _logit((sizes - held) / elements, elements / counts.one_in), (overlap - held) / expected - 1


def _series(observed: FloatArray, sampled: FloatArray) -> Series:
    """Return the variation of a series, shape (crawls,), beyond sampling noise, shape (replicates, crawls).

    Variance and covariance about the sample mean of n values are too small by the variance of that mean,
    sd²/n (1 + 2 Σ_(0<d<n) (1 - d/n) rho^d). This variance is added back. The covariance is divided by the variance with
    sampling noise, so the correlation is near 0 if the variation hardly exceeds sampling noise.
    """
    n = int(np.isfinite(observed).sum())
    if n < _FEWEST:
        return CONSTANT
    (variance, covariance), noise = _moments(observed), np.mean(_moments(sampled), axis=-1)
    excess = float(variance - noise[0])
    if excess <= 0:
        return CONSTANT
    rho = lost = 0.0
    distance = np.arange(1, n)
    for _ in range(_ITERATIONS):
        lost = (1 + 2 * float(((1 - distance / n) * rho**distance).sum())) / n
        rho = float(np.clip((covariance - noise[1]) / variance * (1 - lost) + lost, 0.0, _LONGEST_MEMORY))
    return Series(float(np.sqrt(excess / (1 - lost))), rho, float(np.sqrt((1 - rho**2) / n)))


def _moments(series: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return variance and covariance of neighbours along the last axis, about the sample mean."""
    about_mean = series - np.nanmean(series, axis=-1, keepdims=True)
    neighbours = about_mean[..., 1:] * about_mean[..., :-1]
    known = np.maximum(np.isfinite(neighbours).sum(axis=-1), 1)
    return np.nanmean(about_mean**2, axis=-1), np.nansum(neighbours, axis=-1) / known


def _logit(coverages: FloatArray, elements: FloatArray | float) -> FloatArray:
    """Return logits of coverages of a number of elements; coverages 0 and 1 are moved inwards by half an element."""
    half = np.minimum(0.5 / elements, 0.5)
    return np.asarray(logit(np.clip(coverages, half, 1 - half)))
