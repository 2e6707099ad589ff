"""A collection's jobs on a real instance with its event log, for tests.

Here: running them and reading what they left. Not here: collections (`collections_for_tests`) or assertions.
"""

import dagster as dg

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.orchestration.assets import collection_assets
from crawl_urn_dagster.orchestration.assets.estimates import INFERENCE_TABLES
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.partitions import crawl_partitions, find_ingest
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.orchestration.run_results import read_outcome


def _made_with(kind):
    """Names of the assets of a collection that has everything, by what they are made with."""
    assets = collection_assets(demo_collection())
    return frozenset(spec.key.path[-1] for made in assets for spec in made.specs if kind in spec.kinds)


#: Half of the time of an update.
FIGURES = _made_with("matplotlib")
ESTIMATES = _made_with("scipy") | {"headline"}
ALL_BUT_OBSERVABLES = FIGURES | ESTIMATES | {"report", "export"}
#: What no check reads.
UNCHECKED = ALL_BUT_OBSERVABLES - {
    "parameters",
    "operator_terms",
    *INFERENCE_TABLES,
    "headline",
    "drift",
    "control_chart",
}
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class Pipeline:
    """A collection's jobs, run in this process on an instance of its own.

    The log of the instance is in memory, or on disk as an operator's is, which takes as long as most steps of a test.
    """

    def __init__(self, collection, folder, *, on_disk=False):
        (folder / "instance").mkdir(parents=True, exist_ok=True)
        make = dg.DagsterInstance.local_temp if on_disk else dg.DagsterInstance.ephemeral
        self.instance = make(str(folder / "instance"))
        self.home = CollectionHome(folder=str(folder / "home"), collection=collection.name)
        self.configure(collection)

    def configure(self, collection):
        """Take another configuration of the same collection."""
        self.collection = collection
        self.defs = build_defs([collection], home=self.home.folder)

    def run(self, tags=None, *, without=frozenset()):
        """Ingest what is new, then update, as the command does; gives the result of the update."""
        if self.collection.has_histories:
            self.ingest()
        return self.execute("update", tags, without=without)

    def ingest(self):
        """Ingest what is new; gives the result of each run."""
        found = self.find_ingest()
        if found is None:
            return []
        self.add_partitions(found.new)
        return [self.execute("ingest", tags) for tags in found.runs]

    def find_ingest(self):
        listing = self.collection.source.list_crawls(self.home.files, self.collection.selection)
        return find_ingest(self.instance, self.collection, self.home, listing)

    def add_partitions(self, crawls):
        self.instance.add_dynamic_partitions(crawl_partitions(self.collection).name, list(crawls))

    def execute(self, job, tags=None, *, without=frozenset()):
        """Run a job but for some assets, with the tags that it was asked for with."""
        definition = self.defs.resolve_job_def(f"{self.collection.name}_{job}")
        result = definition.execute_in_process(
            instance=self.instance,
            raise_on_error=False,
            tags=tags,
            run_config=QUIET,
            asset_selection=[key for key in definition.asset_layer.selected_asset_keys if key.path[-1] not in without],
        )
        self.outcome = read_outcome(self.instance, result.run_id)
        # The SQL definitions hold for every collection of the tests, not only where a test asks for it.
        checks = {check.check_name: check for check in result.get_asset_check_evaluations()}
        assert "observables_equal_sql" not in checks or checks["observables_equal_sql"].passed, checks
        return result

    def tables(self, *names):
        """Tables of the contract by name."""
        return self.home.observables.read_all(names)

    def page(self):
        """The report as Markdown."""
        return self.home.report.with_suffix(".md").read_text()

    def metadata(self, name):
        event = self.instance.get_latest_materialization_event(dg.AssetKey([self.collection.name, name]))
        return {key: value.value for key, value in event.asset_materialization.metadata.items()}

    def figures(self):
        return {path.stem for path in self.home.figures.glob("*.png")} & {
            path.stem for path in self.home.figures.glob("*.svg")
        }
