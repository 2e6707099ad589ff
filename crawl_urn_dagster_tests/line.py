"""A collection's job on a real instance with its event log, for tests.

Here: running it and reading what it left. Not here: collections (`collections_for_tests`) or assertions.
"""

import dagster as dg

from crawl_urn_dagster.build import build_defs
from crawl_urn_dagster.outcomes import read_outcome
from crawl_urn_dagster.resources import CollectionHome

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class Line:
    """A collection's job, run on an instance of its own."""

    def __init__(self, collection, folder):
        self.collection = collection
        (folder / "instance").mkdir(exist_ok=True)
        self.instance = dg.DagsterInstance.local_temp(
            str(folder / "instance"), overrides={"telemetry": {"enabled": False}}
        )
        self.home = CollectionHome(folder=str(folder / "home"), collection=collection.name)
        self.defs = build_defs([collection], home=folder / "home")

    def run(self, tags=None):
        job = self.defs.resolve_job_def(f"{self.collection.name}_update")
        result = job.execute_in_process(instance=self.instance, raise_on_error=False, tags=tags, run_config=QUIET)
        self.outcome = read_outcome(self.instance, result.run_id)
        return result

    def metadata(self, name):
        event = self.instance.get_latest_materialization_event(dg.AssetKey([self.collection.name, name]))
        return {key: value.value for key, value in event.asset_materialization.metadata.items()}

    def figures(self):
        return {path.stem for path in self.home.figures.glob("*.png")} & {
            path.stem for path in self.home.figures.glob("*.svg")
        }
