"""Assembly: the Dagster definitions of some collections.

Here: which assets, checks, jobs, sensors, schedules and resources a collection gets. Not here: any of them, or
where the configuration comes from (`definitions`, `component`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.orchestration.alerts import alert_sensor
from crawl_urn_dagster.orchestration.asset_keys import asset_key, home_key, ingest_job_name, job_names, update_job_name
from crawl_urn_dagster.orchestration.assets import collection_assets, read_job
from crawl_urn_dagster.orchestration.assets.comparison import comparison_asset, comparison_sensor
from crawl_urn_dagster.orchestration.checks import collection_checks
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.orchestration.schedules import refresh_schedule
from crawl_urn_dagster.orchestration.sensors import ingested_sensor, new_crawl_sensor

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition as Job

    from crawl_urn_dagster.config.collection import Collection


def build_defs(
    collections: Sequence[Collection],
    *,
    home: str | os.PathLike[str] = "crawl_urn_home",
    alerts: Sequence[str] = (),
    ui_url: str | None = None,
) -> dg.Definitions:
    """Dagster definitions of some collections, to be used as they are or merged with others.

    Two collections or more get a comparison, which is kept beside their folders.

    Parameters
    ----------
    collections
        At least one, with different names.
    home
        Folder for the data of all collections.
    alerts
        Where alerts are sent: addresses in apprise's notation.
    ui_url
        Where people see the UI, for the links in alerts.

    Raises
    ------
    ValueError
        When there is no collection, or two have the same name.
    """
    if not collections:
        raise ValueError("build_defs needs at least one collection")
    repeated = [name for name, times in Counter(one.name for one in collections).items() if times > 1]
    if repeated:
        raise ValueError(f"two collections have the same name: {', '.join(repeated)}")
    return dg.Definitions.merge(
        *(_collection_defs(one, home=str(home), alerts=alerts, ui_url=ui_url) for one in collections),
        _comparison_defs(collections),
    )


def _comparison_defs(collections: Sequence[Collection]) -> dg.Definitions:
    if len(collections) == 1:
        return dg.Definitions()
    asset = comparison_asset(collections)
    return dg.Definitions(assets=[asset], sensors=[comparison_sensor(asset)])


def _collection_defs(collection: Collection, *, home: str, alerts: Sequence[str], ui_url: str | None) -> dg.Definitions:
    files = CollectionHome(folder=home, collection=collection.name)
    presence = dg.AssetSelection.assets(asset_key(collection, "presence")) if collection.has_histories else None
    everything = dg.AssetSelection.key_prefixes(collection.name)
    update = dg.define_asset_job(
        update_job_name(collection),
        selection=everything - presence if presence else everything,
        description=f"Brings {collection.name} up to date: from its source to figures and report.",
        executor_def=dg.in_process_executor,
    )
    jobs: list[dg.JobDefinition | Job] = [update]
    sensors = []
    if collection.has_files:
        jobs.append(read_job(collection, files))
    if presence:
        ingest = dg.define_asset_job(
            ingest_job_name(collection),
            selection=presence,
            description=f"Reads crawls of {collection.name} into partitions; all that are listed when none is chosen.",
            executor_def=dg.in_process_executor,
        )
        jobs.append(ingest)
        sensors.append(ingested_sensor(collection, update, ingest))
    sensors.append(new_crawl_sensor(collection, jobs))
    figure = "containment_by_lag" if collection.has_containment else "discovery_curves_by_start"
    sensors.append(alert_sensor(collection, alerts, ui_url=ui_url, figure=figure))
    return dg.Definitions(
        assets=collection_assets(collection),
        asset_checks=collection_checks(collection),
        jobs=jobs,
        sensors=sensors,
        schedules=[refresh_schedule(collection, job) for job in job_names(collection)],
        resources={home_key(collection): files},
    )
