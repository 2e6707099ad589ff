"""Evaluate the alert sensor, and run one check on tables written for a test."""

import dagster as dg

from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster_tests.pipeline import QUIET


def tick(pipeline, *targets, collection=None):
    """Evaluate the alert sensor of the collection, as the daemon does; return its message."""
    one = collection or pipeline.collection
    defs = build_defs([one], home=pipeline.home.path.parent, alerts=targets, ui_url="http://ui.example/")
    with dg.build_sensor_context(instance=pipeline.instance, definitions=defs) as context:
        return defs.resolve_sensor_def(f"{one.name}_alerts").evaluate_tick(context).skip_message


def run_check(pipeline, asset, check):
    """Run only one check, as the last step of an update; return whether the run succeeded."""
    key = dg.AssetCheckKey(dg.AssetKey([pipeline.collection.name, asset]), check)
    update = dg.define_asset_job(f"{pipeline.collection.name}_update", selection=dg.AssetSelection.checks(key))
    defs = dg.Definitions(
        assets=pipeline.defs.assets,
        asset_checks=pipeline.defs.asset_checks,
        resources=pipeline.defs.resources,
        jobs=[update],
    )
    job = defs.resolve_job_def(update.name)
    return job.execute_in_process(instance=pipeline.instance, run_config=QUIET, raise_on_error=False).success


def set_drift(pipeline, by):
    """Write a drift of the core to the table drift."""
    table = pipeline.home.observables.read("drift")
    row = {"reference_value": 0.4, "value": 0.4 + by, "difference": by, "statistic": abs(by), "reason": None}
    pipeline.home.observables.replace({"drift": table.assign(**row, drifted=abs(by) > 0.1)})
