"""Run the jobs of a collection on a real instance with its event log.

Does not define collections (`collections_for_tests`) or assert anything.
"""

from contextlib import nullcontext
from unittest import mock

import dagster as dg

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.figures import CATALOGUE
from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT
from crawl_urn_dagster.orchestration.assets import collection_assets
from crawl_urn_dagster.orchestration.assets.estimates import INFERENCE_TABLES
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.partitions import crawl_partitions, plan_ingest
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.orchestration.run_results import read_outcome
from crawl_urn_dagster.sources import InputFile, fingerprint
from crawl_urn_dagster_tests.unflushed.sitecustomize import draw_nothing  # flushes nothing from its import on


def _assets_of_kind(kind):
    """Names of the assets of one kind of a collection that has all assets."""
    assets = collection_assets(demo_collection(), CollectionHome("", "demo"))
    return frozenset(spec.key.path[-1] for asset in assets for spec in asset.specs if kind in spec.kinds)


#: They take half of the time of an update.
FIGURES = _assets_of_kind("matplotlib")
ESTIMATES = _assets_of_kind("scipy") | {"headline"}
#: Assets after the observables.
ALL_BUT_OBSERVABLES = FIGURES | ESTIMATES | {"report", "export"}
#: Assets after the fits of the whole collection.
ALL_BUT_FITS = ALL_BUT_OBSERVABLES - {"parameters", "operator_terms", *INFERENCE_TABLES, "headline"}
#: Assets that no check reads.
UNCHECKED = ALL_BUT_OBSERVABLES - {
    "parameters",
    "operator_terms",
    *INFERENCE_TABLES,
    "headline",
    "drift",
    "control_chart",
    "forecast",
    "last_crawl",
}
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class Pipeline:
    """The jobs of a collection, run in this process on a separate instance.

    The log of the instance is in memory, or on disk like an operator's log, which takes as long as most test steps.
    """

    def __init__(self, collection, folder, *, on_disk=False):
        (folder / "instance").mkdir(parents=True, exist_ok=True)
        create = dg.DagsterInstance.local_temp if on_disk else dg.DagsterInstance.ephemeral
        self.instance = create(str(folder / "instance"))
        self.home = CollectionHome(folder=str(folder / "home"), collection=collection.name)
        self.configure(collection)

    def configure(self, collection):
        """Use another configuration of the same collection."""
        self.collection = collection
        self.defs = build_defs([collection], home=self.home.folder)

    def run(self, tags=None, *, without=frozenset()):
        """Ingest new crawls, then update, as the command does; return the result of the update."""
        if self.collection.has_histories:
            self.ingest()
        return self.execute("update", tags, without=without)

    def ingest(self):
        """Ingest new crawls; return the result of each run."""
        found = self.plan_ingest()
        if found is None:
            return []
        self.add_partitions(found.new_crawls)
        return [self.execute("ingest", tags) for tags in found.run_tags]

    def plan_ingest(self):
        listing = self.collection.source.list_crawls(self.home.files, self.collection.selection)
        return plan_ingest(self.instance, self.collection, self.home, listing)

    def add_partitions(self, crawls):
        self.instance.add_dynamic_partitions(crawl_partitions(self.collection).name, list(crawls))

    def execute(self, job, tags=None, *, without=frozenset()):
        """Run a job without some assets, with the tags of its request.

        Without figures, the report has empty pictures: to draw them takes most of its time.
        """
        if without - FIGURES:
            without |= {"complete"}  # it fails without the others
        definition = self.defs.resolve_job_def(f"{self.collection.name}_{job}")
        keys = [key for key in definition.asset_layer.selected_asset_keys if key.path[-1] not in without]
        empty = mock.patch("crawl_urn_dagster.figures.files.draw", draw_nothing)
        with nullcontext() if CATALOGUE.keys() & {key.path[-1] for key in keys} else empty:
            result = definition.execute_in_process(
                instance=self.instance, raise_on_error=False, tags=tags, run_config=QUIET, asset_selection=keys
            )
        self.outcome = read_outcome(self.instance, result.run_id)
        # Tested on the collection of every test, not only in the test of the SQL definitions.
        checks = {check.check_name: check for check in result.get_asset_check_evaluations()}
        assert "observables_equal_sql" not in checks or checks["observables_equal_sql"].passed, checks
        return result

    def materialise(self, *names):
        """Materialise some assets of the update, as from their pages in the UI; return the result."""
        job = self.defs.resolve_job_def(f"{self.collection.name}_update")
        keys = [dg.AssetKey([self.collection.name, name]) for name in names]
        return job.execute_in_process(
            instance=self.instance, raise_on_error=False, run_config=QUIET, asset_selection=keys
        )

    def record_report(self):
        """Record a report of the present inputs without writing one, which takes most of the time of an update."""
        inputs = self.home.observables.read("inputs").itertuples(index=False)
        metadata = {FINGERPRINT: fingerprint(tuple(InputFile(*row) for row in inputs))}
        report = dg.AssetMaterialization([self.collection.name, "report"], metadata=metadata)
        self.instance.report_runless_asset_event(report)

    def tables(self, *names):
        """Tables by name."""
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
