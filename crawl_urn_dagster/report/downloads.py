"""Links that download a table as CSV and a figure as an image.

A table is in its link, because it is small and the page is one file. The image of a figure is on the page, so the
script of the charts makes its link; the vector formats are files next to the page.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from crawl_urn_dagster.spreadsheets import guard_rows

if TYPE_CHECKING:
    import pandas as pd
    from markdown_it import MarkdownIt

    from crawl_urn_dagster.report.blocks import Picture, Table

_VECTOR_SUFFIXES = (".svg", ".pdf")
_NAME_CHARACTERS = 60


def caption_element(table: Table, renderer: MarkdownIt) -> str:
    """Return the caption of a table with a link that downloads its shown rows.

    Numbers have full precision in the file, except with an interval, which is text. Text of the data that a spreadsheet
    would compute has an apostrophe before it.
    """
    formatted = [name for name in table.formatted if name in table.rows]
    rows = guard_rows(table.rows.drop(columns=formatted)).reindex(columns=table.rows.columns)
    rows = rows.assign(**{name: [_plain(str(cell), renderer) for cell in table.rows[name]] for name in formatted})
    name = file_name(table.caption, ".csv")
    caption, address = escape(table.caption), f"data:text/csv;charset=utf-8,{_csv(rows)}"
    link = f'<a class="download" download="{name}" href="{address}" aria-label="CSV of the table {caption}">CSV</a>'
    return f"<caption><span>{caption} {link}</span></caption>\n"


def figure_links(picture: Picture) -> str:
    """Return links to the vector formats of a figure, if they are files; the script adds the one to its image."""
    stem = PurePosixPath(picture.path or "figure").with_suffix("")
    suffixes = _VECTOR_SUFFIXES if picture.path else ()
    links = [
        f'<a class="download" download href="{quote(f"{stem}{suffix}")}" '
        f'aria-label="{suffix[1:].upper()} of the figure {escape(stem.name)}">{suffix[1:].upper()}</a>'
        for suffix in suffixes
    ]
    return f' <span class="downloads" data-file="{_image_file(picture)}">{" ".join(links)}</span>'


def _image_file(picture: Picture) -> str:
    return file_name(picture.caption if picture.path is None else PurePosixPath(picture.path).stem, ".png")


def file_name(title: str, suffix: str) -> str:
    """Return a file name that says what a title says.

    Examples
    --------
    >>> file_name("Forecast of the crawls between, with 95 % intervals", ".csv")
    'forecast-of-the-crawls-between-with-95-intervals.csv'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower())[:_NAME_CHARACTERS].strip("-") + suffix


def _csv(rows: pd.DataFrame) -> str:
    return quote(rows.to_csv(index=False), safe="")


def _plain(markdown: str, renderer: MarkdownIt) -> str:
    """Return the text of Markdown without its markup."""
    (inline,) = renderer.parseInline(markdown)
    return "".join(token.content for token in inline.children or [])
