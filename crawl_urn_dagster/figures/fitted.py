"""Draw each observable with the curves of all fits, including those of the other observable, above their residuals.

Does not fit, select points (`fit_panels`), compute curves (`urn`) or draw figures without a model (`observed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from crawl_urn_dagster.estimates import fits as registry
from crawl_urn_dagster.figures.axes import crawl_ticks
from crawl_urn_dagster.figures.fit_panels import fit_panels, mean_gap
from crawl_urn_dagster.figures.labels import (
    INTERVAL_NOTE,
    crawl_range,
    describe_fit,
    explain_symbols,
    fit_definition,
    fit_label,
    fit_name,
    format_estimate,
    has_valid_parameters,
    model_name,
    rows_of_fit,
    status_note,
    status_reason,
    wrap_label,
)
from crawl_urn_dagster.figures.style import (
    CLOUD_POINT,
    Colour,
    in_style,
    is_narrow,
    line_height,
    new_figure,
    points,
)
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES, CoreShellUrn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.fit_panels import Panel
    from crawl_urn_dagster.figures.labels import Row
    from crawl_urn_dagster.urn.data.histories import FloatArray

_PANELS_HEIGHT, _PANEL_HEIGHT_NARROW = 2.9, 2.2  # inches, including the title
_STRIP_HEIGHT = 0.9  # inches
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
    not reported (model_violation, too_few_points, not_converged) is named in the legend and has no curve. The form of
    the paper has the curve of the exact form, and is only in the caption. The caption has all numbers.

    Below each panel are the residuals of the fits to its observable; on clock ``year``, with one point per pair or
    window, of one fit.

    Raises
    ------
    ValueError
        If both observables are missing, or for another clock.
    """
    shown = fit_panels(crawls, clock, **observables)
    rows = _fit_rows(parameters, model, clock) + _truth_rows(truth, clock)
    unreported = list(_unreported_keys(rows))
    columns = 1 if unreported or is_narrow() else 2
    drawn = [row for row in rows if row["status"] not in UNREPORTED_STATUSES and not _repeats_exact_curve(row)]
    key = [
        *(Line2D([], [], **_point_style(panel), label=wrap_label(panel.point, columns)) for panel in shown),
        *(_fit_key(row, columns) for row in drawn),
        *unreported,
    ]
    if not rows:
        key.append(_text_key("no fit"))
    has_gaps = clock == "year" and any(panel.projection == "discovery_curve" for panel in shown)
    gap_note = f"; discovery curves at the mean gap, {mean_gap(crawls):.3f} years" if has_gaps else ""
    text_lines = 1 + sum(1 + str(line.get_label()).count("\n") for line in key) // columns
    has_strips = any(_residual_rows(panel, rows) for panel in shown)
    stacked = len(shown) if is_narrow() else 1
    figure = new_figure(
        height=(_PANEL_HEIGHT_NARROW if is_narrow() else _PANELS_HEIGHT) * stacked
        + (_STRIP_HEIGHT * stacked if has_strips else 0)
        + line_height() * text_lines,
        title=title,
        heading=f"{model_name(model)}, fits per {clock}\n{crawl_range(crawls)}{gap_note}",
    )
    for (axes, strip), panel in zip(_axes_with_strips(figure, len(shown), has_strips), shown, strict=True):
        _draw(axes, panel, rows)
        if strip is not None:
            _draw_residuals(strip, panel, rows)
            axes.tick_params(labelbottom=False)
        (axes if strip is None else strip).set_xlabel(panel.x_label)
    figure.legend(handles=key, loc="outside lower left", ncols=columns, alignment="left", handlelength=3)
    return figure


