"""Presence partitions as Dagster knows them: a dynamic partition per crawl, in the order in which crawls arrived.

Here: their definition, which are missing, and runs that take many. Not here: their files (`observables.presence`), or
the order of crawls in time, which is that of table `crawls` and no other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.orchestration.asset_keys import asset_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome
    from crawl_urn_dagster.sources import Listing

#: Tag of an ingest run: what it was asked to ingest.
INGEST = "crawl_urn/ingest"
_RANGE_START, _RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def crawl_partitions(collection: Collection) -> dg.DynamicPartitionsDefinition:
    """Partitions of the collection's presence, one per crawl."""
    return dg.DynamicPartitionsDefinition(name=f"{collection.name}_crawls")


@dataclass(frozen=True)
class Ingest:
    """Crawls to ingest.

    Attributes
    ----------
    crawls
        Their labels.
    new
        Those of them that are no partitions yet.
    content
        Hash of the labels and revisions.
    runs
        Tags of the runs that ingest them, once the new ones are partitions. Dagster takes a run for a range of
        partitions in the order in which they were added; these are ranges without other crawls in them.
    """

    crawls: tuple[str, ...]
    new: tuple[str, ...]
    content: str
    runs: tuple[dict[str, str], ...]


def find_ingest(
    instance: dg.DagsterInstance, collection: Collection, home: CollectionHome, listing: Listing
) -> Ingest | None:
    """Find the crawls that are listed and whose partition is not materialised, not there, or of another revision."""
    definition = crawl_partitions(collection)
    known = list(instance.get_dynamic_partitions(str(definition.name)))
    materialised = instance.get_materialized_partitions(asset_key(collection, "presence"))
    outdated = home.presence.outdated(listing.revisions, collection.sample_one_in, collection.stratum)
    up_to_date = (materialised & set(known)) - set(outdated)
    crawls = [crawl for crawl in listing.revisions if crawl not in up_to_date]
    if not crawls:
        return None
    new = [crawl for crawl in crawls if crawl not in known]
    asked = "".join(f"{crawl}\t{listing.revisions[crawl]}\n" for crawl in crawls)
    divided = collection.stratum.partitioned_by if collection.stratum else ""
    content = hashlib.sha256(f"{collection.sample_one_in}{divided}\n{asked}".encode()).hexdigest()[:16]
    ranges = _ranges([*known, *new], set(crawls))
    return Ingest(
        tuple(crawls),
        tuple(new),
        content,
        tuple({INGEST: content, _RANGE_START: first, _RANGE_END: last} for first, last in ranges),
    )


def withdrawn_crawls(instance: dg.DagsterInstance, collection: Collection, listing: Listing) -> tuple[str, ...]:
    """Partitions whose crawls are not listed any more; their files are kept, in case that they come back."""
    known = instance.get_dynamic_partitions(str(crawl_partitions(collection).name)) if collection.has_histories else ()
    return tuple(crawl for crawl in known if crawl not in listing.revisions)


def _ranges(ordered: Sequence[str], wanted: set[str]) -> list[tuple[str, str]]:
    """First and last of each unbroken range of wanted ones."""
    runs = [list(run) for is_wanted, run in groupby(ordered, key=wanted.__contains__) if is_wanted]
    return [(run[0], run[-1]) for run in runs]
