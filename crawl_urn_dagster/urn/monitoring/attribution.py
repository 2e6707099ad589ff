"""Date a change, and attribute it to parameters, from the crawls since the change and their overlaps with earlier ones.

Does not raise alarms; see `control_charts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.fits.joint import fit_joint
from crawl_urn_dagster.urn.monitoring.control_charts import CHARTS
from crawl_urn_dagster.urn.monitoring.overlaps import overlap_variance, overlaps_of
from crawl_urn_dagster.urn.monitoring.trend_charts import PROFILE_95
from crawl_urn_dagster.urn.optimise.levenberg_marquardt import minimise_all
from crawl_urn_dagster.urn.results.result import Interval
from crawl_urn_dagster.urn.uncertainty.bootstrap import Bootstrap, bootstrap_joint, difference_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray
    from crawl_urn_dagster.urn.fits.joint import JointFit
    from crawl_urn_dagster.urn.monitoring.control_charts import Monitoring

# A change of core or survival is dated by the fits of this many crawls on either side of the likeliest step.
_NEAR = 2
# A change is attributed to a parameter if the confidence interval of its difference excludes 0 at this level. The level
# is above 95 % because three parameters are tested.
_ATTRIBUTED = 0.99
# Two fits of the same crawls are of different urns if their intervals at this level do not overlap.
_DISTINCT = 0.999
# Minimum number of crawls that identify core, survival and coverage without earlier crawls.
_ALONE = 4
_SEED = 1
_BOUNDS = np.array([0.0, 1e-12]), np.array([1 - 1e-6, 1.0])


class Change(NamedTuple):
    """A parameter before and after a change.

    Attributes
    ----------
    reference, value
        Estimates from the reference period and from the crawls since the change.
    difference
        95 % confidence interval of value minus reference.
    value_interval
        95 % confidence interval of the value.
    wide_interval
        99.9 % confidence interval of the value.
    attributed
        Whether the 99 % confidence interval of the difference excludes 0.
    """

    reference: float
    value: float
    difference: Interval
    value_interval: Interval
    wide_interval: Interval
    attributed: bool


class Attribution(NamedTuple):
    """Changes of all parameters since the reference period.

    Attributes
    ----------
    changes
        Changes of ``kappa``, ``core_share``, ``alpha`` (per unit of the clock) and ``coverage``.
    urn_before, urn_since
        Elements of the urn. The second is None if the urn is assumed to be the same and of the same size.
    """

    changes: Mapping[str, Change]
    urn_before: float
    urn_since: float | None


def date_change(monitoring: Monitoring, until: int) -> int:
    """Find the monitored crawl at which a change began, given the crawls up to monitored crawl `until`.

    The change is dated by the most likely step of the mean (Samuel, Pignatiello and Calvin, 1998) on the chart with the
    largest average at `until`. Overlaps date a change of core or survival more precisely: of the crawls near the step,
    the one whose fit has the smallest residuals is chosen.

    Parameters
    ----------
    monitoring
        The charts.
    until
        Last monitored crawl to use, counted from 0.

    Returns
    -------
    int
        Monitored crawl, counted from 0.

    References
    ----------
    Samuel, T. R., Pignatiello, J. J. and Calvin, J. A. (1998). Identifying the time of a step change with X̄ control
    charts. Quality Engineering 10, 521-527.
    """
    row = int(abs(monitoring.averages[:, until]).argmax())
    step = int(_step_gains(monitoring, row, until).argmax())
    if CHARTS[row] == "coverage":
        return step
    near = range(max(step - _NEAR, 0), min(step + _NEAR, until) + 1)
    return min(near, key=lambda since: float(_fit_since(monitoring, since, until)[1][0]))


def date_interval(monitoring: Monitoring, since: int, until: int) -> range:
    """Return the monitored crawls with which a change may have begun: a 95 % confidence interval.

    A step of the mean at one of them has a log-likelihood within 1.92 of the largest, on the chart with the largest
    average at `until`; those between them and the estimate belong to the interval.

    Parameters
    ----------
    monitoring
        The charts.
    since
        Result of `date_change`.
    until
        Last monitored crawl to use, counted from 0.
    """
    row = int(abs(monitoring.averages[:, until]).argmax())
    gains = _step_gains(monitoring, row, until)
    likely = np.append(np.flatnonzero(gains >= gains.max() - PROFILE_95), since)
    return range(int(likely.min()), int(likely.max()) + 1)


def _step_gains(monitoring: Monitoring, row: int, until: int) -> FloatArray:
    """Return the gain in log-likelihood of a step of a chart's mean at each monitored crawl up to `until`."""
    chart, first = monitoring.by_crawl[row], monitoring.baseline.n_crawls
    apart = np.nan_to_num(chart[first : first + until + 1] - np.nanmean(chart[:first]))
    sums, lengths = apart[::-1].cumsum()[::-1], np.arange(until + 1, 0, -1)
    return np.asarray(sums**2 / lengths / (2 * np.nanvar(chart[:first], ddof=1)))


