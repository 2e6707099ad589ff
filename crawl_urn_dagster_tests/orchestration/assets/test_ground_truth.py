"""The assets that hold a collection against the operator's counters, and their checks."""

import dagster as dg
import pandas as pd

from crawl_urn_dagster.observables.schema import LAST_CRAWL, POPULATION
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster_tests.collections_for_tests import tables_collection
from crawl_urn_dagster_tests.figures.frames import estimated
from crawl_urn_dagster_tests.pipeline import QUIET

#: Tables that the asset reads.
READ = ("crawls", "discovery_curve", "parameters", "parameter_history", "drift", "adequacy_tests")


def materialise(tmp_path, population):
    """Materialise the assets and evaluate their checks; return the tables and the checks by name."""
    crawls = estimated()["crawls"]
    counters = [(crawl, "alive", population * (1 if at < 11 else 0.5)) for at, crawl in enumerate(crawls["crawl"])]
    pd.DataFrame(counters, columns=["crawl", "quantity", "value"]).to_csv(tmp_path / "counters.csv", index=False)
    settings = {"type": "counter_table", "path": str(tmp_path / "counters.csv"), "population": ["alive"]}
    collection = tables_collection(tmp_path, ground_truth=settings)
    home = CollectionHome(folder=str(tmp_path / "home"), collection=collection.name)
    empty = {table.name: pd.DataFrame(columns=list(table.column_names)) for table in (LAST_CRAWL, POPULATION)}
    home.observables.replace({**{name: estimated()[name] for name in READ}, **empty})
    selection = dg.AssetSelection.assets(
        *([collection.name, name] for name in ("ground_truth", "ground_truth_comparison", "counter_changes"))
    )
    job = dg.define_asset_job("only", selection=selection, executor_def=dg.in_process_executor)
    merged = dg.Definitions.merge(build_defs([collection], home=tmp_path / "home"), dg.Definitions(jobs=[job]))
    with dg.DagsterInstance.ephemeral() as instance:
        result = merged.resolve_job_def("only").execute_in_process(instance=instance, run_config=QUIET)
        checks = {one.check_name: one for one in result.get_asset_check_evaluations()}
    return home.observables.read_all(["ground_truth", "ground_truth_comparison", "counter_changes"]), checks


def test_estimates_are_compared_and_a_fall_is_named(tmp_path):
    tables, checks = materialise(tmp_path, 1_000)
    assert tables["ground_truth"]["role"].unique().tolist() == ["population"]
    sizes = tables["ground_truth_comparison"].query("quantity == 'urn_size'")
    assert {"joint", "discovery_curve"} <= set(sizes["projection"])
    # The counter fell at the last of 12 crawls, so its mean is 1,000 * 11.5 / 12.
    assert sizes["counted"].iloc[0] == 1_000 * 11.5 / 12
    assert tables["counter_changes"][["crawl", "quantity"]].to_numpy().tolist() == [
        [tables["ground_truth"]["crawl"].iloc[-1], "alive"]
    ]
    assert set(checks) == {"size_agrees_with_counter", "counters_are_steady"}
    assert checks["size_agrees_with_counter"].passed
    assert not checks["counters_are_steady"].passed


def test_an_estimate_far_from_the_counter_is_a_warning(tmp_path):
    _, checks = materialise(tmp_path, 3_000)
    check = checks["size_agrees_with_counter"]
    assert not check.passed
    assert check.severity == dg.AssetCheckSeverity.WARN
    assert "(above)" in check.description
