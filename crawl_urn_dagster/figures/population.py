"""Draw the known eligible elements of every crawl, and how many of them it captured.

Does not estimate them; see `estimates.assessment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.figures.axes import date_axis, message_figure
from crawl_urn_dagster.figures.labels import crawl_range, element_unit, with_interval
from crawl_urn_dagster.figures.style import Colour, elements, in_style, new_figure, plain_text, tint
from crawl_urn_dagster.formatting import format_count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_EMPTY = "The population of every crawl needs capture histories, and a verdict that allows numbers to be quoted."


@in_style
def completeness_by_crawl(population: pd.DataFrame, crawls: pd.DataFrame, *, title: str) -> Figure:
    """Draw the known eligible elements with their 95 % confidence intervals, above the captured ones."""
    heading = f"known eligible {elements()}, and those that each crawl captured\n{crawl_range(crawls)}"
    if population.empty:
        return message_figure(title, heading, _EMPTY)
    rows = population.merge(crawls[["crawl", "years"]], on="crawl").sort_values("years")
    divisor, unit = element_unit(rows[["population", "population_high"]].to_numpy(dtype=np.float64).max())
    figure = new_figure(height=2.9, title=title, heading=heading)
    axes = figure.subplots()
    known, low, high, captured = (
        rows[name].astype("float64") / divisor
        for name in ("population", "population_low", "population_high", "elements")
    )
    axes.fill_between(rows["years"], low, high, color=tint(Colour.DISCOVERY), linewidth=0)
    axes.plot(rows["years"], known, color=Colour.DISCOVERY, label=f"known eligible {elements()}")
    axes.vlines(rows["years"], captured, known, color=Colour.MISSING, linewidth=0.6)
    axes.plot(
        rows["years"],
        captured,
        "o",
        color=Colour.CONTAINMENT,
        markersize=3,
        label=f"captured {elements()}; grey: missed",
    )
    axes.set(ylabel=unit, ylim=(0, None))
    axes.legend(loc="lower left")
    date_axis(axes, crawls)
    return figure


def completeness_by_crawl_caption(population: pd.DataFrame, crawls: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    if population.empty:
        return f"{crawl_range(crawls)}. {_EMPTY}", _EMPTY
    first, last = (population.iloc[at].to_dict() for at in (0, -1))
    found = (
        f"{with_interval(last, 'population', format_count)} {elements()} are known and eligible at "
        f"{plain_text(last['crawl'])}, which captured {with_interval(last, 'completeness')} of them; at "
        f"{plain_text(first['crawl'])} they were {with_interval(first, 'population', format_count)}."
    )
    text = f"{crawl_range(crawls)}. {found} Band and parentheses: 95 % confidence intervals."
    return text, f"A line of the known eligible {elements()} over time, above points of the captured ones. {found}"
