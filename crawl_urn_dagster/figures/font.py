"""The font of every figure: DejaVu Sans, which comes with matplotlib, made quick to embed.

Here: one copy per process without the tables of ligatures and of alternative glyphs. They are most of the work of
embedding and are not embedded; without ligatures a PDF is searched letter by letter, too. Not here: sizes (`style`).
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
def family() -> str:
    """Make the copy, and give the name of the family that matplotlib knows it by."""
    name = f"{_ORIGINAL} without ligatures"
    font = TTFont(findfont(_ORIGINAL), recalcTimestamp=False)  # the time would make other bytes
    for table in _LAYOUT_TABLES:
        del font[table]
    postscript = font["name"].getDebugName(_POSTSCRIPT_NAME)
    font["name"].names = []
    for identifier, written in (
        (_FAMILY, name),
        (_STYLE, "Regular"),
        (_FULL_NAME, name),
        (_POSTSCRIPT_NAME, postscript),
    ):
        font["name"].setName(written, identifier, *_MACINTOSH_ENGLISH)
    folder = tempfile.TemporaryDirectory(prefix="crawl_urn_font_")
    atexit.register(folder.cleanup)
    path = Path(folder.name, "DejaVuSans.ttf")
    font.save(path)
    fontManager.addfont(path)
    return name
