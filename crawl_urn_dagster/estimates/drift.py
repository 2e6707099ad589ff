"""Test whether parameters changed since a reference period: tables `drift` and `control_chart`.

Does not compute charts and attribution (see `urn.monitoring.drift`), nor send alerts.

The reference period is the first crawls of the collection, or starts at the crawl that the settings name. It is fixed,
so a slow change cannot become the baseline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.parameter_history import select_window
from crawl_urn_dagster.estimates.population_drift import population_drift, scope_break_row
from crawl_urn_dagster.estimates.set_aside import Observables, crawls_set_aside
from crawl_urn_dagster.observables.schema import CONTROL_CHART, DRIFT, SYMBOLS
from crawl_urn_dagster.observables.tables import unions_matrix
from crawl_urn_dagster.urn import fit_joint, recaptures_from_unions
from crawl_urn_dagster.urn.data.distributions import normal_quantile
from crawl_urn_dagster.urn.monitoring.attribution import attribute, date_change, date_interval
from crawl_urn_dagster.urn.monitoring.control_charts import CHARTS, draw_baseline, monitor, to_parameter_scale
from crawl_urn_dagster.urn.monitoring.regimes import LEVEL, find_levels, find_regimes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock, CountingError, Counts
    from crawl_urn_dagster.urn.monitoring.control_charts import Monitoring

_CHARTS_BY_PARAMETER = {"kappa": "core", "core_share": "core", "alpha": "survival", "coverage": "coverage"}
_SEED = 1
# Control limits that exclude less than this of the range of a parameter, at both ends, can never raise an alarm.
_BLIND = 0.01
_BLINDED = (
    "the crawls of the reference period vary so much that hardly any later value would raise an alarm; set "
    "drift.reference_from to a later crawl"
)


class UnknownReferenceError(ValueError):
    """The crawl that the reference period starts from is not in the collection; the message names those that are."""


def drift_tables(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    clock: Clock,
    error: CountingError,
    window_crawls: int,
    reference_from: str | None,
    unreported_reason: str | None,
    population: pd.DataFrame | None = None,
    tests: pd.DataFrame | None = None,
    histories: CaptureHistoryCounts | None = None,
) -> dict[str, pd.DataFrame]:
    """Return tables `drift` and `control_chart` by name.

    Parameters
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    clock
        ``crawl`` or ``year``.
    error
        How the elements were counted.
    window_crawls
        Crawls in the reference period.
    reference_from
        Its first crawl; None: the first of the collection.
    unreported_reason
        Why the collection's parameters are not reported, or None. First returns and sizes are then tested instead.
    population
        Table `population`; None or empty: no model was selected, so population and completeness are not tested.
    tests
        Table `adequacy_tests`, which names a change of scope and crawls that were set aside; None: not assessed.
    histories
        Capture histories, from which windows are counted again without the crawls that were set aside.

    Raises
    ------
    UnknownReferenceError
        When the collection has no such crawl.
    """
    labels = crawls["crawl"].tolist()
    if reference_from is not None and reference_from not in labels:
        raise UnknownReferenceError(
            f"drift.reference_from: found {reference_from!r}, which is not a crawl of the collection; expected one "
            f"from {labels[0]!r} to {labels[-1]!r}"
        )
    set_aside = crawls_set_aside(tests)
    observed = Observables(crawls, containment, discovery_curve, histories).without(set_aside)
    crawls, containment, discovery_curve, _ = observed
    before_reference = labels[: labels.index(reference_from) if reference_from else 0]
    since = crawls.iloc[sum(label not in set_aside for label in before_reference) :]
    since = since.assign(years=since["years"] - since["years"].iloc[0])
    pairs = select_window(containment, since, ("crawl_i", "crawl_j"))
    windows = select_window(discovery_curve, since, ("start_crawl", "end_crawl"))
    scope = None if tests is None else scope_break_row(tests, since["crawl"].tolist())
    scope_break = None if scope is None else str(scope["since_crawl"])
    rows = [] if scope is None else [scope]
    chart = pd.DataFrame(columns=list(CONTROL_CHART.column_names))
    if population is not None and not population.empty:
        inside = population[population["crawl"].isin(since["crawl"])]
        found = population_drift(inside, window_crawls=window_crawls, scope_break=scope_break)
        rows, chart = [*found.rows, *rows], found.chart
    reason = unreported_reason
    if reason is None and len(since) <= window_crawls:
        reason = (
            f"a reference period of {window_crawls} crawls needs {window_crawls + 1} crawls; there are {len(since)}"
        )
    if reason is None:
        monitoring = _monitor(CollectionData(since, pairs, windows, error).counts(clock), window_crawls, clock)
        if isinstance(monitoring, str):
            reason = monitoring
        else:
            urn_crawls = since["crawl"].tolist()
            rows = [*_drift_rows(monitoring, urn_crawls, scope_break), *rows]
            parts = [part for part in (_chart_table(monitoring, urn_crawls), chart) if len(part)]
            chart = pd.concat(parts, ignore_index=True)
    if reason is not None:
        rows = [*({"parameter": name, "reason": reason} for name in SYMBOLS), *rows]
        if unreported_reason is not None and windows is not None:
            rows += _observed(since, windows)
    table = pd.DataFrame(rows, columns=list(DRIFT.column_names)).assign(last_crawl=labels[-1])
    return {"drift": table, "control_chart": chart}


def _monitor(counts: Counts | None, window_crawls: int, clock: Clock) -> Monitoring | str:
    """Chart the crawls after the reference period, or return why that is not possible."""
    if counts is None:
        return "the source does not state the size of every crawl"
    reference = fit_joint(counts.window(0, window_crawls), model="core_shell", clock=clock)
    if not reference.is_reported:
        return f"the fit of the reference period is {reference.status}: {reference.reason}".rstrip(".")
    return monitor(draw_baseline(reference, counts, seed=_SEED), counts)


def _drift_rows(monitoring: Monitoring, labels: Sequence[str], scope_break: str | None) -> list[dict[str, Any]]:
    baseline = monitoring.baseline
    last = monitoring.averages.shape[1] - 1
    since = date_change(monitoring, last)
    dates = [labels[baseline.n_crawls + crawl] for crawl in date_interval(monitoring, since, last)]
    found = attribute(monitoring, since, last)
    first_since = labels[baseline.n_crawls + since]
    drifted = bool(monitoring.alarmed[:, last].any())
    held = baseline.bootstrap.intervals()
    note = None
    if found.urn_since is not None:
        note = (
            f"the crawls from {first_since} on sample another urn than the reference period "
            f"({found.urn_before:,.0f} elements then, {found.urn_since:,.0f} since), as after a change of scope; the "
            "value is a fit to these crawls alone"
        )
    is_scope = drifted and scope_break in dates
    if is_scope:
        note = f"the scope changed at {scope_break}; the change is not one of the urn's parameters"
    rows = []
    for name in SYMBOLS:
        change = found.changes[name]
        is_tested = drifted or _can_alarm(monitoring, _CHARTS_BY_PARAMETER[name], last)
        low, high = held.get(name, (np.nan, np.nan))
        rows.append(
            {
                "last_crawl": labels[-1],
                "parameter": name,
                "reference_first_crawl": labels[0],
                "reference_last_crawl": labels[baseline.n_crawls - 1],
                "reference_value": change.reference,
                "reference_value_low": low,
                "reference_value_high": high,
                "value": change.value,
                "value_low": change.value_interval.low,
                "value_high": change.value_interval.high,
                "difference": change.value - change.reference,
                "difference_low": change.difference.low,
                "difference_high": change.difference.high,
                "statistic": float(abs(monitoring.averages[CHARTS.index(_CHARTS_BY_PARAMETER[name]), last])),
                "threshold": baseline.limit,
                "drifted": drifted if is_tested else None,
                "attributed": drifted and change.attributed and not is_scope if is_tested else None,
                "value_first_crawl": first_since,
                "since_crawl": first_since if drifted else None,
                "since_first_crawl": dates[0] if drifted else None,
                "since_last_crawl": dates[-1] if drifted else None,
                "reason": None if is_tested else _BLINDED,
                "note": note,
            }
        )
    return rows


def _can_alarm(monitoring: Monitoring, chart: str, crawl: int) -> bool:
    """Whether a chart's control limits at a crawl exclude more than a hundredth of the range of its parameter."""
    row = CHARTS.index(chart)
    centre, half = monitoring.centre[row, crawl], monitoring.spread[row, crawl] * monitoring.baseline.limit
    low, high = to_parameter_scale(monitoring, chart, np.array([centre - half, centre + half]))
    return bool(low > _BLIND or high < 1 - _BLIND)


