"""Render a page as Markdown and as one self-contained HTML file.

Does not style the HTML; see `page.html`. The HTML is safe to open: it contains no raw HTML from Markdown, runs no
script but that of its charts (`scripts`), and loads nothing from the network.
"""

from __future__ import annotations

import base64
import re
from html import escape as escape_html
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from crawl_urn_dagster.report.blocks import Block, Callout, Chart, Folded, LagChart, Page, Picture, Section, Table
from crawl_urn_dagster.report.downloads import caption_element, figure_links
from crawl_urn_dagster.report.markdown import escape
from crawl_urn_dagster.report.scripts import PageScript, chart_element, crawls_attribute, page_script
from crawl_urn_dagster.report.sparklines import SVG_DATA, without_sparklines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TEMPLATE = Path(__file__).with_name("page.html")
_DEEPEST = 6
_CAPTION = "caption"
#: Icon of each level of a callout.
ICONS = {"good": "✔", "warning": "⚠", "bad": "✘"}


def to_markdown(page: Page) -> str:
    """Return a page as Markdown, with pictures in files and folded parts as ``<details>``.

    Parameters
    ----------
    page
        Page to render.

    Examples
    --------
    >>> print(to_markdown(Page("Title", ["Text."], [])))
    # Title
    <BLANKLINE>
    Text.
    <BLANKLINE>
    """
    parts = [f"# {escape(page.title)}", *_markdown(page.lead, depth=2)]
    if page.sections:
        parts.append("\n".join(f"- [{escape(one.title)}](#{_anchor(one)})" for one in page.sections))
    return "\n\n".join([*parts, *_markdown(page.sections, depth=2)]) + "\n"


def _markdown(blocks: Sequence[Block], *, depth: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, str):
            yield block
        elif isinstance(block, Table):
            yield f"*{escape(block.caption)}*"
            yield without_sparklines(block.text)
        elif isinstance(block, Picture):
            if block.path is not None:
                yield f"![{escape(block.alt)}]({block.path})"
                yield f"*{escape(block.caption)}*"
        elif isinstance(block, Chart | LagChart):
            continue  # Markdown has no scripts
        elif isinstance(block, Folded):
            yield f"<details>\n<summary>{escape_html(block.summary)}</summary>"
            yield from _markdown(block.blocks, depth=depth)
            yield "</details>"
        elif isinstance(block, Callout):
            yield f"> {ICONS[block.level]} {block.text}"
        else:
            yield f"{'#' * min(depth, _DEEPEST)} {escape(block.title)}"
            yield from _markdown(block.shown, depth=depth + 1)


def to_html(page: Page) -> str:
    """Return a page as HTML with its style, pictures and charts, whose policy forbids other scripts and the network.

    Parameters
    ----------
    page
        Page to render.
    """
    contents = "".join(f'<li><a href="#{_anchor(one)}">{escape_html(one.title)}</a></li>' for one in page.sections)
    renderer = _renderer()
    body = [*_html(page.lead, renderer, depth=2), f'<nav aria-label="Contents"><ol>{contents}</ol></nav>']
    for section in page.sections:
        body += [f'<section id="{_anchor(section)}">', _linked_heading(section)]
        body += [*_html(section.shown, renderer, depth=3), "</section>"]
    template = Template(_TEMPLATE.read_text(encoding="utf-8"))
    added, crawls = (PageScript(), "") if page.crawls is None else (page_script(), crawls_attribute(page.crawls))
    title = escape_html(page.title)
    return template.substitute(title=title, body="\n".join(body), crawls=crawls, **added._asdict())


def _linked_heading(section: Section) -> str:
    """Return the heading of a section with a link to it."""
    title = escape_html(section.title)
    link = f'<a class="permalink" href="#{_anchor(section)}" aria-label="Link to section {title}">#</a>'
    return f"<h2>{title}{link}</h2>"


def _html(blocks: Sequence[Block], renderer: MarkdownIt, *, depth: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, str):
            yield renderer.render(block)
        elif isinstance(block, Table):
            yield renderer.render(block.text, {_CAPTION: caption_element(block, renderer)})
        elif isinstance(block, Picture):
            yield from map(chart_element, block.charts)
            data = base64.b64encode(block.png).decode("ascii")
            yield (
                '<figure><div class="wide" tabindex="0">'
                f'<img alt="{escape_html(block.alt)}" src="data:image/png;base64,{data}"></div>'
                f"<figcaption>{escape_html(block.caption)}{figure_links(block)}</figcaption></figure>"
            )
        elif isinstance(block, Chart | LagChart):
            yield chart_element(block)
        elif isinstance(block, Folded):
            yield f"<details><summary>{escape_html(block.summary)}</summary>"
            yield from _html(block.blocks, renderer, depth=depth)
            yield "</details>"
        elif isinstance(block, Callout):
            text = renderer.render(f"{ICONS[block.level]} {block.text}")
            yield f'<div class="callout {block.level}" role="note">{text}</div>'
        else:
            yield f"<h{min(depth, _DEEPEST)}>{escape_html(block.title)}</h{min(depth, _DEEPEST)}>"
            yield from _html(block.shown, renderer, depth=depth + 1)


def _renderer() -> MarkdownIt:
    """Return a Markdown renderer without raw HTML; its tables scroll in boxes and their headers have scopes."""
    from markdown_it import MarkdownIt

    class Renderer(MarkdownIt):
        """A renderer that shows sparklines, which are images in the address itself."""

        def validateLink(self, url: str) -> bool:  # noqa: N802 - the name in markdown-it
            return url.startswith(SVG_DATA) or super().validateLink(url)

    renderer = Renderer("commonmark", {"html": False}).enable("table")
    renderer.add_render_rule("table_open", _table_open)
    renderer.add_render_rule("th_open", lambda *_: '<th scope="col">')
    renderer.add_render_rule("code_block", _code)
    renderer.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return renderer


def _table_open(_: object, __: object, ___: object, ____: object, env: Mapping[str, str]) -> str:
    """Return the start of a table with its caption, in a box that scrolls."""
    return f'<div class="wide" tabindex="0"><table>\n{env.get(_CAPTION, "")}'


def _code(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    """Return a code block that can be scrolled by keyboard."""
    return f'<pre tabindex="0"><code>{escape_html(tokens[index].content)}</code></pre>\n'


def _anchor(section: Section) -> str:
    """Return the anchor that Markdown viewers give to a heading."""
    return re.sub(r"[^\w -]", "", section.title.lower()).replace(" ", "-")
