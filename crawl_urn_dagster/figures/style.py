"""Set the style of all figures: colours, sizes, matplotlib settings and text from data.

Does not draw figures (one module per subject), format numbers and dates (`labels`) or write files (`files`).
"""

from __future__ import annotations

import textwrap
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import matplotlib as mpl
import matplotlib.style
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from crawl_urn_dagster.figures.font import font_families

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Colour:
    """Colours of fits and observables; markers, dashes or hatches differ as well.

    Containment and discovery curve have the colours of the paper. The orange of the joint fit can be distinguished from
    both with any colour vision deficiency.
    """

    JOINT = "#C97700"
    CONTAINMENT = "#733743"
    DISCOVERY = "#2E5F8A"
    TRUTH = "#000000"
    MISSING = "#8C8C8C"


#: Width of a figure in inches, by columns of a journal page.
WIDTHS = {2: 7.2, 1: 3.5}
PNG_DPI = 150
CLOUD_POINT = 3.0  # size of a marker in a dense cloud, points
_CHARACTER = 0.61  # mean width of a character divided by the font size, rounded up

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
    "text.parse_math": False,  # text from data must not be read as mathematics
    "text.hinting": "none",  # hinting makes strokes of small text, such as those of =, bold
    "svg.hashsalt": "crawl_urn_dagster",
    "svg.fonttype": "path",  # an SVG cannot rely on a font that every reader has
    "pdf.fonttype": 42,  # TrueType, which publishers require and whose text can be searched
}
#: Text sizes in points, by columns.
_TEXT_SIZES = {
    2: {"font.size": 8, "axes.titlesize": 8.5, "figure.titlesize": 9.5},
    1: {"font.size": 7, "axes.titlesize": 7, "figure.titlesize": 7.5},
}

_columns: ContextVar[int] = ContextVar("columns", default=2)
_noun: ContextVar[str] = ContextVar("noun", default="element")


@contextmanager
def _set(variable: ContextVar[_T], value: _T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def page_columns(columns: int) -> AbstractContextManager[None]:
    """Draw figures one or two columns of a journal page wide."""
    return _set(_columns, columns)


def replace_element_noun(noun: str) -> AbstractContextManager[None]:
    """Replace "element" in figures and captions by a noun in the singular, whose plural takes an s."""
    return _set(_noun, noun)


def elements() -> str:
    """Return the noun of the elements in the plural."""
    return f"{_noun.get()}s"


@contextmanager
def style() -> Iterator[None]:
    """Draw in the package's style, and restore the user's matplotlib settings afterwards."""
    with matplotlib.style.context(
        {"font.family": list(font_families()), **_SETTINGS, **_TEXT_SIZES[_columns.get()]}, after_reset=True
    ):
        yield


def in_style(draw: Callable[_P, Figure]) -> Callable[_P, Figure]:
    """Decorate a function to draw in the package's style and to compute the layout of its figure once.

    Every drawing refines a layout slightly. Without a fixed layout, saving a figure twice gives different bytes.
    """

    @wraps(draw)
    def draw_in_style(*args: _P.args, **kwargs: _P.kwargs) -> Figure:
        with style():
            figure = draw(*args, **kwargs)
            layout = figure.get_layout_engine()
            if layout is not None and figure.axes:
                layout.execute(figure)
            figure.set_layout_engine(None)  # with any other engine, also "none", matplotlib draws each file twice
        return figure

    return draw_in_style


def is_narrow() -> bool:
    """Return whether the current figure is one column wide."""
    return _columns.get() == 1


def line_height() -> float:
    """Return the line spacing of text in the current figure, in inches."""
    return float(1.4 * mpl.rcParams["font.size"] / 72)


def line_characters(size: float | None = None) -> int:
    """Return how many characters fit on a line of the figure, at a font size in points (default: the body text)."""
    return int(WIDTHS[_columns.get()] * 72 / (_CHARACTER * (size or mpl.rcParams["font.size"])))


def new_figure(*, height: float, title: str, heading: str) -> Figure:
    """Make an empty figure with a title.

    Parameters
    ----------
    height
        Inches.
    title
        Name of the collection, text from data.
    heading
        Description in one or more lines. A figure of one column shows only the first; its caption explains the others.
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
    """Make n axes in a row, or stacked vertically in one column."""
    rows, columns = (n, 1) if is_narrow() else (1, n)
    return list(figure.subplots(rows, columns, squeeze=False, **options).ravel())


def tint(colour: str) -> tuple[float, float, float]:
    """Mix a colour with white, for points and fills behind lines of the same colour."""
    red, green, blue = (1 - 0.5 * (1 - channel) for channel in to_rgb(colour))
    return red, green, blue


def shade(colour: str) -> tuple[float, float, float]:
    """Mix a colour with black, for fills next to fills of the same colour."""
    red, green, blue = (0.5 * channel for channel in to_rgb(colour))
    return red, green, blue


def points(colour: str, *, marker: str, size: float) -> dict[str, Any]:
    """Return options of `Axes.plot` for observed points, which may overlap; size in points."""
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
    """Return text from data as one line of at most `at_most` printable characters.

    Control characters would break lines or the XML of an SVG.
    """
    line = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return line if len(line) <= at_most else f"{line[: at_most - 1]}…"
