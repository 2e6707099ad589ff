"""Measure the cost of an idle deployment: loading the code location, and polling a source without new crawls.

Uses 30 collections of 130 crawls each. ``python -m crawl_urn_dagster_tests.benchmarks.operations`` prints the time to
load their definitions, the time to load as many empty definitions, and the time of a sensor's tick.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dagster as dg
import numpy as np

from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.sources import fingerprint
from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster_tests.collections_for_tests import lists_collection, presence_of, write_list
from crawl_urn_dagster_tests.pipeline import Pipeline

COLLECTIONS, CRAWLS, REPEATS = 30, 130, 5

_LOAD = """
import json
import sys
import time
import dagster as dg
{prepare}
started = time.process_time()
{imports}
defs = {defs}
defs.resolve_asset_graph(), defs.resolve_all_job_defs()
print(time.process_time() - started)
"""
_IMPORTS = """
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.sources import SimulatedSource
"""
_OURS = f"""build_defs(
    [Collection(name=f'c{{n}}', granularity='url', source=SimulatedSource()) for n in range({COLLECTIONS})]
)"""


def shape():
    """Return the assets with their dependencies and the checks of one collection, by step, and counts of the others."""
    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.sources import SimulatedSource

    ours = build_defs([Collection(name="one", granularity="url", source=SimulatedSource())])
    return {
        "assets": [
            [[spec.key.path[1], [dep.asset_key.path[1] for dep in spec.deps]] for spec in step.specs]
            for step in ours.assets
        ],
        "checks": [[[spec.asset_key.path[1], spec.name] for spec in step.check_specs] for step in ours.asset_checks],
        "jobs": len(ours.jobs),
        "sensors": len(ours.sensors),
        "schedules": len(ours.schedules),
    }


def empty_defs(shape, n_collections):
    """Return as many definitions, in as many steps, that do nothing."""
    return dg.Definitions.merge(*(_empty(shape, f"e{number}") for number in range(n_collections)))


def _empty(shape, name):
    def nothing(): ...

    assets = [
        dg.multi_asset(
            specs=[dg.AssetSpec([name, asset], deps=[[name, dep] for dep in deps]) for asset, deps in step],
            name=f"{name}_step{number}",
        )(nothing)
        for number, step in enumerate(shape["assets"])
    ]
    checks = [
        dg.multi_asset_check(
            specs=[dg.AssetCheckSpec(check, asset=[name, asset]) for asset, check in step],
            name=f"{name}_check{number}",
        )(nothing)
        for number, step in enumerate(shape["checks"])
    ]
    everything, first = dg.AssetSelection.key_prefixes(name), dg.AssetSelection.assets([name, shape["assets"][0][0][0]])
    jobs = [
        dg.define_asset_job(f"{name}_{number}", selection=first if number else everything)
        for number in range(shape["jobs"])
    ]
    return dg.Definitions(
        assets=assets,
        asset_checks=checks,
        jobs=jobs,
        sensors=[
            dg.SensorDefinition(name=f"{name}_s{number}", evaluation_fn=lambda _: None, job=jobs[0])
            for number in range(shape["sensors"])
        ],
        schedules=[
            dg.ScheduleDefinition(name=f"{name}_t{number}", job=jobs[0], cron_schedule="0 6 2 * *")
            for number in range(shape["schedules"])
        ],
    )


def load_seconds():
    """Return the minimum processor time to build and resolve our definitions, imports included, and empty ones.

    Each build has its own process, and the two kinds alternate, so other load on the machine affects both.
    """
    empty = f"empty_defs(shape, {COLLECTIONS})"
    prepare = f"from {__spec__.name} import empty_defs; shape = json.load(sys.stdin)"
    scripts = {
        "ours": _LOAD.format(prepare="", imports=_IMPORTS, defs=_OURS),
        "empty": _LOAD.format(prepare=prepare, imports="", defs=empty),
    }
    taken = {name: [] for name in scripts}
    given = json.dumps(shape())
    for _ in range(REPEATS):
        for name, script in scripts.items():
            command = [sys.executable, "-W", "ignore", "-c", script]
            run = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
            taken[name].append(float(run.stdout))
    return {name: min(seconds) for name, seconds in taken.items()}


def tick_seconds(folder):
    """Return the median time of a tick without new crawls, for a collection with one list per crawl."""
    simulated = simulate(times=np.arange(CRAWLS), core=100, shell=200, alpha=0.9, coverage=0.5, seed=7)
    for crawl, elements in presence_of(simulated).items():
        write_list(folder, crawl, elements)
    line = Pipeline(lists_collection(folder), folder, on_disk=True)
    line.ingest()
    listing = line.collection.source.list_crawls(line.home.files, line.collection.selection)
    report = dg.AssetMaterialization(["split", "report"], metadata={FINGERPRINT: fingerprint(listing.inputs)})
    line.instance.report_runless_asset_event(report)
    sensor = line.defs.resolve_sensor_def("split_new_crawl")
    taken = []
    for _ in range(REPEATS):
        with dg.build_sensor_context(instance=line.instance, definitions=line.defs) as context:
            started = time.perf_counter()
            message = sensor.evaluate_tick(context).skip_message
            taken.append(time.perf_counter() - started)
        assert "Nothing new" in message or "has just ingested" in message, message
    return statistics.median(taken)


def main():
    """Print the table."""
    seconds = load_seconds()
    print(
        f"load of {COLLECTIONS} collections: {seconds['ours']:.2f} s; empty: {seconds['empty']:.2f} s; "
        f"{seconds['ours'] / seconds['empty']:.2f} times"
    )
    with tempfile.TemporaryDirectory() as folder:
        print(f"tick with nothing new, {CRAWLS} lists: {tick_seconds(Path(folder)):.2f} s")


if __name__ == "__main__":
    main()
