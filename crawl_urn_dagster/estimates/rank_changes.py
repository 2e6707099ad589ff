"""Estimate how elements of each rank band move between crawls: table `rank_changes`.

Does not count the moves; see `observables.stratum_moves`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.observables.schema import RANK_CHANGES
from crawl_urn_dagster.observables.strata import UNKNOWN
from crawl_urn_dagster.urn.curves.rank_motion import RankMotion, fit_rank_motion
from crawl_urn_dagster.urn.data.distributions import student_quantile
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray


def rank_changes_table(strata: Sequence[str], moves: IntArray, upper_bounds: Mapping[str, float]) -> pd.DataFrame:
    """Return table `rank_changes`, one row per band that has elements.

    Parameters
    ----------
    strata, moves
        As returned by `observables.stratum_moves.count_stratum_moves`.
    upper_bounds
        Highest rank of every configured band, infinite for the last, ascending.

    Examples
    --------
    >>> moves = np.array([[[40, 5, 5], [5, 30, 15], [5, 15, 0]]])
    >>> table = rank_changes_table(["1-50", "51-100"], moves, {"1-50": 50, "51-100": 100, "101+": np.inf})
    >>> table[["stratum", "lost", "net_flux", "list_end"]].values.tolist()
    [['1-50', 0.1, 0.0, 100], ['51-100', 0.3, 0.0, 100]]
    """
    bands = [label for label in strata if label != UNKNOWN]
    inside = moves[:, : len(bands)].astype(np.float64)
    bounds = np.array([upper_bounds[label] for label in bands], dtype=np.float64)
    end = _list_end(moves, bounds)
    rows = []
    for band, label in enumerate(bands):
        leaving, coming = inside[:, band], moves[:, :, band].astype(np.float64)
        if not leaving.sum():
            continue
        closed = bounds if end is None else np.minimum(bounds, end)
        motion = fit_rank_motion(band, closed, leaving[:, : len(bands)], is_cut=end is not None)
        flux = _flux(band, leaving, coming)
        row = {"stratum": label, "list_end": end, **flux, **_motion(motion)}
        rows.append(row | _lost_by_cut(flux["lost"], motion, end))
    return pd.DataFrame(rows, columns=list(RANK_CHANGES.column_names)).astype({"list_end": "Int64"})


def _list_end(moves: IntArray, bounds: FloatArray) -> int | None:
    """Return the rank at which every list ends; None if it was not found.

    A list ends at the bound of its last band, or else every list has the same length and an element at every rank, and
    elements leave it.
    """
    if np.isfinite(bounds[-1]):
        return int(bounds[-1])
    sizes = moves[:, : len(bounds)].sum(axis=2)
    is_full = (sizes[:, :-1] == np.diff(bounds[:-1], prepend=0.0)).all()
    is_left = moves[:, len(bounds) - 1, -1].any()
    return int(sizes[0].sum()) if is_full and is_left and np.ptp(sizes.sum(axis=1)) == 0 else None


def _flux(band: int, leaving: FloatArray, coming: FloatArray) -> dict[str, float]:
    """Return the shares of the moves out of a band, by pair of crawls and new band, and of the moves into it."""
    mean = leaving.sum() / len(leaving)
    out, into = (some.sum(axis=0) / leaving.sum() for some in (leaving, coming))
    net = (coming.sum(axis=1) - leaving.sum(axis=1)) / mean
    half = student_quantile(0.975, len(net) - 1) * net.std(ddof=1) / np.sqrt(len(net)) if len(net) > 1 else np.nan
    return {
        "elements": mean,
        "stayed": out[band],
        "to_better": out[:band].sum(),
        "to_worse": out[band + 1 : -1].sum(),
        "lost": out[-1],
        "from_better": into[:band].sum(),
        "from_worse": into[band + 1 : -1].sum(),
        "entered": into[-1],
        "net_flux": net.mean(),
        "net_flux_low": net.mean() - half,
        "net_flux_high": net.mean() + half,
    }


def _motion(motion: RankMotion | None) -> dict[str, float]:
    if motion is None:
        return {}
    half, factor = NORMAL_QUANTILE * motion.drift_se, np.exp(NORMAL_QUANTILE * motion.log_diffusion_se)
    return {
        "drift": motion.drift,
        "drift_low": motion.drift - half,
        "drift_high": motion.drift + half,
        "diffusion": motion.diffusion,
        "diffusion_low": motion.diffusion / factor,
        "diffusion_high": motion.diffusion * factor,
    }


def _lost_by_cut(lost: float, motion: RankMotion | None, end: int | None) -> dict[str, Any]:
    if end is None:
        return {"passing": 0.0, "lost_by_cut": 0.0}
    if motion is None:
        return {}
    return {"passing": motion.passing, "lost_by_cut": min(motion.passing / lost, 1.0) if lost else np.nan}
