"""Check whether unexpected losses of the last crawl are concentrated in one stratum or stem.

Does not find the losses; see `estimates.elements`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.checks.results import WARN, TableCheck, no_rows_result, not_assessed

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome


def element_checks(collection: Collection) -> list[TableCheck]:
    """Return the checks of single elements; none if the source gives counts only."""
    if not collection.has_histories:
        return []
    return [
        TableCheck(
            "losses_by_group",
            "losses_are_spread",
            "No stratum or stem accounts for more of the unexpected losses of the last crawl than chance allows.",
            _losses_are_spread,
        )
    ]


def _losses_are_spread(home: CollectionHome) -> dg.AssetCheckResult:
    table = home.observables.read_present(["losses_by_group"]).get("losses_by_group")
    if table is None or table.empty:
        return not_assessed("No element was lost unexpectedly, or elements have neither strata nor known texts.")
    shown = ["group_by", "group", "lost", "expected", "share_of_lost", "p_value"]
    return no_rows_result(
        table.loc[table["concentrated"].astype(bool), shown].sort_values("lost", ascending=False),
        rule="no stratum or stem accounts for more of the lost elements than chance allows",
        todo="Check whether its hosts, registrar or network had an outage, or whether the crawler blocked it. Table "
        "lost_in_last_crawl lists the elements.",
        severity=WARN,
    )
