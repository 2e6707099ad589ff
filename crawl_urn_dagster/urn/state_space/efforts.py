"""Estimate how much the effort of crawls varies, and how that moves the estimates of a fit with constant effort.

The effort e_t of a crawl is added to the logit of coverage of every class, or, in a class without random misses, to
the logits of c1 and c0. Estimates with constant effort are moved by V Σ_t d_t e_t to first order, where V is the
inverse information and d_t the covariance of the scores of the parameters and of e_t, and have a bias of second order.
Both follow from the fitted model, so no simulation is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from crawl_urn_dagster.urn.data.autocorrelation import autocorrelation
from crawl_urn_dagster.urn.data.distributions import student_quantile
from crawl_urn_dagster.urn.state_space.recursions import ClassParameters, Values, first_returns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, FloatArray, IntArray
    from crawl_urn_dagster.urn.state_space.fitting import StateSpaceFit
    from crawl_urn_dagster.urn.state_space.likelihood import Likelihood

_CHUNK = 4_096
# Step of the derivatives with respect to efforts: the imaginary part gives the first, the real part the second.
_STEP = 1e-3
_BINS = np.linspace(-12, 12, 241)
_NEWTON_STEPS = 25
_LARGEST_EFFORT = 8.0
# Captures whose outcome is known to that many units of information give an effort.
_LEAST_INFORMATION = 2.0
_NORMAL = 1.959964


class Efforts(NamedTuple):
    """Efforts of the crawls and what they do to the estimates of a fit.

    Attributes
    ----------
    efforts
        Effort of each crawl on the logit scale, shape (n_crawls,); NaN if the crawl does not show it.
    sd, autocorrelation
        Standard deviation without estimation error, and correlation of consecutive crawls, at least 0.
    covariance
        Covariance of the efforts of all crawls, shape (n_crawls, n_crawls); larger than by `sd`, because `sd` is
        an estimate.
    shift
        Change of the parameters per unit of effort of each crawl, shape (n_parameters, n_crawls).
    bias
        Expected change of the parameters by efforts of mean 0, shape (n_parameters,).
    """

    efforts: FloatArray
    sd: float
    autocorrelation: float
    covariance: FloatArray
    shift: FloatArray
    bias: FloatArray


class _Chunk(NamedTuple):
    """Some histories: their class probabilities and scores, and the captures before and after each crawl."""

    seen: BoolArray
    elements: FloatArray
    row: IntArray
    before: IntArray
    after: IntArray


def estimate_efforts(fit: StateSpaceFit, likelihood: Likelihood, histories: CaptureHistoryCounts) -> Efforts:
    """Estimate efforts under a fit, and their effect on its parameters.

    Parameters
    ----------
    fit
        Fit by the conditional likelihood.
    likelihood
        Likelihood that it maximises.
    histories
        Histories that it was fitted to.

    Returns
    -------
    Efforts
        Efforts of the crawls.
    """
    n = fit.n_crawls
    odds, captures = np.zeros((n, _BINS.size)), np.zeros(n)
    slopes, curvatures = _covariances_of_scores(likelihood, fit.point, histories, odds, captures)
    efforts, errors = _solve(odds, captures)
    sd, correlation = _spread(efforts, errors)
    lags = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return Efforts(
        efforts=efforts,
        sd=sd,
        autocorrelation=correlation,
        covariance=np.asarray(sd**2 * correlation**lags * _inflation(int(np.isfinite(efforts).sum()))),
        shift=fit.covariance @ slopes,
        bias=fit.covariance @ curvatures * sd**2,
    )


def shift_by_efforts(
    likelihood: Likelihood, point: FloatArray, covariance: FloatArray, histories: CaptureHistoryCounts
) -> FloatArray:
    """Return the change of a maximum per unit of effort of each crawl, shape (n_parameters, n_crawls).

    Parameters
    ----------
    likelihood
        Conditional or full likelihood.
    point, covariance
        Its maximum, and the inverse information at it.
    histories
        Histories that it is of.
    """
    n = histories.n_crawls
    slopes, _ = _covariances_of_scores(likelihood, point, histories, np.zeros((n, _BINS.size)), np.zeros(n))
    return np.asarray(covariance @ slopes)


def _covariances_of_scores(
    likelihood: Likelihood, point: FloatArray, histories: CaptureHistoryCounts, odds: FloatArray, captures: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the sum over elements of the scores of parameters times those of efforts, of first and second order.

    Adds to `odds` and `captures` what gives the efforts themselves.
    """
    layout, tables = likelihood.layout, likelihood.tables(point)
    posterior, scores = likelihood(point).posterior, likelihood.scores(point)
    weights = likelihood.first_capture_weights(point)
    first, second = _effort_tables(layout.kinds, tables.parameters, histories.n_crawls)
    first_slopes = _first_capture_slopes(likelihood, point)
    expected = np.einsum("kf,kft->ft", weights, first_slopes)
    if likelihood.is_full:
        expected = np.broadcast_to(expected.sum(axis=0), expected.shape)
    log_terms = tables.terms[:, 0].reshape(len(weights), -1, histories.n_crawls)
    slopes, curvatures = np.zeros((point.size, histories.n_crawls)), np.zeros(point.size)
    for chunk in _chunks(histories, likelihood.data.row):
        probability = posterior[chunk.row].T[..., None]
        slope, curvature = (_crawl_sums(table, chunk) for table in (first, second))
        start = chunk.seen.argmax(axis=1)
        score = (probability * (slope + first_slopes[:, start])).sum(axis=0) - expected[start]
        weighted = scores[chunk.row].T * chunk.elements
        slopes += weighted @ score
        curvatures += weighted @ (probability * curvature).sum(axis=(0, 2)) / 2
        _add_odds(odds, captures, chunk, probability, log_terms)
    return slopes, curvatures


