"""Script, style and attributes of the charts of a page.

Does not select the numbers; see `charts`. uPlot (MIT licence) draws the axes and lines, `charts.js` links the charts.
"""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from crawl_urn_dagster.report.blocks import LagChart

if TYPE_CHECKING:
    from crawl_urn_dagster.report.blocks import Chart, Moments

_FOLDER = Path(__file__).parent


class PageScript(NamedTuple):
    """Policy, style and script of a page with charts; empty without charts.

    Attributes
    ----------
    policy
        Directive of the content security policy, which allows this script only.
    style, script
        Elements for the head, and for the end of the body.
    """

    policy: str = ""
    style: str = ""
    script: str = ""


def page_script() -> PageScript:
    """Return the script of charts, with the hash that lets a browser run it and no other."""
    source = "\n".join(_read(name) for name in ("uplot/uplot.js", "charts.js"))
    digest = base64.b64encode(sha256(source.encode()).digest()).decode("ascii")
    return PageScript(
        f"; script-src 'sha256-{digest}'", f"<style>{_read('uplot/uplot.css')}</style>", f"<script>{source}</script>"
    )


def chart_element(chart: Chart | LagChart) -> str:
    """Return the hidden element that the script fills, with the numbers in an attribute."""
    if isinstance(chart, LagChart):
        content: dict[str, object] = {"title": chart.title, "rows": chart.rows, "share": True}
    else:
        series = [
            {
                "name": one.name,
                "values": one.points,
                **({"low": one.low, "high": one.high} if one.low else {}),
                "line": one.is_line,
                "hollow": one.is_hollow,
            }
            for one in chart.series
        ]
        moments = {} if chart.moments is None else chart.moments._asdict()
        content = {"title": chart.title, "series": series, "share": chart.is_share, **moments}
    return f'<div class="interactive" hidden data-chart="{_attribute(content)}"></div>'


def crawls_attribute(crawls: Moments) -> str:
    """Return the attribute with the crawls of a page."""
    return f' data-crawls="{_attribute(crawls._asdict())}"'


def _attribute(content: object) -> str:
    return escape(json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
