"""Test the figure of the fates of elements."""

import pytest
from matplotlib.colors import to_rgb

from crawl_urn_dagster.figures.fates import fates_of_an_element
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


def test_core_and_shell_have_bars_side_by_side():
    fits = parameters(homogeneous(alpha=0.9), core_shell(headline=True))
    figure = fates_of_an_element(fits, title=TITLE)
    core, shell = figure.axes
    assert core.get_position().x1 < shell.get_position().x0
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "core, 0.400 of the urn",
        "shell, 0.600 of the urn",
    ]
    assert bars(core) == [(0, 1), (1, 0), (1, 0)]
    assert bars(shell) == [
        (0, pytest.approx(0.45)),
        (pytest.approx(0.45), pytest.approx(0.3)),
        (pytest.approx(0.75), pytest.approx(0.25)),
    ]
    assert labels(core) == [
        "survives and is captured = 1.000",
        "survives and is missed = 0.000",
        "is replaced = 0.000",
    ]
    assert labels(shell) == [
        "survives and is captured\nα c = 0.450",
        "survives and is missed\nα (1 − c) = 0.300",
        "is replaced\n1 − α = 0.250",
    ]
    assert f"{TITLE}: fates of elements per crawl" in text_of(figure)
    assert "core–shell urn, fit of containment, exact form; crawl-000 to crawl-023" in text_of(figure)
    assert "κ = 0.400    μ = 0.526    α = 0.750    c = 0.600" in text_of(figure)
    assert "α shell survival per crawl, c shell coverage" in text_of(figure)
    assert {bar.get_linestyle() for bar in shell.patches} == {"-"}
    assert faults(figure) == []


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
    assert axes.get_title(loc="left") == "urn"
    assert [height for _, height in bars(axes)] == pytest.approx([0.4, 0.1, 0.5])
    assert "fates of elements per year" in text_of(figure)
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
def test_paper_form_has_no_shares_of_the_urn():
    figure = fates_of_an_element(parameters(core_shell(form="paper", headline=True)), title=TITLE)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["core", "shell"]
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
    assert axes.get_title(loc="left").startswith("core")


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
    assert labels(axes)[2] == "is replaced\n1 − α = 0.250"
