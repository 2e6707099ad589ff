"""Fits of richer urns and the comparison of urns, on simulated collections."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, simulate_revisit_delay
from crawl_urn_dagster_tests.estimates.observed import EXACT, collection_data, together, urn


def tables_of(counts, *, histories=True, error=EXACT):
    return estimate(collection_data(counts, error, histories=histories), clock="crawl").tables


def rows_of(found, **values):
    """Rows of table `parameters` with these values."""
    rows = found["parameters"]
    for column, value in values.items():
        rows = rows[rows[column] == value]
    return rows


def preferred(found, criterion):
    rows = found["model_comparison"]
    return rows[(rows["criterion"] == criterion) & rows["preferred"]]["model"].tolist()


@pytest.fixture(scope="module")
def two_shells():
    """Core plus two equal shells; their curves alone would give a core of 0.46."""
    return tables_of(
        together(
            urn(24, core=18_000, shell=21_000, alpha=0.97, coverage=0.8, seed=1),
            urn(24, shell=21_000, alpha=0.85, coverage=0.35, seed=2),
        )
    )


def test_two_shells_are_preferred_if_there_are_two(two_shells):
    assert preferred(two_shells, "aicc") == preferred(two_shells, "bic") == ["core_two_shells"]


def test_intervals_of_two_shells_contain_their_parameters(two_shells):
    found = rows_of(two_shells, projection="histories", model="core_two_shells").set_index("component")
    assert found["status"].unique().tolist() == ["ok"]
    truth = {"core": (0.3, 1.0, 1.0), "shell_1": (0.35, 0.97, 0.8), "shell_2": (0.35, 0.85, 0.35)}
    for component, values in truth.items():
        for name, value in zip(("share", "alpha", "coverage"), values, strict=True):
            row = found.loc[component]
            if value < 1:
                assert row[f"{name}_low"] < value < row[f"{name}_high"], (component, name)
            else:
                assert row[name] == 1


def test_one_shell_is_preferred_if_there_is_one():
    found = tables_of(urn(16, core=4000, shell=6000, alpha=0.75, coverage=0.6, seed=3))
    assert preferred(found, "aicc") == preferred(found, "bic") == ["core_shell"]
    assert found["revisit_regimes"]["delay_crawls"].unique().tolist() == [0]
    beta = rows_of(found, model="beta_shell", component="shell", status="ok")
    assert ((beta["alpha_low"] < 0.75) & (beta["alpha_high"] > 0.75)).all()


@pytest.mark.slow
def test_urns_without_histories_are_compared_by_prediction():
    found = tables_of(urn(18, core=4000, shell=6000, alpha=0.75, coverage=0.6, seed=3), histories=False)
    assert preferred(found, "cross_validation") == ["core_shell"]
    assert set(found["model_comparison"]["projection"]) == {"curves"}


def test_too_few_crawls_are_not_compared():
    found = tables_of(urn(8, core=4000, shell=6000, alpha=0.75, coverage=0.6, seed=3), histories=False)
    assert preferred(found, "cross_validation") == []
    assert found["model_comparison"]["value"].isna().all()
    assert found["model_comparison"]["reason"].str.contains("16 start crawls").all()


def test_revisit_delay_is_found_with_its_parameters():
    coverage = np.full(30, 0.3)
    simulated = simulate_revisit_delay(
        delays=np.ones(30, dtype=int), elements=20_000, alpha=0.9, coverage=coverage, revisit_coverage=0.02, seed=4
    )
    found = tables_of(simulated.counts(), histories=False)
    assert found["revisit_regimes"]["delay_crawls"].unique().tolist() == [1]
    (row,) = rows_of(found, model="revisit_delay").to_dict("records")
    assert (row["delay_crawls"], row["component"], row["status"]) == (1, "urn", "ok")
    assert np.isnan(row["kappa"])
    for name, truth in {"alpha": 0.9, "coverage": 0.3, "revisit_coverage": 0.02}.items():
        assert row[f"{name}_low"] < truth < row[f"{name}_high"], name
    others = found["parameters"][found["parameters"]["model"] != "revisit_delay"]
    assert set(others["status"]) == set(others["reason_code"]) == {"model_violation"}


def test_intervals_are_for_the_counted_elements():
    counts = urn(10, core=1000, shell=1500, alpha=0.75, coverage=0.6, seed=3)
    multiplied = CaptureHistoryCounts(counts.seen, 16 * counts.elements)
    whole, sample = (
        rows_of(tables_of(some, error=error), projection="histories")
        for some, error in ((counts, EXACT), (multiplied, CountingError(one_in=16)))
    )
    # The size of the urn counts all elements; one in 16 was read.
    sizes = ["urn_size", "urn_size_low", "urn_size_high"]
    pd.testing.assert_frame_equal(16 * whole[sizes].reset_index(drop=True), sample[sizes].reset_index(drop=True))
    whole, sample = (rows.drop(columns=sizes) for rows in (whole, sample))
    pd.testing.assert_frame_equal(whole.reset_index(drop=True), sample.reset_index(drop=True))