def _chart_table(monitoring: Monitoring, labels: Sequence[str]) -> pd.DataFrame:
    first, n = monitoring.baseline.n_crawls, len(labels)
    frames = []
    for row, chart in enumerate(CHARTS):

        def monitored(values: np.ndarray[Any, Any], chart: str = chart) -> np.ndarray[Any, Any]:
            return np.concatenate([np.full(first, np.nan), to_parameter_scale(monitoring, chart, values)])

        centre, spread = monitoring.centre[row], monitoring.spread[row]
        unknown = np.full(first, np.nan)
        frames.append(
            pd.DataFrame(
                {
                    "chart": chart,
                    "crawl": labels,
                    "phase": np.where(np.arange(n) < first, "reference", "monitored"),
                    "value": to_parameter_scale(monitoring, chart, monitoring.by_crawl[row]),
                    "average": monitored(centre + spread * monitoring.averages[row]),
                    "average_low": monitored(centre - spread * monitoring.baseline.limit),
                    "average_high": monitored(centre + spread * monitoring.baseline.limit),
                    "statistic": np.concatenate([unknown, monitoring.averages[row]]),
                    "p_value": np.concatenate([unknown, monitoring.p_values[row]]),
                    "alarm": [None] * first + monitoring.alarmed[row].tolist(),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def _observed(crawls: pd.DataFrame, windows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows on first returns, revisit delay and sizes of the last two windows without a change.

    If there is one window only, nothing changed, and the window is its own reference.
    """
    labels = crawls["crawl"].tolist()
    unions = unions_matrix(crawls, windows)
    sizes = np.diagonal(unions)
    regimes = find_regimes(sizes, recaptures_from_unions(unions))  # with the seed of table `revisit_regimes`
    rows: list[dict[str, Any]] = []
    if regimes:
        before, after = ([regimes[0], *regimes])[-2:]
        moved = after.p_value is not None
        for lag in range(len(after.fraction)):
            means, errors = (
                [getattr(regime, name)[lag] for regime in (before, after)] for name in ("fraction", "fraction_se")
            )
            rows.append({"parameter": f"first_returns_{lag + 1}", **_compared(means, errors, moved=moved)})
        delays = [float(before.delay), float(after.delay)]
        rows.append({"parameter": "revisit_delay", **_compared(delays, [np.nan, np.nan], moved=moved)})
        # The first crawl with the change is later than the first start by the lag whose fraction changed most.
        lag = 1 + int(np.argmax(np.abs(np.subtract(after.fraction, before.fraction))))
        dates = _dates(labels, before.first, before.last, after.first + lag, after.p_value)
        dates |= _date_ends(labels, [after.first_low, after.first_high], lag)
        rows = [{**row, **dates} for row in rows]
    known = np.flatnonzero(np.isfinite(sizes))
    levels = find_levels(sizes[known], seed=_SEED)
    if levels:
        earlier, later = ([levels[0], *levels])[-2:]
        compared = _compared([earlier.mean, later.mean], [earlier.se, later.se], moved=later.p_value is not None)
        first, last, start = known[earlier.first], known[earlier.last], known[later.first]
        dated = _dates(labels, int(first), int(last), int(start), later.p_value)
        ends = [None if end is None else int(known[end]) for end in (later.first_low, later.first_high)]
        dated |= _date_ends(labels, ends, 0)
        rows.append({"parameter": "crawl_size", **compared, **dated})
    return rows


def _compared(means: Sequence[float], errors: Sequence[float], *, moved: bool) -> dict[str, Any]:
    """Return two means, their difference, and the 95 % confidence interval of each."""
    (before, after), (error_before, error_after) = means, errors
    apart = {"reference_value": (before, error_before), "value": (after, error_after)}
    apart["difference"] = (after - before, float(np.hypot(error_before, error_after)) if moved else np.nan)
    half = normal_quantile(0.975)
    row: dict[str, Any] = {"drifted": moved, "attributed": moved}
    for name, (mean, error) in apart.items():
        row |= {name: mean, f"{name}_low": mean - half * error, f"{name}_high": mean + half * error}
    return row


def _date_ends(labels: Sequence[str], ends: Sequence[int | None], lag: int) -> dict[str, str]:
    """Return the interval of the date of a change; none without a change."""
    names = ("since_first_crawl", "since_last_crawl")
    return {name: labels[end + lag] for name, end in zip(names, ends, strict=True) if end is not None}


def _dates(labels: Sequence[str], first: int, last: int, since: int, p_value: float | None) -> dict[str, Any]:
    return {
        "reference_first_crawl": labels[first],
        "reference_last_crawl": labels[last],
        "statistic": None if p_value is None else 1 - p_value,
        "threshold": 1 - LEVEL,
        "value_first_crawl": labels[since],
        "since_crawl": None if p_value is None else labels[since],
    }
