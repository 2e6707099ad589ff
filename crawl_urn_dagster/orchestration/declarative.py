"""Define what automates a collection in mode ``declarative``: external assets, conditions, and the sensor on them.

Two external assets stand for the source: `source` as a whole, and `source_crawls`, with a partition per crawl. Does not
decide when they have changed (`announcements`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

if TYPE_CHECKING:
    from crawl_urn_dagster.config.collection import Collection

#: External asset of the whole listing of a source.
SOURCE = "source"
#: External asset of the crawls that a source of presence lists has, with a partition for each.
SOURCE_CRAWLS = "source_crawls"
EXTERNAL = (SOURCE, SOURCE_CRAWLS)
_FOLLOW_SECONDS = 30


def is_declarative(collection: Collection) -> bool:
    """Return whether conditions of the assets, not jobs, update a collection."""
    return collection.automation.mode == "declarative"


def source_deps(collection: Collection, name: str) -> list[str]:
    """Return the external assets that an asset which reads the source depends on."""
    if not is_declarative(collection):
        return []
    return [SOURCE_CRAWLS] if name == "presence" else [SOURCE]


def automation_condition(collection: Collection, name: str) -> dg.AutomationCondition[Any] | None:
    """Return the condition on which an asset is materialised: once for each change, after its dependencies.

    A crawl is also ingested if its partition has never been. The other assets wait for no partition, because a listed
    crawl may be unreadable.
    """
    if name in EXTERNAL or not is_declarative(collection):
        return None
    condition = dg.AutomationCondition
    handled = condition.newly_requested() | condition.newly_updated()
    updated = condition.any_deps_updated()
    changed = updated | condition.missing().newly_true() if name == "presence" else updated
    return changed.since(handled) & ~condition.any_deps_in_progress() & ~condition.in_progress()


def automation_sensor(collection: Collection, selection: dg.AssetSelection) -> dg.AutomationConditionSensorDefinition:
    """Define the sensor, on by default, that requests the assets whose condition is true."""
    return dg.AutomationConditionSensorDefinition(
        f"{collection.name}_automation",
        target=selection,
        minimum_interval_seconds=min(_FOLLOW_SECONDS, collection.automation.look_every_seconds),
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Requests the assets of {collection.name} whose automation condition is true.",
    )
