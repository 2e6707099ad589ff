"""Test the figure of the overlap of archives."""

import pandas as pd
import pytest

from crawl_urn_dagster.figures.archives import archive_overlap, archive_overlap_caption
from crawl_urn_dagster_tests.figures.frames import TITLE, faults, overlap_of_archives, text_of


def test_matrix_has_the_shares_of_the_row_list():
    figure = archive_overlap(overlap_of_archives(), title=TITLE)
    matrix, coverage = figure.axes
    shares = matrix.images[0].get_array()
    assert shares.compressed().tolist() == pytest.approx([450 / 600, 150 / 600, 450 / 500, 50 / 500])
    assert [label.get_text() for label in coverage.get_yticklabels()] == ["mine", "theirs", "union"]
    assert [bar.get_width() for bar in coverage.patches] == pytest.approx([0.325, 0.212, 0.387])


def test_one_list_has_coverage_and_missing_crawls():
    one = overlap_of_archives().query("lists == 'mine'")
    earlier = one.query("estimator == 'frame' or estimator == 'counted'").assign(match="2023-12")
    missing = earlier.iloc[[0]].assign(match="2023-11", quantity="missing_crawl", estimate=1.0)
    frame = pd.concat([missing, earlier, one])
    figure = archive_overlap(frame, title=TITLE)
    coverages, crosses = figure.axes[0].lines
    assert coverages.get_xydata().tolist() == [[1, 0.625], [2, 0.625]]
    assert crosses.get_xydata().tolist() == [[0, 0]]
    assert faults(figure) == []
    assert "Counted coverage over time" in archive_overlap_caption(frame)[1]


def test_no_match_is_stated():
    empty = overlap_of_archives().iloc[:0]
    assert "no crawls of the archives match" in text_of(archive_overlap(empty, title=TITLE))
    assert "nothing is drawn" in archive_overlap_caption(empty)[0]
