"""Provide the font of all figures: DejaVu Sans of matplotlib, reduced so that it is embedded quickly.

The reduced copy, one per process, lacks the tables of ligatures and alternative glyphs. Processing them takes most of
the time of embedding, although they are not embedded. Without ligatures the text of a PDF can be searched letter by
letter. Does not set sizes (`style`).
"""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path

from fontTools.ttLib import TTFont
from matplotlib.font_manager import findfont, fontManager

_ORIGINAL = "DejaVu Sans"
_LAYOUT_TABLES = ("GDEF", "GPOS", "GSUB")
_FAMILY, _STYLE, _FULL_NAME, _POSTSCRIPT_NAME = 1, 2, 4, 6  # in table `name`
_MACINTOSH_ENGLISH = (1, 0, 0)


@cache
def font_family() -> str:
    """Create the copy and return its family name in matplotlib."""
    name = f"{_ORIGINAL} without ligatures"
    font = TTFont(findfont(_ORIGINAL), recalcTimestamp=False)  # a new time would change the bytes
    for table in _LAYOUT_TABLES:
        del font[table]
    postscript = font["name"].getDebugName(_POSTSCRIPT_NAME)
    font["name"].names = []
    for identifier, value in ((_FAMILY, name), (_STYLE, "Regular"), (_FULL_NAME, name), (_POSTSCRIPT_NAME, postscript)):
        font["name"].setName(value, identifier, *_MACINTOSH_ENGLISH)
    folder = tempfile.TemporaryDirectory(prefix="crawl_urn_font_")
    atexit.register(folder.cleanup)
    path = Path(folder.name, "DejaVuSans.ttf")
    font.save(path)
    fontManager.addfont(path)
    return name
