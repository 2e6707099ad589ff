"""Define the assets of single elements: table `elements`, how well it predicts, and lists of elements to act on.

Does not compute them; see `estimates.elements`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES, ELEMENT_LISTS
from crawl_urn_dagster.orchestration.asset_keys import ROWS_SHOWN, asset_spec, assets_of, table_result
from crawl_urn_dagster.orchestration.assets.estimates import FITTED
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

    from crawl_urn_dagster.estimates.elements.tables import ElementInputs, ElementTables

_LISTS = tuple(table.name for table in ELEMENT_LISTS)
#: Tables of single elements in the DuckDB file.
ELEMENT_TABLES = ("element_scores", "element_calibration", *_LISTS, "losses_by_group")


def element_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets of single elements; none if the source gives counts only."""
    if not collection.has_histories:
        return []
    deps = ["presence", "crawls", "capture_history_counts", "candidate_models", *ASSESSMENT_TABLES]
    specs = [
        asset_spec(collection, home, "elements", kinds={"scipy", "parquet"}, deps=deps),
        *(asset_spec(collection, home, name, kinds=FITTED, deps=deps) for name in ELEMENT_TABLES),
    ]

    @assets_of(collection, "elements", specs)
    def elements(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        import duckdb

        found, crawls = compute_elements(
            collection, home, home.elements, as_of=collection.elements.as_of, report=context.log.info
        )
        home.observables.replace(found.tables)
        assessment = found.assessment
        shared = {
            "status": assessment.status.value,
            "as_of": crawls["crawl"].iloc[-1],
            **({} if assessment.reason is None else {"reason": assessment.reason.sentence}),
        }
        shown = duckdb.read_parquet(str(home.elements)).limit(ROWS_SHOWN).df()
        written = {
            "dagster/row_count": found.rows,
            "path": dg.MetadataValue.path(str(home.elements)),
            "bytes": home.elements.stat().st_size,
        }
        yield table_result(collection, "elements", shown, **shared, **written)
        for name, table in found.tables.items():
            yields = {"expected_yield": float(table["score"].sum())} if name in _LISTS else {}
            yield table_result(collection, name, table, **shared, **yields)

    return [elements]


def compute_elements(
    collection: Collection,
    home: CollectionHome,
    path: "Path",
    *,
    as_of: str | None,
    report: "Callable[[str], object]" = lambda _: None,
) -> "tuple[ElementTables, pd.DataFrame]":
    """Write table `elements` to a file, and return the other tables of elements and the crawls that are described.

    Parameters
    ----------
    collection, home
        A collection whose assessment has been materialised.
    path
        File of table `elements`.
    as_of
        Label of the last crawl that is used; None: the last of the collection.
    report
        Receiver of lines of progress.

    Raises
    ------
    ValueError
        If the collection has no crawl `as_of`.
    """
    from crawl_urn_dagster.estimates.assessment.reading import read_assessment
    from crawl_urn_dagster.estimates.elements.element_model import choose_model
    from crawl_urn_dagster.estimates.elements.lists import ListSettings
    from crawl_urn_dagster.estimates.elements.tables import element_tables
    from crawl_urn_dagster.estimates.intervals import SEED

    settings = collection.elements
    frames = home.observables.read_all(["crawls", "candidate_models", *ASSESSMENT_TABLES])
    crawls = _described_crawls(frames["crawls"], as_of)
    found = element_tables(
        _element_inputs(collection, home, crawls),
        choose_model(read_assessment(frames), frames["candidate_models"], crawls, SEED),
        path,
        ListSettings(settings.missed_crawls, settings.list_rows),
        memory_bytes=collection.memory_bytes,
        report=report,
    )
    return found, crawls


def _described_crawls(crawls: "pd.DataFrame", as_of: str | None) -> "pd.DataFrame":
    """Return the crawls up to the one that table `elements` describes."""
    if as_of is None:
        return crawls
    labels = list(crawls["crawl"])
    if as_of not in labels:
        raise ValueError(f"as_of: unknown crawl {as_of!r}; expected one of {labels[0]} to {labels[-1]}")
    return crawls[: labels.index(as_of) + 1]


def _element_inputs(collection: Collection, home: CollectionHome, crawls: "pd.DataFrame") -> "ElementInputs":
    from crawl_urn_dagster.estimates.elements.tables import ElementInputs
    from crawl_urn_dagster.observables.kept_histories import KeptHistories
    from crawl_urn_dagster.observables.tables import read_capture_histories

    partitions = home.presence.read_all(crawls["crawl"])
    sampled = read_capture_histories(home.observables).divided_by(collection.sample_one_in)
    return ElementInputs(
        labels=[partition.crawl for partition in partitions],
        histories=sampled.select_crawls(range(len(partitions))),
        partitions=partitions,
        kept=KeptHistories(home.histories),
        names=home.names,
        granularity=collection.granularity,
    )
