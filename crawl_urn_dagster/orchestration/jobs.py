"""Define the jobs of a collection: reading large files, ingesting crawls, and updating all other assets.

Does not decide when a job runs; see `sensors` and `schedules`. Dagster compares every job with every asset of the code
location (dagster #22523), so its time to load grows with the square of the collections. The jobs of this module are
compared with the assets of their collection only.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.asset_keys import (
    asset_key,
    ingest_job_name,
    read_job_name,
    selection_of,
    update_job_name,
)
from crawl_urn_dagster.orchestration.customisation import options_of, specs_of
from crawl_urn_dagster.orchestration.dagster_internals import AssetGraph, UnresolvedAssetJobDefinition
from crawl_urn_dagster.orchestration.executor import single_process_executor
from crawl_urn_dagster.orchestration.resources import CollectionHome


class _AssetIndex:
    """Definitions of the assets of a code location, and of checks on them, by the keys of the assets."""

    def __init__(self, graph: AssetGraph) -> None:
        self._definitions: dict[dg.AssetKey, list[dg.AssetsDefinition]] = defaultdict(list)
        self._keys: dict[str, set[dg.AssetKey]] = defaultdict(set)
        for definition in graph.assets_defs:
            for key in {*definition.keys, *(check.asset_key for check in definition.check_keys)}:
                self._definitions[key].append(definition)
                self._keys[key.path[0]].add(key)

    def part_of(self, collection: Collection) -> AssetGraph:
        """Return the graph of the assets that belong to a collection, their checks, and the assets they depend on."""
        keys = self._keys[collection.name] | {spec.key for spec in specs_of(collection).values()}
        own = {one for key in keys for one in self._definitions[key]}
        upstream = {key for one in own for key in one.dependency_keys} - keys
        own |= {one for key in upstream for one in self._definitions[key] if key in one.keys}
        return AssetGraph.from_assets(own)


_INDEXES: WeakKeyDictionary[AssetGraph, _AssetIndex] = WeakKeyDictionary()


def _asset_job(collection: Collection, **options: Any) -> UnresolvedAssetJobDefinition:
    """Define a job of assets that belong to a collection."""

    class AssetJob(UnresolvedAssetJobDefinition):
        def resolve(self, asset_graph: AssetGraph, *args: Any, **kwargs: Any) -> dg.JobDefinition:
            if asset_graph not in _INDEXES:
                _INDEXES[asset_graph] = _AssetIndex(asset_graph)
            return super().resolve(_INDEXES[asset_graph].part_of(collection), *args, **kwargs)

    return AssetJob(**_run_options(collection), **options)


def _presence(collection: Collection) -> dg.AssetSelection:
    return dg.AssetSelection.assets(asset_key(collection, "presence"))


def _run_options(collection: Collection) -> dict[str, Any]:
    """Return the executor and the tags of every job of a collection."""
    return {
        "executor_def": options_of(collection).executor or single_process_executor,
        "tags": {dg.MAX_RUNTIME_SECONDS_TAG: str(collection.automation.max_runtime_seconds)},
    }


def update_job(collection: Collection, checks: Sequence[dg.AssetChecksDefinition]) -> UnresolvedAssetJobDefinition:
    """Define the job that updates every asset of a collection but its presence, and evaluates some checks.

    It evaluates no other check of these assets: an error in a user's check does not fail the update.
    """
    everything = selection_of(collection).without_checks()
    return _asset_job(
        collection,
        name=update_job_name(collection),
        selection=(everything - _presence(collection) if collection.has_histories else everything)
        | dg.AssetSelection.checks(*checks),
        description=f"Updates {collection.name} from its source to figures and report.",
    )


def ingest_job(collection: Collection) -> UnresolvedAssetJobDefinition:
    """Define the job that ingests crawls into presence partitions."""
    return _asset_job(
        collection,
        name=ingest_job_name(collection),
        selection=_presence(collection).without_checks(),
        description=f"Reads crawls of {collection.name} into partitions; all listed crawls if none is chosen.",
    )


def read_job(collection: Collection, home: CollectionHome) -> dg.JobDefinition:
    """Define the job that downloads and converts the source's files; listing them afterwards takes seconds."""

    @dg.op(name=f"{collection.name}__read", out=dg.Out(dg.Nothing))
    def read(context: dg.OpExecutionContext) -> None:
        listing = collection.source.list_crawls(home.files, collection.selection)
        context.log.info(f"{count_noun(len(listing.crawls), 'crawl')} to {listing.crawls[-1].crawl}")

    @dg.job(
        name=read_job_name(collection),
        description=f"Downloads and converts the files of {collection.name}, which takes too long for a sensor.",
        **_run_options(collection),
    )
    def job() -> None:
        read()

    return job
