"""The partially pooled profile of strata, from tables of fits."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from crawl_urn_dagster.estimates.stratum_profile import stratum_profile_table

BOUNDS = {"1-50": 50.0, "51-200": 200.0, "201-1000": 1_000.0, "1001+": np.inf}
ERRORS = np.array([0.3, 0.2, 0.1, 0.05])


def fits(kappa, errors=ERRORS, status="ok"):
    """Return rows of `parameters`: a selected core-shell fit of each band, of about the size of its rank."""
    row = {"headline": True, "component": "shell", "clock": "crawl", "status": status}
    frame = pd.DataFrame({"stratum": list(BOUNDS), "urn_size": [1e5] * 4}).assign(**row)
    for name, value in {"kappa": kappa, "core_share": 0.5, "alpha": 0.8, "coverage": 0.6}.items():
        centre = logit(np.broadcast_to(value, 4))
        for end, sign in {"": 0, "_low": -1.96, "_high": 1.96}.items():
            frame[f"{name}{end}"] = expit(centre + sign * errors)
    return pd.concat([frame, frame.assign(component="core", headline=False)], ignore_index=True)


def rank_changes(list_end=None):
    lost_by_cut = 0.0 if list_end is None else 0.5
    return pd.DataFrame({"stratum": list(BOUNDS), "list_end": list_end, "lost_by_cut": lost_by_cut})


def of(table, parameter="kappa"):
    return table[table["parameter"] == parameter].set_index("stratum")


def test_equal_processes_have_no_gradient_and_smaller_errors():
    rng = np.random.default_rng(3)
    steep, own, pooled, covered = [], [], [], []
    for _ in range(60):
        estimates = expit(logit(0.4) + ERRORS * rng.normal(size=4))
        table = of(stratum_profile_table(fits(estimates), BOUNDS, rank_changes()))
        steep.append(table["slope_low"].iloc[0] > 0 or table["slope_high"].iloc[0] < 0)
        own.append((table["estimate"] - 0.4) ** 2)
        pooled.append((table["pooled"] - 0.4) ** 2)
        covered.append((table["pooled_low"] <= 0.4) & (table["pooled_high"] >= 0.4))
    assert np.mean(steep) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)
    assert np.sqrt(np.mean(pooled) / np.mean(own)) < 0.7
    assert np.mean(covered) > 0.92


def test_small_band_moves_most_and_a_real_gradient_stays():
    table = of(stratum_profile_table(fits(np.array([0.6, 0.5, 0.4, 0.3])), BOUNDS, rank_changes()))
    assert table["mean_weight"].is_monotonic_decreasing
    assert table["pooled"].is_monotonic_decreasing
    assert (table["slope_high"] < 0).all()
    assert (table["p_value"] < 1e-4).all()


def test_list_that_ends_at_a_rank_has_no_gradient():
    table = of(stratum_profile_table(fits(np.array([0.6, 0.5, 0.4, 0.3])), BOUNDS, rank_changes(1_000)))
    assert table["slope"].isna().all()
    assert (table["lost_by_cut"] == 0.5).all()
    assert table["pooled"].notna().all()


def test_refuted_stratum_has_no_pooled_value_and_small_stratum_borrows():
    parameters = fits(0.4)
    parameters.loc[parameters["stratum"] == "1-50", "status"] = "too_few_points"
    parameters.loc[parameters["stratum"] == "51-200", "status"] = "model_violation"
    table = of(stratum_profile_table(parameters, BOUNDS, rank_changes()))
    assert table["estimate"].isna().tolist() == [True, True, False, False]
    assert table["pooled"].isna().tolist() == [False, True, False, False]
    assert table.loc["1-50", "mean_weight"] == pytest.approx(1)
    assert table.loc["1-50", "pooled"] == pytest.approx(0.4, abs=1e-3)


def test_strata_without_ranks_and_without_fits():
    table = stratum_profile_table(fits(0.4))
    assert table["slope"].isna().all()
    assert table["lost_by_cut"].isna().all()
    assert stratum_profile_table(fits(0.4).assign(stratum=None)).empty
