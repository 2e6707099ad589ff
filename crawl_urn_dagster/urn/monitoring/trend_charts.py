"""Chart a series of crawls about its own trend, given a fixed reference period.

Does not fit an urn; charts of core, survival and coverage are in `control_charts`, with the same average and rates.

The reference period determines a line and the first-order autocorrelation of the residuals. Replicates continue such
residuals, estimate their own line, and give the distribution of the moving average if nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.data.autocorrelation import autocorrelation
from crawl_urn_dagster.urn.monitoring.control_charts import FALSE_ALARMS, HORIZON, WEIGHT

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

#: Fewest crawls of a reference period that determine a line and its residuals.
FEWEST_REFERENCE = 6
#: Fall of the log-likelihood from its largest value to the ends of a 95 % confidence interval.
PROFILE_95 = 1.92
_LARGEST_AUTOCORRELATION = 0.97
# The estimate is also biased downwards, by up to this much, where a line absorbs slow waves.
_LEAST_ERROR = 0.1
_REPLICATES = 999


@dataclass(frozen=True, eq=False)
class TrendChart:
    """Chart of the crawls that followed a reference period.

    Attributes
    ----------
    expected
        The line of the reference period at every crawl, shape (n_crawls,).
    averages
        Moving averages of the residuals since the reference, in the standard deviations that they have if nothing
        changes, shape (n_monitored_crawls,).
    centre, spread
        Residual at which an average is 0, and the change per unit of it, shape (n_monitored_crawls,).
    limit
        Control limit of the absolute average.
    p_values
        Probability of so large an average within `HORIZON` crawls, shape (n_monitored_crawls,).
    error
        2.5 % and 97.5 % quantiles of the last residual if nothing changes.
    autocorrelation
        Autocorrelation of the residuals of successive crawls.
    residuals
        Differences from the line, shape (n_crawls,).
    """

    expected: FloatArray
    averages: FloatArray
    centre: FloatArray
    spread: FloatArray
    limit: float
    p_values: FloatArray
    error: tuple[float, float]
    autocorrelation: float
    residuals: FloatArray

    @property
    def n_reference(self) -> int:
        """Number of crawls in the reference period."""
        return len(self.residuals) - len(self.averages)

    @property
    def alarmed(self) -> BoolArray:
        """Whether the average exceeds the control limit, shape (n_monitored_crawls,)."""
        return np.asarray(abs(self.averages) > self.limit)

    def date_change(self) -> tuple[int, int, int]:
        """Return the likeliest first crawl of a step, and the first and last crawl of its 95 % confidence interval.

        The interval consists of the steps whose log-likelihood is within 1.92 of the largest.
        """
        first, n = self.n_reference, len(self.residuals)
        whitened = self.residuals[1:] - self.autocorrelation * self.residuals[:-1]
        innovation = whitened[: first - 1].std(ddof=1)
        gains = np.zeros(n - first)
        for step in range(first, n):
            shape = np.append(1.0, np.full(n - step - 1, 1 - self.autocorrelation))
            gains[step - first] = (shape @ whitened[step - 1 :]) ** 2 / (shape @ shape)
        gains /= 2 * innovation**2 if innovation > 0 else 1.0
        likely = first + np.flatnonzero(gains >= gains.max() - PROFILE_95)
        return first + int(gains.argmax()), int(likely[0]), int(likely[-1])


def chart_trend(values: FloatArray, n_reference: int, *, seed: int) -> TrendChart:
    """Chart a series about the line of its first crawls.

    Parameters
    ----------
    values
        One value per crawl, on a scale on which errors are additive, shape (n_crawls,).
    n_reference
        Crawls of the reference period, at least `FEWEST_REFERENCE` and fewer than there are values.
    seed
        Seed of the replicates.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(0, 0.01, 30)
    >>> values = 0.02 * np.arange(30) + noise - 0.2 * (np.arange(30) >= 20)
    >>> chart = chart_trend(values, 15, seed=1)
    >>> chart.date_change(), bool(chart.alarmed[-1])
    ((20, 20, 20), True)
    """
    n = len(values)
    if not FEWEST_REFERENCE <= n_reference < n:
        raise ValueError(f"found {n_reference} reference crawls of {n}; expected {FEWEST_REFERENCE} to {n - 1}")
    line = _line(values, n_reference)
    residuals = values - line
    correlation = autocorrelation(residuals[:n_reference], largest=_LARGEST_AUTOCORRELATION, are_of_line=True)
    n_simulated = n + max(HORIZON - (n - n_reference), 0)
    simulated = _simulate(correlation, n_simulated, n_reference, np.random.default_rng(seed))
    simulated -= _line(simulated, n_reference)
    averages = _averages(simulated, n_reference)
    mean, sd = averages.mean(axis=0), averages.std(axis=0, ddof=1)
    largest = abs((averages - mean) / sd)[:, :HORIZON].max(axis=1)
    limit = float(np.sort(largest)[-int(FALSE_ALARMS * (1 + len(largest)))])
    monitored = slice(0, n - n_reference)
    found = (_averages(residuals, n_reference) - mean[monitored]) / sd[monitored]
    scale = residuals[:n_reference].std(ddof=2)
    scale_ratio = simulated[:, n - 1] / simulated[:, :n_reference].std(axis=1, ddof=2)
    low, high = (scale * np.quantile(scale_ratio, [0.025, 0.975])).tolist()
    return TrendChart(
        expected=line,
        averages=found,
        centre=scale * mean[monitored],
        spread=scale * sd[monitored],
        limit=limit,
        p_values=(1 + (largest >= abs(found)[:, None]).sum(axis=1)) / (1 + len(largest)),
        error=(low, high),
        autocorrelation=correlation,
        residuals=residuals,
    )


def _line(values: FloatArray, n_reference: int) -> FloatArray:
    """Return the least-squares line of the reference period at all crawls, shape (..., n_crawls)."""
    time = np.arange(values.shape[-1]) - (n_reference - 1) / 2
    reference, centred = values[..., :n_reference], time[:n_reference]
    slope = reference @ centred / (centred @ centred)
    return np.asarray(reference.mean(axis=-1)[..., None] + slope[..., None] * time)


def _simulate(correlation: float, n: int, n_reference: int, rng: np.random.Generator) -> FloatArray:
    """Draw stationary autoregressive errors of standard deviation 1, shape (n_replicates, n).

    Each replicate has its own autocorrelation, drawn from the error of the estimated one.
    """
    error = np.sqrt((1 - correlation**2) / n_reference) + _LEAST_ERROR
    rho = np.clip(correlation + error * rng.standard_normal(_REPLICATES), 0, _LARGEST_AUTOCORRELATION)
    errors = rng.standard_normal((_REPLICATES, n))
    for t in range(1, n):
        errors[:, t] = rho * errors[:, t - 1] + np.sqrt(1 - rho**2) * errors[:, t]
    return errors


def _averages(residuals: FloatArray, n_reference: int) -> FloatArray:
    """Average since the reference, in standard deviations of the reference, shape (..., n_monitored_crawls)."""
    scale = residuals[..., :n_reference].std(axis=-1, ddof=2, keepdims=True)
    steps = np.divide(
        residuals[..., n_reference:], scale, out=np.zeros_like(residuals[..., n_reference:]), where=scale > 0
    )
    averages = np.zeros_like(steps)
    average = np.zeros(steps.shape[:-1])
    for crawl in range(steps.shape[-1]):
        average = (1 - WEIGHT) * average + WEIGHT * steps[..., crawl]
        averages[..., crawl] = average
    return np.asarray(averages)
