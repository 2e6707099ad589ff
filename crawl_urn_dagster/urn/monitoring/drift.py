"""Drift of an urn as crawls arrive: control charts that give the alarm, and which parameter it was that moved.

Here: what each new crawl says of core, survival and coverage given a reference run of crawls, exponentially weighted
moving averages of it (Roberts, 1959) with limits from a hierarchical bootstrap, and the fit of what came after a
change. Not here: fits of the reference (`joint`), how replicates are drawn (`resample`), changes of collections that
no urn describes (`revisit`), or tables.

The reference is fixed: windows that roll along share crawls with what they are compared with, so that neither the
difference of two of them nor a sum of such differences has the error that a textbook gives it. All three charts share
one limit, which their largest excursion over `HORIZON` crawls passes with a chance of `FALSE_ALARMS` when nothing
changes; replicates estimate the reference anew, so that its own error is within the limit.

The urn keeps its size N: what a growing urn does is seen as a change of coverage and survival, until the crawls since
are enough to be fitted alone and contradict that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.fits.joint import fit_joint
from crawl_urn_dagster.urn.optimise.levenberg_marquardt import minimise_all
from crawl_urn_dagster.urn.uncertainty.bootstrap import Bootstrap, Interval, bootstrap_joint, difference_interval, refit
from crawl_urn_dagster.urn.uncertainty.replicates import deviations, draw, estimate_noise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray
    from crawl_urn_dagster.urn.fits.joint import JointFit

#: The charts, in the order of arrays that have one row for each.
CHARTS = ("core", "survival", "coverage")
#: Crawls that the chance of a false alarm is counted over.
HORIZON = 24
#: Chance that an urn as it was fitted passes the limit. In simulation, where noise with a memory is told less well than
#: it is, up to twice as many alarms are false.
FALSE_ALARMS = 0.02
#: Weight of the newest crawl in the moving averages.
WEIGHT = 0.2
# Crawls on either side of the likeliest step of a chart that a change is dated among.
_NEAR = 2
# A change is named when its interval leaves out 0 at this level; each of three parameters is looked at.
_NAMED = 0.99
# Two fits of the same crawls are of different urns when intervals at this level do not meet.
_SURE = 0.999
# Crawls that may tell a core, a survival and a coverage without any before them.
_ALONE = 4
_SEED = 1
_BOUNDS = np.array([0.0, 1e-12]), np.array([1 - 1e-6, 1.0])


class Change(NamedTuple):
    """A parameter before and after a change.

    Attributes
    ----------
    reference, value
        Estimates of the reference, and of the crawls since the change.
    difference
        95 % interval of value less reference.
    value_interval
        The same about the reference: 95 % interval of the value.
    sure_interval
        99.9 % interval of the value.
    moved
        Whether the interval of the difference leaves out 0 at a level of 99 %.
    """

    reference: float
    value: float
    difference: Interval
    value_interval: Interval
    sure_interval: Interval
    moved: bool


class Attribution(NamedTuple):
    """What moved.

    Attributes
    ----------
    changes
        ``kappa``, ``core_share``, ``alpha`` (per unit of the clock) and ``coverage``.
    urn_before, urn_since
        Elements of the urn; the latter is None when it is taken to be the same, of the same size.
    """

    changes: Mapping[str, Change]
    urn_before: float
    urn_since: float | None


@dataclass(frozen=True, eq=False)
class Baseline:
    """A reference run of crawls, and what its charts do when nothing changes.

    Attributes
    ----------
    bootstrap
        Replicates of the reference, refitted.
    continued
        Counts of the replicates, over the crawls that follow too.
    mean, sd
        Of the replicates' moving averages, shape (3, crawls that follow).
    largest
        Largest excursion of all averages over the first `HORIZON` crawls in each replicate, in these standard
        deviations, shape (replicates,).
    """

    bootstrap: Bootstrap
    continued: Counts
    mean: FloatArray
    sd: FloatArray
    largest: FloatArray

    @property
    def n_crawls(self) -> int:
        """Crawls of the reference."""
        return len(self.bootstrap.fit.counts.times)

    @property
    def limit(self) -> float:
        """Absolute average above which a chart gives the alarm: where p-values are at most `FALSE_ALARMS`."""
        return float(np.sort(self.largest)[-int(FALSE_ALARMS * (1 + len(self.largest)))])


@dataclass(frozen=True, eq=False)
class Monitoring:
    """Charts of the crawls that followed a reference.

    Attributes
    ----------
    baseline
        The reference.
    counts
        Counts from its first crawl on.
    by_crawl
        What each crawl says by itself, shape (3, crawls): core K in elements, survival of the gap before it relative
        to what is expected, less 1, and logit of the coverage. NaN where unknown.
    averages
        Moving averages since the reference, in standard deviations that they have when nothing changes, shape
        (3, monitored crawls).
    centre, spread
        Of ``by_crawl``: where the moving average is 0, and its change by one; shape (3, monitored crawls).
    """

    baseline: Baseline
    counts: Counts
    by_crawl: FloatArray
    averages: FloatArray
    centre: FloatArray
    spread: FloatArray

    @property
    def p_values(self) -> FloatArray:
        """Chance of so large an average on any chart within `HORIZON` crawls, shape (3, monitored crawls)."""
        largest = self.baseline.largest
        passed = (largest >= abs(self.averages)[..., None]).sum(axis=-1)
        return np.asarray((1 + passed) / (1 + len(largest)))

    @property
    def alarmed(self) -> BoolArray:
        """Where a chart is beyond the limit, shape (3, monitored crawls)."""
        return np.asarray(abs(self.averages) > self.baseline.limit)


def draw_baseline(reference: JointFit, counts: Counts, *, seed: int, n_replicates: int = 200) -> Baseline:
    """Find what the charts of the crawls that follow a reference do when nothing changes.

    Parameters
    ----------
    reference
        Joint fit of core and shell to the first crawls of the counts.
    counts
        Counts of the reference and of what followed, without leading axes; only their times are read, and what is
        published. Charts go on for as many crawls, and at least for `HORIZON`.
    seed
        Equal seeds give equal limits.
    n_replicates
        At least 49, for a limit to be among them; the chance of false alarms has a standard error of
        root(0.02 · 0.98 / replicates) from their number.

    Raises
    ------
    ValueError
        When the reference has no estimates.
    """
    first = len(reference.counts.times)
    noise_seed, seed_of_draw = np.random.SeedSequence(seed).generate_state(2).tolist()
    noise = estimate_noise(reference, seed=noise_seed)
    longer = _continued(counts, max(first + HORIZON - len(counts.times), 0))
    replicates = draw(reference, noise, n_replicates, seed=seed_of_draw, published=longer)
    bootstrap = refit(reference, noise, replicates._replace(counts=head(replicates.counts, first)))
    by_crawl = _by_crawl(*bootstrap.urn, replicates.counts, first, gap=reference.counts.mean_gap)
    averages, _, _ = _averages(by_crawl, first)
    mean, sd = averages.mean(axis=0), averages.std(axis=0, ddof=1)
    sd = np.where(sd > 0, sd, np.inf)  # of what does not vary nothing is said
    largest = abs((averages - mean) / sd)[..., :HORIZON].max(axis=(-2, -1))
    return Baseline(bootstrap, replicates.counts, mean, sd, largest)


def monitor(baseline: Baseline, counts: Counts) -> Monitoring:
    """Chart the crawls that followed a reference.

    Parameters
    ----------
    counts
        Counts of the reference and at least one crawl more, up to as many as the baseline has.

    Raises
    ------
    ValueError
        When there are fewer crawls, or more.
    """
    fit, first = baseline.bootstrap.fit, baseline.n_crawls
    monitored = len(counts.times) - first
    if not 0 < monitored <= baseline.mean.shape[-1]:
        raise ValueError(
            f"there are {len(counts.times)} crawls; expected more than the {first} of the reference, and up to "
            f"{first + baseline.mean.shape[-1]}"
        )
    by_crawl = _by_crawl(*fit.urn, counts, first, gap=fit.counts.mean_gap)
    averages, unit, middle = _averages(by_crawl, first)
    mean, sd = baseline.mean[:, :monitored], baseline.sd[:, :monitored]
    return Monitoring(baseline, counts, by_crawl, (averages - mean) / sd, centre=middle + unit * mean, spread=unit * sd)


def date_change(monitoring: Monitoring, until: int) -> int:
    """Find the monitored crawl with which a change began, as seen at monitored crawl ``until``, counted from 0.

    Where a step of the mean is the most likely (Samuel, Pignatiello and Calvin, 1998), on the chart whose average is
    the largest then. Overlaps tell the date of a change of core or survival better: of the crawls next to it, the one
    whose fit leaves least.
    """
    row = int(abs(monitoring.averages[:, until]).argmax())
    chart, first = monitoring.by_crawl[row], monitoring.baseline.n_crawls
    apart = np.nan_to_num(chart[first : first + until + 1] - np.nanmean(chart[:first]))
    sums, lengths = apart[::-1].cumsum()[::-1], np.arange(until + 1, 0, -1)
    step = int((sums**2 / lengths).argmax())
    if CHARTS[row] == "coverage":
        return step
    near = range(max(step - _NEAR, 0), min(step + _NEAR, until) + 1)
    return min(near, key=lambda since: float(_fit_of(monitoring, since, until)[1][0]))


def attribute(monitoring: Monitoring, since: int, until: int) -> Attribution:
    """Find which parameters moved, and by how much, from the crawls of a change and their overlap with those before.

    Core and survival after the change are the least squares of all overlaps of monitored crawls ``since`` to ``until``
    with each other and with those before, given the reference and an urn that keeps its size. Elements that leave the
    core belong to the shell from then on; those that join it are new. The replicates, in which nothing changed, tell
    the error of the differences.

    After an alarm, where the joint fit of the crawls since alone is ok and a 99.9 % interval of it does not meet the
    one so found, the urn is another one since, by its size or its elements, and the changes are those to this fit. The
    share of the core in a crawl follows from κ and c: it is said to have moved when κ moved with it.

    Parameters
    ----------
    since, until
        First and last monitored crawl after the change, counted from 0.
    """
    fit, first = monitoring.baseline.bootstrap.fit, monitoring.baseline.n_crawls
    changes = _of_one_urn(monitoring, since, until)
    kept = Attribution(_named(changes), _elements(fit), None)
    # Without an alarm nothing speaks for another urn, and its fit and replicates are not worth making at every update.
    if until - since + 1 < _ALONE or not monitoring.alarmed[:, until].any():
        return kept
    own = fit_joint(_part(monitoring.counts, first + since, first + until + 1), model=fit.model, clock=fit.clock)
    if own.status == "ok":
        alone = _of_another_urn(monitoring.baseline.bootstrap, own)
        if any(_apart(alone[name].sure_interval, changes[name].sure_interval) for name in changes):
            return Attribution(_named(alone), _elements(fit), _elements(own))
    return kept


def _elements(fit: JointFit) -> float:
    core, shell = fit.urn
    return float(core + shell.size[0])


def _apart(one: Interval, other: Interval) -> bool:
    return one.high < other.low or other.high < one.low


def _named(changes: Mapping[str, Change]) -> dict[str, Change]:
    share = changes["core_share"]
    return {**changes, "core_share": share._replace(moved=share.moved and changes["kappa"].moved)}


def _of_another_urn(reference: Bootstrap, own: JointFit) -> dict[str, Change]:
    """Compare a reference with a fit of other crawls; the errors of the two are independent."""
    bootstrap = bootstrap_joint(own, seed=_SEED, n_replicates=len(reference.parameters))
    freedom, changes = min(reference.freedom, bootstrap.freedom), {}
    limits, sure = bootstrap.intervals(), bootstrap.intervals(_SURE)
    for name, values in bootstrap.estimates.items():
        before, value = float(getattr(reference.fit, name)), float(getattr(own, name))
        apart = values - reference.estimates[name]
        difference, named = (
            difference_interval(value - before, apart, freedom=freedom, level=level) for level in (0.95, _NAMED)
        )
        moved = not named.low <= 0 <= named.high
        changes[name] = Change(before, value, difference, limits[name], sure[name], moved)
    return changes


def _of_one_urn(monitoring: Monitoring, since: int, until: int) -> dict[str, Change]:
    """Fit the changes of an urn that keeps its size."""
    bootstrap, first = monitoring.baseline.bootstrap, monitoring.baseline.n_crawls
    fit = bootstrap.fit
    after, _ = _fit_of(monitoring, since, until)
    span = slice(first + since, first + until + 1)
    replicated, _ = _fit_after(
        *bootstrap.urn, monitoring.baseline.continued, gap=fit.counts.mean_gap, first=first, span=span
    )
    changes, before = {}, bootstrap.estimates
    for name, values in replicated.items():
        reference, value = float(getattr(fit, name)), float(after[name][0])
        difference = value - reference
        apart = difference + values - before[name]
        usual, named, sure = (
            difference_interval(difference, apart, freedom=bootstrap.freedom, level=level)
            for level in (0.95, _NAMED, _SURE)
        )
        about, surely = (
            Interval(*(min(max(reference + limit, 0.0), 1.0) for limit in interval)) for interval in (usual, sure)
        )
        moved = not named.low <= 0 <= named.high
        changes[name] = Change(reference, value, usual, about, surely, moved)
    return changes


def to_parameter_scale(monitoring: Monitoring, chart: str, values: FloatArray) -> FloatArray:
    """Turn values of a chart's row of ``by_crawl`` into κ, α per unit of the clock, or c.

    Parameters
    ----------
    chart
        One of `CHARTS`.
    values
        Any shape.
    """
    fit = monitoring.baseline.bootstrap.fit
    core, shell = fit.urn
    if chart == "core":
        return np.asarray(values / (core + shell.size[0]))
    if chart == "survival":
        survived = shell.alpha * np.maximum(1 + values, 0)
        return np.asarray(survived ** (1 / fit.counts.mean_gap))
    return np.asarray(expit(values))


def head(counts: Counts, n: int) -> Counts:
    """Select the first n crawls."""
    return _part(counts, 0, n)


def _part(counts: Counts, first: int, end: int) -> Counts:
    """Cut out the crawls of a range; time counts from its first."""
    part = slice(first, end)
    return replace(
        counts,
        times=counts.times[part] - counts.times[first],
        sizes=counts.sizes[..., part],
        intersections=counts.intersections[..., part, part],
        unions=counts.unions[..., part, part],
    )


def _continued(counts: Counts, n: int) -> Counts:
    """Add n crawls at mean gaps, of which all is published that is of any crawl."""
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


def _overlaps(counts: Counts) -> FloatArray:
    """Overlaps of crawls t and i, shape (..., crawls, crawls), symmetric; those of neighbours also from windows."""
    n = np.arange(len(counts.times) - 1)
    upper = np.triu(counts.intersections, 1)
    neighbours = counts.sizes[..., :-1] + counts.sizes[..., 1:] - counts.unions[..., n, n + 1]
    given = upper[..., n, n + 1]
    upper[..., n, n + 1] = np.where(np.isfinite(given), given, neighbours)
    return np.asarray(upper + upper.swapaxes(-1, -2))


def _variance(counts: Counts, expected: FloatArray) -> FloatArray:
    """Variance of overlaps (..., t, i) in counting, as in `Points.variance`."""
    k, sizes = counts.one_in, counts.sizes
    either = sizes[..., :, None] + sizes[..., None, :] - expected
    squares = sizes[..., :, None] ** 2 + sizes[..., None, :] ** 2 + either**2
    return np.asarray(k * (expected + k) + counts.relative_error**2 * squares)


def _by_crawl(core: FloatArray, shell: ElementClass, counts: Counts, first: int, *, gap: float) -> FloatArray:
    """`Monitoring.by_crawl` of urns (...) fitted to the first crawls, shape (..., 3, crawls)."""
    times = counts.times / gap
    elements, alpha = shell.size[..., :1], shell.alpha
    coverage, survival = deviations(core, ElementClass(times, elements, counts.sizes, alpha), counts)
    crawl = np.arange(len(times))
    near = abs(crawl[:, None] - crawl) < first
    # Crawls that came after the reference are no neighbours of its own.
    near &= (crawl < first) | (crawl < crawl[:, None])
    near &= crawl[:, None] != crawl
    share = (counts.sizes - core[..., None])[..., None, :] / elements[..., None]
    share = share * alpha[..., None, None] ** abs(times[:, None] - times)
    expected = core[..., None, None] + (counts.sizes - core[..., None])[..., :, None] * share
    overlaps = _overlaps(counts)
    known = near & np.isfinite(overlaps)
    weight = np.where(known, 1 / _variance(counts, expected), 0.0)
    numerator = weight * (1 - share) * (np.where(known, overlaps, 0.0) - counts.sizes[..., :, None] * share)
    denominator = (weight * (1 - share) ** 2).sum(axis=-1)
    cores = np.divide(numerator.sum(axis=-1), denominator, out=np.full_like(denominator, np.nan), where=denominator > 0)
    unknown = np.full((*survival.shape[:-1], 1), np.nan)
    return np.stack([cores, np.concatenate([unknown, survival], axis=-1), coverage], axis=-2)


def _averages(by_crawl: FloatArray, first: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Average since the reference, in its standard deviations; with these, and its means.

    Of shapes (..., monitored crawls), (..., 1) and (..., 1). An unknown value leaves the average as it is.
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


def _fit_of(monitoring: Monitoring, since: int, until: int) -> tuple[dict[str, FloatArray], FloatArray]:
    """`_fit_after` of the collection itself, as one problem."""
    fit, first = monitoring.baseline.bootstrap.fit, monitoring.baseline.n_crawls
    core, shell = fit.urn
    return _fit_after(
        core[None],
        ElementClass(shell.times, shell.size[None], shell.coverage[None], shell.alpha[None]),
        monitoring.counts.repeated(1),
        gap=fit.counts.mean_gap,
        first=first,
        span=slice(first + since, first + until + 1),
    )


def _fit_after(
    core: FloatArray, shell: ElementClass, counts: Counts, *, gap: float, first: int, span: slice
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Fit the crawls of a span after a change, given urns (problems,) from before it.

    Returns
    -------
    Estimates (problems,) each, and weighted sums of squares (problems,) over all crawls from the first after the
    reference to the last of the span.
    """
    times, sizes = counts.times / gap, counts.sizes
    elements, alpha = core + shell.size[..., 0], shell.alpha
    overlaps = _overlaps(counts)
    known = np.isfinite(overlaps[0])
    crawl = np.arange(len(times))
    t, i = np.nonzero(known & (crawl < crawl[:, None]) & (crawl > crawl[:, None] - first))
    t, i = (index[(t >= first) & (t < span.stop)] for index in (t, i))

    def curves(parameters: FloatArray, rows: IntArray) -> FloatArray:
        before = core[rows, None], elements[rows, None], alpha[rows, None]
        return _expected_after(parameters, before, sizes[rows], times, pairs=(t, i), since=span.start)

    start = np.stack([core / elements, alpha], axis=-1)
    everything = np.arange(len(core))
    variance = np.ones_like(overlaps)
    variance[:, t, i] = curves(start, everything)
    weights = 1 / _variance(counts, variance)[:, t, i]
    found = minimise_all(
        curves, overlaps[:, t, i], weights, start=start, free=np.ones(start.shape, dtype=bool), bounds=_BOUNDS
    )
    kappa, survival = found.parameters.T
    held = (kappa * elements)[:, None]
    estimates = {
        "kappa": kappa,
        "core_share": (held / sizes[:, span]).mean(axis=-1),
        "alpha": survival ** (1 / gap),
        "coverage": np.clip((sizes[:, span] - held) / (elements[:, None] - held), 0, 1).mean(axis=-1),
    }
    return estimates, found.cost


def _expected_after(
    parameters: FloatArray,
    before: tuple[FloatArray, FloatArray, FloatArray],
    sizes: FloatArray,
    times: FloatArray,
    *,
    pairs: tuple[IntArray, IntArray],
    since: int,
) -> FloatArray:
    """Overlap of crawl t with the earlier i, for κ and α since a change; shape (..., pairs).

    Core K, urn N and α before it have shape (..., 1).
    """
    (core, elements, alpha), (t, i) = before, pairs
    kappa, survival = np.moveaxis(parameters, -1, 0)[..., None]
    held = kappa * elements
    sampled = np.clip((sizes[..., t] - held) / (elements - held), 0, 1)
    last = times[since - 1]
    from_before = (sizes[..., i] - core) * alpha ** np.maximum(last - times[i], 0) + np.maximum(core - held, 0)
    across = np.minimum(core, held) + from_before * survival ** (times[t] - last) * sampled
    within = held + (sizes[..., i] - held) * survival ** (times[t] - times[i]) * sampled
    both = (sizes[..., i] - core) * (sizes[..., t] - core) / (elements - core)
    unchanged = core + both * alpha ** (times[t] - times[i])
    return np.asarray(np.where(t < since, unchanged, np.where(i < since, across, within)))
