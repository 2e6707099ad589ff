"""Test the comparison of archives on simulated lists, and on lists with a known register."""

import json

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.cross_archive import (
    Archive,
    coverage_pairs,
    cross_archive_table,
    latest_match,
    match_crawls,
)
from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.observables.strata import StratumSettings


@pytest.fixture
def archive(tmp_path):
    """Return a function that writes lists by date as an archive."""

    def write(name, lists, *, one_in=1, strata=None, survival=None, **settings):
        stratum = None if strata is None else StratumSettings(column="kind")
        captures = [
            (
                date,
                texts := np.array(sorted(elements), dtype=object),
                True,
                *(() if strata is None else ([strata(t) for t in texts],)),
            )
            for date, elements in lists.items()
        ]
        captures = [(*one[:3], *(np.array(values, dtype=object) for values in one[3:])) for one in captures]
        written = PresenceFolder(tmp_path / name).write(
            captures, dict.fromkeys(lists, "r"), one_in=one_in, stratum=stratum
        )
        crawls = pd.DataFrame({"crawl": list(lists), "started_at": pd.to_datetime(list(lists))})
        quantities = None if survival is None else pd.DataFrame({"quantity": ["survival"], "value": [survival]})
        return Archive(name, crawls, {one.crawl: one for one in written}, quantities=quantities, **settings)

    return write


def _table(*archives, days=1.0, odds_ratios=(1.0, 10.0)):
    return cross_archive_table(archives, days=days, odds_ratios=odds_ratios)


def _value(table, quantity, estimator, lists=None, column="estimate"):
    rows = table[(table["quantity"] == quantity) & (table["estimator"] == estimator) & table["stratum"].isna()]
    rows = rows if lists is None else rows[rows["lists"] == lists]
    (value,) = rows[column]
    return value


def _draw(n, p, seed, prefix="e"):
    return {f"{prefix}{i}" for i in np.flatnonzero(np.random.default_rng(seed).random(n) < p)}


def test_two_lists_have_bound_and_range_but_no_estimate(archive):
    a, b = _draw(4000, 0.5, 1), _draw(4000, 0.4, 2)
    table = _table(archive("a", {"2024-01-01": a}), archive("b", {"2024-01-01": b}))
    expected = len(a) * len(b) / len(a & b)
    assert _value(table, "overlap", "counted") == len(a & b)
    assert _value(table, "only", "counted", "a") == len(a - b)
    assert _value(table, "population", "bound") == pytest.approx(expected)
    assert np.isnan(_value(table, "population", "petersen"))
    assert _value(table, "population", "petersen", column="status") == "dependence_unknown"
    assert _value(table, "population", "petersen", column="sensitivity_low") < expected
    highest = len(a | b) + 10 * len(a - b) * len(b - a) / len(a & b)
    assert _value(table, "population", "petersen", column="sensitivity_high") > highest
    assert _value(table, "coverage", "bound", "a") == pytest.approx(len(a & b) / len(b))


def test_three_independent_lists_have_estimates_near_the_truth(archive):
    lists = [
        archive(name, {"2024-01-01": _draw(60_000, p, seed)})
        for seed, (name, p) in enumerate([("a", 0.5), ("b", 0.5), ("c", 0.6)])
    ]
    table = _table(*lists)
    assert (table.loc[table["quantity"] == "population", "status"] == "ok").all()
    low, high = (_value(table, "population", "loglinear", column=f"estimate_{end}") for end in ("low", "high"))
    assert low < 60_000 < high
    assert _value(table, "coverage", "loglinear", "a") == pytest.approx(0.5, abs=0.02)
    assert _value(table, "odds_ratio", "third_list", "a + b") == pytest.approx(1, abs=0.1)


def test_a_dependent_pair_withholds_every_estimate_of_the_match(archive):
    a = _draw(20_000, 0.5, 1)
    b = {e for e in a if int(e[1:]) % 3} | _draw(20_000, 0.1, 2)
    table = _table(*(archive(n, {"2024-01-01": x}) for n, x in (("a", a), ("b", b), ("c", _draw(20_000, 0.5, 3)))))
    rows = table[(table["quantity"] == "population") & table["estimator"].isin(["loglinear"])]
    assert rows["status"].tolist() == ["dependent"]
    assert rows["estimate"].isna().all()
    assert "a:b" in rows["model"].item()


