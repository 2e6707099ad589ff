"""Test whether population and completeness left their own trend: rows of tables `drift` and `control_chart`.

Does not test the parameters of an urn (see `drift`) or compute charts (see `urn.monitoring.trend_charts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from crawl_urn_dagster.observables.schema import CONTROL_CHART
from crawl_urn_dagster.urn.monitoring.trend_charts import FEWEST_REFERENCE, chart_trend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.urn.monitoring.trend_charts import TrendChart

    FloatArray = npt.NDArray[np.float64]

#: Quantities of every crawl that are tested, each with the scale of its errors.
SCALES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "completeness": (logit, expit),
    "population": (np.log, np.exp),
}
#: Test, and row of table `drift`, that names a change of scope.
SCOPE_BREAK = "scope_break"
_SEED = 1
# Distance that completeness keeps from 1, where the logit is infinite.
_LEAST = 1e-6
# Crawls whose interval is wider than the median by this factor, at the ends of a window, do not determine a trend.
_TIMES_MEDIAN_WIDTH = 3.0


class PopulationDrift(NamedTuple):
    """Rows of table `drift`, and table `control_chart` of the same quantities."""

    rows: list[dict[str, Any]]
    chart: pd.DataFrame


def population_drift(population: pd.DataFrame, *, window_crawls: int, scope_break: str | None) -> PopulationDrift:
    """Test population and completeness of the selected model for a change from their trend.

    Parameters
    ----------
    population
        Table `population` from the first crawl of the reference period on.
    window_crawls
        Crawls in the reference period.
    scope_break
        The first crawl after a change of scope; None without one. A change that may have begun with it is not
        attributed to the quantity.
    """
    rows, charts = [], []
    for name, (to_scale, _) in SCALES.items():
        known = _known(population, name)
        labels = known["crawl"].tolist()
        if not FEWEST_REFERENCE <= window_crawls < len(known):
            reason = f"the trend of {name} needs more than {max(window_crawls, FEWEST_REFERENCE)} crawls; there are "
            rows.append({"parameter": name, "reason": f"{reason}{len(known)}"})
            continue
        highest = 1 - _LEAST if to_scale is logit else np.inf
        values = to_scale(np.clip(known[name].to_numpy(np.float64), _LEAST, highest))
        chart = chart_trend(values, window_crawls, seed=_SEED)
        rows.append(_drift_row(name, chart, known, scope_break))
        charts.append(_chart_table(name, chart, labels))
    empty = pd.DataFrame(columns=list(CONTROL_CHART.column_names))
    return PopulationDrift(rows, pd.concat(charts, ignore_index=True) if charts else empty)


def scope_break_row(tests: pd.DataFrame, labels: Sequence[str]) -> dict[str, Any] | None:
    """Return the row of table `drift` on a change of scope that the assessment found; None without one.

    Parameters
    ----------
    tests
        Table `adequacy_tests`.
    labels
        Crawls in order.
    """
    found = tests[(tests["test"] == SCOPE_BREAK) & (tests["verdict"] == "fails") & tests["subject"].isin(labels)]
    if found.empty:
        return None
    row = found.iloc[0]
    return {
        "parameter": SCOPE_BREAK,
        "reference_first_crawl": labels[0],
        "reference_last_crawl": labels[max(labels.index(row["subject"]) - 1, 0)],
        "difference": row["effect"],
        "drifted": True,
        "attributed": True,
        "value_first_crawl": row["subject"],
        "since_crawl": row["subject"],
        "since_first_crawl": row["subject"],
        "since_last_crawl": row["subject"],
        "note": "difference is the share of a crawl that left permanently or, if negative, was new, beyond the usual",
    }


def _known(population: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the crawls whose value has an interval about as narrow as most."""
    values = population[[name, f"{name}_low", f"{name}_high"]].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.log(values[f"{name}_high"]) - np.log(values[f"{name}_low"])
    is_known = np.isfinite(width) & (values[name] > 0)
    shown: pd.DataFrame = population[is_known & (width <= _TIMES_MEDIAN_WIDTH * width[is_known].median())]
    return shown


def _drift_row(name: str, chart: TrendChart, known: pd.DataFrame, scope_break: str | None) -> dict[str, Any]:
    labels, (_, back) = known["crawl"].tolist(), SCALES[name]
    drifted = bool(chart.alarmed[-1])
    since, first, last = chart.date_change()
    dates = labels[first : last + 1]
    is_scope = drifted and scope_break in dates
    expected = chart.expected[-1]
    ends = sorted(float(back(expected + end)) for end in chart.error)
    value, usual = float(known[name].iloc[-1]), float(back(expected))
    return {
        "parameter": name,
        "reference_first_crawl": labels[0],
        "reference_last_crawl": labels[chart.n_reference - 1],
        "reference_value": usual,
        "reference_value_low": ends[0],
        "reference_value_high": ends[1],
        "value": value,
        "value_low": float(known[f"{name}_low"].iloc[-1]),
        "value_high": float(known[f"{name}_high"].iloc[-1]),
        "value_first_crawl": labels[-1],
        "difference": value - usual,
        "difference_low": value - ends[1],
        "difference_high": value - ends[0],
        "statistic": float(abs(chart.averages[-1])),
        "threshold": chart.limit,
        "drifted": drifted,
        "attributed": drifted and not is_scope,
        "since_crawl": labels[since] if drifted else None,
        "since_first_crawl": dates[0] if drifted else None,
        "since_last_crawl": dates[-1] if drifted else None,
        "note": f"the scope changed at {scope_break}" if is_scope else None,
    }


def _chart_table(name: str, chart: TrendChart, labels: Sequence[str]) -> pd.DataFrame:
    first, (_, back) = chart.n_reference, SCALES[name]
    unknown = np.full(first, np.nan)

    def monitored(residuals: FloatArray) -> FloatArray:
        return np.concatenate([unknown, back(chart.expected[first:] + residuals)])

    reach = chart.spread * chart.limit
    return pd.DataFrame(
        {
            "chart": name,
            "crawl": labels,
            "phase": np.where(np.arange(len(labels)) < first, "reference", "monitored"),
            "value": back(chart.expected + chart.residuals),
            "average": monitored(chart.centre + chart.spread * chart.averages),
            "average_low": monitored(chart.centre - reach),
            "average_high": monitored(chart.centre + reach),
            "statistic": np.concatenate([unknown, chart.averages]),
            "p_value": np.concatenate([unknown, chart.p_values]),
            "alarm": [None] * first + chart.alarmed.tolist(),
        }
    )
