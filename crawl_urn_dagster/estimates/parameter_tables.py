"""Write fits as tables `parameters` and `operator_terms`, and compare them with a simulation's truth.

Does not fit; see `fits`. Does not select the headline; see `selection`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.fits import definition_of
from crawl_urn_dagster.estimates.fits.definition import PrimaryFit
from crawl_urn_dagster.estimates.urn_size import urn_size_columns
from crawl_urn_dagster.observables.schema import OPERATOR_TERMS, PARAMETERS
from crawl_urn_dagster.urn import FitKind, Interval, Urn
from crawl_urn_dagster.urn.results.reasons import join_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawl_urn_dagster.urn.results.result import AnyFit

FIT_KEY = ["projection", "model", "form", "clock", "stratum", "component", "first_crawl", "last_crawl"]
# Fields of `OperatorTerms` by column: times, then rates.
_TIMES = {
    "life_expectancy": "life_expectancy",
    "sampled_time": "sampled_time",
    "hidden_time": "hidden_time",
    "half_life": "half_life",
    "hiding_time": "resolution_time",
}
_RATES = {"nu_inf": "nu_inf", "rho_inf": "rho_inf"}
_TERMS = _TIMES | _RATES
_SIZE = ("urn_size", "urn_size_low", "urn_size_high")
_COMPARED = ("kappa", "core_share", "alpha", "coverage")
_CORE_COLUMNS = {"kappa": "kappa", "core_share": "core_share"}
# Estimates of one shell, or of the one urn.
_SHELL_ESTIMATES = ("alpha", "coverage", "revisit_coverage", "coverage_sd")
# Columns that some details have.
_DETAIL_COLUMNS = ("residual_rms", "n_points", "first_crawl", "last_crawl", "delay_crawls")


def parameters_table(
    fits: Sequence[AnyFit], headline: FitKind | None, crawls: pd.DataFrame, *, stratum: str | None = None
) -> pd.DataFrame:
    """Return table `parameters`: one row per component of each fit, with intervals.

    Parameters
    ----------
    fits
        Fits of the collection, of a window or of a stratum.
    headline
        Kind of the selected fit.
    crawls
        Table `crawls` of the fitted crawls.
    stratum
        The stratum; None: all elements.
    """
    labels = crawls["crawl"]
    rows = [
        {
            **fit.kind._asdict(),
            "stratum": stratum,
            "first_crawl": labels.iloc[0],
            "last_crawl": labels.iloc[-1],
            **{name: getattr(fit.details, name) for name in _DETAIL_COLUMNS if hasattr(fit.details, name)},
            "status": fit.status.value,
            "reason": fit.reason,
            "reason_code": join_codes(fit.reasons),
            "headline": fit.kind == headline,
            **_estimate_columns(fit, _CORE_COLUMNS),
            **urn_size_columns(fit, crawls),
            **component,
        }
        for fit in fits
        for component in _components(fit)
    ]
    return _as_table(rows, PARAMETERS.column_names)


def operator_terms_table(
    fits: Sequence[AnyFit], headline: FitKind, crawls: pd.DataFrame, stratum: str | None = None
) -> pd.DataFrame:
    """Return table `operator_terms`: each row of `parameters` in operator terms, with intervals.

    For clock ``year`` the terms are computed in crawls, from survival over the mean gap between crawls, and multiplied
    by this gap. Terms are NULL where survival or coverage is not in [0, 1].
    """
    mean_gap = float(crawls["years"].iloc[-1]) / max(len(crawls) - 1, 1)
    intervals_of = {fit.kind: fit.intervals for fit in fits}
    rows = []
    for row in parameters_table(fits, headline, crawls, stratum=stratum).to_dict("records"):
        in_years = row["clock"] == "year"
        gap = mean_gap if in_years else 1.0
        kind = FitKind(*(row[name] for name in FitKind._fields))
        intervals = {} if row["component"] == "core" else intervals_of[kind]
        rows.append(
            {
                **{column: row[column] for column in FIT_KEY},
                **_terms(row["alpha"], row["coverage"], gap=gap),
                **_interval_columns(intervals, _TIMES, scale=gap),
                **_interval_columns(intervals, _RATES),
                **{column: row[column] for column in _SIZE},
                "unit": "years" if in_years else "crawls",
                "status": row["status"],
            }
        )
    return _as_table(rows, OPERATOR_TERMS.column_names)


def compare_with_truth(parameters: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Compare the estimates of the core-shell fits with the parameters that a collection was simulated with.

    Returns
    -------
    DataFrame
        Columns ``projection, form, clock, parameter, truth, estimate, estimate_low, estimate_high, inside`` (whether
        the interval contains the truth; missing without an interval) and ``status``. The printed kappa of form
        ``paper`` is a core share and is compared with the true core share.
    """
    shells = parameters[(parameters["model"] == "core_shell") & (parameters["component"] == "shell")]
    known = truth.set_index("clock")
    rows = []
    for fit in shells.to_dict("records"):
        for parameter in _COMPARED:
            is_printed_kappa = fit["form"] == "paper" and parameter == "kappa"
            true = float(known.loc[fit["clock"], "core_share" if is_printed_kappa else parameter])
            low, high = fit[f"{parameter}_low"], fit[f"{parameter}_high"]
            rows.append(
                {
                    "projection": fit["projection"],
                    "form": fit["form"],
                    "clock": fit["clock"],
                    "parameter": "kappa (as printed: the core share)" if is_printed_kappa else parameter,
                    "truth": true,
                    "estimate": fit[parameter],
                    "estimate_low": low,
                    "estimate_high": high,
                    "inside": None if pd.isna(low) or pd.isna(high) else bool(low <= true <= high),
                    "status": fit["status"],
                }
            )
    return pd.DataFrame(rows)


