"""Replicates of a collection, drawn from a fitted urn whose coverage and survival vary from crawl to crawl.

Here: how much they vary, and the counts of replicates. Not here: what replicates are for (`bootstrap`), or a simulator
that keeps elements (`simulate`).

The urn is sampled element by element, so its counts are correlated as they are in an urn. Of a large one only a part
is sampled: the counts of n elements out of S are their expectation plus sampling noise, and the noise of S is that of
n times the root of S/n (the elements are independent).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit, gammaincinv, logit, ndtr

from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.data.histories import unions_from_recaptures

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.fits.joint import JointFit

_Number = TypeVar("_Number", bound=np.generic)

# Elements of the shell that are sampled one by one: enough for counts of hundreds, whose noise is nearly normal.
_SAMPLED = 2_000
_PURE_REPLICATES = 60
# Of a sketch that is drawn with the elements: enough for errors that are nearly normal.
_MARKS = 32
# A series of a few dozen crawls does not tell a longer memory from a trend.
_LONGEST_MEMORY = 0.8
# A shorter series tells no variance.
_FEWEST = 5
_ROUNDS = 10


class Series(NamedTuple):
    """How a quantity varies from crawl to crawl: normal, of mean 0, with the correlation rho^d at distance d.

    Attributes
    ----------
    sd
        Standard deviation, sampling noise taken off; at least 0.
    rho
        Correlation of neighbours, in [0, 1); one below 0 would make means surer than those of independent crawls.
    rho_se
        Its standard error: it is the least known of the three, and each replicate has its own.
    """

    sd: float
    rho: float
    rho_se: float


#: No variation.
CONSTANT = Series(0.0, 0.0, 0.0)


class Noise(NamedTuple):
    """How coverage and survival vary beyond the sampling of a constant urn.

    Attributes
    ----------
    coverage
        Of the logit of c_t.
    survival
        Of the survival over a gap, relative to what is expected of it.
    """

    coverage: Series
    survival: Series


class _Sample(NamedTuple):
    """Counts of a shell, or of many on a leading axis.

    Attributes
    ----------
    sizes
        Elements in each crawl, shape (..., crawls).
    overlaps, recaptures
        Elements in i and j, and in i and next in j, shape (..., crawls, crawls), zero unless i < j.
    in_all
        Elements in all crawls, shape (...).
    """

    sizes: FloatArray
    overlaps: FloatArray
    recaptures: FloatArray
    in_all: FloatArray


class _SketchErrors(NamedTuple):
    """Relative errors of sketches, of mean 0 and as alike as the sets are, shape (..., crawls, crawls).

    Attributes
    ----------
    pairs
        Of the union of i and j; of the size of i on the diagonal.
    windows
        Of the union of i to j, for i < j.
    """

    pairs: FloatArray
    windows: FloatArray


class Replicates(NamedTuple):
    """Counts of replicates, and what of them is no count of pairs and windows.

    Attributes
    ----------
    counts
        Counts with a leading axis, NaN where the collection's are.
    in_all
        Elements in all crawls, shape (replicates,).
    """

    counts: Counts
    in_all: FloatArray


def estimate_noise(fit: JointFit, *, seed: int) -> Noise:
    """Estimate how coverage and survival vary, from crawl sizes and from overlaps of neighbouring crawls.

    c_t follows from M_t, and given the sizes the overlap of two neighbours follows from the survival between them.
    From variance and covariance of neighbours of each series those of replicates with constant coverage and survival
    are taken off, which are sampling noise.
    """
    pure = draw(fit, Noise(CONSTANT, CONSTANT), _PURE_REPLICATES, seed=seed).counts
    observed, sampled = (deviations(*fit.details.urn, counts) for counts in (fit.details.counts, pure))
    return Noise(*map(_series, observed, sampled))


def draw(fit: JointFit, noise: Noise, n_replicates: int, *, seed: int, published: Counts | None = None) -> Replicates:
    """Draw replicates of a collection from the urn fitted to it.

    Parameters
    ----------
    fit
        The fit, with what was fitted: times, what is published, and its errors. Errors of sketches are those of
        sketches of the elements that are sampled, scaled to the collection's.
    noise
        How coverage and survival vary.
    seed
        Equal seeds give equal replicates.
    published
        Counts whose times, errors and gaps the replicates get, of the same unit of time; None: those of the fit.

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
    sampled = max(int(min(round(shell / k), _SAMPLED)), 1)
    scale = shell / k / sampled
    urn = ElementClass(times, np.full((1, n_crawls), float(sampled)), coverages, np.array(alpha))
    n_marks = _MARKS if counts.relative_error else 0
    drawn = [
        _sample(rng, c, alpha**gaps, sampled, births_vary=k > 1, n_marks=n_marks)
        for c, gaps in zip(coverages, np.diff(times), strict=True)
    ]
    samples = [sample for sample, _ in drawn]
    whole = _Sample(
        *(
            scale * expected + np.sqrt(scale) * (np.stack(sample) - expected)
            for expected, sample in zip(_expected(urn), zip(*samples, strict=True), strict=True)
        )
    )
    cores = core / k + np.sqrt(core / k * (1 - 1 / k)) * rng.standard_normal(n_replicates)
    errors = None
    if counts.relative_error:
        with_core = [_sketch_errors(rng, *one, float(core / k / scale)) for one in drawn]
        errors = _SketchErrors(*(counts.relative_error * np.stack(one) for one in zip(*with_core, strict=True)))
    return _published(counts, np.maximum(cores, 0), whole, errors)