def shifted(kinds: tuple[str, ...], parameters: ClassParameters, effort: Values) -> ClassParameters:
    """Return parameters of each class under each of several efforts.

    Parameters
    ----------
    kinds
        Kind of each class.
    parameters
        Parameters of shape (classes, 1) or (classes, steps).
    effort
        Effort of each step, shape (efforts, steps).

    Returns
    -------
    ClassParameters
        Parameters of shape (classes, efforts, steps).
    """
    is_random = np.array([kind in {"shell", "hidden"} for kind in kinds])[:, None, None]
    has_state = np.array([kind in {"markov", "permanent"} for kind in kinds])[:, None, None]
    survival, coverage, departure, reactivation = (value[:, None] for value in parameters)
    return ClassParameters(
        survival + 0 * effort,
        np.where(is_random, _moved(coverage, effort), coverage),
        np.where(has_state, _moved(departure, -effort), departure),
        np.where(has_state, _moved(reactivation, effort), reactivation),
    )


def _moved(probability: FloatArray, effort: Values) -> Values:
    factor = np.exp(effort)
    return np.asarray(probability * factor / (1 - probability + probability * factor))


def _effort_tables(kinds: tuple[str, ...], parameters: ClassParameters, n: int) -> tuple[FloatArray, FloatArray]:
    """Return relative first and second derivatives of returns and tails, shape (classes, 2, steps, n).

    The derivatives are with respect to the effort of step m after the start, on the third axis. Gaps are taken for
    equal, because only the spread of the estimates depends on it.
    """
    results = []
    for effort in (np.zeros((1, n)), np.eye(n) * (1j * _STEP)):
        course = first_returns(shifted(kinds, parameters.with_last_axes(1), effort[:, : n - 1]), n - 1)
        # Step m of the recursion is step m + 1 after the start, and the axis of steps starts at 0.
        results.append(np.stack([course.first, course.never], axis=1))
    value, moved = results
    safe = np.maximum(value.real, 1e-300)
    slopes = np.concatenate([np.zeros_like(moved[:, :, :1]), moved[:, :, :-1]], axis=2)
    first = slopes.imag / _STEP / safe
    second = np.where(first != 0, 2 * (value.real - slopes.real) / _STEP**2 / safe, 0.0)
    return np.asarray(first), np.asarray(second)


def first_capture_slopes(likelihood: Likelihood, point: FloatArray) -> FloatArray:
    """Return the derivative of the log of the first captures of crawl f by the effort of crawl t, shape (f, t)."""
    captures = np.exp(likelihood.first_captures(point))
    weights = captures / captures.sum(axis=0)
    return np.asarray(np.einsum("kf,kft->ft", weights, _first_capture_slopes(likelihood, point)))


def _first_capture_slopes(likelihood: Likelihood, point: FloatArray) -> FloatArray:
    """Return the derivative of log A_k(f) with respect to the effort of crawl t, shape (classes, f, t).

    The share that was not seen before is the tail of the reversed crawls, in which elements survive as often as their
    number grows. A newborn element, and any element at the first crawl, is available with the long-run probability.
    """
    kinds, tables = likelihood.layout.kinds, likelihood.tables(point)
    n, parameters = likelihood.data.n_crawls, tables.parameters
    growth = np.exp(likelihood.split(point)[2])
    parameters = parameters._replace(survival=parameters.survival / growth)
    first, _ = _effort_tables(kinds, parameters, n)
    newborn = np.minimum((1 - parameters.survival)[:, None] / np.exp(tables.first[:, 0]), 1.0)
    newborn[:, 0] = 1
    f, t = np.mgrid[:n, :n]
    result = np.where(t < f, first[:, 1][:, np.maximum(f - t, 0), f], 0.0)
    for k, kind in enumerate(kinds):
        if kind in {"shell", "hidden"}:
            result[k, range(n), range(n)] = 1 - parameters.coverage[k]
        elif kind in {"markov", "permanent"}:
            captured = newborn[k] * parameters.availability[k] + (1 - newborn[k]) * parameters.reactivation[k]
            result[k, range(n), range(n)] = 1 - captured
    return np.asarray(result)


