"""Fits as the contract's tables `parameters` and `operator_terms`, and against a simulation's truth.

Here: rows per component, units of time, comparison with known truth. Not here: which fits there are
(`fitting`), the choice among them (`headline`), or drift (`drift`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.observables.schema import OPERATOR_TERMS, PARAMETERS
from crawl_urn_dagster.urn import Fit, JointFit, Urn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawl_urn_dagster.estimates.intervals import Fitted
    from crawl_urn_dagster.urn import Interval

FIT_KEY = ["projection", "model", "form", "clock", "stratum", "component", "first_crawl", "last_crawl"]
# Columns, and the fields of `OperatorTerms` that they hold: times, then rates.
_TIMES = {
    "life_expectancy": "life_expectancy",
    "sampled_time": "sampled_time",
    "hidden_time": "hidden_time",
    "hiding_time": "resolution_time",
}
_RATES = {"nu_inf": "nu_inf", "rho_inf": "rho_inf"}
_TERMS = _TIMES | _RATES
_COMPARED = ("kappa", "core_share", "alpha", "coverage")


def parameters_table(
    fitted: Sequence[Fitted],
    headline: Fit,
    crawls: pd.DataFrame,
    *,
    stratum: str | None = None,
    more: Sequence[dict[str, Any]] = (),
) -> pd.DataFrame:
    """Table `parameters`: one row per component of each fit over all the crawls, with limits, and more rows."""
    labels = crawls["crawl"]
    rows = [
        {
            **component,
            "projection": fit.projection,
            "model": fit.model,
            "form": fit.form,
            "clock": fit.clock,
            "stratum": stratum,
            "first_crawl": labels.iloc[0],
            "last_crawl": labels.iloc[-1],
            "kappa": fit.kappa,
            "core_share": fit.core_share,
            "coverage_sd": fit.coverage_sd if isinstance(fit, JointFit) and component["component"] != "core" else None,
            "residual_rms": fit.residual_rms,
            "n_points": fit.n_points,
            "status": fit.status,
            "reason": fit.reason,
            "headline": fit is headline,
        }
        for fit, limits, *_ in fitted
        for component in _components(fit, limits)
    ]
    return _as_table([*rows, *more], PARAMETERS.column_names)


def operator_terms_table(
    fitted: Sequence[Fitted], headline: Fit, crawls: pd.DataFrame, stratum: str | None = None
) -> pd.DataFrame:
    """Table `operator_terms`: each row of `parameters` in an operator's terms, with limits.

    Fits on clock ``year`` are read at the mean gap between crawls: survival over that gap gives the terms in
    crawls, which times the gap are years. Terms are NULL where the fit gave no survival and coverage in [0, 1].
    """
    mean_gap = float(crawls["years"].iloc[-1]) / max(len(crawls) - 1, 1)
    rows = []
    limits_of = {id(one.fit): one.limits for one in fitted}
    fits = [one.fit for one in fitted for _ in _components(one.fit, {})]
    for fit, row in zip(
        fits, parameters_table(fitted, headline, crawls, stratum=stratum).to_dict("records"), strict=True
    ):
        in_years = row["clock"] == "year"
        gap = mean_gap if in_years else 1.0
        limits = {} if row["component"] == "core" else limits_of[id(fit)]
        rows.append(
            {
                **{column: row[column] for column in FIT_KEY},
                **_terms(row["alpha"], row["coverage"], gap=gap),
                **_limit_columns(limits, _TIMES, scale=gap),
                **_limit_columns(limits, _RATES),
                "unit": "years" if in_years else "crawls",
                "status": row["status"],
            }
        )
    return _as_table(rows, OPERATOR_TERMS.column_names)


def compare_with_truth(parameters: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Estimates of the core-shell fits beside the parameters a collection was simulated with.

    Returns
    -------
    ``projection, form, clock, parameter, truth, estimate, estimate_low, estimate_high, inside`` (whether the truth is
    within these limits; missing where there are none), ``status``; the printed kappa of form
    ``paper`` is a core share and is compared with that.
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


def _components(fit: Fit, limits: Mapping[str, Interval]) -> Iterator[dict[str, Any]]:
    """Rows of a fit, with what differs between them."""
    shares = _limit_columns(limits, {"kappa": "kappa", "core_share": "core_share"})
    own = _limit_columns(limits, {"alpha": "alpha", "coverage": "coverage"})
    if fit.model == "homogeneous":
        yield {"component": "urn", "share": 1.0, "alpha": fit.alpha, "coverage": fit.coverage, **own}
        return
    # The printed kappa is a share of a crawl, so under form paper the shares of the urn are not known.
    share = fit.kappa if fit.form == "exact" else None
    low, high = limits.get("kappa", (None, None)) if fit.form == "exact" else (None, None)
    yield {
        "component": "core",
        "share": share,
        "share_low": low,
        "share_high": high,
        "alpha": 1.0,
        "coverage": 1.0,
        **shares,
    }
    yield {
        "component": "shell",
        "share": None if share is None else 1 - share,
        "share_low": None if high is None else 1 - high,
        "share_high": None if low is None else 1 - low,
        "alpha": fit.alpha,
        "coverage": fit.coverage,
        **shares,
        **own,
    }


def _limit_columns(limits: Mapping[str, Interval], names: Mapping[str, str], *, scale: float = 1.0) -> dict[str, float]:
    """Return the known intervals as columns, given the interval's name for each column."""
    columns = {}
    for column, name in names.items():
        if name in limits:
            columns[f"{column}_low"], columns[f"{column}_high"] = (scale * limit for limit in limits[name])
    return columns


def _terms(alpha: float, coverage: float, *, gap: float) -> dict[str, float | None]:
    if not (0 <= alpha <= 1 and 0 <= coverage <= 1):  # NaN and None-as-NaN included
        return dict.fromkeys(_TERMS)
    terms = Urn(alpha**gap, coverage).operator_terms()
    return {column: float(getattr(terms, name)) * (gap if column in _TIMES else 1.0) for column, name in _TERMS.items()}


def _as_table(rows: list[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows as a frame with all columns of a table, numbers as float64, absent text as None."""
    frame = pd.DataFrame(rows, columns=list(columns))
    empty = frame.columns[frame.isna().all()]
    return frame.astype(dict.fromkeys(empty, np.float64))
