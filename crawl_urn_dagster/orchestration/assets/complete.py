"""Define the asset `complete`, the last of an update: it marks the tables as belonging to the same crawls.

Does not remove the mark; the first change of a table does (`observables.database`).
"""

from collections.abc import Sequence
from datetime import datetime, timezone

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.schema import COMPLETE, TABLES, TRUTH
from crawl_urn_dagster.orchestration.asset_keys import (
    asset_key,
    asset_name,
    asset_spec,
    assets_of,
    table_result,
    update_job_name,
)
from crawl_urn_dagster.orchestration.resources import CollectionHome


def complete_asset(
    collection: Collection, home: CollectionHome, assets: Sequence[dg.AssetsDefinition]
) -> dg.AssetsDefinition:
    """Define the mark of some tables; it waits for export and report, but for no figure that a check may block."""
    names = {asset_name(collection, spec.key) for made in assets for spec in made.specs}
    tables = [name for name in TABLES if name in names]
    # The export waits for every table.
    spec = asset_spec(collection, home, COMPLETE.name, kinds={"duckdb"}, deps=["export", "report"])

    @assets_of(collection, COMPLETE.name, [spec], op_tags={"dagster/priority": "-2"})
    def complete(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        import pandas as pd

        outdated = _older_than_crawls(context.instance, collection, tables)
        if outdated:
            raise ValueError(
                f"{collection.name}: found tables that are older than table crawls: {', '.join(outdated)}; run "
                f"{update_job_name(collection)}"
            )
        crawls = home.observables.read("crawls")
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        row = (crawls["crawl"].iloc[-1], len(crawls), context.run.run_id, now)
        table = pd.DataFrame([row], columns=list(COMPLETE.column_names))
        home.observables.replace({COMPLETE.name: table})
        return table_result(collection, COMPLETE.name, table)

    return complete


def _older_than_crawls(instance: dg.DagsterInstance, collection: Collection, tables: Sequence[str]) -> list[str]:
    """Return the tables that were not materialised since `crawls`; a simulated truth depends on no crawl."""
    keys = {asset_key(collection, name): name for name in tables if name != TRUTH.name}
    written = dict.fromkeys(keys.values(), 0.0)
    for record in instance.get_asset_records(list(keys)):
        event = record.asset_entry.last_materialization_record
        if event is not None:
            written[keys[record.asset_entry.asset_key]] = event.timestamp
    return [name for name, timestamp in written.items() if timestamp < written["crawls"]]
