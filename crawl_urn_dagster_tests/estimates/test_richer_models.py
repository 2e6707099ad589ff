"""Richer urns and the choice between urns, on simulated collections and the published tables."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.fitting import fit_all, judge_violation
from crawl_urn_dagster.estimates.intervals import raw_counts, with_limits
from crawl_urn_dagster.estimates.richer_models import model_tables
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, simulate_revisit_delay
from crawl_urn_dagster_tests.estimates.observed import EXACT, observables, together, urn


def tables_of(counts, *, histories=True, error=EXACT):
    observed = observables(counts)
    fitted = with_limits([fit for fit in fit_all(*observed, error) if fit.clock == "crawl"], *observed)
    violations = [verdict for verdict in judge_violation(*observed) if verdict.violated]
    return model_tables(
        observed[0],
        raw_counts(*observed, clock="crawl", error=error),
        counts if histories else None,
        fitted,
        violations[0] if violations else None,
        clock="crawl",
        one_in=error.one_in,
    )


def preferred(found, criterion):
    rows = found.model_comparison
    return rows[(rows["criterion"] == criterion) & rows["preferred"]]["model"].tolist()


@pytest.fixture(scope="module")
def two_shells():
    """Core plus two equal shells, whose curves alone are taken for an urn with a core of 0.46."""
    return tables_of(
        together(
            urn(24, core=18_000, shell=21_000, alpha=0.97, coverage=0.8, seed=1),
            urn(24, shell=21_000, alpha=0.85, coverage=0.35, seed=2),
        )
    )


def test_two_shells_are_preferred_where_there_are_two(two_shells):
    assert preferred(two_shells, "aicc") == preferred(two_shells, "bic") == ["core_two_shells"]


def test_two_shells_have_their_parameters_within_limits(two_shells):
    rows = pd.DataFrame(two_shells.parameters).set_index(["projection", "model", "component"])
    found = rows.loc["histories", "core_two_shells"]
    assert found["status"].unique().tolist() == ["ok"]
    truth = {"core": (0.3, 1.0, 1.0), "shell_1": (0.35, 0.97, 0.8), "shell_2": (0.35, 0.85, 0.35)}
    for component, values in truth.items():
        for name, value in zip(("share", "alpha", "coverage"), values, strict=True):
            row = found.loc[component]
            if value < 1:
                assert row[f"{name}_low"] < value < row[f"{name}_high"], (component, name)
            else:
                assert row[name] == 1


def test_one_shell_is_preferred_where_there_is_one():
    found = tables_of(urn(16, core=4000, shell=6000, alpha=0.75, coverage=0.6, seed=3))
    assert preferred(found, "aicc") == preferred(found, "bic") == ["core_shell"]
    assert found.revisit_regimes["delay_crawls"].unique().tolist() == [0]
    beta = [row for row in found.parameters if row["model"] == "beta_shell" and row["component"] == "shell"]
    assert all(row["alpha_low"] < 0.75 < row["alpha_high"] for row in beta if row["status"] == "ok")


@pytest.mark.slow
def test_without_histories_urns_are_compared_by_prediction():
    found = tables_of(urn(24, core=4000, shell=6000, alpha=0.75, coverage=0.6, seed=3), histories=False)
    assert preferred(found, "cross_validation") == ["core_shell"]
    assert set(found.model_comparison["projection"]) == {"curves"}


def test_too_few_crawls_are_not_compared_and_say_so():
    found = tables_of(urn(8, core=4000, shell=6000, alpha=0.75, coverage=0.6, seed=3), histories=False)
    assert preferred(found, "cross_validation") == []
    assert found.model_comparison["value"].isna().all()
    assert found.model_comparison["reason"].str.contains("16 start crawls").all()


def test_a_delay_is_found_with_its_length_coverage_and_survival():
    coverage = np.full(30, 0.3)
    simulated = simulate_revisit_delay(
        delays=np.ones(30, dtype=int), elements=20_000, alpha=0.9, coverage=coverage, revisit_coverage=0.02, seed=4
    )
    found = tables_of(simulated.counts(), histories=False)
    assert found.revisit_regimes["delay_crawls"].unique().tolist() == [1]
    (row,) = [row for row in found.parameters if row["model"] == "revisit_delay"]
    assert (row["delay_crawls"], row["component"], row["status"]) == (1, "urn", "ok")
    assert "kappa" not in row
    for name, truth in {"alpha": 0.9, "coverage": 0.3, "revisit_coverage": 0.02}.items():
        assert row[f"{name}_low"] < truth < row[f"{name}_high"], name
    others = [row for row in found.parameters if row["model"] != "revisit_delay"]
    assert {row["status"] for row in others} == {"model_violation"}


def test_limits_are_of_the_elements_that_were_counted():
    counts = urn(10, core=1000, shell=1500, alpha=0.75, coverage=0.6, seed=3)
    multiplied = CaptureHistoryCounts(counts.seen, 16 * counts.elements)
    whole, sample = (
        pd.DataFrame(tables_of(some, error=error).parameters).query("projection == 'histories'")
        for some, error in ((counts, EXACT), (multiplied, CountingError(one_in=16)))
    )
    pd.testing.assert_frame_equal(whole, sample)
