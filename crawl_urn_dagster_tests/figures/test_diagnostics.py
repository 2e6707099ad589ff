"""Test the figures of the reliability of fits, also for empty tables."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.figures.diagnostics import (
    identifiability,
    identifiability_caption,
    residuals_by_lag,
    residuals_by_lag_caption,
    survival_and_coverage_by_crawl,
)
from crawl_urn_dagster.figures.style import Colour, tint
from crawl_urn_dagster.observables.schema import DIAGNOSIS, KAPPA_PROFILE, PER_CRAWL
from crawl_urn_dagster_tests.figures.frames import (
    TITLE,
    drawn,
    estimated,
    faults,
    legend_entries,
    text_of,
    without_layout,
)


@pytest.fixture(scope="module")
def frames():
    return estimated()


def test_profile_has_each_observable_and_rings_the_best_fit(frames):
    figure = drawn("identifiability")
    assert faults(figure) == []
    left, *others = figure.axes
    assert {"containment alone", "discovery curve alone", "both, joint fit"} == set(legend_entries(figure))
    best = frames["kappa_profile"].sort_values("standardised_rms").groupby("projection")["kappa"].first()
    ringed = {float(line.get_xdata()[0]) for line in left.lines if line.get_markersize() == 8}
    assert ringed == set(best)
    assert [axes.get_ylabel().split(",")[0] for axes in others] == ["core share of a crawl", "shell coverage"]


def test_profile_is_thick_within_tolerance_of_the_best_fit(frames):
    profile = frames["kappa_profile"]
    _, _, coverage = drawn("identifiability").axes
    for projection, colour in (("containment", Colour.CONTAINMENT), ("discovery_curve", Colour.DISCOVERY)):
        rows = profile[profile["projection"] == projection].sort_values("kappa")
        near = rows[rows["residual_rms"] <= rows["residual_rms"].min() + 0.01]
        (thick,) = (line for line in coverage.lines if line.get_linewidth() == 4 and line.get_color() == tint(colour))
        np.testing.assert_array_equal(thick.get_xdata(), near["kappa"])
        np.testing.assert_array_equal(thick.get_ydata(), near["coverage"])


@without_layout()
def test_profile_is_thin_at_kappa_outside_the_tolerance():
    kappa = np.arange(0, 0.6, 0.1)
    profile = pd.DataFrame(
        {
            "projection": "containment",
            "kappa": kappa,
            "residual_rms": [0.001, 0.002, 0.5, 0.5, 0.003, 0.5],
            "standardised_rms": [1.0, 2.0, 5.0, 5.0, 3.0, 5.0],
            "core_share": kappa,
            "coverage": 0.5,
        }
    )
    coverage = identifiability(profile, title=TITLE).axes[2]
    thick = [line for line in coverage.lines if line.get_linewidth() == 4]
    assert [line.get_xdata().tolist() for line in thick] == [kappa[:2].tolist(), kappa[4:5].tolist()]
    assert thick[1].get_marker() == "o"  # a line of one point would be invisible
    assert "κ 0.000 to 0.100 and 0.400, best 0.000" in identifiability_caption(profile)[0]


@without_layout()
def test_profile_has_gaps_between_local_optima():
    kappa = np.arange(6) / 10
    profile = pd.DataFrame(
        {
            "projection": "joint",
            "kappa": kappa,
            "residual_rms": 0.001,
            "standardised_rms": 1.0,
            "core_share": kappa,
            "coverage": [0.5, 0.4, 0.3, 0.8, 0.7, 0.6],
        }
    )
    for axes in identifiability(profile, title=TITLE).axes:
        branches = [line.get_xdata() for line in axes.lines if line.get_color() == Colour.JOINT]
        joined = [tuple(x) for x in branches if len(x) > 1]
        assert joined == [tuple(kappa[:3]), tuple(kappa[3:])]


def test_residuals_are_ringed_where_the_fit_fails(frames):
    diagnosis = frames["diagnosis"]
    figure = drawn("residuals_by_lag")
    assert faults(figure) == []
    assert "all explained" in " ".join(text_of(figure).split())
    lag_three = diagnosis.index[diagnosis["subject"] == "overlap, lag 3"]
    failing = diagnosis.copy()
    failing.loc[lag_three, "verdict"] = "fails"
    figure = residuals_by_lag(failing, title=TITLE)
    rings = [line for line in figure.axes[0].lines if line.get_markersize() == 9 and len(line.get_xdata())]
    assert [round(float(line.get_xdata()[0])) for line in rings] == [3]
    assert "1 point" in " ".join(text_of(figure).split())
    assert "Ringed" in residuals_by_lag_caption(failing)[0]
    assert "Ringed" not in residuals_by_lag_caption(diagnosis)[0]


@without_layout()
def test_residual_bar_beyond_the_axes_has_a_triangle(frames):
    rows = frames["diagnosis"][frames["diagnosis"]["test"] == "lack_of_fit"].copy()
    widest = rows.index[rows["subject"] == "overlap, lag 3"]
    rows.loc[widest, ["difference_low", "difference_high"]] = [-1e3, 1e3]
    axes = residuals_by_lag(rows, title=TITLE).axes[0]
    _, top = axes.get_ylim()
    marks = [line for line in axes.lines if line.get_marker() in ("^", "v") and not line.get_clip_on()]
    at_three = {float(line.get_ydata()[k]) for line in marks for k, x in enumerate(line.get_xdata()) if round(x) == 3}
    assert at_three == {top, -top}
    assert "Triangles: " in residuals_by_lag_caption(rows)[0]


def test_every_crawl_has_survival_and_coverage(frames):
    figure = drawn("survival_and_coverage_by_crawl")
    assert faults(figure) == []
    rows = frames["per_crawl"].query("estimator == 'cormack_jolly_seber' and se == se")
    shown = sum(len(container[0].get_xdata()) for axes in figure.axes for container in axes.containers)
    assert shown == len(rows)


@without_layout()
def test_figures_of_empty_tables_show_a_message(frames):
    def empty(table):
        return pd.DataFrame(columns=list(table.column_names))

    for figure, message in (
        (identifiability(empty(KAPPA_PROFILE), title=TITLE), "no joint fit"),
        (residuals_by_lag(empty(DIAGNOSIS).astype({"subject": str}), title=TITLE), "no joint fit with replicates"),
        (survival_and_coverage_by_crawl(empty(PER_CRAWL), frames["crawls"], title=TITLE), "not identified"),
    ):
        assert message in text_of(figure)
