"""Estimate how ranks move from crawl to crawl: drift and diffusion of the logarithm of the rank in each band.

Does not count the moves between bands; see `observables.stratum_moves`.

An element of a band has a rank r that is uniform in the band. At the next crawl, ln r has changed by a normal amount
with mean μ (drift) and variance 2D (diffusion). Only the bands are known, so the data are grouped.
Elements that the next crawl does not contain are left out. If the list ends at a rank, those whose rank passed it are
among them, so the likelihood is conditional on a rank before the end, and gives the share of a band that passes it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.urn.data.histories import FloatArray

# Points at which the ranks of a band are evaluated, and the steps of the derivatives.
_POINTS, _STEP = 60, 1e-4
# The moves do not determine a scale outside these bounds, or a diffusion whose logarithm has a larger standard error.
_LOG_SCALES, _LARGEST_ERROR = (-6.0, 3.0), 1.0
_SMALLEST = 1e-300


class RankMotion(NamedTuple):
    """Motion of the ranks of one band in one crawl.

    Attributes
    ----------
    drift, drift_se
        Mean change of the logarithm of the rank, positive towards worse ranks, and its standard error.
    diffusion, log_diffusion_se
        Half the variance of this change, and the standard error of its logarithm.
    passing
        Share of the band whose rank passes the end of the list; 0 if it has none.
    """

    drift: float
    drift_se: float
    diffusion: float
    log_diffusion_se: float
    passing: float


def fit_rank_motion(band: int, bounds: FloatArray, moves: FloatArray, *, is_cut: bool) -> RankMotion | None:
    """Fit the motion of ranks that start in a band; None if the moves do not determine it.

    Parameters
    ----------
    band
        Position of the band.
    bounds
        Highest rank of each band, ascending, infinite if the last band has no end, shape (bands,).
    moves
        Elements of the band that the next crawl contains, by the band of their new rank, for each pair of crawls,
        shape (pairs, bands).
    is_cut
        Whether the list ends at the last bound.

    Examples
    --------
    >>> moves = np.array([[700.0, 200, 20], [690, 210, 15]])
    >>> motion = fit_rank_motion(0, np.array([100.0, 1000, np.inf]), moves, is_cut=False)
    >>> round(motion.diffusion)
    1
    """
    low = 0.5 if band == 0 else bounds[band - 1] + 0.5
    high = bounds[band] + 0.5
    total = moves.sum(axis=0)
    if not np.isfinite(high) or np.count_nonzero(total) < 2:
        return None
    starts = np.log(low + (np.arange(_POINTS) + 0.5) / _POINTS * (high - low))
    ends = np.log(bounds + 0.5)
    log_shares = partial(_log_shares, starts, ends, is_cut)
    start = np.array([0.0, np.log(np.log(high / low)) - 1])

    def loss(parameters: FloatArray) -> float:
        return -float(total @ log_shares(parameters)) / float(total.sum())

    best = minimize(loss, start, method="L-BFGS-B", bounds=[(-10.0, 10.0), _LOG_SCALES])
    errors = _standard_errors(best.x, log_shares, moves)
    is_at_bound = np.min(abs(best.x[1] - np.asarray(_LOG_SCALES))) < 1e-3
    if is_at_bound or 2 * errors[1] > _LARGEST_ERROR:
        return None
    passing = 1 - _reached(starts, ends, best.x)[-1] if is_cut else 0.0
    diffusion = np.exp(2 * best.x[1]) / 2
    return RankMotion(float(best.x[0]), float(errors[0]), float(diffusion), float(2 * errors[1]), float(passing))


def _reached(starts: FloatArray, ends: FloatArray, parameters: FloatArray) -> FloatArray:
    """Return the probability of a rank up to the end of each band."""
    drift, log_scale = parameters
    return np.asarray(ndtr((ends[:, None] - starts - drift) / np.exp(log_scale)).mean(axis=1))


def _log_shares(starts: FloatArray, ends: FloatArray, is_cut: bool, parameters: FloatArray) -> FloatArray:
    """Return the logarithm of the probability of each band, given a rank before the end of the list."""
    reached = _reached(starts, ends, parameters)
    shares = np.diff(reached, prepend=0.0) / (reached[-1] if is_cut else 1.0)
    return np.log(np.maximum(shares, _SMALLEST))


def _standard_errors(best: FloatArray, log_shares: Callable[[FloatArray], FloatArray], moves: FloatArray) -> FloatArray:
    """Return the standard errors of both parameters, at least those of counting.

    Moves vary between pairs of crawls by more than counting, so the scores of the pairs are clusters (sandwich
    estimator).
    """
    steps = _STEP * np.eye(2)
    gradient = np.array([(log_shares(best + step) - log_shares(best - step)) / (2 * _STEP) for step in steps])
    inverse = np.linalg.pinv((gradient * moves.sum(axis=0)) @ gradient.T)
    variance = np.diag(inverse)
    n_pairs = len(moves)
    if n_pairs > 1:
        scores = moves @ gradient.T
        clustered = inverse @ (scores.T @ scores) @ inverse * n_pairs / (n_pairs - 1)
        variance = np.maximum(variance, np.diag(clustered))
    return np.asarray(np.sqrt(variance))
