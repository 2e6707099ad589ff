"""Figures as files, and that drawing leaves nothing behind."""

import gc
import sys
import weakref
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from crawl_urn_dagster.figures import (
    containment_by_lag,
    core_shell_fits,
    discovery_curves_by_start,
    discovery_heat_map,
    fates_of_an_element,
    homogeneous_fits,
    preview_png,
    save_figure,
)
from crawl_urn_dagster.figures.style import CONTAINMENT_COLOUR, DISCOVERY_COLOUR, plain_text, style, tint
from crawl_urn_dagster_tests.figures.frames import (
    TITLE,
    core_shell,
    faults,
    homogeneous,
    parameters,
    tables,
    texts,
    words,
)

HOSTILE = "a $\\frac{1}{0}$ _b_ <script>&\x00\x1b\n</script> 100% {x}"


def all_figures(made, fits, title=TITLE):
    observed = {"containment": made.containment, "discovery_curve": made.discovery_curve}
    yield discovery_heat_map(made.crawls, made.discovery_curve, title=title)
    yield discovery_curves_by_start(made.crawls, made.discovery_curve, title=title)
    yield containment_by_lag(made.crawls, made.containment, title=title)
    yield fates_of_an_element(fits, title=title)
    for clock in ("crawl", "year"):
        yield homogeneous_fits(fits, made.crawls, **observed, title=title, clock=clock)
        yield core_shell_fits(fits, made.crawls, **observed, title=title, clock=clock)


def all_fits():
    """Fits of every kind, some with a long reason, on both clocks."""
    reason = "The discovery curve does not tell kappa: " + "it can be moved with little effect, " * 8
    return parameters(
        *(
            fit
            for clock, alpha in (("crawl", 0.75), ("year", 0.08))
            for fit in (
                core_shell(clock=clock, alpha=alpha, headline=clock == "crawl"),
                core_shell(clock=clock, alpha=alpha, form="paper", kappa=0.5263),
                core_shell("discovery_curve", clock=clock, alpha=alpha, status="not_identified", reason=reason),
                homogeneous(clock=clock, alpha=alpha),
                homogeneous("discovery_curve", clock=clock, status="not_converged", reason=reason),
            )
        ),
        homogeneous("discovery_tail", coverage=1.2, status="not_identified", reason=reason),
        core_shell("discovery_increments", kappa_low=0.31, kappa_high=0.49, alpha_low=0.7, alpha_high=0.8),
    )


@pytest.mark.parametrize("n_crawls", [2, 3, 51, 130])
def test_every_figure_is_legible_whatever_the_number_of_crawls(n_crawls):
    made = tables(n_crawls)
    assert [faults(figure) for figure in all_figures(made, all_fits())] == [[]] * 8


def test_text_from_data_is_shown_as_it_is():
    made = tables(4)
    crawls = made.crawls.assign(crawl=[f"{HOSTILE}{k}" for k in range(4)])
    names = dict(zip(made.crawls["crawl"], crawls["crawl"], strict=True))
    windows = made.discovery_curve.replace({"start_crawl": names, "end_crawl": names})
    fits = all_fits().assign(first_crawl=HOSTILE, last_crawl=HOSTILE, reason=HOSTILE)
    for figure in all_figures(made._replace(crawls=crawls, discovery_curve=windows), fits, title=HOSTILE):
        assert "a $\\frac{1}{0}$ _b_ <script>&\N{REPLACEMENT CHARACTER}" in words(figure)
        assert not any(text.get_parse_math() for text in texts(figure))
        assert faults(figure) == []


def test_long_text_from_data_is_cut():
    assert plain_text("x" * 1000) == "x" * 99 + "…"
    assert faults(containment_by_lag(*tables(3)[:2], title="wide" * 30)) == []


@pytest.mark.slow
def test_saving_writes_the_same_bytes_every_time(tmp_path):
    fits, made = all_fits(), tables(6)
    for number, figures in enumerate(zip(all_figures(made, fits), all_figures(made, fits), strict=True)):
        png, svg = save_figure(figures[0], tmp_path / "first" / f"figure.{number}")
        assert (png.name, svg.name) == (f"figure.{number}.png", f"figure.{number}.svg")
        first = png.read_bytes(), svg.read_bytes()
        for figure in figures:  # the same figure again, and one made anew
            assert [path.read_bytes() for path in save_figure(figure, png.with_suffix(""))] == list(first)
    assert sorted(path.suffix for path in (tmp_path / "first").iterdir()) == [".png"] * 8 + [".svg"] * 8


def test_saved_files_are_what_they_are_called(tmp_path):
    figure = fates_of_an_element(all_fits(), title=HOSTILE)
    png, svg = save_figure(figure, tmp_path / "fates")
    with Image.open(png) as image:
        assert image.format == "PNG"
        assert image.size == tuple(np.floor(figure.get_size_inches() * 150))
    root = ElementTree.fromstring(svg.read_bytes())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert b"<dc:date>" not in svg.read_bytes()


def test_saving_replaces_files_and_leaves_no_temporary_ones(tmp_path):
    (tmp_path / "lag.png").write_bytes(b"old")
    png, svg = save_figure(containment_by_lag(*tables(3)[:2], title=TITLE), tmp_path / "lag")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert sorted(tmp_path.iterdir()) == [png, svg]


def test_a_file_that_cannot_be_replaced_leaves_no_temporary_one(tmp_path):
    (tmp_path / "lag.png").mkdir()
    with pytest.raises(OSError, match=r"lag\.png"):
        save_figure(containment_by_lag(*tables(3)[:2], title=TITLE), tmp_path / "lag")
    assert [path.name for path in tmp_path.iterdir()] == ["lag.png"]


def test_a_preview_has_less_resolution_when_it_must():
    made = tables(40)
    figure = discovery_curves_by_start(made.crawls, made.discovery_curve, title=TITLE)
    full, small = preview_png(figure, 10**7), preview_png(figure, 30_000)
    assert len(full) > 30_000 >= len(small) > 3_000
    with pytest.raises(ValueError, match="allow more than 100"):
        preview_png(figure, 100)


def test_drawing_and_saving_leave_settings_and_pyplot_alone(tmp_path):
    with mpl.rc_context({"font.size": 23, "text.parse_math": True}):
        before = dict(mpl.rcParams)
        figure = fates_of_an_element(all_fits(), title=TITLE)
        save_figure(figure, tmp_path / "fates")
        assert dict(mpl.rcParams) == before
        assert {text.get_fontsize() for text in figure.findobj(mpl.text.Text)} <= {8, 8.5, 9.5}
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_figures_are_collected_as_garbage():
    made = tables(3)
    figure = containment_by_lag(made.crawls, made.containment, title=TITLE)
    assert isinstance(figure, Figure)
    preview_png(figure)
    alive = weakref.ref(figure)
    del figure
    gc.collect()
    assert alive() is None


def test_the_projections_have_the_colours_of_the_paper():
    assert (CONTAINMENT_COLOUR, DISCOVERY_COLOUR) == ("#733743", "#2E5F8A")
    assert tint("#000000") == (0.5, 0.5, 0.5)
    with style():
        assert mpl.rcParams["svg.hashsalt"] is not None