def _chunks(histories: CaptureHistoryCounts, row: IntArray) -> Iterator[_Chunk]:
    n = histories.n_crawls
    captured = np.flatnonzero(histories.seen.any(axis=1) & (histories.elements > 0))
    crawls = np.arange(n)
    for low in range(0, len(captured), _CHUNK):
        kept = captured[low : low + _CHUNK]
        seen = histories.seen[kept]
        until = np.maximum.accumulate(np.where(seen, crawls, -1), axis=1)
        since = np.minimum.accumulate(np.where(seen, crawls, n)[:, ::-1], axis=1)[:, ::-1]
        before = np.pad(until[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
        after = np.pad(since[:, 1:], ((0, 0), (0, 1)), constant_values=n)
        yield _Chunk(seen, histories.elements[kept].astype(np.float64), row[low : low + _CHUNK], before, after)


def _crawl_sums(table: FloatArray, chunk: _Chunk) -> FloatArray:
    """Look up the derivative with respect to the effort of each crawl, shape (classes, histories, crawls)."""
    n = table.shape[-1]
    crawls = np.arange(n)
    end = np.where(chunk.seen, crawls, chunk.after)
    is_tail = end == n
    steps = np.maximum(crawls - chunk.before, 0)
    length = np.where(is_tail, n - 1, end) - chunk.before
    is_known = chunk.before >= 0
    found = table[:, is_tail.astype(int), np.where(is_known, steps, 0), np.where(is_known, length, 0)]
    return np.asarray(found)


def _add_odds(
    odds: FloatArray, captures: FloatArray, chunk: _Chunk, probability: FloatArray, terms: FloatArray
) -> None:
    """Count known elements by crawl and by the log odds that the crawl captures them, given all other crawls."""
    n, starts = terms.shape[-1], terms.shape[1] - 1
    crawls = np.arange(n)

    def log_of(start: IntArray, end: IntArray) -> FloatArray:
        is_tail = end == n
        row = np.where(is_tail, starts, start if starts > 1 else 0)
        return np.asarray(terms[:, row, np.maximum(np.minimum(end, n - 1) - start, 0)])

    is_known = chunk.before >= 0
    before = np.maximum(chunk.before, 0)
    end = np.broadcast_to(crawls, before.shape)
    ratio = log_of(before, end) + log_of(end, chunk.after) - log_of(before, chunk.after)
    ratio = np.clip(np.where(chunk.seen, -ratio, ratio), -300, 300)
    log_odds = np.log((probability * np.exp(ratio)).sum(axis=0)) * np.where(chunk.seen, -1, 1)
    bins = np.clip(np.rint((log_odds - _BINS[0]) / (_BINS[1] - _BINS[0])), 0, _BINS.size - 1).astype(int)
    elements = chunk.elements[:, None] * is_known
    flat = (end * _BINS.size + bins).ravel()
    odds += np.bincount(flat, weights=elements.ravel(), minlength=odds.size).reshape(odds.shape)
    captures += (elements * chunk.seen).sum(axis=0)


def _solve(odds: FloatArray, captures: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the effort of each crawl that explains its captures of known elements, and its standard error."""
    effort = np.zeros(len(odds))
    information = np.zeros(len(odds))
    for _ in range(_NEWTON_STEPS):
        chance = expit(_BINS + effort[:, None])
        information = (odds * chance * (1 - chance)).sum(axis=1)
        step = (captures - (odds * chance).sum(axis=1)) / np.maximum(information, 1e-9)
        effort = np.clip(effort + np.clip(step, -1, 1), -_LARGEST_EFFORT, _LARGEST_EFFORT)
    is_shown = information > _LEAST_INFORMATION
    return np.where(is_shown, effort, np.nan), np.where(is_shown, 1 / np.sqrt(np.maximum(information, 1e-9)), np.nan)


def _inflation(n: int) -> float:
    """Return the factor by which the square of a 95 % interval widens if its variance is estimated from n values."""
    return float((student_quantile(0.975, max(n - 1, 1)) / _NORMAL) ** 2)


def _spread(efforts: FloatArray, errors: FloatArray) -> tuple[float, float]:
    """Return standard deviation and autocorrelation of the efforts themselves, without their errors."""
    if np.isfinite(efforts).sum() < 3:
        return 0.0, 0.0
    noise = float(np.nanmean(errors**2))
    variance = float(np.nanvar(efforts, ddof=1)) - noise
    sd = np.sqrt(max(variance, 0.0))
    return sd, autocorrelation(efforts - np.nanmean(efforts), noise=noise)
