"""Test the font of figures."""

from fontTools.ttLib import TTFont
from matplotlib.font_manager import findfont

from crawl_urn_dagster.figures.font import font_family


def test_font_is_known_to_matplotlib_and_has_no_layout_tables():
    with TTFont(findfont(font_family(), fallback_to_default=False)) as font:
        assert {"GDEF", "GPOS", "GSUB"} & set(font.keys()) == set()
        assert ord("κ") in font.getBestCmap()
