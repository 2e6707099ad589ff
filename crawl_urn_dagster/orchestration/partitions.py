"""Define the presence partitions, find the missing ones, and plan the runs that ingest them.

There is one dynamic partition per crawl, in the order of arrival. Does not read or write partition files
(`observables.presence`), and does not order crawls in time, which only the table `crawls` does.
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

#: Tag of an ingest run: fingerprint of the crawls that it was requested for.
INGEST = "crawl_urn/ingest"
_RANGE_START, _RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
#: Tags of a run that select its partitions.
PARTITION_TAGS = (_RANGE_START, _RANGE_END, "dagster/partition")


def crawl_partitions(collection: Collection) -> dg.DynamicPartitionsDefinition:
    """Return the partitions of the collection's presence asset, one per crawl."""
    return dg.DynamicPartitionsDefinition(name=f"{collection.name}_crawls")


@dataclass(frozen=True)
class IngestPlan:
    """Crawls to ingest.

    Attributes
    ----------
    crawls
        Their labels.
    new_crawls
        Labels that need a partition first.
    fingerprint
        Hash of the labels, their revisions and the sampling.
    run_tags
        Tags of each run that ingests them. Dagster reads the tags as a range of partitions in the order in which the
        partitions were added; no range contains another crawl.
    """

    crawls: tuple[str, ...]
    new_crawls: tuple[str, ...]
    fingerprint: str
    run_tags: tuple[dict[str, str], ...]


def plan_ingest(
    instance: dg.DagsterInstance, collection: Collection, home: CollectionHome, listing: Listing
) -> IngestPlan | None:
    """Plan the ingest of listed crawls whose partition is missing, not materialised, or of another revision."""
    definition = crawl_partitions(collection)
    known = list(instance.get_dynamic_partitions(str(definition.name)))
    materialised = instance.get_materialized_partitions(asset_key(collection, "presence"))
    outdated = home.presence.outdated(
        listing.revisions,
        collection.sample_one_in,
        collection.stratum,
        home.names if collection.keep_elements else None,
    )
    up_to_date = (materialised & set(known)) - set(outdated)
    crawls = [crawl for crawl in listing.revisions if crawl not in up_to_date]
    if not crawls:
        return None
    new = [crawl for crawl in crawls if crawl not in known]
    revisions = "".join(f"{crawl}\t{listing.revisions[crawl]}\n" for crawl in crawls)
    strata = collection.stratum.partitioned_by if collection.stratum else ""
    fingerprint = hashlib.sha256(f"{collection.sample_one_in}{strata}\n{revisions}".encode()).hexdigest()[:16]
    ranges = _ranges([*known, *new], set(crawls))
    return IngestPlan(
        tuple(crawls),
        tuple(new),
        fingerprint,
        tuple({INGEST: fingerprint, _RANGE_START: first, _RANGE_END: last} for first, last in ranges),
    )


def withdrawn_crawls(instance: dg.DagsterInstance, collection: Collection, listing: Listing) -> tuple[str, ...]:
    """Return the partitions whose crawls are no longer listed; their files are kept in case the crawls return."""
    known = instance.get_dynamic_partitions(str(crawl_partitions(collection).name)) if collection.has_histories else ()
    return tuple(crawl for crawl in known if crawl not in listing.revisions)


def _ranges(ordered: Sequence[str], wanted: set[str]) -> list[tuple[str, str]]:
    """Return the first and last element of each unbroken range of wanted elements."""
    ranges = [list(run) for is_wanted, run in groupby(ordered, key=wanted.__contains__) if is_wanted]
    return [(run[0], run[-1]) for run in ranges]
