"""Make small tables for figures, and read texts, lines and layout problems from a figure."""

from contextlib import contextmanager
from functools import cache
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.drift import drift_tables
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.estimates.forecast import forecast_table
from crawl_urn_dagster.estimates.planning import planning_tables
from crawl_urn_dagster.figures import draw
from crawl_urn_dagster.figures.style import WIDTHS, page_columns, style
from crawl_urn_dagster.observables.schema import (
    CROSS_ARCHIVE,
    ELEMENT_CALIBRATION,
    ELEMENT_SCORES,
    GROUND_TRUTH_COMPARISON,
    PARAMETER_HISTORY,
    PARAMETERS,
)
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CoreShellUrn, CountingError, simulate
from crawl_urn_dagster_tests.estimates.observed import EXACT, observables, urn

KAPPA, ALPHA, COVERAGE = 0.4, 0.75, 0.6
GAP_DAYS = 42
TITLE = "simulated (other)"


class Tables(NamedTuple):
    crawls: pd.DataFrame
    containment: pd.DataFrame
    discovery_curve: pd.DataFrame


@cache
def tables(n_crawls, *, gap_days=GAP_DAYS, elements=1_000):
    """Return the observables of a simulated core–shell collection; callers must not modify them."""
    histories = simulate(
        times=np.arange(n_crawls),
        core=round(KAPPA * elements),
        shell=elements - round(KAPPA * elements),
        alpha=ALPHA,
        coverage=COVERAGE,
        seed=11,
    ).counts()
    crawls = crawls_table(
        pd.DataFrame(
            {
                "crawl": [f"crawl-{k:03d}" for k in range(n_crawls)],
                "started_at": pd.Timestamp("2020-01-13") + pd.to_timedelta(np.arange(n_crawls) * gap_days, "D"),
                "dated_by": "table",
                "elements": np.diagonal(histories.intersections()),
            }
        )
    )
    observed = tables_from_histories(crawls, histories, CountingError())
    return Tables(crawls, observed["containment"], observed["discovery_curve"])


@cache
def estimated():
    """Return every table that figures need, for 12 crawls; the rolling fits and strata are made up."""
    counts = urn(12, core=400, shell=600, alpha=ALPHA, coverage=COVERAGE, seed=3)
    observed = observables(counts)
    crawls, containment, discovery_curve = observed
    settings = {"clock": "crawl", "error": EXACT}
    made = dict(estimate(CollectionData(*observed, EXACT, counts), clock="crawl").tables)
    headline = made["parameters"][made["parameters"]["headline"]]
    made["parameters"] = pd.concat([made["parameters"], *(headline.assign(stratum=band) for band in ("1-50", "51+"))])
    made |= capture_recapture_tables(crawls, counts, clock="crawl", one_in=1)
    made |= drift_tables(*observed, **settings, window_crawls=8, reference_from=None, unreported_reason=None)
    truth = {"clock": "crawl", "kappa": 0.4, "core_share": 0.526, "alpha": ALPHA, "coverage": COVERAGE}
    return {
        **made,
        "crawls": crawls,
        "containment": containment,
        "discovery_curve": discovery_curve,
        "forecast": forecast_table(*observed),
        "planning": planning_tables(*observed, **settings, reported=True)["planning"],
        "parameter_history": history_of(crawls, window_crawls=8),
        "truth": pd.DataFrame([truth]),
        "cross_archive": overlap_of_archives(),
        **reliability_of_elements(),
        "ground_truth_comparison": counted_by_operator(crawls),
    }


def counted_by_operator(crawls):
    """Return table `ground_truth_comparison` of the joint fit of three windows; the last counter is above."""
    key = {"projection": "joint", "model": "core_shell", "clock": "crawl", "status": "ok"}
    rows = [
        {**key, "first_crawl": crawls["crawl"].iloc[0], "last_crawl": crawls["crawl"].iloc[last], "quantity": quantity,
         "estimate": value, "estimate_low": 0.95 * value, "estimate_high": 1.05 * value, "counted": factor * value,
         "ratio": 1 / factor, "verdict": "inside" if factor < 1.05 else "above"}
        for last, factor in ((9, 1.0), (10, 1.02), (11, 1.25))
        for quantity, value in (("urn_size", 1000.0), ("coverage", 0.8))
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(GROUND_TRUTH_COMPARISON.column_names))


