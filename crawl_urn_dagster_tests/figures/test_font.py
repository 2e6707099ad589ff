"""Test the fonts of figures."""

import pytest
from fontTools.ttLib import TTFont
from matplotlib.font_manager import findfont

from crawl_urn_dagster.figures.font import font_families


@pytest.fixture
def fonts():
    paths = [findfont(family, fallback_to_default=False) for family in font_families()]
    with TTFont(paths[0]) as common, TTFont(paths[1]) as complete:
        yield common, complete


def test_fonts_are_known_to_matplotlib_and_have_no_layout_tables(fonts):
    for font in fonts:
        assert {"GDEF", "GPOS", "GSUB"} & set(font.keys()) == set()
        assert {ord(character) for character in "aéκ−≤"} <= set(font.getBestCmap())


def test_common_characters_are_kerned_as_in_the_complete_font(fonts):
    common, complete = (dict(font["kern"].kernTables[0].kernTable) for font in fonts)
    assert common[("A", "V")] == complete[("A", "V")] < 0


def test_other_characters_are_in_the_complete_font_only(fonts):
    common, complete = (set(font.getBestCmap()) for font in fonts)
    assert common < complete
    assert ord("д") in complete - common