def _published(counts: Counts, core: FloatArray, shell: _Sample, errors: _SketchErrors | None) -> Replicates:
    """Add the core to a shell's counts, and publish them as the collection does: scaled up, sketched, in part."""
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


def _expected(urn: ElementClass) -> _Sample:
    """Find what is expected of `_sample`, for urns on a leading axis."""
    captured = urn.size * urn.coverage
    n_crawls = captured.shape[-1]
    i, j = np.triu_indices(n_crawls, k=1)
    overlaps, recaptures = np.zeros((2, len(captured), n_crawls, n_crawls))
    overlaps[:, i, j], recaptures[:, i, j] = urn.intersections(i, j), urn.recaptures(i, j)
    return _Sample(captured, overlaps, recaptures, urn.in_all())


def _sample(
    rng: np.random.Generator,
    coverage: FloatArray,
    survival: FloatArray,
    n: int,
    *,
    births_vary: bool,
    n_marks: int,
) -> tuple[_Sample, FloatArray]:
    """Sample an urn of n elements, or of n on average, and sketch each crawl, shape (crawls, marks).

    Births replace the dead; of a sample of the elements of a larger urn they are Poisson, whoever died. An element has
    marks of an exponential distribution, and a crawl's sketch is the smallest of each.
    """
    n_crawls = len(coverage)
    sizes, overlaps, recaptures = np.zeros(n_crawls), np.zeros((n_crawls, n_crawls)), np.zeros((n_crawls, n_crawls))
    # For each element, or free place: the crawls that captured it, and the number of the last of them plus 1. Crawls
    # are rows, which makes products over all elements twice as fast.
    alive = np.ones(rng.poisson(n) if births_vary else n, dtype=bool)
    seen, last = np.zeros((n_crawls, len(alive)), dtype=np.float32), np.zeros(len(alive), dtype=np.intp)
    marks, smallest = rng.standard_exponential((len(alive), n_marks)), np.zeros((n_crawls, n_marks))
    for crawl in range(n_crawls):
        caught = np.flatnonzero(alive & (rng.random(len(alive)) < coverage[crawl]))
        sizes[crawl] = len(caught)
        seen[crawl, caught] = 1
        overlaps[:crawl, crawl] = seen[:crawl] @ seen[crawl]
        recaptures[:, crawl] = np.bincount(last[caught], minlength=n_crawls + 1)[1:]
        last[caught] = crawl + 1
        smallest[crawl] = marks[caught].min(axis=0, initial=np.inf)
        if crawl < n_crawls - 1:
            dead = alive & (rng.random(len(alive)) >= survival[crawl])
            births = int(rng.poisson(n * (1 - survival[crawl])) if births_vary else np.count_nonzero(dead))
            alive &= ~dead
            more = max(births - int(np.count_nonzero(~alive)), 0)
            alive, last, marks = (_with_rows(table, more) for table in (alive, last, marks))
            seen = np.pad(seen, ((0, 0), (0, more))) if more else seen
            born = np.flatnonzero(~alive)[:births]
            alive[born], last[born] = True, 0
            seen[: crawl + 1, born] = 0
            marks[born] = rng.standard_exponential((births, n_marks))
    in_all = np.asarray(seen.all(axis=0).sum(dtype=np.float64))
    return _Sample(sizes, overlaps, recaptures, in_all), smallest


