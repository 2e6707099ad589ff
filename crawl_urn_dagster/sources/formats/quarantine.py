"""Describe files that cannot be read, and the crawls that are set aside for them.

Does not read files or decide which crawls are set aside; see `parquet_cache`.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from crawl_urn_dagster.sources.calendar import date_crawls
from crawl_urn_dagster.sources.errors import DamagedError, SourceError, TooLargeError
from crawl_urn_dagster.sources.input_files import InputFile
from crawl_urn_dagster.sources.interface import QuarantinedCrawl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import DatedCrawl
    from crawl_urn_dagster.sources.interface import Quarantine


class Failure(NamedTuple):
    """A file that cannot be read.

    Attributes
    ----------
    kind
        ``damaged``: the content is not as expected; ``unreachable``: the file cannot be fetched.
    error
        The error.
    input
        Identity of the file; of a file that cannot be fetched, a hash of the class of its error.
    crawl
        Label of the crawl that the path of the file states; empty if not yet known.
    """

    kind: Literal["damaged", "unreachable"]
    error: SourceError
    input: InputFile
    crawl: str = ""

    @classmethod
    def while_fetching(cls, location: str, error: SourceError) -> Self:
        """Describe a file that cannot be fetched, or is fetched and no data."""
        name = type(error).__name__
        identity = InputFile(location, 0, hashlib.sha256(name.encode()).hexdigest())
        return cls("damaged" if isinstance(error, DamagedError) else "unreachable", error, identity)

    @classmethod
    def of_content(cls, identity: InputFile, error: SourceError) -> Self:
        """Describe a file whose content is not as expected."""
        return cls("damaged", error, identity)

    def is_allowed(self, quarantine: Quarantine) -> bool:
        """Test whether a setting allows that the crawl of the file is set aside."""
        # A file that is too large for a poll is read by a run.
        return not isinstance(self.error, TooLargeError) and quarantine in {"any", self.kind}


#: Files that cannot be read, by location.
Failures = dict[str, Failure]


def date_if_possible(labels: Iterable[str], calendar: Mapping[str, datetime] | None) -> list[DatedCrawl]:
    """Date crawls by the calendar or their labels; those that neither dates are left out."""
    dated: list[DatedCrawl] = []
    for label in labels:
        with suppress(SourceError):
            dated += date_crawls([label], where=label, calendar=calendar)
    return dated


def in_time_order(crawls: Iterable[DatedCrawl]) -> list[DatedCrawl]:
    """Sort crawls by their starts, then by their labels."""
    return sorted(crawls, key=lambda crawl: (crawl.started_at, crawl.crawl))


def quarantined_crawls(
    set_aside: Mapping[str, Failure], selected: Iterable[DatedCrawl], dated: Iterable[DatedCrawl]
) -> tuple[QuarantinedCrawl, ...]:
    """Return the crawls that are set aside and selected, or have no date that could exclude them.

    Parameters
    ----------
    set_aside
        Failure of one file of each crawl that is set aside.
    selected
        The selected crawls.
    dated
        The crawls that are set aside and have a date.
    """
    labels = {crawl.crawl for crawl in selected}
    starts = {crawl.crawl: crawl.started_at for crawl in dated}
    return tuple(
        QuarantinedCrawl(label, starts.get(label), failure.input.location, failure.kind, str(failure.error))
        for label, failure in sorted(set_aside.items())
        if label in labels or label not in starts
    )
