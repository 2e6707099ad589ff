"""Assembly: the Dagster definitions of some collections.

Here: which assets, checks, jobs, sensors, schedules and resources a collection gets. Not here: any of them, or
where the configuration comes from (`definitions`, `component`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.alerts import alert_sensors
from crawl_urn_dagster.assets import collection_assets
from crawl_urn_dagster.checks import collection_checks
from crawl_urn_dagster.resources import CollectionHome
from crawl_urn_dagster.schedules import monthly_schedule
from crawl_urn_dagster.sensors import new_crawl_sensor
from crawl_urn_dagster.specs import home_key

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from crawl_urn_dagster.collection import Collection


def job_name(collection: Collection) -> str:
    """Name of the job that brings a collection up to date."""
    return f"{collection.name}_update"


def build_defs(
    collections: Sequence[Collection],
    *,
    home: str | os.PathLike[str] = "crawl_urn_home",
    webhook: str | None = None,
) -> dg.Definitions:
    """Dagster definitions of some collections, to be used as they are or merged with others.

    Parameters
    ----------
    collections
        At least one, with different names.
    home
        Folder for the data of all collections.
    webhook
        Address that failed checks and runs are posted to, or None.

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
    return dg.Definitions.merge(*(_collection_defs(one, home=str(home), webhook=webhook) for one in collections))


def _collection_defs(collection: Collection, *, home: str, webhook: str | None) -> dg.Definitions:
    job = dg.define_asset_job(
        job_name(collection),
        selection=dg.AssetSelection.key_prefixes(collection.name),
        description=f"Brings {collection.name} up to date: from its source to figures and report.",
        executor_def=dg.in_process_executor,
    )
    return dg.Definitions(
        assets=collection_assets(collection),
        asset_checks=collection_checks(collection),
        jobs=[job],
        sensors=[
            new_crawl_sensor(collection, job.name),
            *alert_sensors(collection, job, webhook),
        ],
        schedules=[monthly_schedule(collection, job.name)],
        resources={home_key(collection): CollectionHome(folder=home, collection=collection.name)},
    )
