"""Estimates next to the operator's counters: tables, verdicts, and the rows that are shown."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.ground_truth import (
    comparison_table,
    delay_history,
    ground_truth_table,
    reported_comparison,
)
from crawl_urn_dagster.observables.schema import GROUND_TRUTH_COMPARISON, PARAMETERS
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_counts
from crawl_urn_dagster.urn import CoreShellUrn, CountingError, RevisitDelayUrn, simulate_revisit_delay
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, labels, windows_frame

N = 12
CRAWLS = crawls_table(dated_crawls(np.full(N, 600)))
#: An urn of 1,000 elements of which a crawl captures 600: κ = 0.2, α = 0.9, c = 0.5.
FIT = {
    "first_crawl": labels(N)[0], "last_crawl": labels(N)[-1], "projection": "joint", "model": "core_shell",
    "form": "exact", "clock": "crawl", "component": "shell", "status": "ok", "headline": True, "alpha": 0.9,
    "alpha_low": 0.88, "alpha_high": 0.92, "coverage": 0.5, "coverage_low": 0.48, "coverage_high": 0.52,
    "core_share": 1 / 3, "core_share_low": 0.32, "core_share_high": 0.35, "urn_size": 1000.0, "urn_size_low": 950.0,
    "urn_size_high": 1050.0,
}  # fmt: skip


def counters(population=1010.0, new=60.0):
    names = {"alive": population - 10, "asleep": 10.0, "new": new, "robots": 5.0}
    frame = pd.DataFrame(
        [(c, n, v) for n, v in names.items() for c in labels(N)], columns=["crawl", "quantity", "value"]
    )
    return ground_truth_table(frame.dropna(), CRAWLS, population=["alive", "asleep"], new=["new"])


def fits(*changed):
    return pd.DataFrame([{**FIT, **one} for one in changed or ({},)], columns=list(PARAMETERS.column_names))


def test_counters_have_roles_and_the_order_of_the_crawls():
    frame = pd.DataFrame({"crawl": [labels(N)[1], "other", labels(N)[0]], "quantity": "alive", "value": [2, 9, 1]})
    table = ground_truth_table(frame, CRAWLS, population=["alive"], new=[])
    assert table["value"].tolist() == [1, 2]
    assert table["role"].tolist() == ["population"] * 2
    assert counters().groupby("quantity")["role"].first().to_dict() == {
        "alive": "population",
        "asleep": "population",
        "new": "new",
        "robots": None,
    }


def test_each_quantity_is_held_against_its_counter():
    table = comparison_table(counters(), CRAWLS, fits()).set_index("quantity")
    assert table["counted"].to_dict() == pytest.approx({"urn_size": 1010, "coverage": 600 / 1010, "new_share": 0.1})
    assert table["verdict"].tolist() == ["inside", "inside", "inside"]
    # The core is 200 of 600 captures. In the shell, (1 - 0.9) / (1 - 0.9 * 0.5) are new in the long run.
    assert table.loc["new_share", "estimate"] == pytest.approx(400 / 600 * 0.1 / 0.55)
    assert table.loc["coverage", ["estimate_low", "estimate_high"]].tolist() == [600 / 1050, 600 / 950]
    assert table.loc["urn_size", "ratio"] == pytest.approx(1000 / 1010)


@pytest.mark.parametrize(
    ("changed", "counted", "verdict"),
    [
        ({}, 900.0, "below"),
        ({}, 1100.0, "above"),
        ({"urn_size_low": np.nan}, 1000.0, "no_interval"),
        ({}, np.nan, "not_counted"),
    ],
)
def test_the_verdict_states_where_the_counter_is(changed, counted, verdict):
    table = comparison_table(counters(population=counted), CRAWLS, fits(changed))
    assert table.loc[table["quantity"] == "urn_size", "verdict"].tolist() == [verdict]


def test_fits_without_a_size_and_other_forms_are_not_compared():
    shown = fits({}, {"urn_size": np.nan, "model": "homogeneous"}, {"form": "paper"}, {"component": "core"})
    assert len(comparison_table(counters(), CRAWLS, shown)) == 3


def test_population_is_compared_with_its_counter():
    known = pd.DataFrame(
        {"crawl": labels(N)[:1], "population": [1000.0], "completeness": [0.6], "model": "shell"}
        | {f"{name}_{end}": [value] for name, at in (("population", 1000), ("completeness", 0.6))
           for end, value in (("low", at * 0.9), ("high", at * 1.1))}
    )  # fmt: skip
    table = comparison_table(counters(), CRAWLS, fits(), known)
    shown = reported_comparison(table, fits())
    assert shown["projection"].unique().tolist() == ["population"]
    assert shown["verdict"].tolist() == ["inside", "inside"]


def test_the_headline_is_shown_if_it_is_reported():
    delay = {"model": "revisit_delay", "projection": "discovery_curve", "headline": False, "delay_crawls": 1}
    delay |= {"revisit_coverage": 0.1, "revisit_coverage_low": 0.05, "revisit_coverage_high": 0.15}
    delay |= dict.fromkeys(["core_share", "core_share_low", "core_share_high"], np.nan)
    both = fits({}, delay)
    assert reported_comparison(comparison_table(counters(), CRAWLS, both), both)["model"].unique() == ["core_shell"]
    violated = fits({"status": "model_violation"}, delay)
    shown = reported_comparison(comparison_table(counters(), CRAWLS, violated), violated)
    assert shown["model"].unique() == ["revisit_delay"]
    urn = RevisitDelayUrn(0.9, 0.5, 0.1, delay=1)
    new = shown[shown["quantity"] == "new_share"].iloc[0]
    assert new["estimate"] == pytest.approx(1 - urn.first_returns(np.arange(1, 200)).sum())
    empty = pd.DataFrame(columns=list(GROUND_TRUTH_COMPARISON.column_names))
    assert reported_comparison(empty, both).empty


def test_size_with_a_revisit_delay_is_inside_the_interval():
    counts = simulate_revisit_delay(
        delays=[1] * 24, elements=20_000, alpha=0.9, coverage=0.5, revisit_coverage=0.05, seed=2
    ).counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    windows = windows_frame(counts.unions(), 24).set_axis(["start_crawl", "end_crawl", "distinct_elements"], axis=1)
    at = {label: position for position, label in enumerate(crawls["crawl"])}
    windows["window_crawls"] = windows["end_crawl"].map(at) - windows["start_crawl"].map(at) + 1
    curve = tables_from_counts(crawls, None, windows, CountingError())["discovery_curve"]
    history = delay_history(crawls, curve, error=CountingError(), window_crawls=18, step_crawls=6)
    assert history["delay_crawls"].tolist() == [1, 1]
    assert history["urn_size"].to_numpy() == pytest.approx(20_000, rel=0.03)
    assert delay_history(crawls, curve, error=CountingError(), window_crawls=30, step_crawls=1).empty


def test_the_example_urn_is_the_one_of_the_comments():
    assert CoreShellUrn(0.2, 0.9, 0.5).core_share == pytest.approx(1 / 3)
