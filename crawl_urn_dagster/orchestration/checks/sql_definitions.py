"""Check that the observable tables equal their SQL definitions.

Does not contain the definitions or the comparison; see `sql/observables` and `observables.sql_definitions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.checks.results import TableCheck, no_rows_result, not_assessed

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome

# Histories times pairs of crawls; the time of DuckDB is proportional to it. 500,000 histories of 51 crawls take about
# ten seconds on two cores, and recomputing more would slow down every run.
_MAX_HISTORY_PAIRS = 500_000 * (51 * 50 // 2)
# Rows of the presence partitions above which the history counts themselves are not recomputed.
_MAX_PRESENCE_ROWS = 10_000_000


def sql_definition_checks(collection: Collection) -> list[TableCheck]:
    """Return the check against the SQL definitions; none if the collection has no capture histories."""
    return [_observables_equal_sql()] if collection.has_histories else []


def _observables_equal_sql() -> TableCheck:
    def evaluate(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.sql_definitions import history_pairs, observables_differences

        n_pairs = history_pairs(home.observables)
        if n_pairs > _MAX_HISTORY_PAIRS:
            return not_assessed(
                f"Skipped: found {n_pairs:,} histories times pairs of crawls, expected at most {_MAX_HISTORY_PAIRS:,}. "
                "Recomputing more would slow down every run."
            )
        partitions = home.presence.read_all(home.observables.read("crawls")["crawl"])
        is_recounted = sum(partition.rows for partition in partitions) <= _MAX_PRESENCE_ROWS
        return no_rows_result(
            observables_differences(home.observables, partitions if is_recounted else ()),
            rule="every observable equals its SQL definition",
            todo="Rematerialise the observables. If they still differ, report a bug and attach this table.",
            history_counts_recomputed=is_recounted,
        )

    return TableCheck(
        "containment",
        "observables_equal_sql",
        "Capture-history counts, containment, discovery curve, m-array, first returns and capture frequencies equal "
        "their SQL definitions.",
        evaluate,
    )
