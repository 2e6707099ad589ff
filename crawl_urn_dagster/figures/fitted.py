"""Figures of the fits: each observable with the curves that every fit, of either observable, implies for it.

Here: which points and curves are drawn, and the legend with the fitted values. Not here: fitting, the curves'
formulas (`urn`), or figures without a model (`observed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from crawl_urn_dagster.figures.axes import crawl_ticks
from crawl_urn_dagster.figures.labels import (
    FIT_NAMES,
    LIMITS_NOTE,
    MODEL_NAMES,
    estimate,
    estimates,
    fit_in_words,
    fit_name,
    glossary,
    has_urn,
    span,
    status_note,
    wrapped,
)
from crawl_urn_dagster.figures.style import (
    CLOUD_POINT,
    CONTAINMENT_COLOUR,
    DISCOVERY_COLOUR,
    JOINT_COLOUR,
    TRUTH_COLOUR,
    elements,
    in_style,
    is_narrow,
    line_height,
    new_figure,
    panels,
    points,
)
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.urn import UNSAID, WITHHELD, CoreShellUrn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.labels import Row
    from crawl_urn_dagster.urn.data.histories import FloatArray

_PANELS_HEIGHT, _PANEL_HEIGHT_NARROW = 3.2, 2.4  # inches, the title included
_CURVE_POINTS = 200
_MARKERS_ON_CURVE = 5
_POINT_SIZES = {"crawl": 5.0, "year": CLOUD_POINT}


@dataclass(frozen=True)
class _Look:
    """What tells the curves of a projection apart; dashes are kept for the status of a fit."""

    color: str
    marker: str
    width: float
    offset: float  # of the markers, as a fraction of their distance, so that those of equal curves alternate


_LOOKS = {
    "joint": _Look(JOINT_COLOUR, "v", 1.4, 0.85),
    "containment": _Look(CONTAINMENT_COLOUR, "o", 1.6, 0.0),
    "discovery_curve": _Look(DISCOVERY_COLOUR, "s", 1.2, 0.5),
    "discovery_tail": _Look(DISCOVERY_COLOUR, "^", 0.8, 0.25),
    "discovery_increments": _Look(DISCOVERY_COLOUR, "D", 0.8, 0.25),
    "truth": _Look(TRUTH_COLOUR, "x", 0.7, 0.75),
}


#: The one observable that a projection was fitted to.
_FITTED_TO = {
    "containment": "containment",
    "discovery_curve": "discovery_curve",
    "discovery_tail": "discovery_curve",
    "discovery_increments": "discovery_curve",
}


@dataclass(frozen=True, eq=False)
class _Panel:
    """An observable: its points, the abscissae its curves are drawn at, and their names."""

    projection: str
    clock: str
    x: FloatArray
    observed: FloatArray
    grid: FloatArray
    point: str
    x_label: str
    y_label: str


def homogeneous_fits(
    parameters: pd.DataFrame,
    crawls: pd.DataFrame,
    *,
    containment: pd.DataFrame | None = None,
    discovery_curve: pd.DataFrame | None = None,
    truth: pd.DataFrame | None = None,
    title: str,
    clock: str,
) -> Figure:
    """Fits of the homogeneous urn: a panel per observable, with the curves of both observables' fits in each.

    The points are those that were fitted: on clock ``crawl`` the mean over all pairs of a lag and the mean
    over all start crawls, on clock ``year`` every pair and every window. On clock ``year`` discovery curves
    are drawn for crawls at the mean gap, although each window was fitted with its own gaps. A fit whose
    status is not ok is dashed; one whose status forbids its numbers (model_violation, too_few_points,
    not_converged) is named as withheld and not drawn.

    Parameters
    ----------
    parameters, crawls, containment, discovery_curve, truth
        Tables of the contract. An observable that is absent has no panel; `truth` is that of a simulated
        collection.
    title
        The collection, for example ``us_gov_hosts (host)``.
    clock
        ``crawl`` or ``year``: which fits.

    Raises
    ------
    ValueError
        When both observables are absent, or for another clock.
    """
    return _fits(
        model="homogeneous",
        parameters=parameters,
        crawls=crawls,
        containment=containment,
        discovery_curve=discovery_curve,
        truth=truth,
        title=title,
        clock=clock,
    )


def core_shell_fits(
    parameters: pd.DataFrame,
    crawls: pd.DataFrame,
    *,
    containment: pd.DataFrame | None = None,
    discovery_curve: pd.DataFrame | None = None,
    truth: pd.DataFrame | None = None,
    title: str,
    clock: str,
) -> Figure:
    """Fits of core and shell; as `homogeneous_fits` in everything else.

    Of containment the exact form is drawn. The paper's form is the same curve, and its printed κ, which is
    the core share μ of the exact form, is listed.
    """
    return _fits(
        model="core_shell",
        parameters=parameters,
        crawls=crawls,
        containment=containment,
        discovery_curve=discovery_curve,
        truth=truth,
        title=title,
        clock=clock,
    )


@in_style
def _fits(
    *,
    model: str,
    parameters: pd.DataFrame,
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    truth: pd.DataFrame | None,
    title: str,
    clock: str,
) -> Figure:
    shown = _panels(crawls, containment, discovery_curve, clock)
    rows = _fit_rows(parameters, model, clock) + ([] if truth is None else _truth_rows(truth, clock))
    key = [
        *(Line2D([], [], **_point_style(panel), label=wrapped(panel.point)) for panel in shown),
        *(_fit_key(row) for row in rows if row["status"] not in WITHHELD),
        *_withheld_keys(rows),
    ]
    if not rows:
        key.append(_text_key("no fit"))
    has_gaps = clock == "year" and discovery_curve is not None
    gap_note = f"; discovery curves at the mean gap, {_mean_gap(crawls):.3f} years" if has_gaps else ""
    has_core = any(not pd.isna(row["kappa"]) for row in rows)
    symbols = "" if is_narrow() else glossary(has_core=has_core, clock=clock)
    text_lines = 1 + sum(1 + text.count("\n") for text in (symbols, *(str(line.get_label()) for line in key)))
    figure = new_figure(
        height=(_PANEL_HEIGHT_NARROW * len(shown) if is_narrow() else _PANELS_HEIGHT) + line_height() * text_lines,
        title=title,
        heading=f"{MODEL_NAMES[model]}, fits per {clock}\n{span(crawls)}{gap_note}",
    )
    for axes, panel in zip(panels(figure, len(shown)), shown, strict=True):
        _draw(axes, panel, rows)
    figure.legend(
        handles=key,
        loc="outside lower left",
        title=symbols,
        alignment="left",
        handlelength=3,
    )
    return figure


def _fits_caption(
    parameters: pd.DataFrame,
    crawls: pd.DataFrame,
    *,
    model: str,
    containment: pd.DataFrame | None = None,
    discovery_curve: pd.DataFrame | None = None,
    truth: pd.DataFrame | None = None,
    clock: str,
) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    shown = _panels(crawls, containment, discovery_curve, clock)
    rows = _fit_rows(parameters, model, clock) + ([] if truth is None else _truth_rows(truth, clock))
    fits = "; ".join(f"{fit_name(row)}: {_in_caption(row)}" for row in rows) or "no fit"
    observables = " and ".join(panel.projection.replace("_", " ") for panel in shown)
    described = f"{span(crawls)}; fits per {clock}"
    statuses = {row["status"] for row in rows} - {*WITHHELD, "ok"}
    dashed = "; dashed: a fit whose status is not ok" if statuses else ""
    only = (
        ", that of a fit that is not identified only for the one it was fitted to"
        if "not_identified" in statuses
        else ""
    )
    text = (
        f"{described}. Fits: {fits}. {LIMITS_NOTE} Points: {', '.join(panel.point for panel in shown)}. Each fit's "
        f"curve, told apart by its markers, is drawn for every observable that it implies{only}{dashed}. "
        f"Symbols: {glossary(has_core=any(not pd.isna(row['kappa']) for row in rows), clock=clock)}.".replace("\n", " ")
    )
    drawn = [row for row in rows if row["status"] not in WITHHELD]
    alt = (
        f"Observed {observables} as points, with the curves of {count_noun(len(drawn), 'fit')} of the "
        f"{MODEL_NAMES[model]}"
    )
    headline = next((row for row in rows if row.get("headline") is True), None)
    return text, f"{alt}." if headline is None else f"{alt}; {fit_name(headline)}: {fit_in_words(headline)}."


homogeneous_fits_caption = partial(_fits_caption, model="homogeneous")
core_shell_fits_caption = partial(_fits_caption, model="core_shell")


def _in_caption(row: Row) -> str:
    """Say what a fit gives; of one whose curve is another's, what it has of its own."""
    if _repeats_exact_curve(row) and row["status"] not in UNSAID:
        return f"the same curve, {estimate(row, 'kappa')}"
    return fit_in_words(row)


