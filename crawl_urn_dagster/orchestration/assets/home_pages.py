"""Define assets that are pages of all collections of one home folder, and when they are rematerialised.

No job of a collection contains them, so no run waits for them; they read the latest tables of each collection. Does not
write a page; see `comparison` and `dashboard`.
"""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import asset_key, code_reference
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    from crawl_urn_dagster.report import Picture
    from crawl_urn_dagster.report.comparison import Compared


def home_page_asset(
    name: str,
    collections: Sequence[Collection],
    home: str,
    write: Callable[[Sequence[Collection], Sequence[CollectionHome]], dict[str, Any]],
    description: str,
) -> dg.AssetsDefinition:
    """Define the asset of a page; the name of the first collection makes its key unique.

    Parameters
    ----------
    name
        Name of the page, without suffix.
    collections, home
        The collections, and their home folder.
    write
        Writes the page, and returns its metadata.
    description
        Description of the asset.
    """

    @dg.asset(
        key=dg.AssetKey([f"_{name}", collections[0].name]),  # a collection name cannot start with an underscore
        deps=[asset_key(one, "report") for one in collections],
        description=description,
        group_name=name,
        kinds={"markdown", "html"},
        metadata=code_reference(write),
        automation_condition=_when_reported(),
    )
    def page() -> dg.MaterializeResult[None]:
        homes = [CollectionHome(home, one.name) for one in collections]
        return dg.MaterializeResult(metadata=write(collections, homes))

    return page


def page_sensor(asset: dg.AssetsDefinition) -> dg.AutomationConditionSensorDefinition:
    """Define the sensor, on by default, that materialises a page of all collections after a report was materialised."""
    return dg.AutomationConditionSensorDefinition(
        "_".join(asset.key.path), target=[asset], default_status=dg.DefaultSensorStatus.RUNNING
    )


def _when_reported() -> dg.AutomationCondition[Any]:
    """Return the condition that a report is newer than the page and no run of either is in progress."""
    condition = dg.AutomationCondition
    since = condition.newly_requested() | condition.newly_updated()
    return condition.any_deps_updated().since(since) & ~condition.any_deps_in_progress() & ~condition.in_progress()


def read_collections(
    collections: Sequence[Collection],
    homes: Sequence[CollectionHome],
    tables: Sequence[str],
    *,
    figures: Sequence[str] = (),
) -> "list[Compared]":
    """Read what a page of all collections shows of each: existing tables and figures, and the address of its report."""
    from crawl_urn_dagster.report.comparison import Compared

    return [
        Compared(
            one,
            home.observables.read_present(tables),
            f"{one.name}/{home.report.name}.html" if home.report.with_suffix(".html").exists() else None,
            [picture for name in figures if (picture := _saved_picture(home, name)) is not None],
        )
        for one, home in zip(collections, homes, strict=True)
    ]


def _saved_picture(home: CollectionHome, name: str) -> "Picture | None":
    """Read a figure with its caption; None if it was not drawn."""
    from crawl_urn_dagster.report import Picture

    try:
        texts = json.loads((home.figures / f"{name}.json").read_text(encoding="utf-8"))
        png = (home.figures / f"{name}.png").read_bytes()
    except FileNotFoundError:
        return None
    path = f"{home.collection}/{home.figures.name}/{name}.png"
    return Picture(path, png, texts["caption"], texts["alt"])
