"""Test the style of figures, and that drawing has no side effects."""

import gc
import sys
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from crawl_urn_dagster.figures.drift import control_charts
from crawl_urn_dagster.figures.fates import fates_of_an_element
from crawl_urn_dagster.figures.files import render_png
from crawl_urn_dagster.figures.fitted import core_shell_fits, homogeneous_fits
from crawl_urn_dagster.figures.observed import containment_by_lag, discovery_curves_by_start, discovery_heat_map
from crawl_urn_dagster.figures.style import Colour, plain_text, tint
from crawl_urn_dagster_tests.figures.frames import (
    TITLE,
    core_shell,
    faults,
    homogeneous,
    parameters,
    tables,
    text_of,
    texts,
)

HOSTILE = "a $\\frac{1}{0}$ _b_ <script>&\x00\x1b\n</script> 100% {x}"


def figures_of(made, fits, title=TITLE):
    observed = {"containment": made.containment, "discovery_curve": made.discovery_curve}
    yield discovery_heat_map(made.crawls, made.discovery_curve, title=title)
    yield discovery_curves_by_start(made.crawls, made.discovery_curve, title=title)
    yield containment_by_lag(made.crawls, made.containment, title=title)
    for clock in ("crawl", "year"):
        yield homogeneous_fits(fits, made.crawls, **observed, title=title, clock=clock)
        yield core_shell_fits(fits, made.crawls, **observed, title=title, clock=clock)


def all_fits():
    """Return fits of every kind, some with a long reason, on both clocks."""
    reason = "The discovery curve does not identify kappa: " + "it can be moved with little effect, " * 8
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
def test_figures_are_legible_for_any_number_of_crawls(n_crawls):
    assert [faults(figure) for figure in figures_of(tables(n_crawls), all_fits())] == [[]] * 7


def test_text_from_data_is_shown_unchanged():
    made = tables(4)
    crawls = made.crawls.assign(crawl=[f"{HOSTILE}{k}" for k in range(4)])
    names = dict(zip(made.crawls["crawl"], crawls["crawl"], strict=True))
    windows = made.discovery_curve.replace({"start_crawl": names, "end_crawl": names})
    fits = all_fits().assign(first_crawl=HOSTILE, last_crawl=HOSTILE, reason=HOSTILE)
    figures = figures_of(made._replace(crawls=crawls, discovery_curve=windows), fits, title=HOSTILE)
    for figure in (*figures, fates_of_an_element(fits, title=HOSTILE)):
        assert "a $\\frac{1}{0}$ _b_ <script>&\N{REPLACEMENT CHARACTER}" in text_of(figure)
        assert not any(text.get_parse_math() for text in texts(figure))
        assert faults(figure) == []


def test_long_text_from_data_is_cut():
    assert plain_text("x" * 1000) == "x" * 99 + "…"
    assert faults(containment_by_lag(*tables(3)[:2], title="wide" * 30)) == []


def test_drawing_and_saving_keep_settings_and_pyplot_state():
    with mpl.rc_context({"font.size": 23, "text.parse_math": True}):
        before = dict(mpl.rcParams)
        figure = fates_of_an_element(all_fits(), title=TITLE)
        render_png(figure)
        assert dict(mpl.rcParams) == before
        assert {text.get_fontsize() for text in figure.findobj(mpl.text.Text)} <= {8, 8.5, 9.5}
    assert faults(figure) == []
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


@pytest.mark.slow
def test_rendering_does_not_leak_figures():
    empty = pd.DataFrame({"reason": ["there are too few crawls"]})

    def alive_after(renders):
        for _ in range(renders):
            render_png(control_charts(empty.iloc[:0], empty, empty, title=TITLE))
        gc.collect()
        things = gc.get_objects()
        return sum(isinstance(thing, Figure) for thing in things), len(things)

    alive_after(5)  # fills the font caches
    figures, objects = alive_after(5)
    figures_later, objects_later = alive_after(20)
    assert figures_later == figures
    # A leaked figure has thousands of objects. The bounded text caches of matplotlib keep 6 per figure, and 28 in the
    # version for Python 3.10.
    assert objects_later - objects < 20 * 50


def test_projections_have_the_colours_of_the_paper():
    assert (Colour.CONTAINMENT, Colour.DISCOVERY) == ("#733743", "#2E5F8A")
    assert tint("#000000") == (0.5, 0.5, 0.5)


#: Vision without cones for red, green or blue: Machado, Oliveira and Fernandes (2009), severity 1, linear RGB.
_BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    srgb = np.array(to_rgb(colour))
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return CIELAB of linear RGB, white point D65."""
    ratio = _TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("blindness", _BLINDNESS)
def test_colours_of_a_figure_are_distinguishable(blindness):
    colours = (Colour.JOINT, Colour.CONTAINMENT, Colour.DISCOVERY, Colour.MISSING, Colour.TRUTH)
    seen = [lab(np.array(_BLINDNESS[blindness]) @ linear(colour)) for colour in colours]
    # A difference of 2.3 is just noticeable side by side; ten times as much is noticeable in distant thin lines.
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 23


def test_lines_contrast_with_the_page():
    for colour in (Colour.JOINT, Colour.CONTAINMENT, Colour.DISCOVERY, Colour.MISSING):
        assert 1.05 / (_TO_XYZ[1] @ linear(colour) + 0.05) >= 3  # WCAG 2.1, graphical objects
