"""Building blocks of a page: paragraphs, callouts, charts, tables, pictures, folded parts and sections.

Does not render them; see `pages`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


class Moments(NamedTuple):
    """The horizontal positions of a chart: crawls, or windows of crawls.

    Attributes
    ----------
    labels
        Label of each position, as plain text.
    times
        Seconds since 1970, ascending.
    """

    labels: Sequence[str]
    times: Sequence[float]


class Series(NamedTuple):
    """A line or points of a chart.

    Attributes
    ----------
    name
        Name, as plain text.
    points
        Value at each position; None: unknown.
    low, high
        Ends of the interval at each position; empty: no interval.
    is_line
        Whether the values are joined.
    is_hollow
        Whether the points are hollow.
    """

    name: str
    points: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    is_line: bool = True
    is_hollow: bool = False


class Chart(NamedTuple):
    """A chart that shows its values when pointed at; only HTML shows it, on screen and with scripts.

    Attributes
    ----------
    title
        Subject of the chart, as plain text.
    series
        Lines and points.
    is_share
        Whether the values are fractions, which are shown in percent.
    moments
        Horizontal positions; None: the crawls of the page.
    """

    title: str
    series: Sequence[Series]
    is_share: bool = False
    moments: Moments | None = None


class LagChart(NamedTuple):
    """A chart of the containment of crawls in later crawls, by lag.

    Attributes
    ----------
    title
        Subject of the chart, as plain text.
    rows
        One row per crawl of the page: its containment at lag 1, 2 and so on; None: unknown.
    """

    title: str
    rows: Sequence[Sequence[float | None]]


class Table(NamedTuple):
    """A table on a page.

    Attributes
    ----------
    caption
        Caption, as plain text.
    text
        The table as Markdown, and a sentence if rows are left out.
    rows
        The shown rows, for a download.
    formatted
        Columns whose values are Markdown already.
    """

    caption: str
    text: str
    rows: pd.DataFrame
    formatted: Sequence[str] = ()


class Picture(NamedTuple):
    """A figure on a page.

    Attributes
    ----------
    path
        Path of the PNG file from the page's folder, for Markdown; None: Markdown leaves the figure out.
    png
        Bytes of the PNG file, for HTML.
    caption, alt
        Caption, and description for readers who do not see the figure, as plain text.
    charts
        Charts of the same numbers, which stand for the figure on a screen.
    """

    path: str | None
    png: bytes
    caption: str
    alt: str
    charts: Sequence[Chart | LagChart] = ()


class Folded(NamedTuple):
    """Blocks that are hidden until the reader opens them.

    Attributes
    ----------
    summary
        Plain text that is always visible.
    blocks
        Hidden blocks.
    """

    summary: str
    blocks: Sequence[Block]


class Section(NamedTuple):
    """A heading, an answer, and the blocks that support it.

    Attributes
    ----------
    title
        Heading, as plain text.
    blocks
        Blocks below the heading.
    answer
        Finding of the section, as Markdown; the blocks below it are folded. None: they are not.
    """

    title: str
    blocks: Sequence[Block]
    answer: str | None = None

    @property
    def shown(self) -> Sequence[Block]:
        """Blocks as shown: the answer, and the others folded."""
        if self.answer is None:
            return self.blocks
        return [self.answer, Folded("Details", self.blocks)] if self.blocks else [self.answer]


class Callout(NamedTuple):
    """A statement that stands out, in the colour of its level.

    Attributes
    ----------
    level
        ``good``, ``warning`` or ``bad``.
    text
        Statement, as Markdown.
    """

    level: Literal["good", "warning", "bad"]
    text: str


#: A string is Markdown; text from data in it is escaped with `markdown.escape`.
Block: TypeAlias = "str | Callout | Chart | LagChart | Table | Picture | Folded | Section"


class Page(NamedTuple):
    """A page.

    Attributes
    ----------
    title
        Title, as plain text.
    lead
        Blocks before the first section.
    sections
        Sections in order.
    crawls
        The crawls, for charts; None: the page has no charts.
    """

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
    crawls: Moments | None = None