def attribute(monitoring: Monitoring, since: int, until: int) -> Attribution:
    """Estimate how much each parameter changed, and test each change.

    Core and survival after the change are least-squares estimates from all overlaps of monitored crawls `since` to
    `until` with each other and with earlier crawls, given the reference and an urn that keeps its size. Elements that
    leave the core belong to the shell from then on; elements that join it are new. The errors of the differences come
    from the replicates, in which nothing changed.

    After an alarm, the crawls since the change are also fitted alone. If that joint fit is ok and one of its 99.9 %
    intervals does not overlap with the interval above, the urn has a different size or different elements since then,
    and the changes are those to this fit. The core share of a crawl follows from κ and c, so its change is attributed
    only if the change of κ is.

    Parameters
    ----------
    monitoring
        The charts.
    since, until
        First and last monitored crawl after the change, counted from 0.

    Returns
    -------
    Attribution
        Change of each parameter, and the sizes of the urn.
    """
    fit, first = monitoring.baseline.bootstrap.fit, monitoring.baseline.n_crawls
    changes = _changes_of_same_urn(monitoring, since, until)
    same = Attribution(_with_core_share(changes), _elements(fit), None)
    # Without an alarm a different urn is unlikely, and its fit and replicates are too expensive for every update.
    if until - since + 1 < _ALONE or not monitoring.alarmed[:, until].any():
        return same
    alone = fit_joint(
        monitoring.counts.window(first + since, first + until + 1), model=fit.kind.model, clock=fit.kind.clock
    )
    if alone.status == "ok":
        apart = _changes_to_other_urn(monitoring.baseline.bootstrap, alone)
        if any(_are_disjoint(apart[name].wide_interval, changes[name].wide_interval) for name in changes):
            return Attribution(_with_core_share(apart), _elements(fit), _elements(alone))
    return same


def _elements(fit: JointFit) -> float:
    core, shell = fit.details.urn
    return float(core + shell.size[0])


def _are_disjoint(one: Interval, other: Interval) -> bool:
    return one.high < other.low or other.high < one.low


def _with_core_share(changes: Mapping[str, Change]) -> dict[str, Change]:
    """Attribute a change of the core share only together with a change of κ."""
    share = changes["core_share"]
    return {**changes, "core_share": share._replace(attributed=share.attributed and changes["kappa"].attributed)}


def _changes_to_other_urn(reference: Bootstrap, fit: JointFit) -> dict[str, Change]:
    """Compare a reference with a fit of other crawls; the errors of the two are independent."""
    bootstrap = bootstrap_joint(fit, seed=_SEED, n_replicates=len(reference.parameters))
    freedom, changes = min(reference.freedom, bootstrap.freedom), {}
    intervals, wide = bootstrap.intervals(), bootstrap.intervals(_DISTINCT)
    for name, values in bootstrap.estimates.items():
        before, value = float(getattr(reference.fit, name)), float(getattr(fit, name))
        difference, strict, _ = _intervals(value - before, values - reference.estimates[name], freedom)
        changes[name] = Change(before, value, difference, intervals[name], wide[name], _excludes_zero(strict))
    return changes