def _panels(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    clock: str,
) -> list[_Panel]:
    if clock not in ("crawl", "year"):
        raise ValueError(f"clock is {clock!r}; expected crawl or year")
    panels = []
    if containment is not None:
        panels.append(_containment_panel(containment, clock))
    if discovery_curve is not None:
        panels.append(_discovery_panel(discovery_curve, clock, _mean_gap(crawls)))
    if not panels:
        raise ValueError("both containment and discovery_curve are absent; pass at least one of the tables")
    return panels


def _containment_panel(containment: pd.DataFrame, clock: str) -> _Panel:
    known = containment.dropna(subset="containment")
    if clock == "crawl":
        known = known.groupby("lag_crawls")["containment"].mean().reset_index()
    lag = known[f"lag_{clock}s"].to_numpy(dtype=np.float64)
    return _Panel(
        projection="containment",
        clock=clock,
        x=lag,
        observed=known["containment"].to_numpy(dtype=np.float64),
        grid=np.linspace(lag.min(), lag.max(), _CURVE_POINTS) if lag.size else lag,
        point=f"mean over the pairs of crawls of a lag ({count_noun(lag.size, 'lag')})"
        if clock == "crawl"
        else f"pair of crawls ({count_noun(lag.size, 'pair')})",
        x_label=f"lag ({clock}s)",
        y_label="containment: share of the\nearlier crawl in the later",
    )


