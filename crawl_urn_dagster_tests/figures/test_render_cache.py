"""Test that cached ticks and fonts are those that matplotlib computes."""

from unittest import mock

import pytest
from matplotlib.axis import XAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager

from crawl_urn_dagster.figures.render_cache import cached_fonts, cached_ticks


@pytest.fixture
def axis():
    figure = Figure()
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.plot([1, 20])
    return axes.xaxis


def test_ticks_are_computed_once(axis):
    with mock.patch.object(XAxis, "_update_ticks", autospec=True, side_effect=XAxis._update_ticks) as compute:
        with cached_ticks(axis.figure):
            axis.figure.draw_without_rendering()
            assert compute.call_count == 1
        axis.figure.draw_without_rendering()
    assert compute.call_count > 2


def test_changed_limits_have_new_ticks_and_boxes(axis):
    renderer = axis.figure.canvas.get_renderer()
    with cached_ticks(axis.figure):
        axis._get_ticklabel_bboxes(axis._update_ticks(), renderer)
        axis.axes.set_xlim(0, 1000)
        found = [tick.get_loc() for tick in axis._update_ticks()]
        boxes = axis._get_ticklabel_bboxes(axis._update_ticks(), renderer)[0]
    assert found == [tick.get_loc() for tick in axis._update_ticks()]
    assert max(found) == 1000
    expected = axis._get_ticklabel_bboxes(axis._update_ticks(), renderer)[0]
    assert [box.bounds for box in boxes] == [box.bounds for box in expected]


def test_other_dots_per_inch_have_other_boxes(axis):
    with cached_ticks(axis.figure):
        widths = []
        for dpi in (100, 200):
            axis.figure.dpi = dpi
            boxes, _ = axis._get_ticklabel_bboxes(axis._update_ticks(), axis.figure.canvas.get_renderer())
            widths.append(boxes[0].width)
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.1)


def test_fonts_are_found_once_and_methods_are_restored():
    finder = type(fontManager)
    before = dict(vars(fontManager))
    with mock.patch.object(finder, "_find_fonts_by_props", autospec=True, return_value=["a.ttf"]) as find:
        with cached_fonts(), cached_fonts():
            found = [fontManager._find_fonts_by_props(FontProperties(size=size)) for size in (8, 9, 8)]
        assert find.call_count == 2
    assert found == [["a.ttf"]] * 3
    assert vars(fontManager) == before
