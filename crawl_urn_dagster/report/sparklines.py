"""Small curves in the cells of a table, as images in Markdown.

Does not select the numbers; see `dashboard`.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.report.markdown import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: Start of the address of every sparkline. An image cannot run scripts or load anything.
SVG_DATA = "data:image/svg+xml;base64,"
_WIDTH, _HEIGHT, _MARGIN = 120, 30, 4
_COLOUR = "#3b82c4"  # has enough contrast on white and on the dark page
_IMAGE = re.compile(rf"!\[((?:[^\]\\]|\\.)*)\]\({re.escape(SVG_DATA)}[^)]*\)")
_LEAST_RANGE = 0.05  # of the mean value, so noise of a constant does not fill the height


def sparkline(values: Sequence[float], low: Sequence[float], high: Sequence[float], *, alt: str) -> str:
    """Return a curve with the band of its intervals as an image in Markdown; empty if fewer than two values are known.

    Parameters
    ----------
    values, low, high
        Values in order with the ends of their intervals; NaN: unknown.
    alt
        Description for readers who do not see the curve, as plain text.
    """
    points, ends = np.asarray(values, dtype=np.float64), np.asarray([low, high], dtype=np.float64)
    known = np.isfinite(points)
    if known.sum() < 2:
        return ""
    shown = np.concatenate([points[known], ends[np.isfinite(ends)]])
    reach = max(np.ptp(shown), _LEAST_RANGE * abs(shown.mean())) or 1.0
    bottom = (shown.min() + shown.max() - reach) / 2

    def positions(heights: FloatArray) -> list[str]:
        across = _MARGIN + (_WIDTH - 2 * _MARGIN) * np.arange(len(heights)) / (len(heights) - 1)
        down = _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * (heights - bottom) / reach
        return [f"{x:.1f} {y:.1f}" for x, y in zip(across, down, strict=True) if np.isfinite(y)]

    line = positions(points)
    band = [*positions(ends[0]), *reversed(positions(ends[1]))]
    x, y = line[-1].split()
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}">'
        + (f'<path d="M{"L".join(band)}Z" fill="{_COLOUR}" fill-opacity=".25"/>' if band else "")
        + f'<path d="M{"L".join(line)}" fill="none" stroke="{_COLOUR}" stroke-width="1.5"/>'
        + f'<circle cx="{x}" cy="{y}" r="2.2" fill="{_COLOUR}"/></svg>'
    )
    return f"![{escape(alt)}]({SVG_DATA}{base64.b64encode(svg.encode()).decode('ascii')})"


def without_sparklines(text: str) -> str:
    """Return Markdown with the descriptions of sparklines instead of the curves, which not every viewer shows."""
    if SVG_DATA not in text:
        return text
    described = _IMAGE.sub(r"(\1)", text)
    return re.sub(r"-{4,}", "---", re.sub(r" {2,}", " ", described))
