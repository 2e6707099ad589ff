"""What an idle deployment costs: loading the code location, and a look at a source that has nothing new.

Here: 30 collections of 130 crawls each. ``python -m crawl_urn_dagster_tests.benchmarks.operations`` prints the time to
load their definitions beside that of as many empty definitions, and the time of a sensor's tick.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dagster as dg
import numpy as np

from crawl_urn_dagster.build import build_defs
from crawl_urn_dagster.sources import fingerprint
from crawl_urn_dagster.specs import FINGERPRINT
from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster_tests.collections_for_tests import lists_collection, presence_of, write_list
from crawl_urn_dagster_tests.line import Line

COLLECTIONS, CRAWLS, REPEATS = 30, 130, 5

_LOAD = """
import time
import dagster as dg
{imports}
started = time.perf_counter()
defs = {defs}
defs.resolve_asset_graph(), defs.resolve_all_job_defs()
print(time.perf_counter() - started)
"""
_OURS = "build_defs([Collection(name=f'c{{n}}', granularity='url', source=SimulatedSource()) for n in range({n})])"


def same_shape(n_collections):
    """As many assets, checks, jobs, sensors and schedules as our collections have, all of them empty."""
    from crawl_urn_dagster.collection import Collection
    from crawl_urn_dagster.sources import SimulatedSource

    ours = build_defs([Collection(name="one", granularity="url", source=SimulatedSource())])
    return dg.Definitions.merge(*(_empty(ours, f"e{number}") for number in range(n_collections)))


def _empty(ours, name):
    def asset(specs, step):
        @dg.multi_asset(
            specs=[
                dg.AssetSpec([name, spec.key.path[1]], deps=[[name, dep.asset_key.path[1]] for dep in spec.deps])
                for spec in specs
            ],
            name=f"{name}_step{step}",
        )
        def nothing(): ...

        return nothing

    def check(spec):
        @dg.asset_check(asset=[name, spec.asset_key.path[1]], name=spec.name)
        def nothing():
            return dg.AssetCheckResult(passed=True)

        return nothing

    jobs = [
        dg.define_asset_job(f"{name}_{number}", selection=dg.AssetSelection.key_prefixes(name))
        for number in range(len(ours.jobs))
    ]
    return dg.Definitions(
        assets=[asset(list(one.specs), step) for step, one in enumerate(ours.assets)],
        asset_checks=[check(spec) for checks in ours.asset_checks for spec in checks.check_specs],
        jobs=jobs,
        sensors=[
            dg.SensorDefinition(name=f"{name}_s{number}", evaluation_fn=lambda _: None, job=jobs[0])
            for number in range(len(ours.sensors))
        ],
        schedules=[
            dg.ScheduleDefinition(name=f"{name}_t{number}", job=jobs[0], cron_schedule="0 6 2 * *")
            for number in range(len(ours.schedules))
        ],
    )


def load_seconds(imports, defs):
    """Median time to build definitions and resolve their graph and jobs, in processes of their own."""
    command = [sys.executable, "-W", "ignore", "-c", _LOAD.format(imports=imports, defs=defs)]
    return statistics.median(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(REPEATS)
    )


def tick_seconds(folder):
    """Median time of a tick with nothing new, of a collection of lists, one per crawl."""
    simulated = simulate(times=np.arange(CRAWLS), core=100, shell=200, alpha=0.9, coverage=0.5, seed=7)
    for crawl, elements in presence_of(simulated).items():
        write_list(folder, crawl, elements)
    line = Line(lists_collection(folder), folder, on_disk=True)
    line.ingest()
    listing = line.collection.source.list_crawls(line.home.files, line.collection.selection)
    report = dg.AssetMaterialization(["split", "report"], metadata={FINGERPRINT: fingerprint(listing.inputs)})
    line.instance.report_runless_asset_event(report)
    sensor = line.defs.resolve_sensor_def("split_new_crawl")
    taken = []
    for _ in range(REPEATS):
        with dg.build_sensor_context(
            instance=line.instance, resources={"split_home": line.home}, definitions=line.defs
        ) as context:
            started = time.perf_counter()
            said = sensor.evaluate_tick(context).skip_message
            taken.append(time.perf_counter() - started)
        assert "Nothing new" in said or "has just ingested" in said, said
    return statistics.median(taken)


def main():
    """Print the table."""
    imports = (
        "from crawl_urn_dagster.build import build_defs\nfrom crawl_urn_dagster.collection import Collection\n"
        "from crawl_urn_dagster.sources import SimulatedSource"
    )
    ours = load_seconds(imports, _OURS.format(n=COLLECTIONS))
    own = "from crawl_urn_dagster_tests.benchmarks.operations import same_shape"
    empty = load_seconds(own, f"same_shape({COLLECTIONS})")
    print(f"load of {COLLECTIONS} collections: {ours:.2f} s; empty: {empty:.2f} s; {ours / empty:.2f} times")
    with tempfile.TemporaryDirectory() as folder:
        print(f"tick with nothing new, {CRAWLS} lists: {tick_seconds(Path(folder)):.2f} s")


if __name__ == "__main__":
    main()
