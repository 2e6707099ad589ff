"""Draw each observable with the curves of all fits, including those of the other observable.

Does not fit, compute the curves of an urn (`urn`) or draw figures without a model (`observed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from crawl_urn_dagster.estimates import fits as registry
from crawl_urn_dagster.figures.axes import crawl_ticks
from crawl_urn_dagster.figures.labels import (
    INTERVAL_NOTE,
    crawl_range,
    describe_fit,
    explain_symbols,
    fit_definition,
    fit_name,
    format_estimate,
    format_estimates,
    has_valid_parameters,
    model_name,
    rows_of_fit,
    status_note,
    wrap_label,
)
from crawl_urn_dagster.figures.style import (
    CLOUD_POINT,
    Colour,
    elements,
    in_style,
    is_narrow,
    line_height,
    new_figure,
    panels,
    points,
)
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES, CoreShellUrn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.labels import Row
    from crawl_urn_dagster.urn.data.histories import FloatArray

_PANELS_HEIGHT, _PANEL_HEIGHT_NARROW = 3.2, 2.4  # inches, including the title
_CURVE_POINTS = 200
_MARKERS_ON_CURVE = 5
_POINT_SIZES = {"crawl": 5.0, "year": CLOUD_POINT}


@dataclass(frozen=True)
class _Look:
    """Style of the curves of a projection, and the observables they are drawn for; dashes show the status of a fit."""

    color: str
    marker: str
    width: float
    offset: float  # of the markers, as a fraction of their distance, so markers of equal curves alternate
    drawn_for: tuple[str, ...] = ("containment", "discovery_curve")


_LOOKS = {
    "joint": _Look(Colour.JOINT, "v", 1.4, 0.85),
    "containment": _Look(Colour.CONTAINMENT, "o", 1.6, 0.0),
    "discovery_curve": _Look(Colour.DISCOVERY, "s", 1.2, 0.5),
    "discovery_tail": _Look(Colour.DISCOVERY, "^", 0.8, 0.25, ("discovery_curve",)),
    "discovery_increments": _Look(Colour.DISCOVERY, "D", 0.8, 0.25, ("discovery_curve",)),
    "truth": _Look(Colour.TRUTH, "x", 0.7, 0.75),
}
_OTHER_LOOK = _Look(Colour.MISSING, "P", 0.8, 0.4)  # of a fit that is registered from outside


@dataclass(frozen=True, eq=False)
class _Panel:
    """An observable: its points, the abscissae of its curves, and its labels."""

    projection: str
    clock: str
    x: FloatArray
    observed: FloatArray
    grid: FloatArray
    point: str
    x_label: str
    y_label: str


@in_style
def _draw_fits(
    parameters: pd.DataFrame,
    crawls: pd.DataFrame,
    *,
    model: str,
    title: str,
    clock: str,
    truth: pd.DataFrame | None = None,
    **observables: pd.DataFrame | None,
) -> Figure:
    """Draw fits of a model: one panel per observable, with the curves of the fits of both observables.

    The points are those that were fitted. On clock ``crawl`` they are means over all pairs of a lag and over all start
    crawls. On clock ``year`` they are every pair and every window, and discovery curves are drawn for crawls at the
    mean gap, although each window was fitted with its own gaps. A fit whose status is not ok is dashed. A fit that is
    not reported (model_violation, too_few_points, not_converged) is named in the legend and has no curve. Containment
    has the curve of the exact form. The form of the paper has the same curve; the legend gives its κ, which is the core
    share μ of the exact form.

    Raises
    ------
    ValueError
        If both observables are missing, or for another clock.
    """
    shown = _panels(crawls, clock, **observables)
    rows = _fit_rows(parameters, model, clock) + _truth_rows(truth, clock)
    key = [
        *(Line2D([], [], **_point_style(panel), label=wrap_label(panel.point)) for panel in shown),
        *(_fit_key(row) for row in rows if row["status"] not in UNREPORTED_STATUSES),
        *_unreported_keys(rows),
    ]
    if not rows:
        key.append(_text_key("no fit"))
    has_gaps = clock == "year" and any(panel.projection == "discovery_curve" for panel in shown)
    gap_note = f"; discovery curves at the mean gap, {_mean_gap(crawls):.3f} years" if has_gaps else ""
    symbols = "" if is_narrow() else _explain_symbols(rows, clock)
    text_lines = 1 + sum(1 + text.count("\n") for text in (symbols, *(str(line.get_label()) for line in key)))
    figure = new_figure(
        height=(_PANEL_HEIGHT_NARROW * len(shown) if is_narrow() else _PANELS_HEIGHT) + line_height() * text_lines,
        title=title,
        heading=f"{model_name(model)}, fits per {clock}\n{crawl_range(crawls)}{gap_note}",
    )
    for axes, panel in zip(panels(figure, len(shown)), shown, strict=True):
        _draw(axes, panel, rows)
    figure.legend(handles=key, loc="outside lower left", title=symbols, alignment="left", handlelength=3)
    return figure


def _fits_caption(
    parameters: pd.DataFrame,
    crawls: pd.DataFrame,
    *,
    model: str,
    clock: str,
    truth: pd.DataFrame | None = None,
    **observables: pd.DataFrame | None,
) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    shown = _panels(crawls, clock, **observables)
    rows = _fit_rows(parameters, model, clock) + _truth_rows(truth, clock)
    fits = "; ".join(f"{fit_name(row)}: {_describe(row)}" for row in rows) or "no fit"
    statuses = {row["status"] for row in rows} - {*UNREPORTED_STATUSES, "ok"}
    dashed = " Dashed: a fit whose status is not ok." if statuses else ""
    only = " A fit that is not identified is drawn only for its data." if "not_identified" in statuses else ""
    text = (
        f"{crawl_range(crawls)}; fits per {clock}. Fits: {fits}. {INTERVAL_NOTE} "
        f"Points: {', '.join(panel.point for panel in shown)}. Each fit has its own markers and is drawn for every "
        f"observable that it predicts.{only}{dashed} Symbols: {_explain_symbols(rows, clock)}.".replace("\n", " ")
    )
    n_drawn = sum(row["status"] not in UNREPORTED_STATUSES for row in rows)
    observed = " and ".join(panel.projection.replace("_", " ") for panel in shown)
    alt = f"Observed {observed} as points, with the curves of {count_noun(n_drawn, 'fit')} of the {model_name(model)}"
    headline = next((row for row in rows if row.get("headline") is True), None)
    return text, f"{alt}." if headline is None else f"{alt}; {fit_name(headline)}: {describe_fit(headline)}."


homogeneous_fits = partial(_draw_fits, model="homogeneous")
homogeneous_fits_caption = partial(_fits_caption, model="homogeneous")
core_shell_fits = partial(_draw_fits, model="core_shell")
core_shell_fits_caption = partial(_fits_caption, model="core_shell")


def _describe(row: Row) -> str:
    """Describe a fit; one with the same curve as another fit by its own parameter alone."""
    if _repeats_exact_curve(row) and row["status"] not in NO_POINT_ESTIMATE_STATUSES:
        return f"the same curve, {format_estimate(row, 'kappa')}"
    return describe_fit(row)


def _explain_symbols(rows: list[Row], clock: str) -> str:
    return explain_symbols(has_core=any(not pd.isna(row["kappa"]) for row in rows), clock=clock)


def _panels(
    crawls: pd.DataFrame,
    clock: str,
    *,
    containment: pd.DataFrame | None = None,
    discovery_curve: pd.DataFrame | None = None,
) -> list[_Panel]:
    if clock not in ("crawl", "year"):
        raise ValueError(f"clock: found {clock!r}, expected 'crawl' or 'year'")
    panels = []
    if containment is not None:
        panels.append(_containment_panel(containment, clock))
    if discovery_curve is not None:
        panels.append(_discovery_panel(discovery_curve, clock, _mean_gap(crawls)))
    if not panels:
        raise ValueError("both containment and discovery_curve are missing; pass at least one of these tables")
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
        y_label=f"distinct {elements()} / size of\nstart crawl, U(s, T)/U(s, 0)",
    )


def _mean_gap(crawls: pd.DataFrame) -> float:
    """Return the mean gap between consecutive crawls in years; 0 for one crawl."""
    return float(crawls["years"].max() - crawls["years"].min()) / max(len(crawls) - 1, 1)


def _fit_rows(parameters: pd.DataFrame, model: str, clock: str) -> list[Row]:
    """Return one row per fit of all elements, of the homogeneous urn or the shell, in the order of the legend."""
    definitions = [one for one in registry.REGISTRY if isinstance(one, registry.PrimaryFit) and one.model == model]
    on_clock = parameters[parameters["clock"].eq(clock)]
    return [row for one in definitions for row in rows_of_fit(on_clock, one).to_dict("records")]


def _truth_rows(truth: pd.DataFrame | None, clock: str) -> list[Row]:
    if truth is None:
        return []
    known = truth[truth["clock"] == clock]
    return known.assign(model="simulation", projection="truth", status="ok").to_dict("records")


def projection_look(projection: str) -> _Look:
    """Return the style of the curves of a projection."""
    return _LOOKS.get(projection, _OTHER_LOOK)


def _is_fitted_to(row: Row, observable: str) -> bool:
    """Return whether an observable was among the data of a fit; a joint fit needs no particular one."""
    definition = fit_definition(row)
    return not isinstance(definition, registry.PrimaryFit) or not definition.needs or observable in definition.needs


def _repeats_exact_curve(row: Row) -> bool:
    return bool(row["projection"] == "containment" and row["form"] == "paper")


def _curve(observable: str, row: Row, grid: FloatArray) -> FloatArray | None:
    """Return the curve of a fit for an observable; None if the fit has no curve for it or is not reported."""
    if (
        row["status"] in UNREPORTED_STATUSES
        or _repeats_exact_curve(row)
        or not has_valid_parameters(row)
        or not grid.size
    ):
        return None
    if observable not in projection_look(row["projection"]).drawn_for:
        return None
    if row["status"] == "not_identified" and not _is_fitted_to(row, observable):
        return None  # many curves for this observable belong to equally good fits of the other one
    urn = CoreShellUrn(0.0 if pd.isna(row["kappa"]) else row["kappa"], row["alpha"], row["coverage"])
    if row["projection"] == "discovery_tail":
        line = urn.shell.asymptote()
        return line.nu_inf * grid + line.intercept
    return urn.containment(grid) if observable == "containment" else urn.discovery_curve_at(grid)


def _draw(axes: Axes, panel: _Panel, rows: list[Row]) -> None:
    axes.plot(panel.x, panel.observed, **_point_style(panel))
    for row in rows:
        curve = _curve(panel.projection, row, panel.grid)
        if curve is not None:
            step = 1 + curve.size // _MARKERS_ON_CURVE
            first = int(step * projection_look(row["projection"]).offset)
            axes.plot(panel.grid, curve, **_curve_style(row), markevery=(first, step))
    if panel.clock == "crawl":
        crawl_ticks(axes)
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label)


def _point_style(panel: _Panel) -> dict[str, Any]:
    look = projection_look(panel.projection)
    return points(look.color, marker=look.marker, size=_POINT_SIZES[panel.clock])


def _curve_style(row: Row) -> dict[str, Any]:
    look = projection_look(row["projection"])
    return {
        "color": look.color,
        "marker": look.marker,
        "markersize": 5.5,
        "markerfacecolor": "white",
        "linewidth": look.width,
        "linestyle": "-" if row["status"] == "ok" else "--",
    }


def _fit_key(row: Row) -> Line2D:
    """Return the legend entry of a fit or of the truth with its parameters; without a line if they are invalid."""
    if _repeats_exact_curve(row):
        known = "" if row["status"] == "not_identified" else format_estimate(row, "kappa") or "no estimate"
        status = "" if row["status"] == "ok" else f" ({row['status']})"
        return _text_key(wrap_label(", ".join(filter(None, (f"{fit_name(row)}: the same curve", known))) + status))
    if row["status"] == "not_identified":
        label = wrap_label(f"{fit_name(row)}: {describe_fit(row)}")
    else:
        values = format_estimates(row) or "no estimate"
        label = "\n".join(filter(None, (wrap_label(fit_name(row)), values, status_note(row))))
    return Line2D([], [], **_curve_style(row), label=label) if has_valid_parameters(row) else _text_key(label)


def _text_key(label: str) -> Line2D:
    return Line2D([], [], linestyle="none", label=label)


def _unreported_keys(rows: list[Row]) -> Iterator[Line2D]:
    """Return one legend entry per reason for which fits are not reported."""
    fits_by_note: dict[str, list[str]] = {}
    for row in rows:
        if row["status"] in UNREPORTED_STATUSES:
            fits_by_note.setdefault(status_note(row), []).append(fit_name(row))
    for note, names in fits_by_note.items():
        yield _text_key(f"{wrap_label('not reported: ' + '; '.join(names))}\n{note}")
