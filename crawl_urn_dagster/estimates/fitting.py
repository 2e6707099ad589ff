"""Every fit of a collection, from its observable tables to table `parameters`.

Here: which points each fit is given, which fits there are, the verdict of the violation rule over them, and
which fit speaks for the collection. Not here: the fits themselves (`urn.fits`), the rule itself
(`urn.violation`), or words for people (`headline`).
"""

from __future__ import annotations

from dataclasses import replace
import numpy as np
import pandas as pd

from crawl_urn_dagster.observables.tables import unions_matrix
from crawl_urn_dagster.urn import (
    Fit,
    Violation,
    fit_containment_core_shell,
    fit_containment_log_linear,
    fit_discovery_core_shell,
    fit_discovery_homogeneous,
    fit_discovery_increments,
    invert_discovery_tail,
    judge,
    mean_by,
    recaptures_from_unions,
)

CLOCKS = ("crawl", "year")


def fit_containment(containment: pd.DataFrame, *, clock: str) -> list[Fit]:
    """Fit every containment model on one clock.

    Clock ``crawl`` fits the mean over all pairs of a lag, clock ``year`` every pair.
    """
    known = containment[containment["containment"].notna()]
    values = known["containment"].to_numpy(dtype=np.float64)
    if clock == "crawl":
        lag, values, _ = mean_by(known["lag_crawls"].to_numpy(dtype=np.float64), values)
    else:
        lag = known["lag_years"].to_numpy(dtype=np.float64)
    return [
        fit_containment_core_shell(lag, values, form="exact", clock=clock),
        fit_containment_core_shell(lag, values, form="paper", clock=clock),
        fit_containment_log_linear(lag, values, clock=clock),
    ]


def fit_discovery(crawls: pd.DataFrame, discovery_curve: pd.DataFrame, *, clock: str) -> list[Fit]:
    """Fit every discovery-curve model on one clock.

    Clock ``crawl`` fits the mean over all starts of U(s, T)/U(s, 0), clock ``year`` every window with its own
    gaps. The tail and the increments are defined for equal gaps only, so for clock ``crawl`` only.
    """
    known = discovery_curve[discovery_curve["ratio"].notna()]
    ratio = known["ratio"].to_numpy(dtype=np.float64)
    if clock == "year":
        index = pd.Index(crawls["crawl"])
        windows = (
            crawls["years"].to_numpy(dtype=np.float64),
            index.get_indexer(known["start_crawl"]),
            index.get_indexer(known["end_crawl"]),
            ratio,
        )
        return [
            fit_discovery_core_shell(*windows, clock=clock),
            fit_discovery_homogeneous(*windows, clock=clock),
        ]
    t, mean_ratio, _ = mean_by(known["window_crawls"].to_numpy(dtype=np.float64) - 1, ratio)
    end = t.astype(np.intp)
    curve = (np.arange(end.max(initial=0) + 1.0), np.zeros_like(end), end, mean_ratio)
    return [
        fit_discovery_core_shell(*curve, clock=clock),
        fit_discovery_homogeneous(*curve, clock=clock),
        invert_discovery_tail(t, mean_ratio),
        fit_discovery_increments(t, mean_ratio),
    ]


def fit_all(
    crawls: pd.DataFrame, containment: pd.DataFrame | None, discovery_curve: pd.DataFrame | None
) -> list[Fit]:
    """Every fit on every clock that the tables allow, each with the verdict of the violation rule."""
    fits: list[Fit] = []
    for clock in CLOCKS:
        if containment is not None:
            fits += fit_containment(containment, clock=clock)
        if discovery_curve is not None:
            fits += fit_discovery(crawls, discovery_curve, clock=clock)
    violation = judge_violation(crawls, containment, discovery_curve)
    if violation is not None:
        fits = [replace(fit, status="model_violation", reason=violation.reason) for fit in fits]
    return fits


def judge_violation(
    crawls: pd.DataFrame, containment: pd.DataFrame | None, discovery_curve: pd.DataFrame | None
) -> Violation | None:
    """Apply the violation rule to what the tables have; the verdict that is violated, else None.

    First returns come from the unions of windows, which hold the same data as the m-array.
    """
    verdicts = []
    if discovery_curve is not None:
        unions = unions_matrix(crawls, discovery_curve)
        verdicts.append(judge("first_returns", np.diagonal(unions), recaptures_from_unions(unions)))
    if containment is not None:
        shares = np.full((len(crawls), len(crawls)), np.nan)
        index = pd.Index(crawls["crawl"])
        i, j = index.get_indexer(containment["crawl_i"]), index.get_indexer(containment["crawl_j"])
        shares[i, j] = containment["containment"].to_numpy(dtype=np.float64)
        verdicts.append(judge("containment", np.ones(len(crawls)), shares))
    return next((verdict for verdict in verdicts if verdict.violated), None)
