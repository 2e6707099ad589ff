"""Figures of how far fits can be trusted: what they show, also of nothing."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.figures.judged import identifiability, residuals_by_lag, survival_and_coverage_by_crawl
from crawl_urn_dagster.figures.style import CONTAINMENT_COLOUR, DISCOVERY_COLOUR, tint
from crawl_urn_dagster.observables.schema import DIAGNOSIS, KAPPA_PROFILE, PER_CRAWL
from crawl_urn_dagster_tests.figures.frames import TITLE, estimated, faults, key, words


@pytest.fixture(scope="module")
def made():
    return estimated()


def test_the_profile_has_each_observable_and_marks_the_best(made):
    figure = identifiability(made["kappa_profile"], title=TITLE)
    assert faults(figure) == []
    left, *others = figure.axes
    assert {"containment alone", "discovery curve alone", "both, joint fit"} == set(key(figure))
    best = made["kappa_profile"].sort_values("standardised_rms").groupby("projection")["kappa"].first()
    ringed = {float(line.get_xdata()[0]) for line in left.lines if line.get_markersize() == 8}
    assert ringed == set(best)
    assert [axes.get_ylabel().split(",")[0] for axes in others] == ["core's share of a crawl", "coverage of the shell"]


def test_the_ridge_is_as_wide_as_what_an_observable_leaves_open(made):
    profile = made["kappa_profile"]
    _, _, ridge = identifiability(profile, title=TITLE).axes
    thick = {line.get_color(): line for line in ridge.lines if line.get_linewidth() == 4}
    for projection, colour in (("containment", CONTAINMENT_COLOUR), ("discovery_curve", DISCOVERY_COLOUR)):
        rows = profile[profile["projection"] == projection]
        near = rows[rows["residual_rms"] <= rows["residual_rms"].min() + 0.01]
        np.testing.assert_array_equal(thick[tint(colour)].get_xdata(), near["kappa"])
        np.testing.assert_array_equal(thick[tint(colour)].get_ydata(), near["coverage"])


def test_residuals_have_a_point_for_each_lag_and_rings_where_they_fail(made):
    diagnosis = made["diagnosis"]
    figure = residuals_by_lag(diagnosis, title=TITLE)
    assert faults(figure) == []
    assert "the fit explains" in " ".join(words(figure).split())
    lag_three = diagnosis.index[diagnosis["subject"] == "overlap, lag 3"]
    failing = diagnosis.copy()
    failing.loc[lag_three, "verdict"] = "fails"
    figure = residuals_by_lag(failing, title=TITLE)
    rings = [line for line in figure.axes[0].lines if line.get_markersize() == 9 and len(line.get_xdata())]
    assert [round(float(line.get_xdata()[0])) for line in rings] == [3]
    assert "1 point" in " ".join(words(figure).split())


def test_every_crawl_has_survival_and_coverage(made):
    figure = survival_and_coverage_by_crawl(made["per_crawl"], made["crawls"], title=TITLE)
    assert faults(figure) == []
    rows = made["per_crawl"].query("estimator == 'cormack_jolly_seber' and se == se")
    shown = sum(len(container[0].get_xdata()) for axes in figure.axes for container in axes.containers)
    assert shown == len(rows)


def test_figures_of_nothing_say_so(made):
    def nothing(table):
        return pd.DataFrame(columns=list(table.column_names))

    for figure, said in (
        (identifiability(nothing(KAPPA_PROFILE), title=TITLE), "no joint fit"),
        (residuals_by_lag(nothing(DIAGNOSIS).astype({"subject": str}), title=TITLE), "no joint fit with replicates"),
        (survival_and_coverage_by_crawl(nothing(PER_CRAWL), made["crawls"], title=TITLE), "not identified"),
    ):
        assert said in words(figure)
