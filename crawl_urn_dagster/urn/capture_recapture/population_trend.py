"""Estimate the trend of the eligible population from the Jolly-Seber population of each crawl, without a model of it.

Does not need capture histories; recaptures may come from unions (see `recaptures_from_unions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.capture_recapture.recaptures import RecaptureCounts, closed_forms
from crawl_urn_dagster.urn.data.autocorrelation import autocorrelation
from crawl_urn_dagster.urn.data.distributions import student_quantile
from crawl_urn_dagster.urn.data.normal_intervals import DETECTABLE_STANDARD_ERRORS

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray

_FEWEST_CRAWLS = 5


class PopulationTrend(NamedTuple):
    """Trend of the eligible population.

    Attributes
    ----------
    slope, se
        Change of the log population per crawl, and its standard error; NaN with fewer than five known crawls.
    low, high
        Ends of the 95 % confidence interval of the slope.
    autocorrelation
        Autocorrelation of the errors of successive crawls that the standard error allows for, in [0, 0.95].
    population
        Population N_t of each crawl, shape (n_crawls,); NaN where not identified, as at the first and the last crawl.
    """

    slope: float
    se: float
    low: float
    high: float
    autocorrelation: float
    population: FloatArray

    @property
    def is_tested(self) -> bool:
        """Whether the slope has a standard error."""
        return bool(np.isfinite(self.se))

    @property
    def smallest_detectable(self) -> float:
        """Change of the log population over all crawls that is detected with probability 0.8; infinite if untested."""
        return DETECTABLE_STANDARD_ERRORS * self.se * (self.population.size - 1) if self.is_tested else np.inf


def population_trend(
    sizes: npt.ArrayLike, recaptures: npt.ArrayLike, core: npt.ArrayLike = 0.0, gaps: npt.ArrayLike | None = None
) -> PopulationTrend:
    """Regress the log of the Jolly-Seber population on time, with first-order autoregressive errors.

    The core is set apart, N = K + n'(1 + z n'/(r' m')) with n', r' and m' without it, because a crawl captures all of
    the core and only a part of the other elements. A trend of coverage does not change N.

    Parameters
    ----------
    sizes
        Elements n_t of each crawl, shape (n_crawls,).
    recaptures
        Elements r_ij captured by crawl i and next captured by crawl j, shape (n_crawls, n_crawls). Only entries above
        the diagonal are read. Those from sketched unions may be negative; NaN is taken for 0.
    core
        Elements that every crawl captures, one number or one per crawl. If the core grows, one number for it
        understates the slope by up to the core's share.
    gaps
        Gaps between crawls in mean gaps, shape (n_crawls - 1,); 1 each if None.

    Returns
    -------
    PopulationTrend
        The slope and the population of each crawl.

    References
    ----------
    Jolly, G. M. (1965). Explicit estimates from capture-recapture data with both death and immigration: stochastic
    model. Biometrika 52, 225-247.

    Prais, S. J. and Winsten, C. B. (1954). Trend estimators and serial correlation. Cowles Commission discussion paper
    383.

    Examples
    --------
    >>> import numpy as np
    >>> recaptures = 25 * np.eye(8, k=1) + 10 * np.eye(8, k=2)
    >>> trend = population_trend(np.full(8, 50), recaptures)
    >>> trend.population.round(1)[1:4].tolist(), trend.is_tested
    ([78.6, 70.4, 70.4], True)
    """
    population = _population(
        np.asarray(sizes, dtype=np.float64),
        np.asarray(recaptures, dtype=np.float64),
        np.asarray(core, dtype=np.float64),
    )
    steps = np.ones(max(population.size - 1, 0)) if gaps is None else np.asarray(gaps, dtype=np.float64)
    known = np.isfinite(population) & (population > 0)
    if known.sum() < _FEWEST_CRAWLS:
        return PopulationTrend(np.nan, np.nan, np.nan, np.nan, np.nan, population)
    time = np.append(0.0, np.cumsum(steps))[known]
    slope, se, correlation = _autoregressive_slope(time, np.log(population[known]))
    half_width = float(student_quantile(0.975, int(known.sum()) - 2)) * se
    return PopulationTrend(slope, se, slope - half_width, slope + half_width, correlation, population)


def _population(sizes: FloatArray, recaptures: FloatArray, core: FloatArray) -> FloatArray:
    table = np.triu(np.nan_to_num(recaptures), k=1)
    forward, backward = table.sum(axis=1), table.sum(axis=0)
    captured = np.maximum(sizes - core, 0)
    recaptured, marked = (np.clip(count - core, 0, captured) for count in (forward, backward))
    passed = np.maximum(np.cumsum(forward - backward) - forward, 0)
    eligible_marked, *_ = closed_forms(RecaptureCounts(captured, captured, recaptured, marked, passed))
    is_identified = (marked > 0) & (recaptured > 0)
    shell = np.divide(captured * eligible_marked, marked, out=np.full_like(captured, np.nan), where=is_identified)
    return np.asarray(core + shell)


def _autoregressive_slope(time: FloatArray, values: FloatArray) -> tuple[float, float, float]:
    """Return the generalised least-squares slope, its standard error and the autocorrelation of errors."""
    design = np.stack([np.ones_like(time), time - time.mean()], axis=1)
    residuals = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    correlation = autocorrelation(residuals, are_of_line=True)
    both = np.column_stack([design, values])
    whitened = np.vstack([np.sqrt(1 - correlation**2) * both[:1], both[1:] - correlation * both[:-1]])
    x, y = whitened[:, :2], whitened[:, 2]
    coefficients = np.linalg.lstsq(x, y, rcond=None)[0]
    variance = float(np.sum((y - x @ coefficients) ** 2)) / (time.size - 2)
    return float(coefficients[1]), float(np.sqrt(variance * np.linalg.pinv(x.T @ x)[1, 1])), correlation
