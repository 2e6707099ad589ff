"""Define the assets that read the source into tables: `crawls`, `truth`, and the observables of sources of counts.

The latter are `discovery_curve`, `containment`, `first_returns` and `publications`. Does not read formats (`sources`),
ingest lists (`assets.presence`), or count observables from them (`assets.observables`).
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.asset_keys import asset_spec, assets_of, numeric_metadata, table_result
from crawl_urn_dagster.orchestration.assets.presence import presence_asset, with_progress
from crawl_urn_dagster.orchestration.declarative import SOURCE, SOURCE_CRAWLS, is_declarative, source_deps
from crawl_urn_dagster.orchestration.partitions import crawl_partitions
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.sources import InputFile, PresenceSource, SimulatedSource, SourceError, TablesSource
from crawl_urn_dagster.sources.interface import QuarantinedCrawl

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.observables.database import ObservablesFile


#: Tables that are written together with `crawls` and are not assets.
TABLES_WITH_CRAWLS = ("inputs", "quarantine", "revisions", "findings")


def source_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets that read the collection's source."""
    source = collection.source
    if isinstance(source, TablesSource):
        return [_tables_assets(collection, home, source)]
    assets = [presence_asset(collection, home, source), _crawls_asset(collection, home, source)]
    return [*assets, _truth_asset(collection, home, source)] if isinstance(source, SimulatedSource) else assets


def external_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetSpec]:
    """Return the assets that stand for the source, if conditions of the assets update the collection."""
    if not is_declarative(collection):
        return []
    listing = asset_spec(collection, home, SOURCE, kinds=(), description="All that the source lists.")
    if not collection.has_histories:
        return [listing]
    crawls = asset_spec(collection, home, SOURCE_CRAWLS, kinds=(), description="The crawls that the source lists.")
    return [listing, crawls.replace_attributes(partitions_def=crawl_partitions(collection))]


