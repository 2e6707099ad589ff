"""Hold estimates against the operator's own counters: tables `ground_truth` and `ground_truth_comparison`.

Does not read the counters (`sources`) or find counters that moved (`counter_changes`).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.parameter_history import window_tables
from crawl_urn_dagster.estimates.parameter_tables import parameters_table
from crawl_urn_dagster.estimates.regimes import fit_window_delay
from crawl_urn_dagster.observables.schema import GROUND_TRUTH, GROUND_TRUTH_COMPARISON
from crawl_urn_dagster.urn import Urn
from crawl_urn_dagster.urn.curves.revisit import RevisitDelayUrn
from crawl_urn_dagster.urn.data.thinning import window_starts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawl_urn_dagster.urn import CountingError

Row: TypeAlias = dict[str, Any]
_FIT = ["first_crawl", "last_crawl", "projection", "model", "form", "clock"]
_UNITS = {"urn_size": "elements", "coverage": "fraction", "new_share": "fraction"}
# Lags after which the first returns of an urn with a revisit delay add nothing to its unique rate.
_LAGS = np.arange(1, 400)


def ground_truth_table(
    counters: pd.DataFrame, crawls: pd.DataFrame, *, population: Sequence[str], new: Sequence[str]
) -> pd.DataFrame:
    """Return table `ground_truth`: the counters of the crawls of the collection, in order of time.

    Parameters
    ----------
    counters
        Columns ``crawl, quantity, value``.
    crawls
        Table `crawls`.
    population, new
        Counters of these roles.
    """
    role = {**dict.fromkeys(new, "new"), **dict.fromkeys(population, "population")}
    order = {label: position for position, label in enumerate(crawls["crawl"])}
    table = counters[counters["crawl"].isin(list(order))]
    table = table.assign(role=table["quantity"].map(role).astype(object))
    for name, quantities in (("population", population), ("new", new)):
        present = table[table["role"] == name].groupby("crawl")["quantity"].nunique()
        partial = table["crawl"].isin(present[present < len(set(quantities))].index)
        table.loc[partial & (table["role"] == name), "role"] = None
    table = table.sort_values("crawl", key=lambda labels: labels.map(order), kind="stable", ignore_index=True)
    return table[list(GROUND_TRUTH.column_names)]


def delay_history(
    crawls: pd.DataFrame,
    discovery_curve: pd.DataFrame | None,
    *,
    error: CountingError,
    window_crawls: int,
    step_crawls: int,
) -> pd.DataFrame:
    """Return rows like those of table `parameters`: the urn with a revisit delay, fitted to each rolling window.

    Table `parameter_history` has no such fit, because its fits do not depend on periods found in the data.
    """
    tables = []
    for first in window_starts(len(crawls), window_crawls, step_crawls):
        window = crawls.iloc[first : first + window_crawls]
        parts = window_tables(window, None, discovery_curve)
        fit = fit_window_delay(CollectionData(*parts, error))
        if fit is not None:
            tables.append(parameters_table([fit], None, parts[0]))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def comparison_table(
    ground_truth: pd.DataFrame, crawls: pd.DataFrame, fits: pd.DataFrame, population: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return table `ground_truth_comparison`.

    Parameters
    ----------
    ground_truth, crawls
        Tables of these names.
    fits
        Rows of `parameters` and of rolling windows; only fits that imply a size of the urn are compared.
    population
        Table of this name; None: the collection has no capture histories.
    """
    counted = _match_counters(ground_truth, crawls)
    exact = fits[(fits["form"] == "exact") & (fits["component"] != "core") & fits["urn_size"].notna()]
    exact = exact[exact["stratum"].isna()] if "stratum" in exact else exact
    rows: list[Row] = []
    fit: Any
    for fit in exact.drop_duplicates(_FIT).to_dict("records"):
        window = counted.loc[fit["first_crawl"] : fit["last_crawl"]]
        gap = float(window["years"].diff().mean()) if fit["clock"] == "year" else 1.0
        key = {name: fit[name] for name in ("first_crawl", "last_crawl", "projection", "model", "clock", "status")}
        rows += [{**key, **row} for row in _fit_rows(fit, window, gap)]
    if population is not None:
        rows += list(_population_rows(population, counted))
    return pd.DataFrame(
        [_with_verdict(row) for row in rows], columns=list(GROUND_TRUTH_COMPARISON.column_names)
    ).astype(dict.fromkeys(("counted", "ratio"), np.float64))


