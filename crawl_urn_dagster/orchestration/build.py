"""Build the Dagster definitions of collections from their assets, checks, jobs, sensors, schedules and resources.

Does not define any of these, or read the configuration (`definitions`, `component`).
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.estimates.fits import register_entry_points as register_fits
from crawl_urn_dagster.figures.catalogue import register_entry_points as register_figures
from crawl_urn_dagster.orchestration.alerts.sensor import alert_sensor
from crawl_urn_dagster.orchestration.asset_keys import job_names, selection_of
from crawl_urn_dagster.orchestration.assets import collection_assets
from crawl_urn_dagster.orchestration.assets.comparison import comparison_asset
from crawl_urn_dagster.orchestration.assets.cross_archive import cross_archive_sensor
from crawl_urn_dagster.orchestration.assets.dashboard import dashboard_asset
from crawl_urn_dagster.orchestration.assets.home_pages import page_sensor
from crawl_urn_dagster.orchestration.assets.source import external_assets
from crawl_urn_dagster.orchestration.checks import collection_checks
from crawl_urn_dagster.orchestration.customisation import CustomisedCollection, translated_specs
from crawl_urn_dagster.orchestration.declarative import automation_sensor, is_declarative
from crawl_urn_dagster.orchestration.jobs import ingest_job, read_job, update_job
from crawl_urn_dagster.orchestration.resources import HOME_RESOURCE, CollectionHome, add_collection
from crawl_urn_dagster.orchestration.schedules import refresh_schedule
from crawl_urn_dagster.orchestration.sensors import ingested_sensor, interrupted_run_sensor, new_crawl_sensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.customisation import AssetOptions
    from crawl_urn_dagster.orchestration.dagster_internals import UnresolvedAssetJobDefinition


def build_defs(
    collections: Sequence[Collection],
    *,
    home: str | os.PathLike[str] = "crawl_urn_home",
    alerts: Sequence[str] = (),
    ui_url: str | None = None,
    options: AssetOptions | None = None,
) -> dg.Definitions:
    """Build the Dagster definitions of collections, to use unchanged or to merge with others.

    Two or more collections also get a comparison and a dashboard, which are written to the home folder.

    Parameters
    ----------
    collections
        At least one, with different names.
    home
        Folder for the data of all collections.
    alerts
        Targets of alerts, as Apprise URLs.
    ui_url
        Address of the UI, for the links in alerts.
    options
        Names, attributes, steps and executor of the assets of each collection. None: the defaults.

    Raises
    ------
    ValueError
        If `collections` is empty, two collections have the same name, or the options give two assets the same key.

    Examples
    --------
    >>> from crawl_urn_dagster import demo_collection
    >>> definitions = build_defs([demo_collection()], home="crawl_urn_home")
    >>> definitions.resolve_job_def("demo_update").name
    'demo_update'
    """
    if not collections:
        raise ValueError("build_defs needs at least one collection")
    repeated = [name for name, times in Counter(one.name for one in collections).items() if times > 1]
    if repeated:
        raise ValueError(f"two collections have the same name: {', '.join(repeated)}")
    for one in collections:
        register_fits(one.fits)
        register_figures(one.figures)
    folder = os.fspath(home)
    if options is not None:
        collections = [_customised(one, folder, options) for one in collections]
    definitions = [_collection_defs(one, home=folder, alerts=alerts, ui_url=ui_url) for one in collections]
    jobs = [job for one in definitions for job in one.jobs or ()]
    interrupted = dg.Definitions(sensors=[interrupted_run_sensor(collections, jobs)])
    return dg.Definitions.merge(*definitions, interrupted, _pages_defs(collections, folder))


def _customised(collection: Collection, home: str, options: AssetOptions) -> CustomisedCollection:
    if options.translate is None:
        return CustomisedCollection.of(collection, options, {})
    assets = collection_assets(collection, CollectionHome(home, collection.name))
    external = external_assets(collection, CollectionHome(home, collection.name))
    specs = {spec.key.path[-1]: spec for spec in (*(spec for step in assets for spec in step.specs), *external)}
    return CustomisedCollection.of(collection, options, translated_specs(collection, specs, options.translate))


def _pages_defs(collections: Sequence[Collection], home: str) -> dg.Definitions:
    """Return the pages of all collections; one collection needs none."""
    if len(collections) == 1:
        return dg.Definitions()
    assets = [comparison_asset(collections, home), dashboard_asset(collections, home)]
    return dg.Definitions(assets=assets, sensors=[page_sensor(asset) for asset in assets])


def _collection_defs(collection: Collection, *, home: str, alerts: Sequence[str], ui_url: str | None) -> dg.Definitions:
    files = CollectionHome(home, collection.name)
    checks = collection_checks(collection, files)
    update = update_job(collection, checks)
    jobs: list[dg.JobDefinition | UnresolvedAssetJobDefinition] = [update]
    sensors: list[dg.SensorDefinition] = []
    if collection.has_files:
        jobs.append(read_job(collection, files))
    if collection.has_histories:
        ingest = ingest_job(collection)
        jobs.append(ingest)
        if not is_declarative(collection):
            sensors.append(ingested_sensor(collection, update, ingest))
    if is_declarative(collection):
        sensors.append(automation_sensor(collection, selection_of(collection)))
    sensors.append(new_crawl_sensor(collection, files, jobs))
    figure = "containment_by_lag" if collection.has_containment else "discovery_curves_by_start"
    if collection.cross_archive:
        sensors.append(cross_archive_sensor(collection))
    sensors.append(alert_sensor(collection, alerts, ui_url=ui_url, figure=figure))
    cron = collection.automation.refresh_cron
    return dg.Definitions(
        assets=[*collection_assets(collection, files), *external_assets(collection, files)],
        asset_checks=checks,
        jobs=jobs,
        sensors=sensors,
        schedules=[refresh_schedule(collection, files, job, cron) for job in job_names(collection)] if cron else [],
        resources={HOME_RESOURCE: add_collection(files)},
    )