def _crawls_asset(collection: Collection, home: CollectionHome, source: PresenceSource) -> dg.AssetsDefinition:
    deps = ["presence", *source_deps(collection, "crawls")]

    @assets_of(collection, "crawls", [asset_spec(collection, home, "crawls", kinds={"duckdb"}, deps=deps)])
    def crawls(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.observables.tables import crawls_table
        from crawl_urn_dagster.sources.calendar import crawls_frame

        files = with_progress(home.files)
        listing = source.list_crawls(files, collection.selection)
        labels = [crawl.crawl for crawl in listing.crawls]
        partitions = {partition.crawl: partition for partition in home.presence.read_all(labels)}
        elements = {label: partition.elements for label, partition in partitions.items()}
        absent = [label for label in labels if label not in elements]
        if absent:
            context.log.warning(
                f"listed but not ingested, so excluded: {count_noun(len(absent), 'crawl')}, {', '.join(absent)}"
            )
        if not elements:
            raise SourceError(f"{collection.name}: found no ingested crawl; materialise presence first")
        present = [crawl for crawl in listing.crawls if crawl.crawl in elements]
        contents = {label: partition.content for label, partition in partitions.items()}
        table = crawls_table(crawls_frame(present, elements), contents)
        findings = {"not_ingested": len(absent), **listing.findings}
        if listing.captures and collection.sample_one_in == 1:
            findings["repeated_captures"] = sum(
                listing.captures[label] - one.elements
                for label, one in partitions.items()
                if one.revision == listing.revisions[label]
            )
        _replace(home.observables, listing.inputs, {"crawls": table}, findings, listing.quarantined)
        return _crawls_result(collection, table, quarantined=len(listing.quarantined), **findings)

    return crawls


def _tables_assets(collection: Collection, home: CollectionHome, source: TablesSource) -> dg.AssetsDefinition:
    names = ["crawls"]
    names += ["containment"] if source.has_pairs else []
    names += ["discovery_curve", "first_returns"] if source.has_windows else []
    names += ["publications"] if source.is_revised else []
    specs = [asset_spec(collection, home, name, kinds={"duckdb"}, deps=source_deps(collection, name)) for name in names]

    @assets_of(collection, "read_tables", specs)
    def read_tables() -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.observables import tables
        from crawl_urn_dagster.observables.publications import record_publication

        observables = source.read_tables(with_progress(home.files), collection.selection)
        crawls = tables.crawls_table(observables.crawls)
        error = collection.counting_error
        frames = tables.tables_from_counts(crawls, observables.pairs, observables.windows, error)
        if observables.published is not None:
            before = home.observables.read_present(["publications"]).get("publications")
            now = datetime.now(timezone.utc).replace(tzinfo=None)
            frames["publications"] = record_publication(before, observables.published, now)
        findings = {"not_published": ", ".join(observables.not_published) or "none"}
        _replace(home.observables, observables.inputs, {"crawls": crawls, **frames}, findings)
        yield _crawls_result(collection, crawls, **findings)
        for name, frame in frames.items():
            yield table_result(collection, name, frame)

    return read_tables


def _truth_asset(collection: Collection, home: CollectionHome, source: SimulatedSource) -> dg.AssetsDefinition:
    deps = source_deps(collection, "truth")

    @assets_of(collection, "truth", [asset_spec(collection, home, "truth", kinds={"duckdb"}, deps=deps)])
    def truth() -> dg.MaterializeResult[None]:
        table = source.truth()
        home.observables.replace({"truth": table})
        return table_result(collection, "truth", table)

    return truth


def _replace(
    file: "ObservablesFile",
    inputs: tuple[InputFile, ...],
    frames: "dict[str, pd.DataFrame]",
    findings: Mapping[str, int | str],
    quarantined: Sequence[QuarantinedCrawl] = (),
) -> None:
    """Replace the tables read from the source, and record which earlier counts changed.

    The recorded changes are kept until the files change again, so a second attempt at the same files reports them too.
    """
    from crawl_urn_dagster.observables.revisions import FIRST_CONTENT, revisions_table

    table = _inputs_table(inputs)
    before = file.read_present(["inputs", "revisions", "findings", *frames])
    same = {"inputs", "revisions"} <= before.keys() and set(before["inputs"]["sha256"]) == set(table["sha256"])
    revisions = before["revisions"] if same else revisions_table(before, frames)
    is_first = "inputs" not in before or (same and FIRST_CONTENT in set(before["findings"]["finding"]))
    recorded = _findings_table({**findings, **({FIRST_CONTENT: "none"} if is_first else {})})
    set_aside = _quarantine_table(quarantined)
    file.replace({**frames, "inputs": table, "quarantine": set_aside, "revisions": revisions, "findings": recorded})


def _inputs_table(inputs: tuple[InputFile, ...]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        [(file.location, file.bytes, file.sha256) for file in inputs], columns=["location", "bytes", "sha256"]
    )


def _quarantine_table(quarantined: Sequence[QuarantinedCrawl]) -> "pd.DataFrame":
    import pandas as pd

    table = pd.DataFrame(quarantined, columns=list(QuarantinedCrawl._fields))
    return table.assign(started_at=pd.to_datetime(table["started_at"]))


def _findings_table(findings: Mapping[str, int | str]) -> "pd.DataFrame":
    """Return the table `findings`, with one row per finding and line of text."""
    import pandas as pd

    rows = [
        (finding, position, line)
        for finding, found in findings.items()
        for position, line in enumerate(str(found).splitlines())
    ]
    return pd.DataFrame(rows, columns=["finding", "position", "found"])


def _crawls_result(collection: Collection, crawls: "pd.DataFrame", **metadata: int | str) -> dg.MaterializeResult[None]:
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
        **numeric_metadata(
            elements=elements.iloc[-1] if len(elements) else None,
            last_gap_days=gaps.iloc[-1],
            longest_gap_days=gaps.max(),
        ),
        **metadata,
    )
