"""The look of every figure.

Here: colours, sizes, the settings figures are drawn with, and text that comes from data. Not here: what a figure shows
(one module per subject), numbers and dates as words (`labels`), or writing files (`files`).
"""

from __future__ import annotations

import textwrap
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import matplotlib as mpl
import matplotlib.style
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from crawl_urn_dagster.figures.font import family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes

_P = ParamSpec("_P")

# Containment and discovery curve as in the paper, and an orange that the eye tells from both without its red or green
# cones. Never alone: markers, dashes or hatches differ as well.
JOINT_COLOUR = "#C97700"
CONTAINMENT_COLOUR = "#733743"
DISCOVERY_COLOUR = "#2E5F8A"
TRUTH_COLOUR = "#000000"
MISSING_COLOUR = "#8C8C8C"

#: Inches, by columns of a journal's page.
WIDTHS = {2: 7.2, 1: 3.5}
PNG_DPI = 150
CLOUD_POINT = 3.0  # points: size of one of very many
_CHARACTER = 0.61  # of the size of a text: how wide a character is on average, with some to spare

_SETTINGS = {
    "axes.labelsize": "medium",
    "axes.titlelocation": "left",
    "figure.labelsize": "medium",
    "legend.fontsize": "medium",
    "legend.title_fontsize": "medium",
    "legend.frameon": False,
    "legend.borderpad": 0,
    "xtick.labelsize": "medium",
    "ytick.labelsize": "medium",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "hatch.linewidth": 0.6,
    "text.parse_math": False,  # text from data stays text
    "text.hinting": "none",  # hinted strokes of small text, such as those of =, come out bold
    "svg.hashsalt": "crawl_urn_dagster",
    "svg.fonttype": "path",  # an SVG cannot name a font that every reader has
    "pdf.fonttype": 42,  # TrueType, which publishers ask for and in which text can be searched
}
#: Sizes of text in points, by columns.
_TEXT_SIZES = {
    2: {"font.size": 8, "axes.titlesize": 8.5, "figure.titlesize": 9.5},
    1: {"font.size": 7, "axes.titlesize": 7, "figure.titlesize": 7.5},
}


#: How many columns of a page the figure that is being drawn is wide.
_columns: ContextVar[int] = ContextVar("columns", default=2)


@contextmanager
def page_columns(columns: int) -> Iterator[None]:
    """Draw figures one or two columns of a journal's page wide."""
    token = _columns.set(columns)
    try:
        yield
    finally:
        _columns.reset(token)


#: What one of the things that are crawled is called in the figure or caption that is being made.
_noun: ContextVar[str] = ContextVar("noun", default="element")


@contextmanager
def called(noun: str) -> Iterator[None]:
    """Call elements so in figures and captions; the noun is given in the singular and takes an s."""
    token = _noun.set(noun)
    try:
        yield
    finally:
        _noun.reset(token)


def elements() -> str:
    """Give what elements are called, in the plural."""
    return f"{_noun.get()}s"


@contextmanager
def style() -> Iterator[None]:
    """Draw figures alike whatever the reader's own settings, which are back afterwards."""
    with matplotlib.style.context(
        {"font.family": family(), **_SETTINGS, **_TEXT_SIZES[_columns.get()]}, after_reset=True
    ):
        yield


def in_style(draw: Callable[_P, Figure]) -> Callable[_P, Figure]:
    """Make a function draw in the package's style, and lay its figure out once and for all.

    Every drawing refines a layout a little, so that a figure saved twice would not be the same bytes.
    """

    @wraps(draw)
    def draw_in_style(*args: _P.args, **kwargs: _P.kwargs) -> Figure:
        with style():
            figure = draw(*args, **kwargs)
            figure.draw_without_rendering()
            figure.set_layout_engine(None)  # with any other, also "none", each file would be drawn twice
        return figure

    return draw_in_style


def is_narrow() -> bool:
    """Whether the figure that is being drawn is one column wide."""
    return _columns.get() == 1


def line_height() -> float:
    """Inches from one line of text to the next in the figure that is being drawn."""
    return float(1.4 * mpl.rcParams["font.size"] / 72)


def line_characters(size: float | None = None) -> int:
    """How many characters of a size in points, by default that of most text, fit on a line of the figure."""
    return int(WIDTHS[_columns.get()] * 72 / (_CHARACTER * (size or mpl.rcParams["font.size"])))


def new_figure(*, height: float, title: str, heading: str) -> Figure:
    """Make an empty figure with a title.

    Parameters
    ----------
    height
        Inches.
    title
        The collection, text from data.
    heading
        What the figure shows; may have several lines. One column has room for the first: captions say the rest.
    """
    figure = Figure(figsize=(WIDTHS[_columns.get()], height), dpi=PNG_DPI, layout="constrained")
    lines = f"{plain_text(title)}: {heading}".splitlines()
    shown = lines[: 1 if is_narrow() else None]
    width = line_characters(mpl.rcParams["figure.titlesize"])
    figure.suptitle(
        "\n".join(textwrap.fill(line, width, break_on_hyphens=False) for line in shown),
        x=0.01,
        horizontalalignment="left",
    )
    return figure


def panels(figure: Figure, n: int, **options: Any) -> list[Axes]:
    """Make n axes: beside each other, or below each other in one column."""
    rows, columns = (n, 1) if is_narrow() else (1, n)
    return list(figure.subplots(rows, columns, squeeze=False, **options).ravel())


def tint(colour: str) -> tuple[float, float, float]:
    """Mix a colour with white, for points and fills that stay behind lines of the colour itself."""
    red, green, blue = (1 - 0.5 * (1 - channel) for channel in to_rgb(colour))
    return red, green, blue


def points(colour: str, *, marker: str, size: float) -> dict[str, Any]:
    """Options of `Axes.plot` for observed points, many of which may overlap; size in points."""
    return {
        "color": tint(colour),
        "marker": marker,
        "markersize": size,
        "markeredgewidth": 0,
        "alpha": 0.75,
        "linestyle": "none",
        "rasterized": True,
    }


def plain_text(text: str, *, at_most: int = 100) -> str:
    """Text from data as one line of printable characters, at most so many.

    Control characters would break lines, or the XML of an SVG.
    """
    line = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return line if len(line) <= at_most else f"{line[: at_most - 1]}…"