def _with_rows(table: npt.NDArray[_Number], more: int) -> npt.NDArray[_Number]:
    return np.concatenate([table, np.zeros((more, *table.shape[1:]), dtype=table.dtype)]) if more else table


def _sketch_errors(rng: np.random.Generator, sample: _Sample, smallest: FloatArray, core: float) -> _SketchErrors:
    """Find the errors of a sample's sketches, its core included, in units of the error of a sketch.

    The smallest of n exponential marks is exponential with rate n; its inverse mean over k marks, times (k - 1)/k,
    estimates n with the relative variance 1/(k - 2). That of a union is the smaller of each two.
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
    """Draw times at which a constant survival per unit of time varies as given, shape (replicates, crawls).

    Gaps are stretched by a factor of mean 1 that is gamma distributed, so that survival stays within 0 and 1.
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
    """Draw series of variance 1 along the last axis, each with a correlation of its own."""
    rho = series.rho + series.rho_se * rng.standard_normal(shape[0])
    rho = np.clip(rho, -_LONGEST_MEMORY, _LONGEST_MEMORY)
    values = rng.standard_normal(shape)
    for crawl in range(1, shape[-1]):
        values[:, crawl] = rho * values[:, crawl - 1] + np.sqrt(1 - rho**2) * values[:, crawl]
    return values


def deviations(core: FloatArray, shell: ElementClass, counts: Counts) -> tuple[FloatArray, FloatArray]:
    """Find logits of c_t, and how far survival over each gap is from what is expected, relative to that.

    Parameters
    ----------
    core, shell
        Urns of constant size, K of shape (...), as of `urn_of`.
    counts
        Counts whose leading axes broadcast with theirs.

    Returns
    -------
    Shape (..., crawls), and (..., gaps), NaN where the overlap of two neighbours is not known.
    """
    elements, held = shell.size[..., :1], core[..., None]
    sizes, first = counts.sizes, np.arange(len(counts.times) - 1)
    overlap = counts.intersections[..., first, first + 1]
    union = counts.unions[..., first, first + 1]
    overlap = np.where(np.isfinite(overlap), overlap, sizes[..., :-1] + sizes[..., 1:] - union)
    captured = np.maximum(sizes - held, 0.5)
    survival = shell.alpha[..., None] ** np.diff(shell.times)
    expected = captured[..., :-1] * captured[..., 1:] / elements * survival
    return _logit((sizes - held) / elements, elements / counts.one_in), (overlap - held) / expected - 1


def _series(observed: FloatArray, sampled: FloatArray) -> Series:
    """Find the variation of a series, shape (crawls,), beyond sampling noise, shape (replicates, crawls).

    About its own mean, a series of n values has less variance and covariance than it should, by the variance of that
    mean, sd²/n (1 + 2 Σ_(0<d<n) (1 - d/n) rho^d). It is added back. The correlation is that of the series with its
    sampling noise, so that of a variation that hardly exceeds it there is none.
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
    for _ in range(_ROUNDS):
        lost = (1 + 2 * float(((1 - distance / n) * rho**distance).sum())) / n
        rho = float(np.clip((covariance - noise[1]) / variance * (1 - lost) + lost, 0.0, _LONGEST_MEMORY))
    return Series(float(np.sqrt(excess / (1 - lost))), rho, float(np.sqrt((1 - rho**2) / n)))


def _moments(series: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variance and covariance of neighbours along the last axis, about the series' own mean."""
    about_mean = series - np.nanmean(series, axis=-1, keepdims=True)
    neighbours = about_mean[..., 1:] * about_mean[..., :-1]
    known = np.maximum(np.isfinite(neighbours).sum(axis=-1), 1)
    return np.nanmean(about_mean**2, axis=-1), np.nansum(neighbours, axis=-1) / known


def _logit(coverages: FloatArray, elements: FloatArray | float) -> FloatArray:
    """Logit of coverages of so many elements; none and all count as half an element from it."""
    half = np.minimum(0.5 / elements, 0.5)
    return np.asarray(logit(np.clip(coverages, half, 1 - half)))
