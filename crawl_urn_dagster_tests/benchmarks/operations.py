"""Measure the cost of an idle deployment: loading the code location, and polling a source without new crawls.

``python -m crawl_urn_dagster_tests.benchmarks.operations`` prints, for 1 to 100 collections, the processor time to
build and resolve their definitions with all snapshots that Dagster stores, the size of these snapshots, and both for
as many empty definitions of the same shapes. It also prints the time of a tick on 130 lists. Numbers of collections
may be given as arguments. ``--graphql`` prints instead how long a webserver takes to answer its asset graph.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import dagster as dg
import numpy as np

from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.sources import fingerprint
from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster_tests.collections_for_tests import lists_collection, presence_of, write_list
from crawl_urn_dagster_tests.pipeline import Pipeline

COLLECTIONS, CRAWLS, REPEATS = (1, 10, 30, 100), 130, 3

_LOAD = """
import json
import sys
import time
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster_shared.serdes import serialize_value
{imports}
shape = json.load(sys.stdin)
started = time.process_time()
repository = {defs}.get_repository_def()
jobs = [serialize_value(job.get_job_snapshot()) for job in repository.get_all_jobs()]
snapshot = serialize_value(RepositorySnap.from_def(repository, defer_snapshots=True))
seconds = time.process_time() - started
print(json.dumps([seconds, (len(snapshot) + sum(map(len, jobs))) / 1e6]))
"""
_IMPORTS = """
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.sources import SimulatedSource
"""
_OURS = """build_defs(
    [Collection(name=f'c{{n}}', granularity='url', source=SimulatedSource()) for n in range({n})]
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


def load_costs(n_collections, repeats=REPEATS):
    """Return the minimum processor time and the size of the snapshots of our definitions and of empty ones.

    Each build has its own process, and the two kinds alternate, so other load on the machine affects both.
    """
    imports = f"from {__spec__.name} import empty_defs"
    scripts = {
        "ours": _LOAD.format(imports=_IMPORTS, defs=_OURS.format(n=n_collections)),
        "empty": _LOAD.format(imports=imports, defs=f"empty_defs(shape, {n_collections})"),
    }
    taken = {name: [] for name in scripts}
    given = json.dumps(shape())
    for _ in range(repeats):
        for name, script in scripts.items():
            command = [sys.executable, "-W", "ignore", "-c", script]
            run = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
            taken[name].append(json.loads(run.stdout))
    return {name: min(costs) for name, costs in taken.items()}


def print_load_costs(numbers):
    """Print a row of the table in `docs/production.md` for each number of collections."""
    print("| collections | CPU, s | CPU a collection, s | empty, s | ratio | snapshots a collection, MB | empty, MB |")
    print("|---|---|---|---|---|---|---|")
    for n in numbers:
        costs = load_costs(n)
        (seconds, size), (empty_seconds, empty_size) = costs["ours"], costs["empty"]
        print(
            f"| {n} | {seconds:.2f} | {seconds / n:.3f} | {empty_seconds / n:.3f} | {seconds / empty_seconds:.2f} "
            f"| {size / n:.2f} | {empty_size / n:.2f} |"
        )


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


_ASSET_GRAPH = """query { assetNodes { id assetKey { path } dependencyKeys { path } groupName jobNames
  hasMaterializePermission isPartitioned assetChecksOrError { ... on AssetChecks { checks { name } } } } }"""


def graphql_seconds(n_collections, folder):
    """Return the seconds from the start of a webserver to its first answer, and those of each query of its graph."""
    collections = "".join(
        f"  - {{name: c{n}, granularity: url, source: {{type: simulated}}}}\n" for n in range(n_collections)
    )
    (folder / "collections.yaml").write_text(f"collections:\n{collections}")
    environment = {
        **os.environ,
        "CRAWL_URN_COLLECTIONS": str(folder / "collections.yaml"),
        "CRAWL_URN_HOME": str(folder / "home"),
        "DAGSTER_HOME": str(folder),
    }
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}")
    command = [sys.executable, "-m", "dagster_webserver", "-m", "crawl_urn_dagster.definitions", "-p", "3977"]
    started = time.perf_counter()
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    taken = []
    try:
        while len(taken) < REPEATS:
            asked = time.perf_counter()
            try:
                nodes = _ask(_ASSET_GRAPH)["assetNodes"]
            except OSError:
                time.sleep(0.2)
                continue
            taken.append(time.perf_counter() - asked)
            assert len(nodes) > 40 * n_collections, len(nodes)
            if len(taken) == 1:
                ready = time.perf_counter() - started
    finally:
        server.terminate()
        server.wait()
    return ready, taken


def _ask(query):
    data, headers = json.dumps({"query": query}).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request("http://127.0.0.1:3977/graphql", data, headers)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.loads(answer.read())["data"]


def main():
    """Print the tables."""
    arguments = sys.argv[1:]
    numbers = [int(one) for one in arguments if one.isdigit()] or COLLECTIONS
    with tempfile.TemporaryDirectory() as folder:
        if "--graphql" in arguments:
            ready, taken = graphql_seconds(numbers[-1], Path(folder))
            queries = ", ".join(f"{one:.1f}" for one in taken)
            print(f"asset graph of {numbers[-1]} collections: first answer after {ready:.1f} s, queries {queries} s")
            return
        print_load_costs(numbers)
        print(f"tick with nothing new, {CRAWLS} lists: {tick_seconds(Path(folder)):.2f} s")


if __name__ == "__main__":
    main()
