"""Draw how well captures of single elements are predicted in held-out crawls.

Does not predict or score; see `estimates.elements`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.figures.axes import message_figure
from crawl_urn_dagster.figures.style import Colour, elements, in_style, new_figure, panels
from crawl_urn_dagster.formatting import count_noun, format_count, format_share

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEADING = "predicted and observed captures in held-out crawls"
_EMPTY = "Predictions were not tested: there are too few crawls of the present scope, or no model was fitted."
# Marker and colour by number of crawls ahead, the nearest first.
_MARKERS = (("o", Colour.JOINT), ("s", Colour.DISCOVERY), ("^", Colour.CONTAINMENT))
_NAMES = {"model": "model", "last_time": "last time", "share_of_crawls": "share of crawls", "bg_bb": "BG/BB"}
_LARGEST_POINT = 8.0


@in_style
def element_reliability(element_calibration: pd.DataFrame, element_scores: pd.DataFrame, *, title: str) -> Figure:
    """Draw the reliability of the predictions by crawls ahead, and the log-loss of the model and of simple rules.

    The area of a point grows with the number of predictions in its bin.
    """
    if element_calibration.empty:
        return message_figure(title, _HEADING, _EMPTY)
    figure = new_figure(height=3.2, title=title, heading=_HEADING)
    reliability, loss = panels(figure, 2)
    _draw_reliability(reliability, element_calibration)
    _draw_losses(loss, element_scores)
    return figure


def element_reliability_caption(element_calibration: pd.DataFrame, element_scores: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    if element_calibration.empty:
        return _EMPTY, _EMPTY
    rows = {str(row["predictor"]): row for row in element_scores.query("crawls_ahead == 1").to_dict("records")}
    model = rows.pop("model")
    best = min(rows.values(), key=lambda row: float(row["log_loss"]))
    found = (
        f"One crawl ahead, predicted and observed shares differ by {format_share(model['calibration_error'])} on "
        f"average, over {format_count(model['predictions'])} predictions. The log-loss is "
        f"{format_share(model['log_loss'])}; that of the best simple rule ({_NAMES[best['predictor']]}) is "
        f"{format_share(best['log_loss'])}."
    )
    text = (
        f"{found} Left: share of the {elements()} captured in held-out crawls, by predicted probability. Points on the "
        "diagonal are calibrated. Larger points have more predictions. Right: log-loss of the model and of three "
        "simple rules, lower is better."
    )
    return text, f"Points of observed against predicted shares with a diagonal, and bars of the log-loss. {found}"


def _draw_reliability(axes: Axes, calibration: pd.DataFrame) -> None:
    axes.plot([0, 1], [0, 1], color=Colour.MISSING, linewidth=0.8, linestyle="--", label="calibrated")
    for (marker, colour), (ahead, rows) in zip(_MARKERS, calibration.groupby("crawls_ahead"), strict=False):
        share = rows["predictions"] / rows["predictions"].sum()
        axes.plot(rows["predicted"], rows["observed"], color=colour, linewidth=0.8)
        axes.scatter(
            rows["predicted"],
            rows["observed"],
            s=4 + _LARGEST_POINT**2 * share,
            marker=marker,
            color=colour,
            label=f"{count_noun(int(str(ahead)), 'crawl')} ahead",
        )
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="predicted probability", ylabel="share captured")
    axes.legend(loc="upper left", markerscale=0.8)


def _draw_losses(axes: Axes, scores: pd.DataFrame) -> None:
    table = scores.pivot_table(index="predictor", columns="crawls_ahead", values="log_loss").reindex(list(_NAMES))
    width = 0.8 / len(table.columns)
    for position, (ahead, (_, colour)) in enumerate(zip(table.columns, _MARKERS, strict=False)):
        heights = [row + (position - (len(table.columns) - 1) / 2) * width for row in range(len(table))]
        axes.barh(heights, table[ahead], height=width * 0.9, color=colour)
    axes.set_yticks(range(len(table)), [_NAMES[name] for name in table.index])
    axes.invert_yaxis()
    axes.set_xlabel("log-loss (nats), lower is better")
