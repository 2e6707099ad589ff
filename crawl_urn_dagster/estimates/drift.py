"""Whether the parameters moved: the last window of crawls against the window before it.

Here: table `drift`. Not here: fits of the whole collection (`fitting`), or what is done about drift (alerts).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.estimates.fitting import containment_points, discovery_points
from crawl_urn_dagster.urn import fit_containment_core_shell, fit_discovery_core_shell

if TYPE_CHECKING:
    from crawl_urn_dagster.urn import Clock, Fit

PARAMETERS = ("kappa", "core_share", "alpha", "coverage")


def drift_table(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    clock: Clock,
    window_crawls: int,
    threshold: float,
    withheld_reason: str | None,
) -> pd.DataFrame:
    """Table `drift`: core-shell fits of the last two windows that share no crawl.

    Containment is fitted where it exists, else the discovery curve. A parameter has drifted when its two values
    differ by more than the threshold. Nothing is judged when a window's fit is neither ok nor without a core (κ at 0,
    where the homogeneous urn suffices).

    Parameters
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    clock
        ``crawl`` or ``year``.
    window_crawls
        Crawls per window, at least 5.
    threshold
        Largest absolute difference, in (0, 1], that does not count as drift.
    withheld_reason
        Why the collection's parameters are withheld, or None.
    """
    labels = crawls["crawl"].tolist()
    since = labels[-window_crawls] if len(labels) >= window_crawls else labels[0]
    reason = withheld_reason
    if reason is None and len(labels) < 2 * window_crawls:
        reason = f"two windows of {window_crawls} crawls need {2 * window_crawls} crawls; there are {len(labels)}"
    fits: list[Fit] = []
    if reason is None:
        for low in (len(labels) - 2 * window_crawls, len(labels) - window_crawls):
            window = crawls.iloc[low : low + window_crawls]
            fit = _fit_window(window, containment, discovery_curve, clock=clock)
            fits.append(fit)
            if reason is None and fit.status != "ok" and fit.kappa != 0:
                run_of_crawls = f"{window['crawl'].iloc[0]} to {window['crawl'].iloc[-1]}"
                reason = f"the fit of {run_of_crawls} is {fit.status}: {fit.reason}".rstrip(".")
    rows: list[dict[str, Any]] = []
    for parameter in PARAMETERS:
        row: dict[str, Any] = {
            "last_crawl": labels[-1],
            "parameter": parameter,
            "threshold": threshold,
            "since_crawl": since,
            "reason": reason,
        }
        if reason is None:
            reference, value = (getattr(fit, parameter) for fit in fits)
            row |= {"reference_value": reference, "value": value, "difference": value - reference}
            row |= {"statistic": abs(value - reference), "drifted": bool(abs(value - reference) > threshold)}
        rows.append(row)
    return pd.DataFrame(rows)


def _fit_window(
    window: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    clock: Clock,
) -> Fit:
    """Core-shell fit of some consecutive crawls."""
    inside = set(window["crawl"])
    if containment is not None:
        pairs = containment[containment["crawl_i"].isin(inside) & containment["crawl_j"].isin(inside)]
        return fit_containment_core_shell(*containment_points(pairs, clock), form="exact", clock=clock)
    if discovery_curve is not None:
        windows = discovery_curve[
            discovery_curve["start_crawl"].isin(inside) & discovery_curve["end_crawl"].isin(inside)
        ]
        return fit_discovery_core_shell(*discovery_points(window, windows, clock), clock=clock)
    raise ValueError("drift needs table containment or discovery_curve; the collection has neither")
