"""Draw the elements that figures share: date axes, crawl axes, and messages in place of a drawing.

Does not format dates (`labels`) or set the style (`style`).
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from crawl_urn_dagster.figures.style import is_narrow, line_characters, new_figure, plain_text
from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MESSAGE_HEIGHT = 1.4  # inches
_MAX_DATES, _MAX_DATES_NARROW = 8, 4  # months; the labels of more would overlap
_YEAR = 12  # months
_MONTHS = (1, 2, 3, 6, _YEAR, 2 * _YEAR, 5 * _YEAR, 10 * _YEAR)


def date_axis(axes: Axes, crawls: pd.DataFrame, *, at_most: int = _MAX_DATES) -> None:
    """Label an axis of years since the first crawl with dates: years, or months or days for a short collection.

    Parameters
    ----------
    at_most
        Dates on axes two columns wide.
    """
    first, last = crawls["started_at"].iloc[[0, -1]]
    start = axes.dataLim.x0
    shown = first + pd.Timedelta(days=max(start, 0) * DAYS_PER_YEAR) if np.isfinite(start) else first
    ticks, date_format = _even_dates(first, last, _MAX_DATES_NARROW if is_narrow() else at_most, shown)
    axes.set_xticks((ticks - first) / pd.Timedelta(days=DAYS_PER_YEAR), ticks.strftime(date_format))
    axes.set_xlabel("start of the crawl")


def _even_dates(
    first: pd.Timestamp, last: pd.Timestamp, most: int, shown: pd.Timestamp
) -> tuple[pd.DatetimeIndex, str]:
    """Return the starts of years or months that are shown, and their format; first and last if fewer than two fit."""
    decade = pd.Timestamp(first.year - first.year % 10, 1, 1)
    for months in _MONTHS:
        ticks = pd.date_range(decade, last, freq=f"{months}MS")
        ticks = ticks[ticks >= shown]
        if 1 < len(ticks) <= most:
            return ticks, "%Y" if months % _YEAR == 0 else "%Y-%m"
    return pd.DatetimeIndex([first, last]).unique(), "%Y-%m-%d"


def crawl_ticks(axes: Axes) -> None:
    """Tick a horizontal axis that counts crawls at whole numbers."""
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


def show_message(axes: Axes, message: str) -> None:
    """Write a message in the middle of empty axes."""
    axes.text(
        *(0.5, 0.5, textwrap.fill(plain_text(message, at_most=300), line_characters() * 3 // 4)),
        transform=axes.transAxes,
        horizontalalignment="center",
        verticalalignment="center",
    )
    axes.set_axis_off()


def message_figure(title: str, heading: str, message: str) -> Figure:
    """Make a low figure with a message that explains why nothing is drawn."""
    figure = new_figure(height=_MESSAGE_HEIGHT, title=title, heading=heading)
    show_message(figure.subplots(), message)
    return figure
