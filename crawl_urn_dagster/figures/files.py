"""Write figures as PNG, SVG and PDF with their captions; the same figure gives the same bytes.

Does not set the style (`style`) or make captions (one module per subject).
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from PIL import Image

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.figures.catalogue import caption, draw, inputs_digest, register_entry_points
from crawl_urn_dagster.figures.style import PNG_DPI, page_columns, style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.catalogue import Caption, FigureLabels

#: Suffixes of a figure's files: two columns wide for screens and for print, one column wide, and the caption.
SUFFIXES = (".png", ".svg", ".pdf", ".one_column.pdf", ".json")
_MAX_REDUCTION = 8
_INPUTS = "Inputs"  # keyword of the digest in the PNG
_PRINT_DPI = 300  # resolution of dense point clouds and heat maps, which SVG and PDF contain as images


def save_figure(wide: Figure, narrow: Figure, stem: Path, caption: Caption, *, inputs: str = "") -> list[Path]:
    """Write a figure in every format.

    Each file is replaced atomically, so a reader finds either the old or the new one.

    Parameters
    ----------
    wide, narrow
        Figures that are two columns and one column wide.
    stem
        Path without suffix; missing folders are created.
    caption
        Written to the metadata of each file, and to a JSON file with keys title, caption and alt.
    inputs
        Digest of what the figure is drawn from, written to the PNG for `saved_png`.

    Returns
    -------
    list of Path
        ``<stem><suffix>`` for each of `SUFFIXES`.
    """
    texts = {"title": caption.title, "caption": caption.text, "alt": caption.alt}
    contents = (
        render_png(wide, caption, inputs=inputs),
        _render(wide, "svg", caption, dpi=_PRINT_DPI),
        _render(wide, "pdf", caption, dpi=_PRINT_DPI),
        _render(narrow, "pdf", caption, dpi=_PRINT_DPI, columns=1),
        json.dumps(texts, ensure_ascii=False, indent=2).encode() + b"\n",
    )
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in SUFFIXES]
    for path, content in zip(paths, contents, strict=True):
        with replacing(path) as temporary:
            temporary.write_bytes(content)
    return paths


class DrawnFiles(NamedTuple):
    """Files of a figure, with its caption and a small PNG."""

    paths: list[Path]
    caption: Caption
    preview: bytes


def draw_files(
    name: str,
    frames: Mapping[str, pd.DataFrame],
    labels: FigureLabels,
    folder: Path,
    own_figures: Sequence[str] = (),
) -> DrawnFiles | Exception:
    """Draw a figure in both widths, and write its files.

    Parameters
    ----------
    name, frames
        As in `catalogue.draw`.
    labels
        Keyword arguments of `catalogue.draw`.
    folder
        Folder of the files.
    own_figures
        Entry points of figures of other packages, which another process does not know yet.

    Returns
    -------
    DrawnFiles or Exception
        The error if the figure could not be drawn; it does not stop other figures.
    """
    try:
        register_entry_points(own_figures)
        described = caption(name, frames, **labels)
        wide, narrow = (draw(name, frames, **labels, columns=columns) for columns in (2, 1))
        digest = inputs_digest(name, frames, **labels)
        paths = save_figure(wide, narrow, folder / name, described, inputs=digest)
        return DrawnFiles(paths, described, preview_png(paths[0].read_bytes()))
    except Exception as error:
        return error


def remove_figure(stem: Path) -> None:
    """Remove the files of a figure that is no longer reported."""
    for suffix in SUFFIXES:
        stem.with_name(f"{stem.name}{suffix}").unlink(missing_ok=True)


def render_png(figure: Figure, caption: Caption | None = None, *, inputs: str = "") -> bytes:
    """Render a figure as a PNG of 150 dpi; caption and inputs as in `save_figure`."""
    return _render(figure, "png", caption, dpi=PNG_DPI, inputs=inputs)


def current_png(
    name: str, frames: Mapping[str, pd.DataFrame], labels: FigureLabels, folder: Path | None = None
) -> tuple[Caption, bytes]:
    """Return the caption and the PNG of a figure: the saved one if it was drawn from these tables, or a new one.

    Parameters
    ----------
    name, frames
        As in `catalogue.draw`.
    labels
        Keyword arguments of `catalogue.draw`.
    folder
        Folder of saved figures; None: the figure is drawn.
    """
    described = caption(name, frames, **labels)
    digest = inputs_digest(name, frames, **labels) if folder else ""
    saved = saved_png(folder / name, digest) if folder else None
    return described, saved or render_png(draw(name, frames, **labels), described, inputs=digest)


def saved_png(stem: Path, inputs: str) -> bytes | None:
    """Return the saved PNG of a figure if it was drawn from inputs of this digest."""
    try:
        content = stem.with_name(f"{stem.name}.png").read_bytes()
        with Image.open(io.BytesIO(content)) as image:
            return content if image.info.get(_INPUTS) == inputs else None
    except OSError:  # no file, or not an image
        return None


def preview_png(png: bytes, max_bytes: int = 100_000) -> bytes:
    """Make a PNG small enough to be inlined, with a palette and then with fewer pixels if necessary.

    Raises
    ------
    ValueError
        If the PNG is larger than `max_bytes` even at an eighth of its width.
    """
    with Image.open(io.BytesIO(png)) as opened:
        image = opened.convert("RGB")
    width, preview = image.width, png
    while len(preview) > max_bytes:
        if width == image.width // _MAX_REDUCTION:
            raise ValueError(f"the preview has {len(preview)} bytes at a width of {width}; allow more than {max_bytes}")
        if preview is not png:
            # The file size grows slightly faster than the width.
            width = max(image.width // _MAX_REDUCTION, int(0.95 * width * max_bytes / len(preview)))
        preview = _with_palette(image.resize((width, round(image.height * width / image.width))))
    return preview


def _with_palette(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.quantize(256).save(buffer, format="PNG")
    return buffer.getvalue()


def _render(
    figure: Figure,
    file_format: str,
    caption: Caption | None = None,
    *,
    dpi: int,
    columns: int = 2,
    inputs: str = "",
) -> bytes:
    buffer = io.BytesIO()
    metadata = {**_metadata(file_format, caption), **({_INPUTS: inputs} if inputs else {})}
    with page_columns(columns), style():  # ticks are created when a figure is rendered
        figure.savefig(buffer, format=file_format, dpi=dpi, metadata=metadata)
    content = buffer.getvalue()
    if file_format == "svg" and caption is not None:
        # Screen readers use <desc>, which matplotlib does not write.
        content = content.replace(b"</title>", f"</title>\n <desc>{escape(caption.alt)}</desc>".encode(), 1)
    return content


def _metadata(file_format: str, caption: Caption | None) -> dict[str, str | None]:
    """Return the caption under the keys of a format, without the date, which would change the bytes."""
    metadata: dict[str, str | None] = {}
    if file_format != "png":
        metadata["CreationDate" if file_format == "pdf" else "Date"] = None
    if caption is not None:
        metadata["Title"] = caption.title
        metadata["Subject" if file_format == "pdf" else "Description"] = f"{caption.text}\n\n{caption.alt}"
    return metadata
