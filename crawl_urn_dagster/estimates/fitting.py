"""Every fit of a collection, from its observable tables.

Here: which points each fit is given, which fits there are, and the verdict of the violation rule over them. Not
here: the fits themselves (`urn.fits`), the rule itself (`urn.violation`), which fit speaks for the collection
(`headline`), or tables of fits (`tables`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.intervals import fit_joint_models, raw_counts
from crawl_urn_dagster.observables.tables import overlaps_matrix, unions_matrix
from crawl_urn_dagster.urn import (
    Clock,
    Fit,
    Violation,
    apply_violation_rule,
    fit_containment_core_shell,
    fit_containment_log_linear,
    fit_discovery_core_shell,
    fit_discovery_homogeneous,
    fit_discovery_increments,
    invert_discovery_tail,
    mean_by,
    recaptures_from_unions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.urn import CountingError

    FloatArray = npt.NDArray[np.float64]
    IndexArray = npt.NDArray[np.intp]


def containment_points(containment: pd.DataFrame, clock: Clock) -> tuple[FloatArray, FloatArray]:
    """Lags and containments that fits use, from table `containment`.

    Clock ``crawl``: the mean over all pairs of a lag; clock ``year``: every pair.
    """
    known = containment[containment["containment"].notna()]
    values = known["containment"].to_numpy(dtype=np.float64)
    if clock == "year":
        return known["lag_years"].to_numpy(dtype=np.float64), values
    lag, mean, _ = mean_by(known["lag_crawls"].to_numpy(dtype=np.float64), values)
    return lag, mean


def discovery_points(
    crawls: pd.DataFrame, discovery_curve: pd.DataFrame, clock: Clock
) -> tuple[FloatArray, IndexArray, IndexArray, FloatArray]:
    """Find times of crawls, and start, end and ratio of windows that fits use, from table `discovery_curve`.

    Clock ``crawl``: the mean over all starts of U(s, T)/U(s, 0), as windows of equal gaps; clock ``year``: every
    window with its own gaps.
    """
    known = discovery_curve[discovery_curve["ratio"].notna()]
    ratio = known["ratio"].to_numpy(dtype=np.float64)
    if clock == "year":
        index = pd.Index(crawls["crawl"])
        start, end = index.get_indexer(known["start_crawl"]), index.get_indexer(known["end_crawl"])
        return crawls["years"].to_numpy(dtype=np.float64), start, end, ratio
    t, mean, _ = mean_by(known["window_crawls"].to_numpy(dtype=np.float64) - 1, ratio)
    end = t.astype(np.intp)
    return np.arange(end.max(initial=0) + 1.0), np.zeros_like(end), end, mean


def fit_all(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    error: CountingError,
    clocks: Sequence[Clock] = ("crawl", "year"),
) -> list[Fit]:
    """Every fit on some clocks that the tables allow, each with the verdict of the violation rule.

    The tail and the increments of the discovery curve are defined for equal gaps only, so for clock ``crawl`` only.
    Their kinds are those of `kinds.fit_kinds`.
    """
    fits: list[Fit] = []
    for clock in clocks:
        counts = raw_counts(crawls, containment, discovery_curve, clock=clock, error=error)
        fits += fit_joint_models(counts, clock)
        if containment is not None:
            pairs = containment_points(containment, clock)
            fits += [
                fit_containment_core_shell(*pairs, form="exact", clock=clock),
                fit_containment_core_shell(*pairs, form="paper", clock=clock),
                fit_containment_log_linear(*pairs, clock=clock),
            ]
        if discovery_curve is not None:
            windows = discovery_points(crawls, discovery_curve, clock)
            fits += [
                fit_discovery_core_shell(*windows, clock=clock),
                fit_discovery_homogeneous(*windows, clock=clock),
            ]
            if clock == "crawl":
                _, _, t, mean_ratio = windows
                fits += [invert_discovery_tail(t, mean_ratio), fit_discovery_increments(t, mean_ratio)]
    verdicts = judge_violation(crawls, containment, discovery_curve)
    violation = next((verdict for verdict in verdicts if verdict.violated), None)
    if violation is not None:
        fits = [replace(fit, status="model_violation", reason=violation.reason) for fit in fits]
    return fits


def judge_violation(
    crawls: pd.DataFrame, containment: pd.DataFrame | None, discovery_curve: pd.DataFrame | None
) -> list[Violation]:
    """Apply the violation rule to what the tables have.

    First returns come from the unions of windows, which hold the same data as the m-array.
    """
    verdicts = []
    if discovery_curve is not None:
        unions = unions_matrix(crawls, discovery_curve)
        verdicts.append(apply_violation_rule("first_returns", np.diagonal(unions), recaptures_from_unions(unions)))
    if containment is not None:
        shares = overlaps_matrix(crawls, containment, "containment")
        verdicts.append(apply_violation_rule("containment", np.ones(len(crawls)), shares))
    return verdicts
