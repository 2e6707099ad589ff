"""Observable tables of a collection, computed without Dagster, for tests.

Does not contain assertions.
"""

import pandas as pd

from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster.observables.kept_histories import KeptHistories
from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.observables.stratum_counts import count_by_stratum
from crawl_urn_dagster.observables.tables import (
    capture_history_counts_table,
    crawls_table,
    read_capture_histories,
    tables_from_histories,
)
from crawl_urn_dagster.sources import Files
from crawl_urn_dagster.sources.calendar import crawls_frame


def build_observables(collection, folder):
    """Ingest a collection and write its tables; returns the DuckDB file, the history counts and the partitions."""
    file, files = ObservablesFile(folder / "observables.duckdb"), Files(folder / "cache")
    listing = collection.source.list_crawls(files, collection.selection)
    captures = (
        (one.crawl, one.elements, one.complete, one.strata)
        for one in collection.source.captures(files, list(listing.revisions))
    )
    presence, settings = PresenceFolder(folder / "presence"), collection.stratum
    written = {
        one.crawl: one
        for one in presence.write(captures, listing.revisions, one_in=collection.sample_one_in, stratum=settings)
    }
    partitions = [written[crawl.crawl] for crawl in listing.crawls]
    crawls = crawls_table(crawls_frame(listing.crawls, {one.crawl: one.elements for one in partitions}))
    if settings:
        by_stratum = count_by_stratum(partitions, settings)
    else:
        by_stratum = {None: KeptHistories(folder / "histories").count(partitions)}
    tables = [capture_history_counts_table(counts, stratum) for stratum, counts in by_stratum.items()]
    file.replace({"crawls": crawls, "capture_history_counts": pd.concat(tables)})
    counts = read_capture_histories(file)
    file.replace(tables_from_histories(file.read("crawls"), counts, collection.counting_error))
    return file, counts, partitions
