"""Read or draw the figures of a page.

Does not draw a figure itself (`figures`) or place it on the page (the modules of the sections).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.figures.files import current_png
from crawl_urn_dagster.report.blocks import Picture

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from crawl_urn_dagster.figures import FigureLabels


def pictures_of(
    names: Iterable[str], frames: Mapping[str, pd.DataFrame], labels: FigureLabels, home: Path | None = None
) -> dict[str, Picture]:
    """Return figures by name, and draw those that are not saved or were drawn from other numbers.

    Parameters
    ----------
    names
        Names in `figures.CATALOGUE`.
    frames
        Tables by name.
    labels
        Labels of the collection, see `figures.figure_labels`.
    home
        Folder of the page, with its folder ``figures``; None: Markdown leaves the figures out.
    """
    pictures = {}
    for name in names:
        described, png = current_png(name, frames, labels, home and home / "figures")
        pictures[name] = Picture(f"figures/{name}.png" if home else None, png, described.text, described.alt)
    return pictures