def test_register_gives_coverage_and_checks_the_crawls(archive):
    whole = {f"e{i}" for i in range(1000)}
    dates = ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"]
    lists = {date: _draw(1000, 0.8, seed) | {"unlisted"} for seed, date in enumerate(dates) if date != "2024-03-01"}
    population = pd.DataFrame(
        {
            "crawl": list(lists),
            "completeness": 0.8,
            "completeness_low": [0.7, 0.7, 0.1],
            "completeness_high": [0.9] * 2 + [0.2],
        }
    )
    table = _table(
        archive("mine", lists, population=population), archive("register", dict.fromkeys(dates, whole), is_frame=True)
    )
    coverage_rows = table[(table["estimator"] == "frame") & (table["quantity"] == "coverage")]
    assert coverage_rows["estimate"].tolist() == [(len(lists[date]) - 1) / 1000 for date in lists]
    assert table.loc[table["quantity"] == "outside_frame", "estimate"].tolist() == [1, 1, 1]
    assert table.loc[table["quantity"] == "missing_crawl", "match"].tolist() == ["2024-03-01"]
    assert coverage_pairs(table)["status"].tolist() == ["ok", "ok", "differs"]
    assert not (table["quantity"] == "population").any()


def test_without_a_register_the_gap_in_the_calendar_is_named(archive):
    dates = ["2024-01-01", "2024-02-01", "2024-03-01", "2024-05-01", "2024-06-01"]
    table = _table(archive("a", {date: {"x", "y"} for date in dates}), archive("b", {dates[0]: {"x"}}))
    (gap,) = table[table["quantity"] == "calendar_gap"].to_dict("records")
    assert (gap["crawls"], gap["estimate"]) == ("2024-03-01 + 2024-05-01", 1)


def test_losses_between_crawls_are_corrected_by_survival(archive):
    earlier = _draw(50_000, 0.5, 1)
    # One element in ten was lost by the later crawl, and as many are new.
    eligible = {f"e{i}" for i in range(50_000) if i % 10} | {f"n{i}" for i in range(5_000)}
    captured = _draw(50_000, 0.5, 2) | _draw(5_000, 0.5, 3, "n")
    later = eligible & captured
    first = archive("a", {"2023-12-22": {"z"}, "2024-01-01": earlier}, survival=0.9)
    apart = _table(first, archive("b", {"2024-01-11": later}), days=10)
    assert _value(apart, "population", "bound") == pytest.approx(50_000, rel=0.02)
    assert _value(apart, "population", "bound", column="survival") == pytest.approx(0.9)
    uncorrected = _table(first._replace(quantities=None), archive("b", {"2024-01-11": later}), days=10)
    assert _value(uncorrected, "population", "bound") == pytest.approx(50_000 / 0.9, rel=0.02)
    assert _value(uncorrected, "population", "bound", column="reason_code") == "survival_unknown"


def test_two_lists_from_one_file_are_two_crawls_of_one_crawler(archive):
    places = {"locations": frozenset({"lists/all.csv"})}
    table = _table(
        archive("a", {"2024-01-01": {"x", "y"}}, **places), archive("b", {"2024-01-01": {"x", "z"}}, **places)
    )
    assert _value(table, "population", "petersen", column="reason_code") == "one_crawler"
    elsewhere = {"locations": frozenset({"https://example.org/b.csv"})}
    table = _table(archive("a", {"2024-01-01": {"x"}}, **places), archive("b", {"2024-01-01": {"x"}}, **elsewhere))
    assert _value(table, "population", "petersen", column="reason_code") == "dependence_unknown"


def test_strata_have_a_population_if_all_lists_have_them(archive):
    kind = {"strata": lambda text: "even" if int(text[1:]) % 2 == 0 else "odd"}
    a, b = _draw(1000, 0.5, 1), _draw(1000, 0.5, 2)
    table = _table(archive("a", {"2024-01-01": a}, **kind), archive("b", {"2024-01-01": b}))
    only = table[(table["quantity"] == "only") & (table["lists"] == "a")].set_index("stratum")["estimate"]
    assert only["even"] == len([e for e in a - b if int(e[1:]) % 2 == 0])
    assert not (table["stratum"].notna() & (table["quantity"] == "population")).any()
    table = _table(archive("c", {"2024-01-01": a}, **kind), archive("d", {"2024-01-01": b}, **kind))
    assert (table["stratum"].eq("odd") & (table["quantity"] == "population")).any()


