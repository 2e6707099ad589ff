"""Define the assets that compare the strata of a collection and, of rank bands, the ranks between crawls.

Does not count moves (`observables.stratum_moves`) or estimate anything (`estimates.stratum_profile`,
`estimates.rank_changes`).
"""

from collections.abc import Iterator

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.strata import StratumSettings
from crawl_urn_dagster.orchestration.asset_keys import asset_spec, assets_of, table_result
from crawl_urn_dagster.orchestration.assets.estimates import FITTED
from crawl_urn_dagster.orchestration.resources import CollectionHome


def stratum_tables_of(collection: Collection) -> tuple[str, ...]:
    """Return the names of the tables that a collection has because of its strata."""
    if collection.stratum is None:
        return ()
    return ("stratum_verdicts", *_compared_by(collection.stratum))


def _compared_by(stratum: StratumSettings) -> tuple[str, ...]:
    return ("stratum_profile",) if stratum.bands is None else ("stratum_profile", "rank_changes")


def stratum_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets of a collection with strata."""
    return [] if collection.stratum is None else [_strata(collection, home, collection.stratum)]


def _strata(collection: Collection, home: CollectionHome, stratum: StratumSettings) -> dg.AssetsDefinition:
    deps = ["presence", "crawls", "parameters", "stratum_verdicts"]
    specs = [asset_spec(collection, home, name, kinds=FITTED, deps=deps) for name in _compared_by(stratum)]

    @assets_of(collection, "strata", specs)
    def strata() -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.rank_changes import rank_changes_table
        from crawl_urn_dagster.estimates.stratum_profile import stratum_profile_table
        from crawl_urn_dagster.observables.stratum_moves import count_stratum_moves

        file, bounds = home.observables, stratum.upper_bounds
        results = {}
        if bounds is not None:
            partitions = home.presence.read_all(file.read("crawls")["crawl"])
            moves = count_stratum_moves(partitions, stratum, memory_bytes=collection.memory_bytes)
            results["rank_changes"] = rank_changes_table(*moves, bounds)
        fits = file.read_all(["parameters", "stratum_verdicts"])
        results["stratum_profile"] = stratum_profile_table(
            fits["parameters"], bounds, results.get("rank_changes"), fits["stratum_verdicts"]
        )
        file.replace(results)
        for name, table in results.items():
            yield table_result(collection, name, table)

    return strata
