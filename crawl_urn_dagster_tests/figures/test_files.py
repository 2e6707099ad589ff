"""Test the contents of figure files and that they are replaced atomically."""

import hashlib
import inspect
import io
import json
import os
import pickle
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from PIL import Image

from crawl_urn_dagster.figures import Caption, draw
from crawl_urn_dagster.figures.files import SUFFIXES, preview_png, remove_figure, render_png, save_figure, saved_png
from crawl_urn_dagster_tests.figures.frames import TITLE, tables

CAPTION = Caption("gov <hosts> & (κ)", "κ = 0.400 (0.399–0.401) & more.", "A bar: <κ> & μ.")
SVG = "{http://www.w3.org/2000/svg}"


def save_all(frames, caption, folder):
    """Save two figures of observables, and return their paths; the first figure is ``containment_by_lag``."""
    paths = []
    for name in ("containment_by_lag", "discovery_heat_map"):
        figures = (draw(name, frames, title="", clock="crawl", columns=columns) for columns in (2, 1))
        paths += save_figure(*figures, folder / name, caption)
    return paths


@pytest.fixture(scope="module")
def all_paths(tmp_path_factory):
    return save_all(tables(4)._asdict(), CAPTION, tmp_path_factory.mktemp("saved"))


@pytest.fixture
def saved(all_paths):
    """The files of ``containment_by_lag`` by suffix."""
    return {path.name.removeprefix("containment_by_lag"): path for path in all_paths[: len(SUFFIXES)]}


def plain_figure():
    figure = Figure(figsize=(1, 1))
    figure.subplots().plot([1, 2])
    return figure


def test_files_have_the_format_of_their_suffix(saved):
    assert tuple(saved) == SUFFIXES
    assert {path.suffix for path in saved[".png"].parent.iterdir()} == {".png", ".svg", ".pdf", ".json"}
    with Image.open(saved[".png"]) as image:
        assert image.format == "PNG"
        assert image.size == (1080, 540)  # 7.2 in by 3.6 in at 150 dpi
    assert ElementTree.parse(saved[".svg"]).getroot().tag == f"{SVG}svg"
    for suffix, width in ((".pdf", 7.2), (".one_column.pdf", 3.5)):
        (box,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) [\d.]+ \]", saved[suffix].read_bytes())
        assert float(box) == pytest.approx(width * 72)


def test_caption_is_in_every_file_and_in_json(saved):
    written = json.loads(saved[".json"].read_text(encoding="utf-8"))
    assert written == {"title": CAPTION.title, "caption": CAPTION.text, "alt": CAPTION.alt}
    root = ElementTree.parse(saved[".svg"]).getroot()
    assert (root.find(f"{SVG}title").text, root.find(f"{SVG}desc").text) == (CAPTION.title, CAPTION.alt)
    with Image.open(saved[".png"]) as image:
        assert (image.text["Title"], image.text["Description"]) == (CAPTION.title, f"{CAPTION.text}\n\n{CAPTION.alt}")
    for suffix in (".pdf", ".one_column.pdf"):
        content = saved[suffix].read_bytes()
        assert "κ = 0.400".encode("utf-16-be") in content


def test_files_embed_fonts_and_have_no_dates(saved):
    for suffix in (".pdf", ".one_column.pdf"):
        content = saved[suffix].read_bytes()
        assert b"/FontFile2" in content
        assert b"/Type3" not in content
        assert b"CreationDate" not in content
    svg = saved[".svg"].read_text(encoding="utf-8")
    assert "<text" not in svg
    assert "<dc:date>" not in svg


def test_save_of_any_figure_replaces_files(tmp_path):
    (tmp_path / "lag.png").write_bytes(b"old")
    paths = save_figure(plain_figure(), plain_figure(), tmp_path / "lag", CAPTION)
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert all(path.stat().st_size for path in paths)
    (tmp_path / "lag.png.other").write_bytes(b"")
    remove_figure(tmp_path / "lag")
    remove_figure(tmp_path / "lag")
    assert [path.name for path in tmp_path.iterdir()] == ["lag.png.other"]


def test_saved_png_is_read_if_its_inputs_are_the_same(tmp_path):
    stem = tmp_path / "lag"
    assert saved_png(stem, "one") is None
    stem.with_suffix(".png").write_bytes(b"no image")
    assert saved_png(stem, "one") is None
    save_figure(plain_figure(), plain_figure(), stem, CAPTION, inputs="one")
    assert saved_png(stem, "one") == render_png(plain_figure(), CAPTION, inputs="one")
    assert saved_png(stem, "other") is None


def test_failed_save_leaves_no_temporary_file(tmp_path):
    (tmp_path / "lag.png").mkdir()
    with pytest.raises(OSError, match=r"lag\.png"):
        save_figure(plain_figure(), plain_figure(), tmp_path / "lag", CAPTION)
    assert [path.name for path in tmp_path.iterdir()] == ["lag.png"]


def test_preview_has_fewer_colours_and_pixels_if_needed():
    png = render_png(draw("discovery_curves_by_start", tables(40)._asdict(), title=TITLE, clock="crawl"))
    assert preview_png(png, 10**7) == png
    reduced, small = preview_png(png, len(png) - 1), preview_png(png, 15_000)
    assert len(reduced) < len(png)
    assert 15_000 >= len(small) > 3_000
    widths = [Image.open(io.BytesIO(one)).width for one in (png, reduced, small)]
    assert widths[0] == widths[1] > widths[2]
    with pytest.raises(ValueError, match="allow more than 100"):
        preview_png(png, 100)


#: Calls `save_all` in a process that does not import the tests, which is faster.
_SCRIPT = f"""
import hashlib, pathlib, pickle, sys
from crawl_urn_dagster.figures import draw
from crawl_urn_dagster.figures.files import save_figure

{inspect.getsource(save_all)}
folder = pathlib.Path(sys.argv[1])
paths = save_all(*pickle.loads((folder / "arguments").read_bytes()), folder)
print(hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest())
"""


@pytest.mark.slow
def test_same_input_gives_the_same_bytes_in_any_process(all_paths, tmp_path):
    arguments = tables(4)._asdict(), CAPTION
    first, again = (
        b"".join(path.read_bytes() for path in paths) for paths in (all_paths, save_all(*arguments, tmp_path))
    )
    assert first == again
    (tmp_path / "arguments").write_bytes(pickle.dumps(arguments))
    elsewhere = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(tmp_path)],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert elsewhere.stdout.strip() == hashlib.sha256(first).hexdigest()
