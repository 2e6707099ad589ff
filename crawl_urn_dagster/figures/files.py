"""Figures as files, with what is said of them.

Here: PNG, SVG and PDF with their captions in them and beside them, the same bytes for the same figure. Not here: how
figures look (`style`), or captions (one module per subject).
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from PIL import Image

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.figures.style import PNG_DPI, page_columns, style

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.catalogue import Caption

#: What follows a figure's name: two columns wide for screens and for print, one column wide, and its caption.
SUFFIXES = (".png", ".svg", ".pdf", ".one_column.pdf", ".json")
_MOST_REDUCED = 8
_PRINT_DPI = 300  # of dense clouds of points and heat maps, which SVG and PDF hold as images


def save_figure(wide: Figure, narrow: Figure, stem: Path, caption: Caption) -> list[Path]:
    """Write a figure in every format; the same figure gives the same bytes.

    Each file is replaced as a whole: a reader sees the old one or the new one.

    Parameters
    ----------
    wide, narrow
        The figure of two columns and of one.
    stem
        Path without suffix; missing folders are made.
    caption
        Goes into each file, and beside them as JSON with keys title, caption and alt.

    Returns
    -------
    Paths ``<stem><suffix>``, one for each of `SUFFIXES`.
    """
    said = {"title": caption.title, "caption": caption.text, "alt": caption.alt}
    contents = (
        _render(wide, "png", caption, dpi=PNG_DPI),
        _render(wide, "svg", caption, dpi=_PRINT_DPI),
        _render(wide, "pdf", caption, dpi=_PRINT_DPI),
        _render(narrow, "pdf", caption, dpi=_PRINT_DPI, columns=1),
        json.dumps(said, ensure_ascii=False, indent=2).encode() + b"\n",
    )
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in SUFFIXES]
    for path, content in zip(paths, contents, strict=True):
        with replacing(path) as temporary:
            temporary.write_bytes(content)
    return paths


def remove_figure(stem: Path) -> None:
    """Remove the files of a figure that must not be shown any more."""
    for suffix in SUFFIXES:
        stem.with_name(f"{stem.name}{suffix}").unlink(missing_ok=True)


def render_png(figure: Figure) -> bytes:
    """Render a figure as a PNG of 150 dpi, without a caption in it."""
    return _render(figure, "png", dpi=PNG_DPI)


def preview_png(png: bytes, max_bytes: int = 100_000) -> bytes:
    """Make a PNG small enough to be inlined: if need be with a palette, then of as many fewer pixels.

    Raises
    ------
    ValueError
        When the PNG is larger than `max_bytes` even at an eighth of its width.
    """
    with Image.open(io.BytesIO(png)) as opened:
        image = opened.convert("RGB")
    width, preview = image.width, png
    while len(preview) > max_bytes:
        if width == image.width // _MOST_REDUCED:
            raise ValueError(f"the preview has {len(preview)} bytes at a width of {width}; allow more than {max_bytes}")
        if preview is not png:
            # Bytes grow a little faster than lines get longer.
            width = max(image.width // _MOST_REDUCED, int(0.95 * width * max_bytes / len(preview)))
        preview = _with_palette(image.resize((width, round(image.height * width / image.width))))
    return preview


def _with_palette(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.quantize(256).save(buffer, format="PNG")
    return buffer.getvalue()


def _render(figure: Figure, file_format: str, caption: Caption | None = None, *, dpi: int, columns: int = 2) -> bytes:
    buffer = io.BytesIO()
    with page_columns(columns), style():  # ticks are made when a figure is rendered
        figure.savefig(buffer, format=file_format, dpi=dpi, metadata=_metadata(file_format, caption))
    content = buffer.getvalue()
    if file_format == "svg" and caption is not None:
        # Readers for the blind take <desc>, which matplotlib does not write.
        content = content.replace(b"</title>", f"</title>\n <desc>{escape(caption.alt)}</desc>".encode(), 1)
    return content


def _metadata(file_format: str, caption: Caption | None) -> dict[str, str | None]:
    """Caption in the names of a format, and no date, which would make other bytes every time."""
    metadata: dict[str, str | None] = {}
    if file_format != "png":
        metadata["CreationDate" if file_format == "pdf" else "Date"] = None
    if caption is not None:
        metadata["Title"] = caption.title
        metadata["Subject" if file_format == "pdf" else "Description"] = f"{caption.text}\n\n{caption.alt}"
    return metadata
