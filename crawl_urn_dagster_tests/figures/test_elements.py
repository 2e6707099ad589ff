"""Test the figure of the predictions of single elements."""

import pytest

from crawl_urn_dagster.figures.elements import element_reliability, element_reliability_caption
from crawl_urn_dagster_tests.figures.frames import TITLE, faults, reliability_of_elements, text_of


def test_points_and_bars_have_the_values_of_the_tables():
    tables = reliability_of_elements()
    figure = element_reliability(**tables, title=TITLE)
    reliability, loss = figure.axes
    points = tables["element_calibration"].query("crawls_ahead == 1")
    assert reliability.collections[0].get_offsets().tolist() == points[["predicted", "observed"]].values.tolist()
    widths = [bar.get_width() for bar in loss.containers[0]]
    assert widths == pytest.approx(tables["element_scores"].query("crawls_ahead == 1")["log_loss"].tolist())
    assert faults(figure) == []


def test_untested_predictions_are_stated():
    tables = {name: table[:0] for name, table in reliability_of_elements().items()}
    assert "were not tested" in text_of(element_reliability(**tables, title=TITLE)).replace("\n", " ")
    assert "were not tested" in element_reliability_caption(**tables)[0]