def test_sampled_counts_are_multiplied_and_have_intervals(archive):
    a, b = _draw(40_000, 0.5, 1), _draw(40_000, 0.5, 2)
    table = _table(archive("a", {"2024-01-01": a}, one_in=8), archive("b", {"2024-01-01": b}))
    low, high = (_value(table, "overlap", "counted", column=f"estimate_{end}") for end in ("low", "high"))
    assert low < len(a & b) < high
    assert _value(table, "population", "bound") == pytest.approx(40_000, rel=0.05)


def test_crawls_match_if_mutually_nearest(archive):
    a = archive("a", {"2024-01-01": {"x"}, "2024-01-03": {"x"}, "2024-03-01": {"x"}})
    b = archive("b", {"2024-01-02": {"x"}, "2024-02-20": {"x"}})
    assert dict(match_crawls([a, b], a, 7))["2024-01-01"] == {"a": "2024-01-01", "b": "2024-01-02"}
    assert [len(crawls) for _, crawls in match_crawls([a, b], a, 7)] == [2, 1, 1]
    assert [len(crawls) for _, crawls in match_crawls([a, b], a, 10)] == [2, 1, 2]


def test_lists_without_a_common_element_or_match_are_stated(archive):
    a, b = archive("a", {"2024-01-01": {"x"}}), archive("b", {"2024-01-01": {"y"}})
    assert _value(_table(a, b), "population", "bound", column="status") == "too_few_points"
    empty = _table(a, archive("c", {"2025-01-01": {"x"}}))
    assert empty.empty
    assert latest_match(empty).empty


def test_federal_lists_have_the_given_petersen_values(archive, shared_data):
    rows = pd.read_csv(shared_data / "two_lists" / "gsa_lists_registry_frame.csv.gz")
    expected = pd.read_csv(shared_data / "two_lists" / "gsa_petersen_vs_registry.csv").head(3)
    lists = {name: {"2026-01-01": set(some["element"])} for name, some in rows.groupby("list")}
    register = archive("gov_registry", lists["gov_registry"], is_frame=True)
    for row in expected.to_dict("records"):
        table = _table(*(archive(row[name], lists[row[name]]) for name in ("list_a", "list_b")), register)
        n_a, n_b, both = row["n_a"], row["n_b"], row["both"]
        assert _value(table, "overlap", "counted") == both
        assert _value(table, "population", "bound") == pytest.approx(n_a * n_b / both)
        assert _value(table, "coverage", "frame", row["list_a"]) == pytest.approx(row["cov_a_truth"], abs=5e-4)
        assert _value(table, "population", "petersen", column="status") == "dependent"
        assert _value(table, "population", "petersen", column="sensitivity_high") > 0.27 * row["truth_N"]


def test_two_crawlers_of_one_day_have_the_truth_inside_the_range(archive, shared_data):
    rows = pd.read_csv(shared_data / "two_lists" / "lemmy_two_crawlers_2023-10-31.csv.gz")
    lists = {name: {"2023-10-31": set(some["element"])} for name, some in rows.groupby("list")}
    table = _table(*(archive(name, lists[name]) for name in ("awesome_lemmy", "joinlemmy")))
    assert _value(table, "coverage", "bound", "awesome_lemmy") == pytest.approx(0.952, abs=5e-4)
    low, high = (
        _value(table, "coverage", "petersen", "awesome_lemmy", column=f"sensitivity_{end}") for end in ("low", "high")
    )
    assert low < 0.864 < high


def test_a_failed_crawl_is_seen_by_the_register_and_by_the_gap(archive, shared_data):
    seen, listed = (
        {
            date: set(some["element"])
            for date, some in pd.read_csv(shared_data / "truth" / name).groupby("snapshot")
            if "2023-07" < date < "2024-02"
        }
        for name in ("onion_sites_monthly.csv.gz", "onion_sites_monthly_frame.csv.gz")
    )
    table = _table(archive("onion", seen), archive("register", listed, is_frame=True))
    assert table.loc[table["quantity"] == "missing_crawl", "match"].tolist() == ["2023-10-09"]
    assert table.loc[table["quantity"] == "calendar_gap", "match"].tolist() == ["2023-11-08"]
    truth = json.loads((shared_data / "truth" / "truth_onion_sites_monthly.json").read_text(encoding="utf-8"))
    expected = dict(zip(truth["crawl"], truth["share_of_frame"], strict=True))
    coverage_rows = table[(table["quantity"] == "coverage") & (table["estimator"] == "frame")]
    assert coverage_rows["estimate"].tolist() == pytest.approx([expected[date] for date in seen], abs=1e-5)
