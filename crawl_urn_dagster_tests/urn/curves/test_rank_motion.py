"""Drift and diffusion of ranks, on a simulated ranking whose diffusion is known."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.rank_changes import rank_changes_table
from crawl_urn_dagster_tests.benchmarks.stratum_reading import BANDS, FLICKER, LOSSES, NAMES, ranked_list

ELEMENTS, CRAWLS, STEPS = 4_000, 15, 10
BOUNDS = {"1-50": 50, "51-200": 200, "201-500": 500, "501-1000": 1_000, "1001-2000": 2_000, "2001+": np.inf}


def diffusion(x):
    return 0.02 + 0.01 * x


@pytest.fixture(scope="module")
def bands():
    """Bands by element and crawl: ln r diffuses with D(r) = 0.02 + 0.01 ln r and keeps its uniform ranks.

    A density p of ln r stays as it is if its flux μp - (Dp)' is 0. Uniform ranks have p = r, so μ = D + D'.
    """
    rng = np.random.default_rng(2)
    top = np.log(ELEMENTS)
    x, found = np.log(rng.uniform(1, ELEMENTS, ELEMENTS)), []
    for _ in range(CRAWLS):
        rank = np.argsort(np.argsort(x)) + 1
        found.append(np.searchsorted(list(BOUNDS.values()), rank))
        for _ in range(STEPS):
            noise = np.sqrt(2 * diffusion(x) / STEPS) * rng.normal(size=ELEMENTS)
            x = abs(x + (diffusion(x) + 0.01) / STEPS + noise)
            x = top - abs(top - x)
    return np.array(found)


def moves_of(bands, n):
    """Count moves; bands from n - 1 on are not captured."""
    shown = np.minimum(bands, n - 1)
    moves = np.array([np.bincount(a * n + b, minlength=n * n).reshape(n, n) for a, b in pairwise(shown)])
    moves[:, -1, -1] = 0
    return moves


def test_known_diffusion_and_drift_are_recovered(bands):
    table = rank_changes_table(list(BOUNDS), moves_of(bands, len(BOUNDS) + 1), BOUNDS).set_index("stratum")
    for low, (label, high) in zip((51, 201, 501, 1_001), list(BOUNDS.items())[1:5], strict=True):
        row, truth = table.loc[label], diffusion(np.log(np.arange(low, high + 1))).mean()
        # Ranks of a band diffuse faster as they get worse within the crawl, by up to a tenth.
        assert row["diffusion_low"] / 1.1 < truth < row["diffusion_high"], label
        assert row["diffusion"] == pytest.approx(truth, rel=0.25), label
        assert row["drift_low"] - 0.02 < truth + 0.01 < row["drift_high"] + 0.02, label
    assert table["diffusion"].iloc[2:5].is_monotonic_increasing
    assert table["list_end"].isna().all()
    assert (table["lost_by_cut"] == 0).all()


def test_losses_at_the_end_of_the_list_are_explained(bands):
    known = list(BOUNDS)[:-1]
    table = rank_changes_table(known, moves_of(bands, len(BOUNDS)), BOUNDS).set_index("stratum")
    last = table.loc["1001-2000"]
    assert last["list_end"] == 2_000
    # Every loss is a rank that passed the end.
    assert last["lost"] > 0.1
    assert 0.7 < last["lost_by_cut"] <= 1
    assert table.loc["201-500", "passing"] < 0.001


def test_lost_by_cut_does_not_correct_survival():
    """One in ten elements is lost in every gap; docs/strata.md quotes the numbers."""
    seen, band = ranked_list(np.random.default_rng(1), FLICKER, LOSSES)
    upper_bounds = dict(zip(NAMES, [*BANDS, np.inf], strict=True))
    table = rank_changes_table(NAMES, moves_of(band.T, len(NAMES) + 1), upper_bounds).set_index("stratum")
    first_band, lags = band[np.arange(len(seen)), seen.argmax(axis=1)], np.arange(1, 12)
    for number, by_cut, fitted in ((2, 0.56, 0.87), (3, 1.0, 0.87)):
        row, cohort = table.loc[NAMES[number]], seen[first_band == number].astype(float)
        true_share = 1 - LOSSES / row["lost"]
        assert row["lost_by_cut"] == pytest.approx(by_cut, abs=0.005)
        assert row["lost_by_cut"] > true_share + 0.2
        shared = cohort.T @ cohort
        containment = [np.mean([shared[i, i + lag] / shared[i, i] for i in range(len(shared) - lag)]) for lag in lags]
        survival = np.exp(np.polyfit(lags, np.log(containment), 1)[0])
        assert survival == pytest.approx(fitted, abs=0.005)
        assert abs(1 - (1 - survival) * (1 - row["lost_by_cut"]) - (1 - LOSSES)) > abs(survival - (1 - LOSSES))


def test_moves_of_the_best_domains_are_as_shown(shared_data):
    """docs/strata.md and docs/paper quote drift, diffusion and losses of the bands."""
    table = pd.read_csv(shared_data / "presence" / "cc_webgraph_top1000_ranks.csv.gz")
    ranks = table.pivot_table(index="domain", columns="snapshot", values="harmonicc_pos").to_numpy()
    upper_bounds = {"1-50": 50, "51-200": 200, "201-500": 500, "501-1000": 1_000}
    bands = np.where(np.isnan(ranks), 4, np.searchsorted(list(upper_bounds.values()), ranks)).astype(int)
    found = rank_changes_table(list(upper_bounds), moves_of(bands.T, 5), upper_bounds).set_index("stratum")
    assert found["stayed"].round(3).tolist() == [0.942, 0.786, 0.645, 0.553]
    assert found["lost"].round(3).tolist() == [0.0, 0.012, 0.145, 0.355]
    assert found["diffusion"].iloc[:3].tolist() == pytest.approx([0.318, 0.116, 0.038], abs=6e-4)
    assert found["drift"].iloc[:3].tolist() == pytest.approx([-0.722, 0.135, 0.014], abs=6e-4)
    assert found["lost_by_cut"].iloc[1:3].tolist() == pytest.approx([0.01, 0.01], abs=0.005)
    assert (abs(found["net_flux"]) < 0.02).all()


def test_flux_of_a_full_ranking_is_balanced(bands):
    table = rank_changes_table(list(BOUNDS), moves_of(bands, len(BOUNDS) + 1), BOUNDS)
    assert table["net_flux"].to_numpy() == pytest.approx(0)
    parts = table[["stayed", "to_better", "to_worse", "lost"]].sum(axis=1)
    assert parts.to_numpy() == pytest.approx(1)


def test_flux_shows_a_band_that_fills():
    growing = np.array([[[80, 0, 20], [0, 50, 10], [20, 30, 0]]] * 3)
    table = rank_changes_table(["1-100", "101+"], growing, {"1-100": 100, "101+": np.inf}).set_index("stratum")
    assert table.loc["101+", "net_flux"] == pytest.approx(20 / 60)
    assert table.loc["101+", "entered"] == 0.5
    assert np.isnan(table.loc["101+", "diffusion"])
