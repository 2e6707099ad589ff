"""What a page is made of, whatever it is written as.

Here: paragraphs, pictures, folded parts and sections. Not here: what they say, or Markdown and HTML (`pages`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence


class Picture(NamedTuple):
    """A figure.

    Attributes
    ----------
    path
        Where the PNG is from the page's folder, for a page that cannot hold it; None: such a page leaves it out.
    png
        Its bytes, for a page that can.
    caption, alt
        Plain text: what it shows, and what somebody needs to know who does not see it.
    """

    path: str | None
    png: bytes
    caption: str
    alt: str


class Folded(NamedTuple):
    """What is shown when it is asked for; the summary is plain text."""

    summary: str
    blocks: Sequence[Block]


def unfolded_if(alone: bool, summary: str, blocks: Sequence[Block]) -> Sequence[Block]:
    """Fold blocks, unless they alone say something."""
    return blocks if alone else [Folded(summary, blocks)]


class Section(NamedTuple):
    """A heading, plain text, and what is under it."""

    title: str
    blocks: Sequence[Block]


#: A string is Markdown, in which text from data has been escaped (`markdown.escape`).
Block: TypeAlias = "str | Picture | Folded | Section"


class Page(NamedTuple):
    """A page: title and lead, then its sections."""

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
