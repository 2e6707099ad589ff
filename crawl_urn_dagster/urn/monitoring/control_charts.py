"""Chart what each new crawl shows about core, survival and coverage, given a fixed reference period.

Does not fit the reference (see `joint`), draw replicates (see `replicates`) or attribute an alarm to parameters (see
`attribution`). Collections that an urn does not describe are handled in `revisit`.

The charts are exponentially weighted moving averages (Roberts, 1959) with control limits from a hierarchical bootstrap.
The reference is fixed, because rolling windows share crawls with the windows they are compared with; then neither a
difference of two windows nor a sum of such differences has its textbook error. All three charts share one control
limit. If nothing changes, their largest excursion over `HORIZON` crawls exceeds it with probability `FALSE_ALARMS`.
Replicates estimate the reference again, so the limit includes the error of the reference.

The charts assume that the urn keeps its size N. Growth of the urn appears as a change of coverage and survival, until
enough crawls follow to be fitted alone and to contradict that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.monitoring.overlaps import overlap_variance, overlaps
from crawl_urn_dagster.urn.uncertainty.bootstrap import Bootstrap, refit
from crawl_urn_dagster.urn.uncertainty.replicates import deviations, draw, estimate_noise

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray
    from crawl_urn_dagster.urn.fits.joint import JointFit

#: The charts, in the order of arrays that have one row for each.
CHARTS = ("core", "survival", "coverage")
#: Number of crawls over which the probability of a false alarm is counted.
HORIZON = 24
#: Nominal probability that an unchanged urn exceeds the control limit. In simulations with autocorrelated noise, whose
#: memory is estimated with error, up to twice as many alarms were false.
FALSE_ALARMS = 0.02
# Pairs of all replicates whose overlaps are compared at once.
_PAIRS_AT_ONCE = 4_000_000
#: Weight of the latest crawl in the moving averages.
WEIGHT = 0.2


@dataclass(frozen=True, eq=False)
class Baseline:
    """Reference period, and the distribution of its charts if nothing changes.

    Attributes
    ----------
    bootstrap
        Refitted replicates of the reference.
    continued
        Counts of the replicates, including the crawls after the reference.
    mean, sd
        Mean and standard deviation of the replicates' moving averages, shape (3, n_following_crawls).
    largest
        Largest excursion of all averages over the first `HORIZON` crawls of each replicate, in these standard
        deviations, shape (n_replicates,).
    """

    bootstrap: Bootstrap
    continued: Counts
    mean: FloatArray
    sd: FloatArray
    largest: FloatArray

    @property
    def n_crawls(self) -> int:
        """Number of crawls in the reference period."""
        return len(self.bootstrap.fit.details.counts.times)

    @property
    def limit(self) -> float:
        """Control limit: the absolute average above which p-values are at most `FALSE_ALARMS`."""
        return float(np.sort(self.largest)[-int(FALSE_ALARMS * (1 + len(self.largest)))])


@dataclass(frozen=True, eq=False)
class Monitoring:
    """Charts of the crawls that followed a reference period.

    Attributes
    ----------
    baseline
        The reference period.
    counts
        Counts from the first crawl of the reference on.
    by_crawl
        Estimates from each crawl alone, shape (3, n_crawls); NaN where unknown. The rows are the core K in elements,
        the survival of the gap before the crawl divided by its expectation, minus 1, and the logit of the coverage.
    averages
        Moving averages since the reference, in the standard deviations they have if nothing changes, shape
        (3, n_monitored_crawls).
    centre, spread
        Value on the scale of `by_crawl` at which the moving average is 0, and the change per unit of it, shape
        (3, n_monitored_crawls).
    """

    baseline: Baseline
    counts: Counts
    by_crawl: FloatArray
    averages: FloatArray
    centre: FloatArray
    spread: FloatArray

    @property
    def p_values(self) -> FloatArray:
        """Probability of so large an average on any chart within `HORIZON` crawls, shape (3, n_monitored_crawls)."""
        largest = self.baseline.largest
        exceeding = (largest >= abs(self.averages)[..., None]).sum(axis=-1)
        return np.asarray((1 + exceeding) / (1 + len(largest)))

    @property
    def alarmed(self) -> BoolArray:
        """Whether a chart exceeds the control limit, shape (3, n_monitored_crawls)."""
        return np.asarray(abs(self.averages) > self.baseline.limit)


def draw_baseline(reference: JointFit, counts: Counts, *, seed: int, n_replicates: int = 200) -> Baseline:
    """Simulate the charts of the crawls after a reference period if nothing changes.

    Parameters
    ----------
    reference
        Joint fit of core and shell to the first crawls of the counts.
    counts
        Counts of the reference and of the following crawls, without leading axes. Only the times and the pattern of
        published values are read. The charts cover the following crawls, and at least `HORIZON` crawls.
    seed
        Seed of the random numbers. Equal seeds give equal limits.
    n_replicates
        Number of replicates, at least 49, because the limit is one of their excursions. The number adds a standard
        error of sqrt(0.02 · 0.98 / n_replicates) to the probability of a false alarm.

    Returns
    -------
    Baseline
        Replicates of the reference, and the distribution of the moving averages.

    Raises
    ------
    ValueError
        If the reference has no estimates.
    """
    first = len(reference.details.counts.times)
    noise_seed, seed_of_draw = np.random.SeedSequence(seed).generate_state(2).tolist()
    noise = estimate_noise(reference, seed=noise_seed)
    longer = _extended(counts, max(first + HORIZON - len(counts.times), 0))
    crawl = np.arange(len(longer.times))
    near = np.triu(crawl - crawl[:, None] < first, 1)
    replicates = draw(reference, noise, n_replicates, seed=seed_of_draw, published=longer, pairs=near)
    bootstrap = refit(reference, noise, replicates._replace(counts=replicates.counts.window(0, first)))
    by_crawl = _by_crawl_of_all(*bootstrap.urn, replicates.counts, first, gap=reference.details.counts.mean_gap)
    averages, _, _ = _averages(by_crawl, first)
    mean, sd = averages.mean(axis=0), averages.std(axis=0, ddof=1)
    sd = np.where(sd > 0, sd, np.inf)  # a chart that does not vary never raises an alarm
    largest = abs((averages - mean) / sd)[..., :HORIZON].max(axis=(-2, -1))
    return Baseline(bootstrap, replicates.counts, mean, sd, largest)


def monitor(baseline: Baseline, counts: Counts) -> Monitoring:
    """Chart the crawls that followed a reference period.

    Parameters
    ----------
    baseline
        Result of `draw_baseline`.
    counts
        Counts of the reference and of at least one more crawl, up to as many as the baseline covers.

    Returns
    -------
    Monitoring
        The charts.

    Raises
    ------
    ValueError
        If there are fewer or more crawls.
    """
    fit, first = baseline.bootstrap.fit, baseline.n_crawls
    monitored = len(counts.times) - first
    if not 0 < monitored <= baseline.mean.shape[-1]:
        raise ValueError(
            f"there are {len(counts.times)} crawls; expected more than the {first} of the reference, and up to "
            f"{first + baseline.mean.shape[-1]}"
        )
    by_crawl = _by_crawl(*fit.details.urn, counts, first, gap=fit.details.counts.mean_gap)
    averages, unit, middle = _averages(by_crawl, first)
    mean, sd = baseline.mean[:, :monitored], baseline.sd[:, :monitored]
    return Monitoring(baseline, counts, by_crawl, (averages - mean) / sd, centre=middle + unit * mean, spread=unit * sd)


def to_parameter_scale(monitoring: Monitoring, chart: str, values: FloatArray) -> FloatArray:
    """Convert values on the scale of a row of `by_crawl` to κ, α per unit of the clock, or c.

    Parameters
    ----------
    monitoring
        The charts.
    chart
        One of `CHARTS`.
    values
        Values of any shape.

    Returns
    -------
    ndarray
        Converted values, in the shape of `values`.
    """
    fit = monitoring.baseline.bootstrap.fit
    core, shell = fit.details.urn
    if chart == "core":
        return np.asarray(values / (core + shell.size[0]))
    if chart == "survival":
        survived = shell.alpha * np.maximum(1 + values, 0)
        return np.asarray(survived ** (1 / fit.details.counts.mean_gap))
    return np.asarray(expit(values))


def _extended(counts: Counts, n: int) -> Counts:
    """Append n crawls at mean gaps, with every kind of table published that is published for any crawl."""
    times = np.append(counts.times, counts.times[-1] + counts.mean_gap * np.arange(1, n + 1))

    def padded(table: FloatArray) -> FloatArray:
        return np.pad(table, (0, n), constant_values=0.0 if np.isfinite(table).any() else np.nan)

    return replace(
        counts,
        times=times,
        sizes=np.append(counts.sizes, np.ones(n)),
        intersections=padded(counts.intersections),
        unions=padded(counts.unions),
    )


def _by_crawl_of_all(core: FloatArray, shell: ElementClass, counts: Counts, first: int, *, gap: float) -> FloatArray:
    """Estimate `_by_crawl` of replicates, some at once, because tables of all pairs of crawls are large."""
    n_replicates, at_once = len(core), max(_PAIRS_AT_ONCE // len(counts.times) ** 2, 1)
    parts = []
    for low in range(0, n_replicates, at_once):
        some = slice(low, low + at_once)
        urn = ElementClass(shell.times, shell.size[some], shell.coverage[some], shell.alpha[some])
        parts.append(_by_crawl(core[some], urn, counts.select(some), first, gap=gap))
    return np.concatenate(parts)


def _by_crawl(core: FloatArray, shell: ElementClass, counts: Counts, first: int, *, gap: float) -> FloatArray:
    """Estimate `Monitoring.by_crawl` for urns (...) fitted to the first crawls, shape (..., 3, n_crawls)."""
    times = counts.times / gap
    elements, alpha = shell.size[..., :1], shell.alpha
    coverage, survival = deviations(core, ElementClass(times, elements, counts.sizes, alpha), counts)
    crawl = np.arange(len(times))
    near = abs(crawl[:, None] - crawl) < first
    # A crawl of the reference is not compared with crawls after the reference.
    near &= (crawl < first) | (crawl < crawl[:, None])
    near &= crawl[:, None] != crawl
    share = (counts.sizes - core[..., None])[..., None, :] / elements[..., None]
    share = share * alpha[..., None, None] ** abs(times[:, None] - times)
    expected = core[..., None, None] + (counts.sizes - core[..., None])[..., :, None] * share
    observed = overlaps(counts)
    known = near & np.isfinite(observed)
    t, i = (index.ravel() for index in np.indices(near.shape))
    variance = overlap_variance(counts, expected.reshape(*expected.shape[:-2], -1), t, i).reshape(expected.shape)
    weight = np.where(known, 1 / variance, 0.0)
    numerator = weight * (1 - share) * (np.where(known, observed, 0.0) - counts.sizes[..., :, None] * share)
    denominator = (weight * (1 - share) ** 2).sum(axis=-1)
    cores = np.divide(numerator.sum(axis=-1), denominator, out=np.full_like(denominator, np.nan), where=denominator > 0)
    unknown = np.full((*survival.shape[:-1], 1), np.nan)
    return np.stack([cores, np.concatenate([unknown, survival], axis=-1), coverage], axis=-2)


def _averages(by_crawl: FloatArray, first: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Average since the reference, in standard deviations of the reference.

    An unknown value leaves the average unchanged.

    Returns
    -------
    averages : ndarray
        Shape (..., n_monitored_crawls).
    sd, mean : ndarray
        Standard deviation and mean of the reference, shape (..., 1).
    """
    reference = by_crawl[..., :first]
    mean = np.nanmean(reference, axis=-1, keepdims=True)
    sd = np.nanstd(reference, axis=-1, ddof=1, keepdims=True)
    steps = np.divide(by_crawl[..., first:] - mean, sd, out=np.zeros_like(by_crawl[..., first:]), where=sd > 0)
    averages = np.zeros_like(steps)
    average = np.zeros(steps.shape[:-1])
    for crawl in range(steps.shape[-1]):
        step = steps[..., crawl]
        average = np.where(np.isfinite(step), (1 - WEIGHT) * average + WEIGHT * step, average)
        averages[..., crawl] = average
    return averages, sd, mean