def reported_comparison(comparison: pd.DataFrame, parameters: pd.DataFrame) -> pd.DataFrame:
    """Return the rows to show: of the selected model's population, or else of one fit in all its windows.

    The fit is the headline if that is ``ok``; else the one with a revisit delay, any that is ``ok``, or the headline.
    """
    by_crawl = comparison[comparison["projection"] == "population"]
    if len(by_crawl):
        return by_crawl
    fitted = comparison[comparison["projection"] != "population"]
    if fitted.empty:
        return fitted
    headline = read_headline(parameters).kind
    chosen = (fitted["projection"] == headline.projection) & (fitted["model"] == headline.model)
    delay = fitted["model"] == "revisit_delay"
    for rows in (chosen & (fitted["status"] == "ok"), delay, fitted["status"] == "ok", chosen):
        if rows.any():
            some = fitted[rows]
            first = some.iloc[0]
            same = (some[["projection", "model", "clock"]] == first[["projection", "model", "clock"]]).all(axis=1)
            selected: pd.DataFrame = some[same]
            return selected
    return fitted.iloc[:0]


def _match_counters(ground_truth: pd.DataFrame, crawls: pd.DataFrame) -> pd.DataFrame:
    """Return size, population and new elements of each crawl; NaN if one of their counters is missing."""
    table = crawls.set_index("crawl")[["elements", "years"]].astype(np.float64)
    for role in ("population", "new"):
        role_rows = ground_truth[ground_truth["role"] == role]
        table[role] = role_rows.groupby("crawl")["value"].sum()
    return table


def _fit_rows(fit: Row, window: pd.DataFrame, gap: float) -> Iterator[Row]:
    """Yield the quantities that a fit implies, with the counters of its window."""
    low, high = fit["urn_size_low"], fit["urn_size_high"]
    size = float(window["elements"].mean(skipna=False))
    population, new = (float(window[name].mean(skipna=False)) for name in ("population", "new"))
    yield _row("urn_size", fit["urn_size"], low, high, population)
    yield _row("coverage", size / fit["urn_size"], size / high, size / low, size / population)
    yield _row("new_share", *_new_share(fit, gap), new / size)


def _population_rows(population: pd.DataFrame, counted: pd.DataFrame) -> Iterator[Row]:
    """Yield the selected model's population and completeness of each crawl, with the counters of the crawl."""
    for row in population.to_dict("records"):
        crawl = counted.loc[row["crawl"]]
        key = {"first_crawl": row["crawl"], "last_crawl": row["crawl"], "projection": "population"}
        key |= {"model": row["model"], "clock": "crawl", "status": "ok"}
        for quantity, name in (("urn_size", "population"), ("coverage", "completeness")):
            value = crawl["population"] if quantity == "urn_size" else crawl["elements"] / crawl["population"]
            yield {**key, **_row(quantity, row[name], row[f"{name}_low"], row[f"{name}_high"], float(value))}


def _row(quantity: str, estimate: float, low: float, high: float, counted: float) -> Row:
    return {
        "quantity": quantity,
        "unit": _UNITS[quantity],
        "estimate": estimate,
        "estimate_low": low,
        "estimate_high": high,
        "counted": counted,
    }


def _with_verdict(row: Row) -> Row:
    counted, low, high = (float(row[name]) for name in ("counted", "estimate_low", "estimate_high"))
    if np.isnan(counted):
        verdict = "not_counted"
    elif np.isnan(low) or np.isnan(high):
        verdict = "no_interval"
    else:
        verdict = "below" if counted < low else "above" if counted > high else "inside"
    return {**row, "ratio": row["estimate"] / counted if counted else np.nan, "verdict": verdict}


def _new_share(fit: Row, gap: float) -> tuple[float, float, float]:
    """Return the long-run unique rate of the crawl and the range over the corners of the parameters' intervals."""
    names = ["alpha", "coverage", "core_share", "revisit_coverage"]
    used = [name for name in names if pd.notna(fit.get(name))]
    value = _unique_rate({name: fit[name] for name in used}, fit, gap)
    ends = [(fit[f"{name}_low"], fit[f"{name}_high"]) for name in used]
    if not used or np.isnan(np.array(ends, dtype=np.float64)).any():
        return value, np.nan, np.nan
    corners = [_unique_rate(dict(zip(used, corner, strict=True)), fit, gap) for corner in product(*ends)]
    return value, min(corners), max(corners)


def _unique_rate(values: dict[str, float], fit: Row, gap: float) -> float:
    clipped = {name: min(max(float(value), 0.0), 1.0) for name, value in values.items()}
    if "alpha" not in clipped or "coverage" not in clipped:
        return np.nan
    alpha = clipped["alpha"] ** gap
    if "revisit_coverage" in clipped:
        urn = RevisitDelayUrn(alpha, clipped["coverage"], clipped["revisit_coverage"], delay=int(fit["delay_crawls"]))
        return float(1 - urn.first_returns(_LAGS).sum())
    return float((1 - clipped.get("core_share", 0.0)) * Urn(alpha, clipped["coverage"]).operator_terms().nu_inf)
