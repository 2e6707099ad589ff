"""The asset that holds a collection against other archives, its sensor and its checks."""

import re
from pathlib import Path

import dagster as dg
import duckdb
import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster import AssetOptions
from crawl_urn_dagster.observables.tables import crawls_table
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster_tests.collections_for_tests import histories, labels, presence_collection
from crawl_urn_dagster_tests.pipeline import QUIET

ELEMENTS = [f"e{i}" for i in range(3000)]
LISTS = {"lists": ["theirs", {"collection": "register", "frame": True}], "match": "date within 3 days"}
CHECKS = ("lists_are_near_independent", "no_crawl_is_missing", "completeness_agrees_with_register")


def write(home, lists, *, completeness=0.5):
    """Write what the asset reads of a collection: partitions, calendar, inputs and population."""
    captures = [(crawl, np.array(sorted(elements), dtype=object), True) for crawl, elements in lists.items()]
    sizes = [one.elements for one in home.presence.write(captures, dict.fromkeys(lists, "r"))]
    dated = pd.DataFrame(
        {"crawl": list(lists), "started_at": pd.to_datetime(list(lists)), "elements": sizes, "dated_by": "label"}
    )
    limits = {"completeness_low": completeness - 0.05, "completeness_high": completeness + 0.05}
    population = pd.DataFrame({"crawl": list(lists), "completeness": completeness, **limits, "model": "shell"})
    inputs = pd.DataFrame({"location": [f"{home.collection}.csv"], "bytes": [1], "sha256": ["0"]})
    home.observables.replace({"crawls": crawls_table(dated), "inputs": inputs, "population": population})


def captured(share, seed):
    chosen = np.random.default_rng(seed).random(len(ELEMENTS)) < share
    return {element for element, is_captured in zip(ELEMENTS, chosen, strict=True) if is_captured}


@pytest.fixture
def location(tmp_path):
    """Collections, their definitions and their homes, with three crawls each, one of which failed."""
    collections = [
        presence_collection(tmp_path, histories(3), name=name, **({"cross_archive": LISTS} if name == "mine" else {}))
        for name in ("mine", "theirs", "register")
    ]
    home = tmp_path / "home"
    homes = {one.name: CollectionHome(folder=str(home), collection=one.name) for one in collections}
    dates = labels(4)
    write(homes["mine"], {date: captured(0.5, seed) for seed, date in enumerate(dates) if seed != 1})
    write(homes["theirs"], {date: captured(0.4, 10 + seed) for seed, date in enumerate(dates)}, completeness=0.4)
    write(homes["register"], {date: set(ELEMENTS) for date in dates})
    return build_defs(collections, home=home), homes


def materialise(defs):
    """Materialise the asset and evaluate its checks; return the checks by name."""
    selection = dg.AssetSelection.assets(["mine", "cross_archive"])
    job = dg.define_asset_job("only", selection=selection, executor_def=dg.in_process_executor)
    merged = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
    with dg.DagsterInstance.ephemeral() as instance:
        result = merged.resolve_job_def("only").execute_in_process(instance=instance, run_config=QUIET)
        return {one.check_name: one for one in result.get_asset_check_evaluations()}


def test_the_table_covers_all_lists_and_the_checks_read_it(location):
    defs, homes = location
    checks = materialise(defs)
    table = homes["mine"].observables.read("cross_archive")
    assert table.loc[table["quantity"] == "union", "lists"].unique().tolist() == ["mine + theirs"]
    assert set(table.loc[table["estimator"] == "frame", "quantity"]) == {"coverage", "odds_ratio"}
    assert table.loc[table["quantity"] == "missing_crawl", "lists"].tolist() == ["mine"]
    assert set(checks) == set(CHECKS)
    assert not checks["no_crawl_is_missing"].passed
    assert f"mine {labels(4)[1]}" in checks["no_crawl_is_missing"].description
    assert checks["completeness_agrees_with_register"].passed


def test_completeness_far_from_counted_coverage_warns(location):
    defs, homes = location
    for name in ("mine", "theirs"):
        population = homes[name].observables.read("population")
        homes[name].observables.replace({"population": population.assign(completeness=0.95)})
    check = materialise(defs)["completeness_agrees_with_register"]
    assert not check.passed
    assert check.severity == dg.AssetCheckSeverity.WARN


