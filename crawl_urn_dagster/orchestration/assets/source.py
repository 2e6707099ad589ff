"""The first step of a collection: its source is read once, into presence or ready-made observables.

Here: assets `presence`, `crawls`, `truth`, and for sources of counts `discovery_curve`, `containment`,
`first_returns`, `publications`; and the job that reads files ahead of them. Not here: formats (`sources`), or what
follows from presence (`assets.observables`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.asset_keys import (
    FINGERPRINT,
    asset_spec,
    assets_of,
    home_key,
    home_of,
    numbers,
    read_job_name,
    table_result,
)
from crawl_urn_dagster.orchestration.partitions import crawl_partitions
from crawl_urn_dagster.sources import (
    InputFile,
    Listing,
    PresenceSource,
    Sample,
    SimulatedSource,
    SourceError,
    TablesSource,
    fingerprint,
)

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.observables.database import ObservablesFile
    from crawl_urn_dagster.orchestration.resources import CollectionHome
    from crawl_urn_dagster.sources import Files


def source_assets(collection: Collection) -> list[dg.AssetsDefinition]:
    """Assets that read the collection's source."""
    source = collection.source
    if isinstance(source, TablesSource):
        return [_tables_assets(collection, source)]
    assets = [_presence_asset(collection, source), _crawls_asset(collection, source)]
    return [*assets, _truth_asset(collection, source)] if isinstance(source, SimulatedSource) else assets