def overlap_of_archives():
    """Return table `cross_archive` of two lists and a register, without the rows that figures do not read."""
    counts = [("mine", 600, 150), ("theirs", 500, 50)]
    rows = [
        {"lists": name, "quantity": quantity, "estimator": "counted", "estimate": value}
        for name, elements, only in counts
        for quantity, value in (("elements", elements), ("only", only))
    ]
    rows.append({"lists": "mine + theirs", "quantity": "overlap", "estimator": "counted", "estimate": 450})
    for name, counted in (("mine", 0.625), ("theirs", 0.512), ("mine + theirs", 0.687)):
        coverage = {"lists": name, "quantity": "coverage"}
        rows.append({**coverage, "estimator": "frame", "estimate": counted})
        rows.append({**coverage, "estimator": "petersen", "sensitivity_low": 0.4, "sensitivity_high": counted + 0.1})
    ends = {"estimate_low": 0.6, "estimate_high": 0.7}
    rows.append({"lists": "mine", "quantity": "coverage", "estimator": "urn", "estimate": 0.65, **ends})
    return pd.DataFrame(rows, columns=list(CROSS_ARCHIVE.column_names)).assign(match="2024-01", status="ok")


def reliability_of_elements():
    """Return tables `element_calibration` and `element_scores`, with the scores of a real list one crawl ahead."""
    bins = [(1, low / 10, (low + 1) / 10, 1000 * (low + 1), low / 10 + 0.05, low / 10 + 0.04) for low in range(10)]
    bins += [(3, low / 10, (low + 1) / 10, 900, low / 10 + 0.05, low / 10 + 0.07) for low in (0, 4, 9)]
    losses = {"model": 0.119317, "last_time": 0.148937, "share_of_crawls": 0.376032, "bg_bb": 0.172035}
    scores = [
        {"predictor": name, "crawls_ahead": ahead, "predictions": 38_814, "log_loss": loss * ahead**0.5}
        for ahead in (1, 3)
        for name, loss in losses.items()
    ]
    table = pd.DataFrame(scores, columns=list(ELEMENT_SCORES.column_names))
    return {
        "element_calibration": pd.DataFrame(bins, columns=list(ELEMENT_CALIBRATION.column_names)),
        "element_scores": table.assign(calibration_error=0.011018, model="markov_3", status="ok"),
    }


@cache
def drawn(name, columns=2):
    """Return a figure of the tables of `estimated`; callers must not modify it."""
    return draw(name, estimated(), title=TITLE, clock="crawl", columns=columns)


@contextmanager
def without_layout():
    """Skip the layout of figures, which takes most of the time, in tests that read only lines and texts."""
    with mock.patch.object(ConstrainedLayoutEngine, "execute"):
        yield


def history_of(crawls, *, window_crawls):
    """Return table `parameter_history` with equal fits, whose intervals extend 0.01 to both sides."""
    values = {"kappa": KAPPA, "core_share": 0.53, "alpha": ALPHA, "coverage": COVERAGE}
    intervals = {
        f"{name}_{end}": value + by for name, value in values.items() for end, by in (("low", -0.01), ("high", 0.01))
    }
    rows = []
    for last in range(window_crawls - 1, len(crawls)):
        window = {"first_crawl": crawls["crawl"][last - window_crawls + 1], "last_crawl": crawls["crawl"][last]}
        rows += core_shell("joint", status="ok", inputs_sha256="", **window, **intervals)
    return pd.DataFrame(rows, columns=list(PARAMETER_HISTORY.column_names))


def homogeneous(projection="containment", **values):
    return [_row(projection=projection, model="homogeneous", component="urn", share=1.0, **values)]