def _discovery_panel(discovery_curve: pd.DataFrame, clock: str, gap_years: float) -> _Panel:
    known = discovery_curve[discovery_curve["window_crawls"] > 1].dropna(subset="ratio")
    if clock == "crawl":
        known = known.groupby("window_crawls")["ratio"].mean().reset_index()
        elapsed, gap = known["window_crawls"].to_numpy(dtype=np.float64) - 1, 1.0
    else:
        elapsed, gap = known["elapsed_years"].to_numpy(dtype=np.float64), gap_years
    return _Panel(
        projection="discovery_curve",
        clock=clock,
        x=elapsed,
        observed=known["ratio"].to_numpy(dtype=np.float64),
        grid=gap * np.arange(np.ceil(elapsed.max() / gap) + 1) if elapsed.any() else np.empty(0),
        point=f"mean over the start crawls ({count_noun(elapsed.size, 'window length')})"
        if clock == "crawl"
        else f"window of crawls ({count_noun(elapsed.size, 'window')})",
        x_label=f"{clock}s after the start crawl{', T' if clock == 'crawl' else ''}",
        y_label=f"distinct {elements()} over the size\nof the start crawl, U(s, T)/U(s, 0)",
    )


def _mean_gap(crawls: pd.DataFrame) -> float:
    """Mean gap between consecutive crawls in years; 0 for one crawl."""
    return float(crawls["years"].max() - crawls["years"].min()) / max(len(crawls) - 1, 1)


