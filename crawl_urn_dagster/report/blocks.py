"""Building blocks of a page: paragraphs, callouts, pictures, folded parts and sections.

Does not render them; see `pages`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    """

    path: str | None
    png: bytes
    caption: str
    alt: str


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
Block: TypeAlias = "str | Callout | Picture | Folded | Section"


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
    """

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
