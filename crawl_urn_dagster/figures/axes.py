"""What figures share: dates and whole crawls along axes, and words where there is nothing to draw.

Here: drawing on given axes. Not here: how dates are written (`labels`), or how figures look (`style`).
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.ticker import MaxNLocator

from crawl_urn_dagster.figures.style import is_narrow, line_characters, new_figure, plain_text
from crawl_urn_dagster.urn import DAYS_PER_YEAR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT_OF_NOTHING = 1.4  # inches
_MOST_DATES, _MOST_DATES_NARROW = 8, 4  # months, more would meet
_YEAR = 12  # months
_MONTHS = (1, 2, 3, 6, _YEAR, 2 * _YEAR, 5 * _YEAR, 10 * _YEAR)


def date_axis(axes: Axes, crawls: pd.DataFrame) -> None:
    """Label an axis of years since the first crawl with even dates: years, or months or days over a short calendar."""
    first, last = crawls["started_at"].iloc[[0, -1]]
    ticks, written = _even_dates(first, last, _MOST_DATES_NARROW if is_narrow() else _MOST_DATES)
    axes.set_xticks((ticks - first) / pd.Timedelta(days=DAYS_PER_YEAR), ticks.strftime(written))
    axes.set_xlabel("start of the crawl")


def _even_dates(first: pd.Timestamp, last: pd.Timestamp, most: int) -> tuple[pd.DatetimeIndex, str]:
    """Beginnings of years or months, and how they are written; the ends where there are not two of them."""
    decade = pd.Timestamp(first.year - first.year % 10, 1, 1)
    for months in _MONTHS:
        ticks = pd.date_range(decade, last, freq=f"{months}MS")
        ticks = ticks[ticks >= first]
        if 1 < len(ticks) <= most:
            return ticks, "%Y" if months % _YEAR == 0 else "%Y-%m"
    return pd.DatetimeIndex([first, last]).unique(), "%Y-%m-%d"


def crawl_ticks(axes: Axes) -> None:
    """Tick a horizontal axis that counts crawls at whole numbers."""
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


def say(axes: Axes, words: str) -> None:
    """Write words in the middle of axes that have nothing else in them."""
    axes.text(
        *(0.5, 0.5, textwrap.fill(plain_text(words, at_most=300), line_characters() * 3 // 4)),
        transform=axes.transAxes,
        horizontalalignment="center",
        verticalalignment="center",
    )
    axes.set_axis_off()


def figure_of_nothing(title: str, heading: str, words: str) -> Figure:
    """Make a low figure that says why there is nothing to draw."""
    figure = new_figure(height=_HEIGHT_OF_NOTHING, title=title, heading=heading)
    say(figure.subplots(), words)
    return figure