def _presence_asset(collection: Collection, source: PresenceSource) -> dg.AssetsDefinition:
    spec = asset_spec(
        collection,
        "presence",
        kinds={"parquet"},
        description="Which elements were captured, by crawl: a file of sorted 64-bit keys each.",
    )
    partitions = crawl_partitions(collection)

    @assets_of(
        collection,
        "ingest",
        # May be skipped: a run without chosen partitions says itself which it materialised.
        [spec.replace_attributes(partitions_def=partitions, skippable=True)],
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        pool=f"{collection.name}_presence",
    )
    def ingest(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.observables.keys import elements_in_sample
        from crawl_urn_dagster.progress import Progress

        home = home_of(context, collection)
        files = _reporting(home.files)
        listing = source.list_crawls(files, collection.selection)
        # The update that follows is an attempt at this content, whoever asked for the ingest.
        context.instance.add_run_tags(context.run.run_id, {FINGERPRINT: fingerprint(listing.inputs)})
        # A run for which nobody chose partitions, say of `dg launch --job`, ingests all that there is.
        chosen = context.has_partition_key or context.has_partition_key_range
        wanted = _revisions(listing, context.partition_keys) if chosen else dict(listing.revisions)
        if not chosen:
            context.instance.add_dynamic_partitions(str(partitions.name), list(wanted))
        outdated = home.presence.outdated(wanted, collection.sample_one_in, collection.stratum)
        report = dg.get_dagster_logger().info
        report(f"{len(outdated)} of {count_noun(len(listing.crawls), 'crawl')} to read")
        known = sum(listing.captures[crawl] for crawl in outdated) if listing.captures else None
        progress = Progress("reading captures", known, report)
        one_in = collection.sample_one_in
        sampled = source.with_sample(Sample(one_in, lambda elements: elements_in_sample(elements, one_in)))
        written = home.presence.write(
            sampled.captures(files, outdated),
            {crawl: wanted[crawl] for crawl in outdated},
            one_in=one_in,
            stratum=collection.stratum,
            memory_bytes=collection.memory_bytes,
            progress=progress,
        )
        for done, partition in enumerate(written, start=1):
            context.log.info(
                f"{partition.crawl}: {count_noun(partition.elements, 'element')}, {done} of {len(outdated)}"
            )
        progress.finish()
        for partition in home.presence.read_all(wanted):
            metadata: dict[str, Any] = {
                "dagster/row_count": partition.rows,
                "elements": partition.elements,
                "sample_one_in": partition.one_in,
                "revision": partition.revision,
                "path": dg.MetadataValue.path(str(partition.path)),
            }
            if chosen:
                context.add_asset_metadata(metadata, asset_key=spec.key, partition_key=partition.crawl)
            else:
                context.log_event(dg.AssetMaterialization(spec.key, partition=partition.crawl, metadata=metadata))
        if chosen:
            yield dg.MaterializeResult(asset_key=spec.key)

    return ingest


def read_job(collection: Collection, home: "CollectionHome") -> dg.JobDefinition:
    """Job that fetches and converts the source's files, so that listing what they hold takes seconds afterwards."""
    # It brings its resource: Dagster would otherwise copy the sensors that ask for it, and warn of a beta at each.
    key = home_key(collection)

    @dg.op(name=f"{collection.name}__read", required_resource_keys={key}, out=dg.Out(dg.Nothing))
    def read(context: dg.OpExecutionContext) -> None:
        home: CollectionHome = getattr(context.resources, key)
        listing = collection.source.list_crawls(home.files, collection.selection)
        context.log.info(f"{count_noun(len(listing.crawls), 'crawl')} to {listing.crawls[-1].crawl}")

    @dg.job(
        name=read_job_name(collection),
        description=f"Fetches and converts the files of {collection.name}, which take longer than a sensor may.",
        executor_def=dg.in_process_executor,
        resource_defs={key: home},
    )
    def job() -> None:
        read()

    return job


def _revisions(listing: Listing, crawls: Sequence[str]) -> dict[str, str]:
    gone = [crawl for crawl in crawls if crawl not in listing.revisions]
    if gone:
        raise SourceError(
            f"the source does not list {', '.join(gone[:5])}{' and others' if len(gone) > 5 else ''} (any more, or not "
            "in this selection): leave that out, or remove the partition"
        )
    return {crawl: listing.revisions[crawl] for crawl in crawls}


def _crawls_asset(collection: Collection, source: PresenceSource) -> dg.AssetsDefinition:
    @assets_of(collection, "crawls", [asset_spec(collection, "crawls", kinds={"duckdb"}, deps=["presence"])])
    def crawls(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.observables.tables import crawls_table
        from crawl_urn_dagster.sources.calendar import crawls_frame

        home = home_of(context, collection)
        files = _reporting(home.files)
        listing = source.list_crawls(files, collection.selection)
        labels = [crawl.crawl for crawl in listing.crawls]
        partitions = {partition.crawl: partition for partition in home.presence.read_all(labels)}
        elements = {label: partition.elements for label, partition in partitions.items()}
        absent = [label for label in labels if label not in elements]
        if absent:
            context.log.warning(
                f"listed and not ingested, so left out: {count_noun(len(absent), 'crawl')}, {', '.join(absent)}"
            )
        if not elements:
            raise SourceError(f"no crawl of {collection.name} is ingested: materialise presence first")
        present = [crawl for crawl in listing.crawls if crawl.crawl in elements]
        content = {label: partition.content for label, partition in partitions.items()}
        table = crawls_table(crawls_frame(present, elements), content)
        findings = {"not_ingested": len(absent), **listing.findings}
        _replace(home.observables, listing.inputs, {"crawls": table}, findings)
        return _crawls_result(collection, table, **findings)

    return crawls


def _tables_assets(collection: Collection, source: TablesSource) -> dg.AssetsDefinition:
    names = ["crawls"]
    names += ["containment"] if source.has_pairs else []
    names += ["discovery_curve", "first_returns"] if source.has_windows else []
    names += ["publications"] if source.is_revised else []
    specs = [asset_spec(collection, name, kinds={"duckdb"}) for name in names]

    @assets_of(collection, "read_tables", specs)
    def read_tables(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.observables import tables

        home = home_of(context, collection)
        observables = source.read_tables(_reporting(home.files), collection.selection)
        crawls = tables.crawls_table(observables.crawls)
        error = collection.counting_error
        frames = tables.tables_from_counts(crawls, observables.pairs, observables.windows, error)
        if observables.published is not None:
            frames["publications"] = _with_publications_before(home, observables.published)
        findings = {"not_published": ", ".join(observables.not_published) or "none"}
        _replace(home.observables, observables.inputs, {"crawls": crawls, **frames}, findings)
        yield _crawls_result(collection, crawls, **findings)
        for name, frame in frames.items():
            yield table_result(collection, name, frame)

    return read_tables


def _with_publications_before(home: "CollectionHome", published: "pd.DataFrame") -> "pd.DataFrame":
    from crawl_urn_dagster.observables.database import MissingTableError
    from crawl_urn_dagster.observables.publications import record_publication

    try:
        before = home.observables.read("publications")
    except MissingTableError:
        before = None
    return record_publication(before, published, datetime.now(timezone.utc).replace(tzinfo=None))


def _reporting(files: "Files") -> "Files":
    """Tell the run's log how downloads go."""
    return replace(files, report=dg.get_dagster_logger().info)


def _truth_asset(collection: Collection, source: SimulatedSource) -> dg.AssetsDefinition:
    @assets_of(collection, "truth", [asset_spec(collection, "truth", kinds={"duckdb"})])
    def truth(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        table = source.truth()
        home_of(context, collection).observables.replace({"truth": table})
        return table_result(collection, "truth", table)

    return truth


def _replace(
    file: "ObservablesFile",
    inputs: tuple[InputFile, ...],
    frames: "dict[str, pd.DataFrame]",
    findings: Mapping[str, int | str],
) -> None:
    """Replace what was read from the source, and say what of the past is another now than before.

    What was said when the content last changed stays until it changes again, so that a second attempt says it, too.
    """
    from crawl_urn_dagster.observables.revisions import FIRST_CONTENT, revisions_table

    table = _inputs_table(inputs)
    before = file.read_present(["inputs", "revisions", "findings", *frames])
    same = {"inputs", "revisions"} <= before.keys() and set(before["inputs"]["sha256"]) == set(table["sha256"])
    revisions = before["revisions"] if same else revisions_table(before, frames)
    is_first = "inputs" not in before or (same and FIRST_CONTENT in set(before["findings"]["finding"]))
    noticed = _findings_table({**findings, **({FIRST_CONTENT: "none"} if is_first else {})})
    file.replace({**frames, "inputs": table, "revisions": revisions, "findings": noticed})


def _inputs_table(inputs: tuple[InputFile, ...]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        [(file.location, file.bytes, file.sha256) for file in inputs], columns=["location", "bytes", "sha256"]
    )


def _findings_table(findings: Mapping[str, int | str]) -> "pd.DataFrame":
    """Table `findings`: a row per finding, of texts of several lines a row per line."""
    import pandas as pd

    rows = [
        (finding, position, line)
        for finding, found in findings.items()
        for position, line in enumerate(str(found).splitlines())
    ]
    return pd.DataFrame(rows, columns=["finding", "position", "found"])


def _crawls_result(collection: Collection, crawls: "pd.DataFrame", **more: int | str) -> dg.MaterializeResult[None]:
    from crawl_urn_dagster.observables.quality import SECONDS_PER_DAY

    last = crawls.iloc[-1]
    elements = crawls["elements"].astype("Float64").dropna()
    gaps = crawls["started_at"].diff().dt.total_seconds() / SECONDS_PER_DAY
    return table_result(
        collection,
        "crawls",
        crawls,
        last_crawl=str(last["crawl"]),
        last_crawl_started_at=last["started_at"].isoformat(),
        **numbers(
            elements=elements.iloc[-1] if len(elements) else None,
            last_gap_days=gaps.iloc[-1],
            longest_gap_days=gaps.max(),
        ),
        **more,
    )
