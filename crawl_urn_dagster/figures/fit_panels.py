"""Select the points of an observable to which fits are compared, and compute the curves of fits at them.

Does not draw; see `fitted`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.figures.style import elements
from crawl_urn_dagster.formatting import count_noun

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.urn import CoreShellUrn
    from crawl_urn_dagster.urn.data.histories import FloatArray

_CURVE_POINTS = 200


@dataclass(frozen=True, eq=False)
class Panel:
    """An observable: its points, the abscissae of its curves, and its labels.

    Parameters
    ----------
    windows
        Start crawl and length minus 1 of each point of the discovery curve on clock ``year``, shape (n_points, 2);
        empty otherwise.
    years
        Times of the crawls.
    """

    projection: str
    clock: str
    x: FloatArray
    observed: FloatArray
    grid: FloatArray
    point: str
    x_label: str
    y_label: str
    windows: np.ndarray[tuple[int, ...], np.dtype[np.intp]]
    years: FloatArray

    def curve(self, urn: CoreShellUrn) -> FloatArray:
        """Return the curve of an urn at `grid`."""
        return urn.containment(self.grid) if self.projection == "containment" else urn.discovery_curve_at(self.grid)

    def predict(self, urn: CoreShellUrn) -> FloatArray:
        """Return the values of an urn at the points, with the gaps of each window."""
        if self.projection == "containment":
            return urn.containment(self.x)
        if not self.windows.size:
            return urn.discovery_curve(self.x)
        by_start = {
            start: urn.discovery_curve_at(self.years[start:] - self.years[start])
            for start in np.unique(self.windows[:, 0])
        }
        return np.array([by_start[start][length] for start, length in self.windows])


def fit_panels(
    crawls: pd.DataFrame,
    clock: str,
    *,
    containment: pd.DataFrame | None = None,
    discovery_curve: pd.DataFrame | None = None,
) -> list[Panel]:
    """Return the panels of the observables of a collection.

    Raises
    ------
    ValueError
        If both observables are missing, or for another clock.
    """
    if clock not in ("crawl", "year"):
        raise ValueError(f"clock: found {clock!r}, expected 'crawl' or 'year'")
    panels = []
    if containment is not None:
        panels.append(_containment_panel(containment, clock))
    if discovery_curve is not None:
        panels.append(_discovery_panel(discovery_curve, crawls, clock))
    if not panels:
        raise ValueError("both containment and discovery_curve are missing; pass at least one of these tables")
    return panels


def mean_gap(crawls: pd.DataFrame) -> float:
    """Return the mean gap between consecutive crawls in years; 0 for one crawl."""
    return float(crawls["years"].max() - crawls["years"].min()) / max(len(crawls) - 1, 1)


def _containment_panel(containment: pd.DataFrame, clock: str) -> Panel:
    known = containment.dropna(subset="containment")
    if clock == "crawl":
        known = known.groupby("lag_crawls")["containment"].mean().reset_index()
    lag = known[f"lag_{clock}s"].to_numpy(dtype=np.float64)
    return Panel(
        projection="containment",
        clock=clock,
        x=lag,
        observed=known["containment"].to_numpy(dtype=np.float64),
        grid=np.linspace(lag.min(), lag.max(), _CURVE_POINTS) if lag.size else lag,
        point=f"mean over the pairs of a lag ({count_noun(lag.size, 'lag')})"
        if clock == "crawl"
        else f"pair of crawls ({count_noun(lag.size, 'pair')})",
        x_label=f"lag ({clock}s)",
        y_label="containment: share of the\nearlier crawl in the later",
        windows=np.empty((0, 2), dtype=np.intp),
        years=np.empty(0),
    )


def _discovery_panel(discovery_curve: pd.DataFrame, crawls: pd.DataFrame, clock: str) -> Panel:
    known = discovery_curve[discovery_curve["window_crawls"] > 1].dropna(subset="ratio")
    windows = np.empty((0, 2), dtype=np.intp)
    if clock == "crawl":
        known = known.groupby("window_crawls")["ratio"].mean().reset_index()
        elapsed, gap = known["window_crawls"].to_numpy(dtype=np.float64) - 1, 1.0
    else:
        elapsed, gap = known["elapsed_years"].to_numpy(dtype=np.float64), mean_gap(crawls)
        index = dict(zip(crawls["crawl"], range(len(crawls)), strict=True))
        windows = np.column_stack([known["start_crawl"].map(index), known["window_crawls"] - 1]).astype(np.intp)
    return Panel(
        projection="discovery_curve",
        clock=clock,
        x=elapsed,
        observed=known["ratio"].to_numpy(dtype=np.float64),
        grid=gap * np.arange(np.ceil(elapsed.max() / gap) + 1) if elapsed.any() else np.empty(0),
        point=f"mean over the start crawls ({count_noun(elapsed.size, 'window length')})"
        if clock == "crawl"
        else f"window of crawls ({count_noun(elapsed.size, 'window')})",
        x_label=f"{clock}s after the start crawl{', T' if clock == 'crawl' else ''}",
        y_label=f"distinct {elements()} / size of\nstart crawl, U(s, T)/U(s, 0)",
        windows=windows,
        years=crawls["years"].to_numpy(dtype=np.float64),
    )