def _axes_with_strips(figure: Figure, n: int, has_strips: bool) -> Sequence[tuple[Axes, Axes | None]]:
    """Make n axes in a row, or stacked vertically in one column, each above axes for its residuals."""
    parts = 1 + has_strips
    rows, columns = (n * parts, 1) if is_narrow() else (parts, n)
    heights = ([_PANELS_HEIGHT - 0.5, _STRIP_HEIGHT] if has_strips else [1]) * (rows // parts)
    grid = figure.add_gridspec(rows, columns, height_ratios=heights)
    cells = [grid[at * parts, 0] if is_narrow() else grid[0, at] for at in range(n)]
    panels = [figure.add_subplot(cell) for cell in cells]
    if not has_strips:
        return [(axes, None) for axes in panels]
    below = [grid[at * parts + 1, 0] if is_narrow() else grid[1, at] for at in range(n)]
    return [(axes, figure.add_subplot(cell, sharex=axes)) for axes, cell in zip(panels, below, strict=True)]


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
    shown = fit_panels(crawls, clock, **observables)
    rows = _fit_rows(parameters, model, clock) + _truth_rows(truth, clock)
    fits = "; ".join(_described(rows)) or "no fit"
    statuses = {row["status"] for row in rows} - {*UNREPORTED_STATUSES, "ok"}
    dashed = " Dashed: a fit whose status is not ok." if statuses else ""
    only = " A fit that is not identified is drawn only for its data." if "not_identified" in statuses else ""
    strips = _describe_strips(shown, rows, clock)
    text = (
        f"{crawl_range(crawls)}; fits per {clock}. Fits: {fits}. {INTERVAL_NOTE} "
        f"Points: {', '.join(panel.point for panel in shown)}. Each fit has its own markers and is drawn for every "
        f"observable that it predicts.{only}{dashed}{strips} "
        f"Symbols: {_explain_symbols(rows, clock)}.".replace("\n", " ")
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


def _described(rows: list[Row]) -> Iterator[str]:
    """Describe each fit; a reason that several fits share is stated once."""
    stated: set[str] = set()
    for row in rows:
        reason = "" if row["status"] in ("ok", *NO_POINT_ESTIMATE_STATUSES) else status_reason(row).rstrip(".")
        is_new = bool(reason) and reason not in stated and not _repeats_exact_curve(row)
        stated.add(reason)
        yield f"{fit_name(row)}: {_describe(row)}{f': {reason}' if is_new else ''}"


def _describe(row: Row) -> str:
    """Describe a fit; one with the same curve as another fit by its own parameter alone."""
    if _repeats_exact_curve(row) and row["status"] not in NO_POINT_ESTIMATE_STATUSES:
        status = "" if row["status"] == "ok" else f" (status {row['status']})"
        return f"the same curve, {format_estimate(row, 'kappa')}{status}"
    return describe_fit(row)


def _describe_strips(shown: list[Panel], rows: list[Row], clock: str) -> str:
    fits = list(dict.fromkeys(fit_name(row) for panel in shown for row in _residual_rows(panel, rows)))
    if not fits:
        return ""
    subject = f"the {fits[0]}" if clock == "year" and len(fits) == 1 else "each fit to the observable"
    return f" Lower panels: observed minus fitted values of {subject}."


def _explain_symbols(rows: list[Row], clock: str) -> str:
    return explain_symbols(has_core=any(not pd.isna(row["kappa"]) for row in rows), clock=clock)


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


def _has_curve(panel: Panel, row: Row) -> bool:
    """Return whether a fit is reported and has a curve for an observable."""
    observable = panel.projection
    if (
        row["status"] in UNREPORTED_STATUSES
        or _repeats_exact_curve(row)
        or not has_valid_parameters(row)
        or not panel.grid.size
        or observable not in projection_look(row["projection"]).drawn_for
    ):
        return False
    # Many curves for the other observable belong to equally good fits.
    return bool(row["status"] != "not_identified" or _is_fitted_to(row, observable))


def _curve(panel: Panel, row: Row) -> FloatArray:
    urn = _urn(row)
    if row["projection"] == "discovery_tail":
        line = urn.shell.asymptote()
        return line.nu_inf * panel.grid + line.intercept
    return panel.curve(urn)


def _urn(row: Row) -> CoreShellUrn:
    return CoreShellUrn(0.0 if pd.isna(row["kappa"]) else row["kappa"], row["alpha"], row["coverage"])


def _residual_rows(panel: Panel, rows: list[Row]) -> list[Row]:
    """Return the fits whose residuals are drawn below a panel: those to its points, and the truth.

    On clock ``year``, where the points of several fits would hide each other, it is the selected or else the first fit.
    """
    fitted = [row for row in rows if row["projection"] in (panel.projection, "joint", "truth")]
    drawn = [row for row in fitted if _has_curve(panel, row)]
    if panel.clock == "crawl":
        return drawn
    return sorted(drawn, key=lambda row: row.get("headline") is not True)[:1]


def _draw(axes: Axes, panel: Panel, rows: list[Row]) -> None:
    axes.plot(panel.x, panel.observed, **_point_style(panel))
    for row in rows:
        if _has_curve(panel, row):
            step = 1 + panel.grid.size // _MARKERS_ON_CURVE
            first = int(step * projection_look(row["projection"]).offset)
            axes.plot(panel.grid, _curve(panel, row), **_curve_style(row), markevery=(first, step))
    if panel.clock == "crawl":
        crawl_ticks(axes)
    axes.set_ylabel(panel.y_label)


def _draw_residuals(axes: Axes, panel: Panel, rows: list[Row]) -> None:
    """Draw observed minus fitted values over the points of a panel."""
    axes.axhline(0, color=Colour.MISSING, linewidth=0.8)
    for row in _residual_rows(panel, rows):
        residual = panel.observed - panel.predict(_urn(row))
        if panel.clock == "crawl":
            step = 1 + panel.x.size // _MARKERS_ON_CURVE
            first = int(step * projection_look(row["projection"]).offset)
            axes.plot(panel.x, residual, **{**_curve_style(row), "markersize": 3.5}, markevery=(first, step))
        else:
            look = projection_look(row["projection"])
            axes.plot(panel.x, residual, **points(look.color, marker="o", size=CLOUD_POINT))
    axes.yaxis.set_major_locator(MaxNLocator(3))
    axes.set_ylabel("observed\n− fitted")


def _point_style(panel: Panel) -> dict[str, Any]:
    look = projection_look(panel.projection)
    return points(look.color, marker=look.marker, size=_POINT_SIZES[panel.clock])


def _curve_style(row: Row) -> dict[str, Any]:
    look = projection_look(row["projection"])
    return {
        "color": look.color,
        "marker": look.marker,
        "markersize": 4.5,
        "markerfacecolor": "white",
        "linewidth": look.width,
        "linestyle": "-" if row["status"] == "ok" else "--",
    }


def _fit_key(row: Row, columns: int) -> Line2D:
    """Return the legend entry of a fit or of the truth with its status; without a line if its values are invalid."""
    status = "" if row["status"] == "ok" else f" ({row['status']})"
    label = wrap_label(f"{fit_label(row)}{status}", columns)
    return Line2D([], [], **_curve_style(row), label=label) if has_valid_parameters(row) else _text_key(label)


def _text_key(label: str) -> Line2D:
    return Line2D([], [], linestyle="none", label=label)


def _unreported_keys(rows: list[Row]) -> Iterator[Line2D]:
    """Return one legend entry per reason for which fits are not reported."""
    fits_by_note: dict[str, dict[str, None]] = {}
    for row in rows:
        if row["status"] in UNREPORTED_STATUSES:
            fits_by_note.setdefault(status_note(row), {})[fit_label(row)] = None
    for note, names in fits_by_note.items():
        yield _text_key(f"{wrap_label('not reported: ' + '; '.join(names))}\n{note}")
