"""Define the asset `presence`, which ingests the lists of a source into one partition per crawl.

Does not read formats (`sources`), write partition files (`observables.presence`), or find missing crawls
(`partitions`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT, asset_spec, assets_of
from crawl_urn_dagster.orchestration.declarative import source_deps
from crawl_urn_dagster.orchestration.partitions import crawl_partitions
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.sources import Listing, PresenceSource, Sample, SourceError, fingerprint

if TYPE_CHECKING:
    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.sources import Files


def presence_asset(collection: Collection, home: CollectionHome, source: PresenceSource) -> dg.AssetsDefinition:
    """Define the asset that ingests the chosen crawls, or all crawls if the run has no chosen partitions."""
    spec = asset_spec(
        collection,
        home,
        "presence",
        kinds={"parquet"},
        deps=source_deps(collection, "presence"),
        description="Captured elements of each crawl: one file of sorted 64-bit keys per crawl.",
    )
    partitions = crawl_partitions(collection)

    @assets_of(
        collection,
        "ingest",
        # Skippable because a run without chosen partitions logs its materialisations itself.
        [spec.replace_attributes(partitions_def=partitions, skippable=True)],
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        pool=f"{collection.name}_presence",
    )
    def ingest(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        listing = source.list_crawls(with_progress(home.files), collection.selection)
        # The update that follows is an attempt at this fingerprint, whoever requested the ingest.
        context.instance.add_run_tags(context.run.run_id, {FINGERPRINT: fingerprint(listing.inputs)})
        # A run without chosen partitions, for example of `dg launch --job`, ingests all listed crawls.
        is_chosen = context.has_partition_key or context.has_partition_key_range
        revisions = _chosen_revisions(listing, context.partition_keys) if is_chosen else dict(listing.revisions)
        if not is_chosen:
            context.instance.add_dynamic_partitions(str(partitions.name), list(revisions))
        set_aside = _write_outdated(collection, source, home, listing, revisions)
        readable = {crawl: revision for crawl, revision in revisions.items() if crawl not in set_aside}
        # The result of the step would materialise every chosen partition.
        has_result = is_chosen and not set_aside
        for partition in home.presence.read_all(readable):
            metadata = _partition_metadata(partition)
            if has_result:
                context.add_asset_metadata(metadata, asset_key=spec.key, partition_key=partition.crawl)
            else:
                context.log_event(dg.AssetMaterialization(spec.key, partition=partition.crawl, metadata=metadata))
        if has_result:
            yield dg.MaterializeResult(asset_key=spec.key)

    return ingest


def _write_outdated(
    collection: Collection,
    source: PresenceSource,
    home: "CollectionHome",
    listing: Listing,
    revisions: dict[str, str],
) -> set[str]:
    """Write the partitions that are missing or of another revision; return the crawls that cannot be read."""
    from crawl_urn_dagster.observables.keys import elements_in_sample
    from crawl_urn_dagster.progress import Progress

    names = home.names if collection.keep_elements else None
    if names is None:
        # Whoever turns keep_elements off wants no texts on disk.
        home.names.remove()
    outdated = home.presence.outdated(revisions, collection.sample_one_in, collection.stratum, names)
    report = dg.get_dagster_logger().info
    report(f"{len(outdated)} of {count_noun(len(listing.crawls), 'crawl')} to read")
    n_captures = sum(listing.captures[crawl] for crawl in outdated) if listing.captures else None
    progress = Progress("reading captures", n_captures, report)
    one_in = collection.sample_one_in
    sampled = source.with_sample(Sample(one_in, lambda elements: elements_in_sample(elements, one_in)))
    written = home.presence.write(
        sampled.captures(with_progress(home.files), outdated),
        {crawl: revisions[crawl] for crawl in outdated},
        one_in=one_in,
        stratum=collection.stratum,
        names=names,
        memory_bytes=collection.memory_bytes,
        progress=progress,
    )
    set_aside = set(outdated)
    for done, partition in enumerate(written, start=1):
        report(f"{partition.crawl}: {count_noun(partition.elements, 'element')}, {done} of {len(outdated)}")
        set_aside.remove(partition.crawl)
    progress.finish()
    return set_aside


def _partition_metadata(partition: "Partition") -> dict[str, Any]:
    return {
        "dagster/row_count": partition.rows,
        "elements": partition.elements,
        "sample_one_in": partition.one_in,
        "revision": partition.revision,
        "path": dg.MetadataValue.path(str(partition.path)),
    }


def _chosen_revisions(listing: Listing, crawls: Sequence[str]) -> dict[str, str]:
    """Return the revisions of chosen crawls.

    Raises
    ------
    SourceError
        If the source does not list one of them.
    """
    missing = [crawl for crawl in crawls if crawl not in listing.revisions]
    if missing:
        raise SourceError(
            f"the source does not list {', '.join(missing[:5])}{' and others' if len(missing) > 5 else ''} (any more, "
            "or not in this selection): do not choose these crawls, or remove their partitions"
        )
    return {crawl: listing.revisions[crawl] for crawl in crawls}


def with_progress(files: "Files") -> "Files":
    """Return files that report the progress of downloads to the log of the run."""
    return replace(files, report=dg.get_dagster_logger().info)
