"""Score predicted probabilities of captures against outcomes.

Does not predict; see `posterior` and `baselines`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import xlogy

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray

#: Number of equal parts of [0, 1] into which predictions are grouped.
N_BINS = 10
_LEAST_PROBABILITY = 1e-6
_DRAWS = 2_000


class Reliability(NamedTuple):
    """Predictions and outcomes by bin, each of shape (N_BINS,); bin b is [b / N_BINS, (b + 1) / N_BINS).

    Attributes
    ----------
    elements
        Number of predictions.
    predicted
        Sum of the predicted probabilities.
    captured
        Number of predictions that were followed by a capture.
    """

    elements: FloatArray
    predicted: FloatArray
    captured: FloatArray

    @property
    def calibration_error(self) -> float:
        """Mean absolute difference of predicted and observed share, weighted by predictions; NaN without any."""
        total = self.elements.sum()
        return float(np.abs(self.predicted - self.captured).sum() / total) if total else np.nan


class Score(NamedTuple):
    """Score of predictions.

    Attributes
    ----------
    brier
        Mean squared difference of probability and outcome.
    log_loss
        Mean of minus the logarithm of the probability of the outcome.
    reliability
        Predictions and outcomes by bin.
    """

    brier: float
    log_loss: float
    reliability: Reliability


def score(probability: FloatArray, outcome: BoolArray, elements: IntArray) -> Score:
    """Score predictions.

    Parameters
    ----------
    probability
        Predicted probabilities, shape (n,); predictions that are NaN are left out.
    outcome
        Whether a capture followed, shape (n,).
    elements
        Number of elements with each prediction and outcome, shape (n,).

    Examples
    --------
    >>> found = score(np.array([0.8, 0.8, 0.1]), np.array([True, False, False]), np.array([8, 2, 10]))
    >>> round(found.brier, 3), round(found.log_loss, 3), round(found.reliability.calibration_error, 3)
    (0.085, 0.303, 0.05)
    """
    is_scored = ~np.isnan(probability)
    p, y, weight = probability[is_scored], outcome[is_scored], elements[is_scored].astype(np.float64)
    total = max(weight.sum(), 1.0)
    inner = np.clip(p, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    position = np.minimum((p * N_BINS).astype(np.int64), N_BINS - 1)
    return Score(
        brier=float(weight @ (p - y) ** 2 / total),
        log_loss=float(-(weight @ (xlogy(y, inner) + xlogy(~y, 1 - inner))) / total),
        reliability=Reliability(
            *(np.bincount(position, weights=values, minlength=N_BINS) for values in (weight, weight * p, weight * y))
        ),
    )


def calibration_error_limit(probability: FloatArray, outcome: BoolArray, elements: IntArray, *, seed: int) -> float:
    """Return the upper end of the one-sided 97.5 % confidence interval of the calibration error; NaN without elements.

    The interval comes from a bootstrap of the elements, whose sums by bin are drawn from their normal approximation.
    The calibration error of few elements is large by chance, which gives a large limit.

    Parameters
    ----------
    probability, outcome, elements
        As in `score`, without NaN.
    seed
        Seed of the draws.

    Examples
    --------
    >>> predicted, captured = np.array([0.8, 0.8]), np.array([True, False])
    >>> [round(calibration_error_limit(predicted, captured, n * np.array([8, 2]), seed=1), 2) for n in (10, 1000)]
    [0.09, 0.01]
    """
    weight = elements.astype(np.float64)
    total = weight.sum()
    if not total:
        return np.nan
    position = np.minimum((probability * N_BINS).astype(np.int64), N_BINS - 1)
    difference = probability - outcome
    sums = np.bincount(position, weights=weight * difference, minlength=N_BINS)
    deviation = np.sqrt(np.bincount(position, weights=weight * difference**2, minlength=N_BINS))
    drawn = sums + deviation * np.random.default_rng(seed).standard_normal((_DRAWS, N_BINS))
    return float(np.quantile(np.abs(drawn).sum(axis=1) / total, 0.975))
