from pathlib import Path

import pytest

from crawl_urn_dagster.figures import FigureLabels
from crawl_urn_dagster.figures.files import draw_files
from crawl_urn_dagster.report.pictures import pictures_of
from crawl_urn_dagster_tests.figures.frames import tables

NAME = "containment_by_lag"
LABELS: FigureLabels = {"title": "demo (host)", "clock": "crawl", "noun": "host"}


@pytest.fixture(scope="module")
def frames():
    return tables(6)._asdict()


def test_saved_figure_is_read_and_one_of_other_numbers_is_drawn_again(frames, tmp_path):
    saved = draw_files(NAME, frames, LABELS, tmp_path / "figures")
    assert not isinstance(saved, Exception)
    (path,) = (one for one in saved.paths if one.suffix == ".png")
    (picture,) = pictures_of([NAME], frames, LABELS, tmp_path).values()
    assert (picture.path, picture.png) == (f"figures/{NAME}.png", path.read_bytes())
    assert (picture.caption, picture.alt) == (saved.caption.text, saved.caption.alt)
    other = {**frames, "containment": frames["containment"].assign(containment=0.5)}
    (redrawn,) = pictures_of([NAME], other, LABELS, tmp_path).values()
    assert redrawn.png != picture.png
    assert Path(path).read_bytes() == picture.png


def test_picture_without_files_has_no_path(frames):
    (picture,) = pictures_of([NAME], frames, LABELS).values()
    assert picture.path is None
    assert picture.png.startswith(b"\x89PNG")
