"""Test the figure of the fates of elements."""

import re

import pytest
from matplotlib.colors import to_rgb

from crawl_urn_dagster.figures.fates import fates_of_an_element, fates_of_an_element_caption
from crawl_urn_dagster.figures.style import Colour, replace_element_noun, tint
from crawl_urn_dagster_tests.figures.frames import (
    TITLE,
    core_shell,
    faults,
    homogeneous,
    parameters,
    text_of,
    without_layout,
)


def bars(axes):
    """Return the parts of a bar from the bottom up, as (bottom, height)."""
    return [(bar.get_y(), bar.get_height()) for bar in axes.patches]


def labels(axes):
    return [text.get_text() for text in axes.texts]


def test_bar_has_100_elements_of_core_and_shell():
    fits = parameters(homogeneous(alpha=0.9), core_shell(headline=True))
    figure = fates_of_an_element(fits, title=TITLE)
    (axes,) = figure.axes
    assert axes.get_ylabel() == "eligible elements"
    assert bars(axes) == [
        (0, pytest.approx(40)),
        (pytest.approx(40), pytest.approx(27)),
        (pytest.approx(67), pytest.approx(18)),
        (pytest.approx(85), pytest.approx(15)),
    ]
    assert labels(axes) == [
        "40 core, captured by every crawl\nκ = 0.400",
        "27 captured again\n(1 − κ) α c = 0.270",
        "18 still eligible, but missed\n(1 − κ) α (1 − c) = 0.180",
        "15 replaced by new ones\n(1 − κ) (1 − α) = 0.150",
    ]
    assert f"{TITLE}: what becomes of 100 eligible elements, by the next crawl" in text_of(figure)
    assert "core–shell urn, fit of containment, exact form; crawl-000 to crawl-023" in text_of(figure)
    assert "κ = 0.400    μ = 0.526    α = 0.750    c = 0.600" in text_of(figure)
    assert "α shell survival per crawl, c shell coverage" in text_of(figure)
    assert {bar.get_linestyle() for bar in axes.patches} == {"-"}
    assert faults(figure) == []


def test_rounded_numbers_sum_to_100():
    fit = parameters(core_shell(kappa=0.333, alpha=0.667, coverage=0.5, headline=True))
    text, _ = fates_of_an_element_caption(fit)
    counts = [int(count) for count in re.findall(r"(\d+) (?:core|captured|still|replaced)", text)]
    assert counts == [34, 22, 22, 22]  # of 33.3, 22.2, 22.2 and 22.2
    # 0.05 of 100 elements are replaced
    rare, _ = fates_of_an_element_caption(parameters(homogeneous(alpha=0.9995, coverage=0.6, headline=True)))
    assert "60 captured again; 40 still eligible, but missed; fewer than 1 replaced by new ones." in rare


@without_layout()
def test_parts_have_different_fills_in_the_projection_colour():
    for projection, colour in (("containment", Colour.CONTAINMENT), ("discovery_curve", Colour.DISCOVERY)):
        fits = parameters(homogeneous(projection, headline=True))
        (axes,) = fates_of_an_element(fits, title=TITLE).axes
        captured, missed, replaced = axes.patches
        fills = [bar.get_facecolor()[:3] for bar in axes.patches]
        assert fills == [to_rgb(colour), tint(colour), to_rgb("white")]
        assert (captured.get_hatch(), missed.get_hatch(), bool(replaced.get_hatch())) == ("", "", True)


def test_homogeneous_urn_has_one_bar_per_year():
    fits = parameters(homogeneous(clock="year", alpha=0.5, coverage=0.8, headline=True))
    figure = fates_of_an_element(fits, title=TITLE)
    (axes,) = figure.axes
    assert [height for _, height in bars(axes)] == pytest.approx([40, 10, 50])
    assert "what becomes of 100 eligible elements, in a crawl one year later" in text_of(figure)
    assert "homogeneous urn, log-linear fit of containment" in text_of(figure)
    assert "α survival per year" in text_of(figure)
    assert faults(figure) == []


@without_layout()
def test_known_intervals_are_shown():
    fit = core_shell(kappa_low=0.38, kappa_high=0.42, core_share_low=0.5, core_share_high=0.55, headline=True)
    assert "κ = 0.40 (0.38–0.42)    μ = 0.53 (0.50–0.55)    α = 0.750" in text_of(
        fates_of_an_element(parameters(fit), title=TITLE)
    )


def test_status_other_than_ok_is_shown_and_dashes_the_bars():
    fit = core_shell(alpha=1.0, status="at_bound", reason="alpha is at its bound 1", headline=True)
    figure = fates_of_an_element(parameters(fit), title=TITLE)
    assert "at_bound: alpha is at its bound 1" in text_of(figure)
    assert {bar.get_linestyle() for axes in figure.axes for bar in axes.patches} == {"--"}
    assert faults(figure) == []


@without_layout()
def test_paper_form_has_100_elements_of_the_shell():
    figure = fates_of_an_element(parameters(core_shell(form="paper", headline=True)), title=TITLE)
    (axes,) = figure.axes
    assert axes.get_ylabel() == "shell elements"
    assert [height for _, height in bars(axes)] == pytest.approx([45, 30, 25])
    assert "fit of containment, paper form (its κ is μ)" in text_of(figure)


@without_layout()
def test_reason_uses_the_noun_of_the_collection():
    fit = core_shell(reason="4,543 elements are in all crawls", headline=True)
    with replace_element_noun("host"):
        figure = fates_of_an_element(parameters(fit), title=TITLE)
    assert "ok: 4,543 hosts are in all crawls" in text_of(figure)


@pytest.mark.parametrize("status", ["model_violation", "too_few_points", "not_converged"])
def test_unreported_fit_has_neither_bars_nor_numbers(status):
    fit = core_shell(status=status, reason="elements return too late", headline=True)
    figure = fates_of_an_element(parameters(fit), title=TITLE)
    assert figure.axes == []
    assert f"not reported: {status}: elements return too late" in text_of(figure)
    assert "0.400" not in text_of(figure)
    assert faults(figure) == []


@pytest.mark.parametrize("values", [{}, {"alpha": None, "coverage": None}, {"alpha": 1.1}])
@without_layout()
def test_unidentified_or_invalid_fit_has_no_bars_or_numbers(values):
    fit = homogeneous(status="not_identified", reason="the line is flat", headline=True, **values)
    figure = fates_of_an_element(parameters(fit), title=TITLE)
    assert figure.axes == []
    assert "not_identified: the line is flat" in text_of(figure)
    assert " = " not in text_of(figure)


@without_layout()
def test_empty_component_has_no_bar():
    fit = core_shell(kappa=1 - 1e-6, status="at_bound", reason="all elements belong to the core", headline=True)
    (axes,) = fates_of_an_element(parameters(fit), title=TITLE).axes
    assert labels(axes) == ["100 core, captured by every crawl\nκ = 0.999999"]


@without_layout()
def test_message_is_shown_without_a_headline():
    for fits in (parameters(), parameters(homogeneous())):
        figure = fates_of_an_element(fits, title=TITLE)
        assert figure.axes == []
        assert "no fit is selected for the collection" in text_of(figure)


@without_layout()
def test_headlines_of_strata_are_not_shown():
    fits = parameters(homogeneous(headline=True), homogeneous(stratum="top_1000", alpha=0.1, headline=True))
    (axes,) = fates_of_an_element(fits, title=TITLE).axes
    assert labels(axes)[2] == "25 replaced by new ones\n1 − α = 0.250"