def _fit_rows(parameters: pd.DataFrame, model: str, clock: str) -> list[Row]:
    """One row per fit of all elements, the urn's or the shell's, in the order of the legend."""
    rows = parameters[
        (parameters["model"] == model)
        & (parameters["clock"] == clock)
        & (parameters["component"] != "core")
        & parameters["stratum"].isna()
    ].to_dict("records")
    return [row for kind in FIT_NAMES for row in rows if (row["model"], row["projection"]) == kind]


def _truth_rows(truth: pd.DataFrame, clock: str) -> list[Row]:
    known = truth[truth["clock"] == clock]
    return known.assign(model="simulation", projection="truth", status="ok").to_dict("records")


def _repeats_exact_curve(row: Row) -> bool:
    return bool(row["projection"] == "containment" and row["form"] == "paper")


def _curve(shown: str, row: Row, grid: FloatArray) -> FloatArray | None:
    """Return what a fit implies for an observable; None when it has no curve there or must not be drawn."""
    if row["status"] in WITHHELD or _repeats_exact_curve(row) or not has_urn(row) or not grid.size:
        return None
    if row["status"] == "not_identified" and _FITTED_TO.get(row["projection"], shown) != shown:
        return None  # any of many curves, which miss no more what the fit saw
    urn = CoreShellUrn(0.0 if pd.isna(row["kappa"]) else row["kappa"], row["alpha"], row["coverage"])
    if shown == "discovery_curve":
        if row["projection"] == "discovery_tail":
            line = urn.shell.asymptote()
            return line.nu_inf * grid + line.intercept
        return urn.discovery_curve_at(grid)
    return urn.containment(grid) if row["projection"] in ("joint", "containment", "discovery_curve", "truth") else None


def _draw(axes: Axes, panel: _Panel, rows: list[Row]) -> None:
    axes.plot(panel.x, panel.observed, **_point_style(panel))
    for row in rows:
        curve = _curve(panel.projection, row, panel.grid)
        if curve is not None:
            step = 1 + curve.size // _MARKERS_ON_CURVE
            first = int(step * _LOOKS[row["projection"]].offset)
            axes.plot(panel.grid, curve, **_curve_style(row), markevery=(first, step))
    if panel.clock == "crawl":
        crawl_ticks(axes)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)


def _point_style(panel: _Panel) -> dict[str, Any]:
    look = _LOOKS[panel.projection]
    return points(look.color, marker=look.marker, size=_POINT_SIZES[panel.clock])


def _curve_style(row: Row) -> dict[str, Any]:
    look = _LOOKS[row["projection"]]
    return {
        "color": look.color,
        "marker": look.marker,
        "markersize": 5.5,
        "markerfacecolor": "white",
        "linewidth": look.width,
        "linestyle": "-" if row["status"] == "ok" else "--",
    }


def _fit_key(row: Row) -> Line2D:
    """Make the legend entry of a fit or of the truth, with its values; without a line where none is drawn."""
    if _repeats_exact_curve(row):
        known = "" if row["status"] == "not_identified" else estimate(row, "kappa") or "no estimate"
        status = "" if row["status"] == "ok" else f" ({row['status']})"
        return _text_key(wrapped(", ".join(filter(None, (f"{fit_name(row)}: the same curve", known))) + status))
    if row["status"] == "not_identified":
        label = wrapped(f"{fit_name(row)}: {fit_in_words(row)}")
    else:
        values = estimates(row) or "no estimate"
        label = "\n".join(line for line in (wrapped(fit_name(row)), values, status_note(row)) if line)
    return Line2D([], [], **_curve_style(row), label=label) if has_urn(row) else _text_key(label)


def _text_key(label: str) -> Line2D:
    return Line2D([], [], linestyle="none", label=label)


def _withheld_keys(rows: list[Row]) -> Iterator[Line2D]:
    """Make one legend entry per reason for which fits are withheld."""
    fits_by_note: dict[str, list[str]] = {}
    for row in rows:
        if row["status"] in WITHHELD:
            fits_by_note.setdefault(status_note(row), []).append(fit_name(row))
    for note, names in fits_by_note.items():
        yield _text_key(f"{wrapped('withheld: ' + '; '.join(names))}\n{note}")