def _changes_of_same_urn(monitoring: Monitoring, since: int, until: int) -> dict[str, Change]:
    """Estimate the changes of an urn that keeps its size."""
    bootstrap, first = monitoring.baseline.bootstrap, monitoring.baseline.n_crawls
    fit = bootstrap.fit
    after, _ = _fit_since(monitoring, since, until)
    span = slice(first + since, first + until + 1)
    replicated, _ = _fit_after(
        *bootstrap.urn, monitoring.baseline.continued, gap=fit.details.counts.mean_gap, first=first, span=span
    )
    changes, before = {}, bootstrap.estimates
    for name, values in replicated.items():
        reference, value = float(getattr(fit, name)), float(after[name][0])
        difference = value - reference
        intervals = _intervals(difference, difference + values - before[name], bootstrap.freedom)
        about, _, wide = (
            Interval(*(min(max(reference + end, 0.0), 1.0) for end in interval)) for interval in intervals
        )
        changes[name] = Change(reference, value, intervals[0], about, wide, _excludes_zero(intervals[1]))
    return changes


def _intervals(difference: float, replicates: FloatArray, freedom: float) -> tuple[Interval, ...]:
    """Return the confidence intervals of a difference at 95 %, 99 % and 99.9 %."""
    levels = (0.95, _ATTRIBUTED, _DISTINCT)
    return tuple(difference_interval(difference, replicates, freedom=freedom, level=level) for level in levels)


def _excludes_zero(interval: Interval) -> bool:
    return not interval.low <= 0 <= interval.high


def _fit_since(monitoring: Monitoring, since: int, until: int) -> tuple[dict[str, FloatArray], FloatArray]:
    """Apply `_fit_after` to the collection itself, as one problem."""
    fit, first = monitoring.baseline.bootstrap.fit, monitoring.baseline.n_crawls
    core, shell = fit.details.urn
    return _fit_after(
        core[None],
        ElementClass(shell.times, shell.size[None], shell.coverage[None], shell.alpha[None]),
        monitoring.counts.repeated(1),
        gap=fit.details.counts.mean_gap,
        first=first,
        span=slice(first + since, first + until + 1),
    )


def _fit_after(
    core: FloatArray, shell: ElementClass, counts: Counts, *, gap: float, first: int, span: slice
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Fit the crawls of a span after a change, given urns (n_problems,) from before it.

    Returns
    -------
    estimates : dict of str to ndarray
        Estimates by name, shape (n_problems,) each.
    cost : ndarray
        Weighted sum of squares over all crawls from the end of the reference to the end of the span, shape
        (n_problems,).
    """
    times, sizes = counts.times / gap, counts.sizes
    elements, alpha = core + shell.size[..., 0], shell.alpha
    crawl = np.arange(len(times))
    t, i = np.nonzero((crawl < crawl[:, None]) & (crawl > crawl[:, None] - first))
    observed = overlaps_of(counts, i, t)
    is_used = np.isfinite(observed[0]) & (t >= first) & (t < span.stop)
    t, i, observed = t[is_used], i[is_used], observed[:, is_used]

    def curves(parameters: FloatArray, rows: IntArray) -> FloatArray:
        before = core[rows, None], elements[rows, None], alpha[rows, None]
        return _expected_after(parameters, before, sizes[rows], times, pairs=(t, i), since=span.start)

    start = np.stack([core / elements, alpha], axis=-1)
    weights = 1 / overlap_variance(counts, curves(start, np.arange(len(core))), t, i)
    found = minimise_all(curves, observed, weights, start=start, free=np.ones(start.shape, dtype=bool), bounds=_BOUNDS)
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
    """Return the expected overlap of crawl t with the earlier crawl i, shape (..., n_pairs).

    Parameters
    ----------
    parameters
        κ and α since the change, shape (..., 2).
    before
        Core K, urn N and α before the change, shape (..., 1) each.
    pairs
        Crawls t and i, shape (n_pairs,) each.
    since
        First crawl after the change.
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
