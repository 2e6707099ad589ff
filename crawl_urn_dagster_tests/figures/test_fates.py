"""The fates of an element, as a reader finds them."""

import pytest
from matplotlib.colors import to_rgb

from crawl_urn_dagster.figures.fates import fates_of_an_element
from crawl_urn_dagster.figures.style import CONTAINMENT_COLOUR, DISCOVERY_COLOUR, called, tint
from crawl_urn_dagster_tests.figures.frames import TITLE, core_shell, faults, homogeneous, parameters, words


def bars(axes):
    """The parts of a bar from the bottom up, as (bottom, height)."""
    return [(bar.get_y(), bar.get_height()) for bar in axes.patches]


def labels(axes):
    return [text.get_text() for text in axes.texts]


def test_core_and_shell_stand_side_by_side():
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
        "survives and is sampled = 1.000",
        "survives and is missed = 0.000",
        "is replaced = 0.000",
    ]
    assert labels(shell) == [
        "survives and is sampled\nα c = 0.450",
        "survives and is missed\nα (1 − c) = 0.300",
        "is replaced\n1 − α = 0.250",
    ]
    assert f"{TITLE}: fates of elements per crawl" in words(figure)
    assert "core and shell, fit of containment, exact form; crawl-000 to crawl-023" in words(figure)
    assert "κ = 0.400    μ = 0.526    α = 0.750    c = 0.600" in words(figure)
    assert "α survival per crawl, c coverage of a crawl" in words(figure)
    assert {bar.get_linestyle() for bar in shell.patches} == {"-"}
    assert faults(figure) == []


def test_parts_are_told_apart_by_fill_and_hatch_in_the_colour_of_the_projection():
    for projection, colour in (("containment", CONTAINMENT_COLOUR), ("discovery_curve", DISCOVERY_COLOUR)):
        fits = parameters(homogeneous(projection, headline=True))
        (axes,) = fates_of_an_element(fits, title=TITLE).axes
        sampled, missed, replaced = axes.patches
        fills = [bar.get_facecolor()[:3] for bar in axes.patches]
        assert fills == [to_rgb(colour), tint(colour), to_rgb("white")]
        assert (sampled.get_hatch(), missed.get_hatch(), bool(replaced.get_hatch())) == ("", "", True)


def test_the_homogeneous_urn_has_one_bar_per_year():
    fits = parameters(homogeneous(clock="year", alpha=0.5, coverage=0.8, headline=True))
    figure = fates_of_an_element(fits, title=TITLE)
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "urn"
    assert [height for _, height in bars(axes)] == pytest.approx([0.4, 0.1, 0.5])
    assert "fates of elements per year" in words(figure)
    assert "homogeneous urn, log-linear fit of containment" in words(figure)
    assert "α survival per year" in words(figure)
    assert faults(figure) == []


def test_limits_are_shown_when_they_are_known():
    fit = core_shell(kappa_low=0.38, kappa_high=0.42, core_share_low=0.5, core_share_high=0.55, headline=True)
    assert "κ = 0.40 (0.38–0.42)    μ = 0.53 (0.50–0.55)    α = 0.750" in words(
        fates_of_an_element(parameters(fit), title=TITLE)
    )


def test_a_status_that_is_not_ok_is_stated_and_dashes_the_bars():
    fit = core_shell(alpha=1.0, status="at_bound", reason="alpha is at its bound 1", headline=True)
    figure = fates_of_an_element(parameters(fit), title=TITLE)
    assert "at_bound: alpha is at its bound 1" in words(figure)
    assert {bar.get_linestyle() for axes in figure.axes for bar in axes.patches} == {"--"}
    assert faults(figure) == []


def test_shares_of_the_urn_are_unknown_under_the_form_of_the_paper():
    figure = fates_of_an_element(parameters(core_shell(form="paper", headline=True)), title=TITLE)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["core", "shell"]
    assert "fit of containment, paper form (its κ is μ)" in words(figure)


def test_a_reason_calls_elements_what_they_are():
    fit = core_shell(reason="4,543 elements are in all crawls", headline=True)
    with called("host"):
        figure = fates_of_an_element(parameters(fit), title=TITLE)
    assert "ok: 4,543 hosts are in all crawls" in words(figure)


@pytest.mark.parametrize("status", ["model_violation", "too_few_points", "not_converged"])
def test_a_withheld_fit_has_neither_bars_nor_numbers(status):
    fit = core_shell(status=status, reason="elements return too late", headline=True)
    figure = fates_of_an_element(parameters(fit), title=TITLE)
    assert figure.axes == []
    assert f"withheld: {status}: elements return too late" in words(figure)
    assert "0.400" not in words(figure)
    assert faults(figure) == []


@pytest.mark.parametrize("values", [{}, {"alpha": None, "coverage": None}, {"alpha": 1.1}])
def test_a_fit_that_is_not_identified_or_no_urn_has_neither_bars_nor_numbers(values):
    fit = homogeneous(status="not_identified", reason="the line gives no urn", headline=True, **values)
    figure = fates_of_an_element(parameters(fit), title=TITLE)
    assert figure.axes == []
    assert "not_identified: the line gives no urn" in words(figure)
    assert " = " not in words(figure)


def test_a_part_that_is_nothing_of_the_urn_has_no_bar():
    fit = core_shell(kappa=1 - 1e-6, status="at_bound", reason="all elements belong to the core", headline=True)
    (axes,) = fates_of_an_element(parameters(fit), title=TITLE).axes
    assert axes.get_title(loc="left").startswith("core")


def test_without_a_headline_the_figure_says_so():
    for fits in (parameters(), parameters(homogeneous())):
        figure = fates_of_an_element(fits, title=TITLE)
        assert figure.axes == []
        assert "no fit speaks for the collection" in words(figure)


def test_headlines_of_strata_are_not_shown():
    fits = parameters(homogeneous(headline=True), homogeneous(stratum="top_1000", alpha=0.1, headline=True))
    (axes,) = fates_of_an_element(fits, title=TITLE).axes
    assert labels(axes)[2] == "is replaced\n1 − α = 0.250"