def test_archives_that_have_not_run_leave_the_table_empty(location):
    defs, homes = location
    for name in ("theirs", "register"):
        homes[name].observables.path.unlink()
    checks = materialise(defs)
    table = homes["mine"].observables.read("cross_archive")
    assert set(table["quantity"]) <= {"calendar_gap"}
    assert checks["lists_are_near_independent"].passed


def test_sensor_starts_the_asset_after_other_archives(location):
    defs, _ = location
    dg.Definitions.validate_loadable(defs)
    graph = defs.resolve_asset_graph()
    parents = graph.get(dg.AssetKey(["mine", "cross_archive"])).parent_keys
    assert {dg.AssetKey(["theirs", "crawls"]), dg.AssetKey(["register", "crawls"])} <= parents
    assert dg.AssetKey(["mine", "report"]) in graph.get(dg.AssetKey(["mine", "cross_archive"])).child_keys
    assert not graph.has(dg.AssetKey(["theirs", "cross_archive"]))
    assert defs.resolve_sensor_def("mine_cross_archive").asset_selection is not None
    update = defs.resolve_job_def("mine_update").asset_layer.selected_asset_keys
    assert {key for key in update if key.path[0] != "mine"} == set()


def test_archive_with_renamed_keys_is_found(tmp_path):
    lists = ["mine", {"collection": "theirs", "crawls_key": "web_team/theirs/crawls"}]
    mine = presence_collection(tmp_path, histories(3), name="mine", cross_archive={"lists": lists})
    renamed = AssetOptions(translate=lambda spec, name: spec.replace_attributes(key=["mine_too", "mine", name]))
    graph = build_defs([mine], home=tmp_path, options=renamed).resolve_asset_graph()
    parents = graph.get(dg.AssetKey(["mine_too", "mine", "cross_archive"])).parent_keys
    assert dg.AssetKey(["web_team", "theirs", "crawls"]) in parents
    assert dg.AssetKey(["mine_too", "theirs", "crawls"]) not in parents


def test_statement_of_the_docs_gives_the_numbers_of_the_table(location, monkeypatch):
    defs, homes = location
    materialise(defs)
    table = homes["mine"].observables.read("cross_archive")
    date = labels(4)[0]
    page = (Path(__file__).parents[3] / "docs" / "archives.md").read_text(encoding="utf-8")
    statement, _ = re.findall(r"```sql\n(.*?)```", page, flags=re.DOTALL)
    monkeypatch.chdir(homes["mine"].path.parent)
    with duckdb.connect() as connection:
        (found,) = connection.execute(statement.replace("2024-01-01", date)).df().to_dict("records")
    rows = table[table["match"] == date].set_index(["quantity", "estimator", "lists"])
    pair = "mine + theirs"
    assert found["overlap"] == rows.loc[("overlap", "counted", pair), "estimate"]
    assert found["petersen"] == pytest.approx(rows.loc[("population", "bound", pair), "estimate"])
    assert found["coverage_of_mine"] == rows.loc[("coverage", "frame", "mine"), "estimate"]
    assert found["at_odds_ratio_10"] < rows.loc[("population", "petersen", pair), "sensitivity_high"]


def test_statement_on_federal_lists_gives_the_handed_numbers(shared_data, monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "archives.md").read_text(encoding="utf-8")
    _, statement = re.findall(r"```sql\n(.*?)```", page, flags=re.DOTALL)
    monkeypatch.chdir(shared_data / "two_lists")
    with duckdb.connect() as connection:
        (found,) = connection.execute(statement).df().to_dict("records")
        query = "FROM 'gsa_petersen_vs_registry.csv' WHERE list_a = 'gov_man' AND list_b = 'usa_gov'"
        (handed,) = connection.execute(query).df().to_dict("records")
    assert (found["n_a"], found["n_b"], found["n_both"]) == (handed["n_a"], handed["n_b"], handed["both"])
    assert found["chapman"] == pytest.approx(handed["chapman_N"], abs=0.05)
    assert found["bound"] == pytest.approx(handed["n_a"] * handed["n_b"] / handed["both"])
    assert found["coverage_of_a_petersen"] == pytest.approx(handed["cov_a_petersen"], abs=5e-4)
    assert found["coverage_of_a"] == pytest.approx(handed["cov_a_truth"], abs=5e-4)
