"""Test the figures of the fits: points, curves and legend."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates import fits as registry
from crawl_urn_dagster.figures.fitted import (
    core_shell_fits,
    core_shell_fits_caption,
    homogeneous_fits,
    homogeneous_fits_caption,
)
from crawl_urn_dagster.figures.style import Colour, tint
from crawl_urn_dagster.urn import CoreShellUrn, Urn
from crawl_urn_dagster_tests.figures.frames import (
    ALPHA,
    COVERAGE,
    KAPPA,
    TITLE,
    core_shell,
    curves,
    faults,
    homogeneous,
    legend_entries,
    legend_entry,
    observed,
    parameters,
    tables,
    text_of,
    without_layout,
)

CONTAINMENT, DISCOVERY, JOINT = (Colour.CONTAINMENT, "o"), (Colour.DISCOVERY, "s"), (Colour.JOINT, "v")
TAIL, INCREMENTS, TRUTH = (Colour.DISCOVERY, "^"), (Colour.DISCOVERY, "D"), ("#000000", "x")
OUTSIDE = (Colour.MISSING, "P")


@pytest.fixture(scope="module")
def made():
    return tables(24)


def draw(figure_of, fits, made, *, clock="crawl", has_layout=False, **options):
    tables_of_observables = {"containment": made.containment, "discovery_curve": made.discovery_curve, **options}
    with nullcontext() if has_layout else without_layout():
        return figure_of(fits, made.crawls, title=TITLE, clock=clock, **tables_of_observables)


def main_axes(figure):
    """Return the axes of the observables, without those of residuals below them."""
    return figure.axes[: len(figure.axes) - len(strips(figure))]


def strips(figure):
    return [axes for axes in figure.axes if axes.get_ylabel() == "observed\n− fitted"]


def caption_of(figure_of, fits, made, *, clock="crawl", **options):
    observables = {"containment": made.containment, "discovery_curve": made.discovery_curve, **options}
    captions = {core_shell_fits: core_shell_fits_caption, homogeneous_fits: homogeneous_fits_caption}
    return captions[figure_of](fits, made.crawls, clock=clock, **observables)[0]


def test_points_are_means_on_clock_crawl(made):
    figure = draw(homogeneous_fits, parameters(), made)
    by_lag, by_length = (observed(axes) for axes in main_axes(figure))
    means = [made.containment["containment"][made.containment["lag_crawls"] == lag].mean() for lag in range(1, 24)]
    np.testing.assert_array_equal(by_lag.get_xdata(), range(1, 24))
    np.testing.assert_allclose(by_lag.get_ydata(), means, rtol=1e-12)
    ratio, length = made.discovery_curve["ratio"], made.discovery_curve["window_crawls"]
    np.testing.assert_array_equal(by_length.get_xdata(), range(1, 24))
    np.testing.assert_allclose(by_length.get_ydata(), [ratio[length == t + 1].mean() for t in range(1, 24)], rtol=1e-12)
    assert (by_lag.get_color(), by_length.get_color()) == (tint(Colour.CONTAINMENT), tint(Colour.DISCOVERY))
    assert (by_lag.get_marker(), by_length.get_marker()) == ("o", "s")
    assert [axes.get_xlabel() for axes in main_axes(figure)] == ["lag (crawls)", "crawls after the start crawl, T"]
    assert list(legend_entries(figure)) == [
        "mean over the pairs of a lag (23 lags)",
        "mean over the start crawls (23 window lengths)",
        "no fit",
    ]


def test_points_are_pairs_and_windows_on_clock_year(made):
    figure = draw(core_shell_fits, parameters(), made, clock="year")
    by_lag, by_length = (observed(axes) for axes in main_axes(figure))
    windows = made.discovery_curve[made.discovery_curve["window_crawls"] > 1]
    np.testing.assert_array_equal(by_lag.get_xdata(), made.containment["lag_years"])
    np.testing.assert_array_equal(by_lag.get_ydata(), made.containment["containment"])
    np.testing.assert_array_equal(by_length.get_xdata(), windows["elapsed_years"])
    np.testing.assert_array_equal(by_length.get_ydata(), windows["ratio"])
    assert [axes.get_xlabel() for axes in main_axes(figure)] == ["lag (years)", "years after the start crawl"]
    assert list(legend_entries(figure))[:2] == ["pair of crawls (276 pairs)", "window of crawls (276 windows)"]
    assert "discovery curves at the mean gap, 0.115 years" in text_of(figure)


def test_both_panels_have_the_curves_of_both_projections(made):
    fits = parameters(
        homogeneous(alpha=0.9, coverage=0.7),
        homogeneous("discovery_curve", alpha=0.8, coverage=0.5),
        homogeneous("discovery_tail", alpha=0.85, coverage=0.6),
    )
    figure = draw(homogeneous_fits, fits, made)
    by_lag, by_length = (curves(axes) for axes in main_axes(figure))
    assert set(by_lag) == {CONTAINMENT, DISCOVERY}
    assert set(by_length) == {CONTAINMENT, DISCOVERY, TAIL}
    for look, urn in ((CONTAINMENT, Urn(0.9, 0.7)), (DISCOVERY, Urn(0.8, 0.5))):
        lag, length = by_lag[look], by_length[look]
        assert (lag.get_xdata()[0], lag.get_xdata()[-1]) == (1, 23)
        np.testing.assert_allclose(lag.get_ydata(), urn.containment(lag.get_xdata()), rtol=1e-12)
        np.testing.assert_array_equal(length.get_xdata(), range(24))
        np.testing.assert_allclose(length.get_ydata(), urn.discovery_curve(np.arange(24)), rtol=1e-12)
    end = Urn(0.85, 0.6).asymptote()
    np.testing.assert_allclose(by_length[TAIL].get_ydata(), end.nu_inf * np.arange(24) + end.intercept, rtol=1e-12)
    assert legend_entry(figure, "log-linear fit")[0] == "log-linear fit of containment"
    assert legend_entry(figure, "fit of the disc")[0] == "fit of the discovery curve"
    assert legend_entry(figure, "straight")[0] == "straight line through the discovery curve's\ntail, inverted"
    text = caption_of(homogeneous_fits, fits, made)
    assert "log-linear fit of containment: α = 0.900, c = 0.700;" in text
    assert "; fit of the discovery curve: α = 0.800, c = 0.500;" in text
    assert "; straight line through the discovery curve's tail, inverted: α = 0.850, c = 0.600." in text
    for handle in legend_entries(figure).values():
        assert handle.get_linestyle() in ("None", "-")
    assert "α survival per crawl, c coverage" in text


def test_exact_form_is_drawn_and_paper_kappa_is_in_the_caption(made):
    mu = float(CoreShellUrn(KAPPA, ALPHA, COVERAGE).core_share)
    fits = parameters(
        core_shell(),
        core_shell(form="paper", kappa=mu),
        core_shell("discovery_curve", kappa=0.35),
        core_shell("discovery_increments", kappa=0.3),
    )
    figure = draw(core_shell_fits, fits, made)
    by_lag, by_length = (curves(axes) for axes in main_axes(figure))
    assert set(by_lag) == {CONTAINMENT, DISCOVERY}
    assert set(by_length) == {CONTAINMENT, DISCOVERY, INCREMENTS}
    exact = CoreShellUrn(KAPPA, ALPHA, COVERAGE)
    line = by_lag[CONTAINMENT]
    np.testing.assert_allclose(line.get_ydata(), exact.containment(line.get_xdata()), rtol=1e-12)
    np.testing.assert_allclose(
        by_length[INCREMENTS].get_ydata(),
        CoreShellUrn(0.3, ALPHA, COVERAGE).discovery_curve(np.arange(24)),
        rtol=1e-12,
    )
    assert legend_entry(figure, "fit of containment")[0] == "fit of containment"
    assert "consistency\ncheck only" in legend_entry(figure, "fit of the discovery inc")[0]
    text = caption_of(core_shell_fits, fits, made)
    assert "fit of containment, exact form: κ = 0.400, μ = 0.526, α = 0.750, c = 0.600;" in text
    assert "; fit of containment, paper form (its κ is μ): the same curve, κ = 0.526;" in text
    assert "κ core fraction of the urn, μ core share of a crawl, α shell survival per crawl" in text


def test_survival_is_per_year_on_clock_year(made):
    fits = parameters(core_shell(clock="year", alpha=0.08))
    figure = draw(core_shell_fits, fits, made, clock="year")
    by_lag, by_length = (curves(axes)[CONTAINMENT] for axes in main_axes(figure))
    urn = CoreShellUrn(KAPPA, 0.08, COVERAGE)
    np.testing.assert_allclose(by_lag.get_ydata(), urn.containment(by_lag.get_xdata()), rtol=1e-12)
    gap = 42 / 365.25
    np.testing.assert_allclose(by_length.get_xdata()[:24], gap * np.arange(24), rtol=1e-12)
    per_gap = CoreShellUrn(KAPPA, 0.08**gap, COVERAGE)
    np.testing.assert_allclose(by_length.get_ydata()[:24], per_gap.discovery_curve(np.arange(24)), rtol=1e-12)
    assert "α shell survival per year" in caption_of(core_shell_fits, fits, made, clock="year")


def test_fit_that_is_not_ok_is_dashed_with_its_status(made):
    fits = parameters(
        core_shell(alpha=1.0, status="at_bound", reason="alpha is at its bound 1: nothing leaves."),
        core_shell(form="paper", alpha=1.0, status="at_bound", reason="alpha is at its bound 1"),
        core_shell("discovery_curve"),
    )
    figure = draw(core_shell_fits, fits, made)
    for axes in main_axes(figure):
        assert curves(axes)[CONTAINMENT].get_linestyle() == "--"
        assert curves(axes)[DISCOVERY].get_linestyle() == "-"
    label, handle = legend_entry(figure, "fit of containment")
    assert label == "fit of containment (at_bound)"
    assert handle.get_linestyle() == "--"
    text = caption_of(core_shell_fits, fits, made)
    assert "c = 0.600 (status at_bound): alpha is at its bound 1: nothing leaves;" in text
    assert "paper form (its κ is μ): the same curve, κ = 0.400 (status at_bound);" in text
    assert legend_entry(figure, "fit of the discovery curve")[1].get_linestyle() == "-"


def test_refuted_fit_is_drawn_dashed_and_labelled(made):
    fits = parameters(core_shell(status="refuted", reason="Tests of the collection refute this model."))
    figure = draw(core_shell_fits, fits, made)
    label, handle = legend_entry(figure, "fit of containment")
    assert label == "fit of containment (refuted)"
    text = caption_of(core_shell_fits, fits, made)
    assert "κ = 0.400" in text
    assert "(status refuted): Tests of the collection refute this model." in text
    assert handle.get_linestyle() == "--"


@pytest.mark.parametrize("status", ["model_violation", "too_few_points", "not_converged"])
def test_unreported_fit_has_no_curve_and_no_numbers(made, status):
    reason = "elements return more often after 2 crawls than after 1"
    fits = parameters(
        homogeneous(alpha=0.9123, status=status, reason=reason),
        homogeneous("discovery_curve", alpha=0.9123, status=status, reason=reason),
    )
    figure = draw(homogeneous_fits, fits, made)
    assert [curves(axes) for axes in main_axes(figure)] == [{}, {}]
    label, handle = legend_entry(figure, "not reported")
    assert label == (f"not reported: log-linear fit of containment; fit of the discovery curve\n{status}: {reason}")
    assert handle.get_linestyle() == "None"
    assert "0.912" not in text_of(figure)


def test_fit_with_invalid_parameters_is_only_named(made):
    fits = parameters(
        homogeneous(alpha=None, coverage=None, status="not_identified", reason="the line is flat"),
        homogeneous("discovery_tail", coverage=1.832, status="not_identified", reason="outside 0 and 1"),
    )
    figure = draw(homogeneous_fits, fits, made)
    assert [curves(axes) for axes in main_axes(figure)] == [{}, {}]
    label, handle = legend_entry(figure, "straight")
    assert label.endswith("inverted (not_identified)")
    assert handle.get_linestyle() == "None"
    assert legend_entry(figure, "log-linear")[0].endswith(" (not_identified)")
    assert caption_of(homogeneous_fits, fits, made).count(": not reported (not_identified)") == 2
    unknown = core_shell(form="paper", status="not_identified")
    for row in unknown:
        row.update(kappa=None, core_share=None)
    text = caption_of(core_shell_fits, parameters(unknown), made)
    assert "paper form (its κ is μ): not reported (not_identified)." in text


def test_unidentified_fit_has_a_curve_only_for_its_observable(made):
    fits = parameters(
        core_shell(status="not_identified"),
        core_shell("discovery_curve", status="not_identified"),
        core_shell("joint", status="not_identified"),
    )
    containment, discovery = (curves(axes) for axes in main_axes(draw(core_shell_fits, fits, made)))
    assert set(containment) == {CONTAINMENT, JOINT}
    assert set(discovery) == {DISCOVERY, JOINT}


def test_registered_fit_is_drawn_with_its_label(made, monkeypatch):
    definition = registry.PrimaryFit(
        projection="outside",
        model="homogeneous",
        label="a fit from outside",
        fit=None,
        needs=frozenset({"containment"}),
        parameters=("alpha", "coverage"),
    )
    monkeypatch.setattr(registry, "REGISTRY", [*registry.REGISTRY, definition])
    fits = parameters(homogeneous("outside", alpha=0.9))
    figure = draw(homogeneous_fits, fits, made)
    assert [list(curves(axes)) for axes in main_axes(figure)] == [[OUTSIDE], [OUTSIDE]]
    assert legend_entry(figure, "a fit")[0] == "a fit from outside"
    assert "a fit from outside: α = 0.900, c = 0.600." in caption_of(homogeneous_fits, fits, made)
    figure = draw(homogeneous_fits, parameters(homogeneous("outside", status="not_identified")), made)
    assert [list(curves(axes)) for axes in main_axes(figure)] == [[OUTSIDE], []]


def test_known_intervals_are_in_the_caption(made):
    fit = core_shell(kappa_low=0.38, kappa_high=0.42, alpha_low=0.7)
    text = caption_of(core_shell_fits, parameters(fit), made)
    assert "fit of containment, exact form: κ = 0.40 (0.38–0.42), μ = 0.526, α = 0.750, c = 0.600." in text


def test_truth_of_a_simulation_has_a_curve(made):
    truth = pd.DataFrame(
        {
            "clock": ["crawl", "year"],
            "kappa": 0.4,
            "core_share": 0.5263,
            "alpha": [0.75, 0.08],
            "coverage": 0.6,
        }
    )
    for figure_of, fits in ((homogeneous_fits, homogeneous()), (core_shell_fits, core_shell())):
        figure = draw(figure_of, parameters(fits), made, truth=truth, has_layout=True)
        by_lag, by_length = (curves(axes)[TRUTH] for axes in main_axes(figure))
        urn = CoreShellUrn(0.4, 0.75, 0.6)
        np.testing.assert_allclose(by_lag.get_ydata(), urn.containment(by_lag.get_xdata()), rtol=1e-12)
        np.testing.assert_allclose(by_length.get_ydata(), urn.discovery_curve(np.arange(24)), rtol=1e-12)
        assert by_lag.get_linewidth() < curves(figure.axes[0])[CONTAINMENT].get_linewidth()
        label, handle = legend_entry(figure, "truth")
        assert label == "truth of the simulation"
        assert (handle.get_color(), handle.get_marker()) == TRUTH
        text = caption_of(figure_of, parameters(fits), made, truth=truth)
        assert "truth of the simulation: κ = 0.400, μ = 0.526, α = 0.750, c = 0.600." in text
        assert "κ core fraction of the urn" in text
        assert faults(figure) == []


def test_fits_of_other_clock_model_or_stratum_are_not_drawn(made):
    fits = parameters(
        homogeneous(clock="year", alpha=0.111),
        core_shell(alpha=0.222),
        homogeneous(stratum="top_1000", alpha=0.333),
        homogeneous(alpha=0.444),
    )
    figure = draw(homogeneous_fits, fits, made)
    assert [len(curves(axes)) for axes in main_axes(figure)] == [1, 1]
    text = caption_of(homogeneous_fits, fits, made)
    assert "0.444" in text
    assert not any(value in text for value in ("0.111", "0.222", "0.333"))


def test_missing_observable_has_no_panel(made):
    fits = parameters(core_shell())
    for missing, label in (
        ("discovery_curve", "lag (crawls)"),
        ("containment", "crawls after the start crawl, T"),
    ):
        figure = draw(core_shell_fits, fits, made, **{missing: None}, has_layout=True)
        assert [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()] == [label]
        assert len(main_axes(figure)) == 1
        assert set(curves(figure.axes[0])) == {CONTAINMENT}
        assert faults(figure) == []
    pairs_only = draw(core_shell_fits, fits, made, clock="year", discovery_curve=None)
    assert "mean gap" not in text_of(pairs_only)


def test_missing_observables_or_invalid_clock_raise(made):
    with pytest.raises(ValueError, match="both containment and discovery_curve are missing"):
        draw(core_shell_fits, parameters(), made, containment=None, discovery_curve=None)
    with pytest.raises(ValueError, match="clock: found 'month', expected 'crawl' or 'year'"):
        draw(core_shell_fits, parameters(), made, clock="month")


def test_unknown_values_are_skipped_and_negative_ones_drawn(made):
    containment = made.containment.copy()
    containment.loc[0, "containment"] = np.nan
    containment.loc[1, "containment"] = -0.03
    ratio = made.discovery_curve["ratio"].where(made.discovery_curve["start_crawl"] != "crawl-000")
    figure = draw(
        homogeneous_fits,
        parameters(homogeneous(clock="year")),
        made._replace(containment=containment, discovery_curve=made.discovery_curve.assign(ratio=ratio)),
        clock="year",
    )
    pairs, windows = (observed(axes) for axes in main_axes(figure))
    assert len(pairs.get_ydata()) == 275
    assert min(pairs.get_ydata()) == -0.03
    assert len(windows.get_ydata()) == 276 - 23
    for axes in main_axes(figure):
        assert all(np.isfinite(line.get_ydata()).all() for line in axes.lines)


@pytest.mark.parametrize("clock", ["crawl", "year"])
def test_one_crawl_has_no_points_and_no_curves(clock):
    one = tables(1)
    figure = draw(core_shell_fits, parameters(core_shell(clock=clock)), one, clock=clock, has_layout=True)
    assert [observed(axes).get_xdata().size for axes in main_axes(figure)] == [0, 0]
    assert [curves(axes) for axes in main_axes(figure)] == [{}, {}]
    assert faults(figure) == []


def test_simultaneous_crawls_have_no_discovery_curve():
    together = tables(3, gap_days=0)
    figure = draw(homogeneous_fits, parameters(homogeneous(clock="year")), together, clock="year")
    assert [len(observed(axes).get_xdata()) for axes in main_axes(figure)] == [3, 3]
    assert curves(figure.axes[1]) == {}


def test_residuals_are_of_the_fits_to_an_observable(made):
    fits = parameters(core_shell(), core_shell("discovery_curve", kappa=0.3), core_shell("joint", kappa=0.35))
    figure = draw(core_shell_fits, fits, made)
    below_lag, below_length = (curves(axes) for axes in strips(figure))
    assert set(below_lag) - set(curves(figure.axes[0])) == set(below_length) - set(curves(figure.axes[1]))
    assert {CONTAINMENT, JOINT} < set(below_lag)
    assert DISCOVERY not in below_lag
    assert {DISCOVERY, JOINT} < set(below_length)
    by_lag, by_length = (observed(axes) for axes in main_axes(figure))
    urn = CoreShellUrn(0.35, ALPHA, COVERAGE)
    for below, points, expected in (
        (below_lag, by_lag, urn.containment(by_lag.get_xdata())),
        (below_length, by_length, urn.discovery_curve(by_length.get_xdata())),
    ):
        np.testing.assert_allclose(below[JOINT].get_ydata(), points.get_ydata() - expected, rtol=0, atol=1e-12)


def test_residuals_per_year_use_the_gaps_of_each_window():
    made = tables(6)
    years = made.crawls["years"] * np.linspace(1, 2, 6)  # uneven gaps
    index = dict(zip(made.crawls["crawl"], range(6), strict=True))
    windows = made.discovery_curve[made.discovery_curve["window_crawls"] > 1]
    start, end = (windows[column].map(index).to_numpy() for column in ("start_crawl", "end_crawl"))
    urn = CoreShellUrn(KAPPA, 0.08, COVERAGE)
    ratio = [urn.discovery_curve_at(years[s : e + 1] - years[s])[-1] for s, e in zip(start, end, strict=True)]
    elapsed = years.to_numpy()[end] - years.to_numpy()[start]
    uneven = made._replace(
        crawls=made.crawls.assign(years=years), discovery_curve=windows.assign(ratio=ratio, elapsed_years=elapsed)
    )
    fits = parameters(core_shell("joint", clock="year", alpha=0.08, headline=True), core_shell(clock="year"))
    figure = draw(core_shell_fits, fits, uneven, clock="year")
    _, below_length = strips(figure)
    (residuals,) = (line for line in below_length.lines if line.get_linestyle() == "None")
    np.testing.assert_allclose(residuals.get_ydata(), 0, rtol=0, atol=1e-12)
    assert "Lower panels: observed minus fitted values of the joint fit" in caption_of(
        core_shell_fits, fits, uneven, clock="year"
    )
