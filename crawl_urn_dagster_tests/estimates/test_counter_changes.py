"""Counters that moved beyond their own scatter, and what was found at the same time."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.counter_changes import changes_of, counter_changes_table, found_at

LABELS = [f"c{k:02d}" for k in range(40)]


def counters(**moved):
    """Three counters that scatter by 3 %, with a factor at some crawls, as table `ground_truth`."""
    rng = np.random.default_rng(5)
    rows = []
    for name in ("fetched", "unmodified", "orphan"):
        values = 1e6 * np.exp(np.cumsum(rng.normal(0, 0.03, len(LABELS))))
        for at, factor in moved.get(name, {}).items():
            values[at:] *= factor
        role = None if name == "orphan" else "population"
        rows += [{"crawl": c, "quantity": name, "value": v, "role": role} for c, v in zip(LABELS, values, strict=True)]
    return pd.DataFrame(rows)


def test_a_change_beyond_the_scatter_is_found_at_its_crawl():
    table = counter_changes_table(counters(orphan={30: 1.4}), {"c30": "drift of alpha"})
    row = table[(table["quantity"] == "orphan") & table["found"].notna()].iloc[0]
    assert (row["crawl"], row["found"]) == ("c30", "drift of alpha")
    assert row["change"] == pytest.approx(np.log(row["value"] / row["previous"]))
    assert row["statistic"] == pytest.approx((row["change"] - row["usual"]) / row["scatter"])
    assert row["statistic"] > row["threshold"]


def test_the_counters_of_the_population_are_also_tested_as_a_sum():
    table = counter_changes_table(counters(fetched={25: 0.8}, unmodified={25: 0.8}), {})
    at = table[table["crawl"] == "c25"].set_index("quantity")
    assert {"population", "fetched", "unmodified"} <= set(at.index)
    assert at.loc["population", "value"] == pytest.approx(at.loc[["fetched", "unmodified"], "value"].sum())
    assert table["found"].isna().all()


def test_rates_do_not_move_with_the_budget():
    """The budget and a counter halve at one crawl, and the share of the counter triples at another."""
    budget, failed = counters(orphan={20: 0.5})["value"].iloc[-len(LABELS) :].to_numpy(), np.full(len(LABELS), 0.02)
    failed[30:] *= 3
    rows = {"budget": budget, "failed": failed * budget, "alive": np.full(len(LABELS), 1e6)}
    frame = pd.DataFrame(
        [
            {"crawl": crawl, "quantity": name, "value": value, "role": "population" if name == "alive" else None}
            for name, values in rows.items()
            for crawl, value in zip(LABELS, values, strict=True)
        ]
    )
    counts, rates = (counter_changes_table(frame, {}, divide_by=name) for name in (None, "budget"))
    assert counts["divided_by"].isna().all()
    moved = {("c20", "failed"), ("c20", "budget"), ("c30", "failed")}
    assert set(zip(counts["crawl"], counts["quantity"], strict=True)) == moved
    by_counter = rates.set_index("quantity")
    assert dict(by_counter["crawl"]) == {"budget": "c20", "failed": "c30"}
    assert by_counter["divided_by"].dropna().to_dict() == {"failed": "budget"}
    assert by_counter.loc["failed", ["previous", "value"]].tolist() == pytest.approx([0.02, 0.06])


def test_crawls_without_the_divisor_are_left_out():
    frame = counters()
    without = frame[(frame["quantity"] != "orphan") | (frame["crawl"] != "c30")].assign(role=None)
    doubled = without.assign(value=without["value"].where(without["crawl"] < "c30", 2 * without["value"]))
    table = counter_changes_table(doubled, {}, divide_by="orphan")
    at_move = table[table["crawl"] >= "c30"]
    assert at_move[["crawl", "quantity"]].to_numpy().tolist() == [["c31", "orphan"]]


@pytest.mark.parametrize("n_counters", [1, 8])
def test_steady_counters_move_in_one_of_20_crawls(n_counters):
    # 52 crawls of 240 series; the standard error of the share is below 0.3 %, more as changes share their scatter.
    rng = np.random.default_rng(3)
    moved = []
    for _ in range(240):
        changes = changes_of(1e9 * np.exp(np.cumsum(rng.normal(0, 0.05, 52))))
        moved.append(abs(changes.statistic[10:]) > changes.threshold(n_counters)[10:])
    assert np.mean(moved) * n_counters == pytest.approx(0.05, abs=0.015)


def test_long_steady_series_move_less_often():
    rng = np.random.default_rng(3)
    series = [changes_of(1e9 * np.exp(np.cumsum(rng.normal(0, 0.05, 400)))) for _ in range(20)]
    later = np.mean([changes.moved(1)[200:] for changes in series])
    # The level is 0.05 · 52/n, 0.0087 on average from 200 to 400; 4,000 values have a standard error of 0.0015.
    assert 0.002 < later < 0.0087 + 3 * 0.0015


def test_return_to_the_level_before_is_not_a_move():
    values = 1e6 * np.exp(np.random.default_rng(1).normal(0, 0.01, 30))
    values[20:23] *= 0.5
    assert np.flatnonzero(changes_of(values).moved(1)).tolist() == [20]
    values[23:] *= 1.5
    assert np.flatnonzero(changes_of(values).moved(1)).tolist() == [20, 23]


def test_the_first_changes_have_no_scatter():
    assert np.isnan(changes_of([1.0] * 9).statistic).all()
    assert np.isfinite(changes_of([1.0] * 10).statistic[-1])


def test_more_counters_need_larger_changes():
    changes = changes_of(np.arange(1.0, 40))
    assert changes.threshold(1)[-1] == pytest.approx(2.24, abs=0.03)
    assert changes.threshold(10)[-1] == pytest.approx(3.62, abs=0.03)


def test_drift_is_found_at_every_crawl_of_its_interval():
    none = {"since_first_crawl": None, "since_last_crawl": None}
    drift = pd.DataFrame(
        [
            {"parameter": "alpha", "drifted": True, "since_crawl": "c02", "since_first_crawl": "c01",
             "since_last_crawl": "c03"},
            {"parameter": "crawl_size", "drifted": True, "since_crawl": "c03", **none},
            {"parameter": "kappa", "drifted": False, "since_crawl": None, **none},
        ]
    )  # fmt: skip
    tests = pd.DataFrame([{"test": "outlying_crawl", "subject": "c09", "verdict": "fails"}])
    last = pd.DataFrame([{"crawl": "c09", "quantity": "crawl_size", "verdict": "below"}])
    assert found_at(LABELS, drift, tests, last) == {
        "c01": "drift of alpha",
        "c02": "drift of alpha",
        "c03": "drift of alpha, drift of crawl_size",
        "c09": "outlying crawl, unusual crawl_size",
    }