def _components(fit: AnyFit) -> Iterator[dict[str, Any]]:
    """Yield the columns that differ between the components of a fit.

    A supplementary fit without estimates has one empty row; a primary fit without estimates has all its components.
    """
    if not fit.estimates and not isinstance(definition_of(fit.kind), PrimaryFit):
        yield {"component": "urn"}
        return
    has_core = "kappa" in fit.estimates or (not fit.estimates and fit.kind.model == "core_shell")
    if has_core:
        yield {"component": "core", "alpha": 1.0, "coverage": 1.0, **_share_columns(fit, "kappa")}
    suffixes = ("_1", "_2") if "alpha_1" in fit.estimates else ("",)
    for suffix in suffixes:
        columns = _share_columns(fit, f"share{suffix}") if has_core else {"share": 1.0}
        columns |= _estimate_columns(fit, {name: f"{name}{suffix}" for name in _SHELL_ESTIMATES})
        if hasattr(fit.details, "coverage_sd"):
            columns["coverage_sd"] = fit.details.coverage_sd
        yield {"component": f"shell{suffix}" if has_core else "urn", **columns}


def _share_columns(fit: AnyFit, name: str) -> dict[str, float]:
    """Return a component's share of the urn, with an interval wide enough for the errors of both its factors.

    The printed kappa of form ``paper`` is a share of a crawl, so the shares of the urn are then not known.
    """
    kappa, share = fit.estimates.get("kappa"), fit.estimates.get(name)
    if kappa is None or fit.kind.form != "exact":
        return {}
    core, own = fit.intervals.get("kappa"), fit.intervals.get(name)
    if name == "kappa":
        value, interval = kappa, core
    elif share is None:
        value = 1 - kappa
        interval = None if core is None else Interval(1 - core.high, 1 - core.low)
    else:
        value = share * (1 - kappa)
        interval = None
        if core is not None and own is not None:
            interval = Interval(own.low * (1 - core.high), own.high * (1 - core.low))
    return {"share": value, **_interval_columns({"share": interval} if interval else {}, {"share": "share"})}


def _estimate_columns(fit: AnyFit, names: Mapping[str, str]) -> dict[str, float]:
    """Return the known estimates and intervals as columns, given the estimate's name for each column."""
    values = {column: fit.estimates[name] for column, name in names.items() if name in fit.estimates}
    return values | _interval_columns(fit.intervals, names)


def _interval_columns(
    intervals: Mapping[str, Interval], names: Mapping[str, str], *, scale: float = 1.0
) -> dict[str, float]:
    """Return the known intervals as columns, given the interval's name for each column."""
    columns = {}
    for column, name in names.items():
        if name in intervals:
            columns[f"{column}_low"], columns[f"{column}_high"] = (scale * end for end in intervals[name])
    return columns


def _terms(alpha: float, coverage: float, *, gap: float) -> dict[str, float | None]:
    if not (0 <= alpha <= 1 and 0 <= coverage <= 1):  # NaN and None-as-NaN included
        return dict.fromkeys(_TERMS)
    terms = Urn(alpha**gap, coverage).operator_terms()
    return {column: float(getattr(terms, name)) * (gap if column in _TIMES else 1.0) for column, name in _TERMS.items()}


def _as_table(rows: list[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a frame with all columns of a table, numbers as float64, absent text as None."""
    frame = pd.DataFrame(rows, columns=list(columns))
    empty = frame.columns[frame.isna().all()]
    return frame.astype(dict.fromkeys(empty, np.float64))
