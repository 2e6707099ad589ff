"""Provide the fonts of all figures: DejaVu Sans of matplotlib, reduced so that it is embedded quickly.

Two copies are made per process: one with the characters of Western and Greek text and mathematics, and one with all
characters, for names from data. Embedding processes a whole font, so the small one takes a fraction of the time. Both
lack the tables of ligatures and alternative glyphs, which take the most time although they are not embedded. Without
ligatures the text of a PDF can be searched letter by letter. Does not set sizes (`style`).
"""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from matplotlib.font_manager import findfont, fontManager

_ORIGINAL = "DejaVu Sans"
_LAYOUT_TABLES = ("GDEF", "GPOS", "GSUB")
_FAMILY, _STYLE, _FULL_NAME, _POSTSCRIPT_NAME = 1, 2, 4, 6  # in table `name`
_MACINTOSH_ENGLISH = (1, 0, 0)
#: Latin with accents, Greek, and punctuation to mathematical operators.
_COMMON_CHARACTERS = (*range(0x20, 0x180), *range(0x370, 0x400), *range(0x2000, 0x2300))


@cache
def font_families() -> tuple[str, str]:
    """Create the copies and return their family names in matplotlib, the small one first."""
    font = TTFont(findfont(_ORIGINAL), recalcTimestamp=False)  # a new time would change the bytes
    for table in _LAYOUT_TABLES:
        del font[table]
    folder = tempfile.TemporaryDirectory(prefix="crawl_urn_font_")
    atexit.register(folder.cleanup)
    complete = _save(font, Path(folder.name, "complete.ttf"), f"{_ORIGINAL} without ligatures")
    subsetter = Subsetter(Options(name_languages=["*"], name_legacy=True, drop_tables=["FFTM", "MATH"]))
    subsetter.populate(unicodes=_COMMON_CHARACTERS)
    subsetter.subset(font)
    return _save(font, Path(folder.name, "common.ttf"), f"{_ORIGINAL} of common characters"), complete


def _save(font: TTFont, path: Path, name: str) -> str:
    """Save a font under a family name, and make it known to matplotlib."""
    postscript = font["name"].getDebugName(_POSTSCRIPT_NAME)
    font["name"].names = []
    for identifier, value in ((_FAMILY, name), (_STYLE, "Regular"), (_FULL_NAME, name), (_POSTSCRIPT_NAME, postscript)):
        font["name"].setName(value, identifier, *_MACINTOSH_ENGLISH)
    font.save(path)
    fontManager.addfont(path)
    return name