def core_shell(projection="containment", *, kappa=KAPPA, alpha=ALPHA, coverage=COVERAGE, **values):
    """Return the rows of core and shell; under form paper the core share is kappa."""
    is_exact = values.get("form", "exact") == "exact"
    common = {
        "projection": projection,
        "model": "core_shell",
        "kappa": kappa,
        "core_share": float(CoreShellUrn(kappa, alpha, coverage).core_share) if is_exact else kappa,
        **values,
    }
    core_part, shell_part = (kappa, 1 - kappa) if is_exact else (None, None)
    return [
        _row(component="core", share=core_part, **{**common, "alpha": 1.0, "coverage": 1.0}),
        _row(component="shell", share=shell_part, **{**common, "alpha": alpha, "coverage": coverage}),
    ]


def _row(**values):
    return {
        "form": "exact",
        "clock": "crawl",
        "alpha": ALPHA,
        "coverage": COVERAGE,
        "first_crawl": "crawl-000",
        "last_crawl": "crawl-023",
        "n_points": 23,
        "status": "ok",
        "headline": False,
        **values,
    }


def parameters(*fits):
    """Return table `parameters` with all its columns in the types that DuckDB returns."""
    frame = pd.DataFrame([row for fit in fits for row in fit], columns=list(PARAMETERS.column_names))
    doubles = [column.name for column in PARAMETERS.columns if column.type == "DOUBLE"]
    return frame.astype(dict.fromkeys(doubles, np.float64))


def texts(figure):
    """Return every visible text of a figure."""
    out_of_view = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not min(axis.get_view_interval()) - 1e-9 <= tick.get_loc() <= max(axis.get_view_interval()) + 1e-9
        for label in (tick.label1, tick.label2)
    }
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text() and text not in out_of_view]


def text_of(figure):
    return "\n".join(text.get_text() for text in texts(figure))


def legend_entries(figure):
    """Return the handles of the legend by label."""
    (legend,) = figure.legends
    return dict(zip((text.get_text() for text in legend.get_texts()), legend.legend_handles, strict=True))


def legend_entry(figure, start):
    """Return the label and the handle of the one legend entry whose label has this start."""
    (found,) = [(label, handle) for label, handle in legend_entries(figure).items() if label.startswith(start)]
    return found


def curves(axes):
    """Return the lines that are curves, not points, by colour and marker."""
    lines = [line for line in axes.lines if line.get_linestyle() != "None"]
    return {(line.get_color(), line.get_marker()): line for line in lines}


def observed(axes):
    (points,) = [line for line in axes.lines if line.get_linestyle() == "None"]
    return points


def faults(figure, *, smallest=8):
    """Describe the layout problems of a figure: texts cut off, smaller than `smallest` points, or overlapping."""
    with page_columns(1 if figure.get_figwidth() == WIDTHS[1] else 2), style():
        figure.draw_without_rendering()  # as in a saved file
    found = texts(figure)
    names = [repr(text.get_text()) for text in found]
    # `Text.get_window_extent` excludes the leader of an annotation.
    boxes = _extents(Text.get_window_extent(text) for text in found)
    page = figure.bbox
    small = [f"small: {name}" for name, text in zip(names, found, strict=True) if text.get_fontsize() < smallest]
    is_cut = (boxes[:, :2] < page.min).any(axis=1) | (boxes[:, 2:] > page.max).any(axis=1)
    cut = [f"cut off: {name}" for name, outside in zip(names, is_cut, strict=True) if outside]
    areas = _extents(area.get_window_extent() for area in (*figure.legends, *figure.axes))
    area_names = ["legend"] * len(figure.legends) + ["axes"] * len(figure.axes)
    return small + cut + _overlaps(names, boxes) + _overlaps(area_names, areas)


def _extents(boxes):
    """Return the corners x0, y0, x1, y1 of boxes, shape (boxes, 4)."""
    return np.array([box.extents for box in boxes]).reshape(-1, 4)


def _overlaps(names, boxes):
    """Describe the pairs of boxes that share more than half a pixel in both directions."""
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    shared = np.minimum(high, boxes[:, 2:]) - np.maximum(low, boxes[:, :2])
    return [f"overlap: {names[a]} and {names[b]}" for a, b in np.argwhere((shared > 0.5).all(axis=2)) if a < b]
