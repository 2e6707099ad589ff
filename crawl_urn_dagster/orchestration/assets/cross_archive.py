"""Define the asset `cross_archive`, which holds a collection against other archives of the same web.

It reads the presence partitions of the other collections, so it is computed again after they change. Does not match
or count; see `estimates.cross_archive`.
"""

from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.config.cross_archive import CrossArchiveSettings, other_lists
from crawl_urn_dagster.orchestration.asset_keys import asset_key, asset_spec, assets_of, table_result
from crawl_urn_dagster.orchestration.assets.estimates import FITTED
from crawl_urn_dagster.orchestration.customisation import options_of
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    from crawl_urn_dagster.estimates.cross_archive import Archive

_READ = ("crawls", "inputs", "quantities", "population")


def cross_archive_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the asset of a collection that is compared with other archives."""
    return [] if collection.cross_archive is None else [_cross_archive(collection, home, collection.cross_archive)]


def cross_archive_sensor(collection: Collection) -> dg.AutomationConditionSensorDefinition:
    """Define the sensor, on by default, that materialises the table after another archive changed."""
    return dg.AutomationConditionSensorDefinition(
        f"{collection.name}_cross_archive",
        target=dg.AssetSelection.assets(asset_key(collection, "cross_archive")),
        default_status=dg.DefaultSensorStatus.RUNNING,
    )


def _cross_archive(collection: Collection, home: CollectionHome, settings: CrossArchiveSettings) -> dg.AssetsDefinition:
    deps = ["presence", "crawls", "inputs", "quantities", "population"]
    spec = asset_spec(collection, home, "cross_archive", kinds=FITTED, deps=deps)
    by_default = {dg.AssetKey([name, "crawls"]) for name in other_lists(settings, collection.name)}
    others = [_crawls_key(collection, name) for name in other_lists(settings, collection.name)]
    spec = spec.replace_attributes(
        deps=[*(dep for dep in spec.deps if dep.asset_key not in {*by_default, *others}), *others],
        automation_condition=_when_changed(dg.AssetSelection.assets(*others)),
    )

    @assets_of(collection, "cross_archive", [spec])
    def cross_archive(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.estimates.cross_archive import cross_archive_table

        chosen = settings.including(collection.name)
        archives = [_read(home, one.collection, is_frame=one.frame) for one in chosen.lists]
        absent = [one.name for one in archives if not one.partitions]
        if absent:
            context.log.info(f"not ingested yet: {', '.join(absent)}")
        lowest, highest = chosen.odds_ratios
        table = cross_archive_table(
            archives, days=chosen.days, odds_ratios=(lowest, highest), memory_bytes=collection.memory_bytes
        )
        home.observables.replace({"cross_archive": table})
        matches = table.loc[table["quantity"] == "elements", "match"].nunique()
        return table_result(collection, "cross_archive", table, matches=matches)

    return cross_archive


def _crawls_key(collection: Collection, name: str) -> dg.AssetKey:
    """Return the key of table `crawls` of another collection: as configured, or renamed like the own assets."""
    lists = collection.cross_archive.lists if collection.cross_archive else []
    configured = next((one.crawls_key for one in lists if one.collection == name), None)
    if configured is not None:
        return dg.AssetKey.from_user_string(configured)
    spec = dg.AssetSpec([name, "crawls"], group_name=name)
    translate = options_of(collection).translate
    return translate(spec, "crawls").key if translate else spec.key


def _read(home: CollectionHome, name: str, *, is_frame: bool) -> "Archive":
    """Read what is compared of a collection of the same home folder; nothing if it has not run yet."""
    from crawl_urn_dagster.estimates.cross_archive import Archive
    from crawl_urn_dagster.observables.schema import CRAWLS

    other = CollectionHome(folder=home.folder, collection=name)
    tables = other.observables.read_present(_READ)
    crawls = tables.get("crawls")
    if crawls is None:
        import pandas as pd

        crawls = pd.DataFrame(columns=list(CRAWLS.column_names)).astype({"started_at": "datetime64[us]"})
    return Archive(
        name,
        crawls,
        {partition.crawl: partition for partition in other.presence.read_all(crawls["crawl"])},
        quantities=tables.get("quantities"),
        population=tables.get("population"),
        locations=frozenset(tables["inputs"]["location"]) if "inputs" in tables else frozenset(),
        is_frame=is_frame,
    )


def _when_changed(others: dg.AssetSelection) -> dg.AutomationCondition[Any]:
    """Return the condition that another archive is newer than the table, and no run of either is in progress."""
    condition = dg.AutomationCondition
    since = condition.newly_requested() | condition.newly_updated()
    changed = condition.any_deps_updated().allow(others).since(since)
    return changed & ~condition.any_deps_in_progress() & ~condition.any_deps_missing() & ~condition.in_progress()
