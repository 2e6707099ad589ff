"""Find the crawls whose files are published, from a calendar or from paths with a place for the crawl's label.

Does not fetch files; see `transport.files`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import AfterValidator

from crawl_urn_dagster.sources.calendar import check_label, date_crawls, select_crawls
from crawl_urn_dagster.sources.errors import AbsentError, SourceError
from crawl_urn_dagster.sources.transport.locations import (
    CRAWL,
    PART,
    PLACEHOLDERS,
    Location,
    existing_files,
    is_address,
    strip_extensions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from crawl_urn_dagster.sources.calendar import DatedCrawl, Selection

T = TypeVar("T")


def _check_placeholder(location: str) -> str:
    if location.count(CRAWL) != 1:
        raise ValueError(
            f"does not have {CRAWL} exactly once, in place of the crawl's label, as in folder/{CRAWL}/part.gz"
        )
    return location


#: A location with the placeholder ``{crawl}``, once.
PerCrawlLocation = Annotated[Location, AfterValidator(_check_placeholder)]


def list_candidates(location: str, calendar: Mapping[str, datetime] | None, selection: Selection) -> list[DatedCrawl]:
    """Return the selected crawls that may have files at a location, in time order.

    For an address the candidates are the crawls of the calendar, for a path the crawls with a local file.

    Raises
    ------
    SourceError
        When an address has no calendar, a path has no file, or a selected crawl is missing.
    """
    if not is_address(location):
        labels = _labels_of_files(location)
    elif calendar is None:
        raise SourceError(f"{location}: the crawls at an address are not known without a calendar; set `calendar`")
    else:
        labels = list(calendar)
    return select_crawls(date_crawls(labels, where=location, calendar=calendar), selection, location)


def _labels_of_files(location: str) -> list[str]:
    """Return the labels at the placeholder ``{crawl}`` in the paths of local files."""
    pattern = re.escape(str(Path(location)))
    for placeholder in PLACEHOLDERS:
        name = "(?P<crawl>[^/]+)" if placeholder == CRAWL else "[^/]+"
        pattern = pattern.replace(re.escape(placeholder), name)
    matches = [re.fullmatch(pattern, path) for path in existing_files(location)]
    return [_check_found_label(match["crawl"], match[0]) for match in matches if match]


def _check_found_label(found: str, path: str) -> str:
    """Return a label from a path; the label is put back into the location, so it must include every character."""
    bare = strip_extensions(found)
    if bare != found:
        extension = found.removeprefix(bare)
        raise SourceError(f"{path}: its label would be {found!r}; write the location with {CRAWL}{extension}")
    return check_label(found, path)


def find_published(
    location: str, crawls: Iterable[DatedCrawl], selection: Selection, find: Callable[[str], T]
) -> dict[str, T]:
    """Return the result of `find` for each published crawl, by label.

    `find` takes a label and raises `AbsentError` when the crawl has no files; such a crawl is left out.

    Raises
    ------
    SourceError
        When no crawl is published, or a crawl that the selection names is not.
    """
    labels = [crawl.crawl for crawl in crawls]
    found: dict[str, T] = {}
    for label in labels:
        with suppress(AbsentError):
            found[label] = find(label)
    require_published(
        location, labels, found, selection, lambda label: location.replace(CRAWL, label).replace(PART, "00000")
    )
    return found


def require_published(
    where: str,
    labels: Sequence[str],
    found: Collection[str],
    selection: Selection,
    searched: Callable[[str], str],
) -> None:
    """Check that some crawls have files (`found`), and that the crawls named in the selection do.

    Raises
    ------
    SourceError
        When the check fails; the message names the files that `searched` returns for a label.
    """
    if not found:
        raise SourceError(
            f"{where}: none of the {len(labels)} crawls listed, {labels[0]} to {labels[-1]}, has files there; searched "
            f"for {searched(labels[-1])}, and likewise for the others; check the location, or select other crawls"
        )
    for name in ("first_crawl", "last_crawl"):
        label = getattr(selection, name)
        if label is not None and label not in found:
            raise SourceError(
                f"{where}: {name} {label} has no files there (yet); searched for {searched(label)}; select another "
                f"crawl, or leave {name} out"
            )


def unpublished_finding(labels: Iterable[str], found: Collection[str]) -> dict[str, str]:
    """Return the finding that names the crawls without files; empty when all have some."""
    absent = [label for label in labels if label not in found]
    return {"crawls_without_files": ", ".join(absent)} if absent else {}
