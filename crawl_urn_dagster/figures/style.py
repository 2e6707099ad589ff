"""The look of every figure, and figures as files.

Here: colours, sizes, the settings figures are drawn with, text that comes from data, and writing PNG and SVG.
Not here: what a figure shows (one module per subject), or numbers and dates as words (`labels`).
"""

from __future__ import annotations

import io
import textwrap
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import matplotlib.style
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from crawl_urn_dagster.atomic import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_P = ParamSpec("_P")

CONTAINMENT_COLOUR = "#733743"
DISCOVERY_COLOUR = "#2E5F8A"
TRUTH_COLOUR = "#000000"
MISSING_COLOUR = "#8C8C8C"

WIDTH = 7.2  # inches: two columns of a journal page
CLOUD_POINT = 3.0  # points: size of one of very many
LINE = 0.155  # inches from one line of text to the next
_TITLE_LINE = 85  # characters
_DPI = 150
_LOWEST_DPI = 20
_SVG_DPI = 300  # of dense clouds of points and heat maps, which an SVG holds as images

_SETTINGS = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that the same figure is the same bytes anywhere
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "figure.titlesize": 9.5,
    "figure.labelsize": 8,
    "legend.fontsize": 8,
    "legend.title_fontsize": 8,
    "legend.frameon": False,
    "legend.borderpad": 0,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "hatch.linewidth": 0.6,
    "text.parse_math": False,  # text from data stays text
    "svg.hashsalt": "crawl_urn_dagster",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw figures alike whatever the reader's own settings, which are back afterwards."""
    with matplotlib.style.context(_SETTINGS, after_reset=True):
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
        figure.set_layout_engine("none")
        return figure

    return draw_in_style


def new_figure(*, height: float, title: str, heading: str) -> Figure:
    """Make an empty figure with a title.

    Parameters
    ----------
    height
        Inches.
    title
        The collection, text from data.
    heading
        What the figure shows; may have several lines.
    """
    figure = Figure(figsize=(WIDTH, height), dpi=_DPI, layout="constrained")
    lines = f"{plain_text(title)}: {heading}".splitlines()
    text = "\n".join(textwrap.fill(line, _TITLE_LINE) for line in lines)
    figure.suptitle(text, x=0.01, horizontalalignment="left")
    return figure


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


def save_figure(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write a figure as PNG (150 dpi) and SVG; the same figure gives the same bytes.

    Each file is replaced as a whole: a reader sees the old one or the new one.

    Parameters
    ----------
    figure
        Any figure of this package.
    stem
        Path without suffix; missing folders are made.

    Returns
    -------
    Paths ``<stem>.png`` and ``<stem>.svg``.
    """
    png, svg = stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.svg")
    for path, dpi in ((png, _DPI), (svg, _SVG_DPI)):
        with replacing(path) as temporary:
            temporary.write_bytes(_render(figure, path.suffix[1:], dpi=dpi))
    return png, svg


def preview_png(figure: Figure, max_bytes: int = 100_000) -> bytes:
    """Render a figure as a PNG small enough to be inlined, at 150 dpi or as much less as it takes.

    Raises
    ------
    ValueError
        When the PNG is larger than `max_bytes` even at 20 dpi.
    """
    dpi = _DPI
    while len(png := _render(figure, "png", dpi=dpi)) > max_bytes:
        if dpi == _LOWEST_DPI:
            raise ValueError(f"the preview has {len(png)} bytes at {dpi} dpi; allow more than {max_bytes}")
        dpi = max(_LOWEST_DPI, dpi * 4 // 5)
    return png


def _render(figure: Figure, file_format: str, *, dpi: int) -> bytes:
    buffer = io.BytesIO()
    # An SVG holds the date unless told otherwise.
    metadata = {"Date": None} if file_format == "svg" else None
    with style():
        figure.savefig(buffer, format=file_format, dpi=dpi, metadata=metadata)
    return buffer.getvalue()
