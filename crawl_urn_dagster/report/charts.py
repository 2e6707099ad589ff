"""Charts of the report that respond on a screen, from the tables that the static figures show.

Does not draw them; see `charts.js`. Numbers that a figure leaves out are left out here too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.fits import joint_core_shell
from crawl_urn_dagster.figures.catalogue import CATALOGUE
from crawl_urn_dagster.figures.labels import has_point_estimate, rows_of_fit
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Chart, LagChart, Moments, Series
from crawl_urn_dagster.urn import UNREPORTED_STATUSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Frames = Mapping[str, pd.DataFrame]

_DIGITS = 6  # significant digits of a value
_MOST_PAIRS = 10_000  # of crawls in the chart of containment; the largest lags are left out above it
_STARTS = 6  # start crawls in the chart of discovery curves
#: Names of the parameters of the joint fit.
PARAMETER_NAMES = {
    "kappa": "core fraction of the urn",
    "core_share": "core share of a crawl",
    "alpha": "shell survival",
    "coverage": "shell coverage",
}
_LAST_UNCERTAIN = 2  # estimates of single crawls at the end that a poor last crawl moves


def crawl_moments(crawls: pd.DataFrame) -> Moments:
    """Return the crawls as positions of charts."""
    return Moments(list(crawls["crawl"]), _seconds(crawls["started_at"]))


def charts_of(name: str, frames: Frames, noun: str) -> Sequence[Chart | LagChart]:
    """Return the charts that stand for a figure on a screen; none if the figure is not over crawls or lags.

    Parameters
    ----------
    name
        Name of the figure.
    frames
        Tables by name.
    noun
        Noun for an element, in the singular.
    """
    if name not in _CHARTS or not all(table in frames for table in CATALOGUE[name].tables):
        return []
    return [chart for chart in _CHARTS[name](frames, noun) if not isinstance(chart, Chart) or chart.series]


def crawl_counts(frames: Frames, noun: str) -> Chart | None:
    """Return size, overlap with the previous crawl, and new elements of every crawl; None if no count is known."""
    crawls = frames["crawls"].set_index("crawl")
    series = [_series(f"{noun}s", crawls["elements"])]
    if "containment" in frames:
        pairs = frames["containment"]
        shared = pairs[pairs["lag_crawls"] == 1].set_index("crawl_j")["intersection"].reindex(crawls.index)
        series.append(_series("shared with the previous crawl", shared))
    if "discovery_curve" in frames:
        series.append(_series("never captured before", _new_elements(frames["discovery_curve"], crawls.index)))
    known = [one for one in series if any(value is not None for value in one.points)]
    return Chart(f"Size, overlap and new {noun}s of every crawl", known) if known else None


def _new_elements(curve: pd.DataFrame, labels: pd.Index[str]) -> pd.Series[Any]:
    """Return the elements of each crawl that no earlier one captured; unknown for the first."""
    from_first = curve[curve["start_crawl"] == labels[0]].set_index("end_crawl")["distinct_elements"]
    return from_first.reindex(labels).astype("float64").diff()


def completeness(frames: Frames) -> Chart:
    """Return crawl completeness by crawl, which a figure shows as the distance between its lines."""
    rows = frames["population"].set_index("crawl").reindex(frames["crawls"]["crawl"])
    series = _series("crawl completeness", rows["completeness"], *_ends(rows, "completeness"))
    return Chart("Crawl completeness, with 95 % confidence intervals", [series], is_share=True)


def _population(frames: Frames, noun: str) -> Iterable[Chart]:
    labels = frames["crawls"]["crawl"]
    rows = frames["population"].set_index("crawl").reindex(labels)
    yield Chart(
        f"Known eligible {noun}s and captured {noun}s of every crawl, with 95 % confidence intervals",
        [
            _series(f"known eligible {noun}s", rows["population"], *_ends(rows, "population")),
            _series(f"captured {noun}s", rows["elements"], is_line=False),
        ],
    )


def _by_crawl(frames: Frames, _noun: str) -> Iterable[Chart]:
    labels = frames["crawls"]["crawl"]
    estimates = frames["per_crawl"]
    estimates = estimates[estimates["estimator"] == "cormack_jolly_seber"]
    for quantity, title, name in (
        ("alpha", "Survival from each crawl to the next", "survival α"),
        ("coverage", "Coverage of each crawl", "coverage c"),
    ):
        rows = estimates[estimates["quantity"] == quantity].set_index("crawl").reindex(labels)
        known = rows.index[rows["se"].notna()]
        first, last = (rows.loc[some].reindex(labels) for some in (known[:-_LAST_UNCERTAIN], known[-_LAST_UNCERTAIN:]))
        yield Chart(
            f"{title}, by Cormack-Jolly-Seber, with 95 % confidence intervals",
            [
                _series(name, first["estimate"], *_ends(first, "estimate")),
                _series(
                    f"{name}, uncertain at the end",
                    last["estimate"],
                    *_ends(last, "estimate"),
                    is_line=False,
                    is_hollow=True,
                ),
            ]
            if len(known)
            else [],
            is_share=True,
        )


def _parameters(frames: Frames, _noun: str) -> Iterable[Chart]:
    rows = reported_windows(frames["parameter_history"], frames["crawls"])
    labels = [f"window {row['first_crawl']} to {row['last_crawl']}" for row in rows.to_dict("records")]
    series = [
        _series(f"{name}, {SYMBOLS[column]}", rows[column], *_ends(rows, column))
        for column, name in PARAMETER_NAMES.items()
        if len(rows)
    ]
    yield Chart(
        "Joint fit in rolling windows of crawls, at the last crawl of each, with 95 % confidence intervals",
        series,
        is_share=True,
        moments=Moments(labels, _seconds(rows["started_at"])),
    )


def reported_windows(history: pd.DataFrame, crawls: pd.DataFrame) -> pd.DataFrame:
    """Return the reported joint fits of rolling windows, with NaN for estimates that are not identified.

    Parameters
    ----------
    history
        Table `parameter_history`.
    crawls
        Table `crawls`; the start of the last crawl of each window is added as `started_at`.
    """
    fits = rows_of_fit(history, joint_core_shell.DEFINITION)
    rows = fits[~fits["status"].isin(UNREPORTED_STATUSES)]
    rows = rows.merge(crawls[["crawl", "started_at"]], left_on="last_crawl", right_on="crawl")
    return rows.assign(**{name: rows[name].where(has_point_estimate(rows, name)) for name in PARAMETER_NAMES})


def _forecast(frames: Frames, noun: str) -> Iterable[Chart]:
    crawls, forecast = frames["crawls"], frames["forecast"].dropna(subset="value")
    new = _new_elements(frames["discovery_curve"], pd.Index(crawls["crawl"]))
    rows = forecast[forecast["quantity"] == "new_elements"]
    latest = rows[rows["origin_crawl"] == crawls["crawl"].iloc[-1]].sort_values("crawls_ahead")
    if latest.empty:
        return
    positions = range(len(crawls) + len(latest))
    shown = [_series(f"new {noun}s", new.reset_index(drop=True).reindex(positions), is_line=False)]
    origins = list(dict.fromkeys(forecast["origin_crawl"]))
    for origin in dict.fromkeys([origins[0], latest["origin_crawl"].iloc[0]]):
        at = int(crawls.index[crawls["crawl"] == origin][0])
        ahead = rows[rows["origin_crawl"] == origin].set_index("crawls_ahead")
        ahead = ahead.set_axis(ahead.index + at).reindex(positions)
        shown.append(_series(f"forecast at {origin}", ahead["value"], *_ends(ahead, "value")))
    known = crawl_moments(crawls)
    future = [f"{row['crawls_ahead']} ahead, about {row['expected_at']:%Y-%m-%d}" for row in latest.to_dict("records")]
    yield Chart(
        f"New {noun}s of every crawl and their forecast, with 95 % prediction intervals",
        shown,
        moments=Moments([*known.labels, *future], [*known.times, *_seconds(latest["expected_at"])]),
    )


def _discovery(frames: Frames, noun: str) -> Iterable[Chart]:
    labels, curve = frames["crawls"]["crawl"], frames["discovery_curve"]
    starts = [one for one in labels if (curve["start_crawl"] == one).sum() > 1]
    series = []
    for start in starts[:: max(math.ceil(len(starts) / _STARTS), 1)]:
        rows = curve[curve["start_crawl"] == start].set_index("end_crawl")["distinct_elements"].reindex(labels)
        series.append(_series(f"since {start}", rows))
    yield Chart(f"Distinct {noun}s from each start crawl on, at their last crawl", series)


def _containment(frames: Frames, _noun: str) -> Iterable[LagChart]:
    labels, pairs = frames["crawls"]["crawl"], frames["containment"]
    known = pairs["lag_crawls"].value_counts().sort_index().cumsum()
    n_lags = max(int((known <= _MOST_PAIRS).sum()), 1)
    wide = pairs.pivot_table(index="crawl_i", columns="lag_crawls", values="containment", aggfunc="first")
    wide = wide.reindex(index=labels, columns=range(1, n_lags + 1))
    yield LagChart(
        "Containment of crawls in later crawls by lag, in crawls", [_numbers(row) for row in wide.to_numpy()]
    )


_CHARTS: dict[str, Callable[[Frames, str], Iterable[Chart | LagChart]]] = {
    "completeness_by_crawl": _population,
    "survival_and_coverage_by_crawl": _by_crawl,
    "parameters_over_time": _parameters,
    "forecast_fan": _forecast,
    "discovery_curves_by_start": _discovery,
    "containment_by_lag": _containment,
}


def _series(
    name: str,
    values: pd.Series[Any],
    low: pd.Series[Any] | None = None,
    high: pd.Series[Any] | None = None,
    *,
    is_line: bool = True,
    is_hollow: bool = False,
) -> Series:
    first, second = ((() if end is None else _numbers(end)) for end in (low, high))
    return Series(name, _numbers(values), first, second, is_line, is_hollow)


def _ends(rows: pd.DataFrame, name: str) -> tuple[pd.Series[Any], pd.Series[Any]]:
    return rows[f"{name}_low"], rows[f"{name}_high"]


def _numbers(values: Iterable[Any]) -> list[float | None]:
    """Return values with few digits; those that are unknown or infinite are None, as JSON has no others."""
    known = pd.to_numeric(pd.Series(list(values), dtype=object)).astype("float64")
    return [float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None for value in known]


def _seconds(times: pd.Series[Any]) -> list[float]:
    return [moment.timestamp() for moment in times]
