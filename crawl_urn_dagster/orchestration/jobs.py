"""Define the jobs of a collection: reading large files, ingesting crawls, and updating all other assets.

Does not decide when a job runs; see `sensors` and `schedules`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
from crawl_urn_dagster.orchestration.customisation import options_of
from crawl_urn_dagster.orchestration.executor import single_process_executor
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    from crawl_urn_dagster.orchestration.dagster_internals import UnresolvedAssetJobDefinition


def _presence(collection: Collection) -> dg.AssetSelection:
    return dg.AssetSelection.assets(asset_key(collection, "presence"))


def _run_options(collection: Collection) -> dict[str, Any]:
    """Return the executor and the tags of every job of a collection."""
    return {
        "executor_def": options_of(collection).executor or single_process_executor,
        "tags": {dg.MAX_RUNTIME_SECONDS_TAG: str(collection.automation.max_runtime_seconds)},
    }


def update_job(collection: Collection, checks: Sequence[dg.AssetChecksDefinition]) -> "UnresolvedAssetJobDefinition":
    """Define the job that updates every asset of a collection but its presence, and evaluates some checks.

    It evaluates no other check of these assets: an error in a user's check does not fail the update.
    """
    everything = selection_of(collection).without_checks()
    return dg.define_asset_job(
        update_job_name(collection),
        selection=(everything - _presence(collection) if collection.has_histories else everything)
        | dg.AssetSelection.checks(*checks),
        description=f"Updates {collection.name} from its source to figures and report.",
        **_run_options(collection),
    )


def ingest_job(collection: Collection) -> "UnresolvedAssetJobDefinition":
    """Define the job that ingests crawls into presence partitions."""
    return dg.define_asset_job(
        ingest_job_name(collection),
        selection=_presence(collection).without_checks(),
        description=f"Reads crawls of {collection.name} into partitions; all listed crawls if none is chosen.",
        **_run_options(collection),
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
