"""Crawls that each have files of their own, and locations with a place for the crawl's label.

Here: which crawls have files. Not here: fetching (`files`), or what is in the files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import AfterValidator

from crawl_urn_dagster.sources.calendar import check_label, date_crawls, select_run
from crawl_urn_dagster.sources.inputs import AbsentError, SourceError
from crawl_urn_dagster.sources.transport.locations import (
    CRAWL,
    PART,
    PLACES,
    Location,
    existing,
    is_remote,
    without_endings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from crawl_urn_dagster.sources.calendar import DatedCrawl
    from crawl_urn_dagster.sources.interface import Selection

T = TypeVar("T")


def _check(location: str) -> str:
    if location.count(CRAWL) != 1:
        raise ValueError(f"has not exactly one {CRAWL}, the place of the crawl's label, such as folder/{CRAWL}/part.gz")
    return location


#: A location with the place ``{crawl}``, once.
PerCrawlLocation = Annotated[Location, AfterValidator(_check)]


def select_crawls(location: str, calendar: Mapping[str, datetime] | None, selection: Selection) -> list[DatedCrawl]:
    """Return the selected crawls that a location may have: those of the calendar, or those with a local file.

    Raises
    ------
    SourceError
        When there is no calendar for an address, no file for a path, or no such crawl to select.
    """
    if not is_remote(location):
        labels = _labels_of_files(location)
    elif calendar is None:
        raise SourceError(f"{location}: which crawls an address has is not known without a calendar; set `calendar`")
    else:
        labels = list(calendar)
    return select_run(date_crawls(labels, where=location, calendar=calendar), selection, location)


def _labels_of_files(location: str) -> list[str]:
    """Labels that stand in the place of ``{crawl}`` in the paths of local files."""
    pattern = re.escape(str(Path(location)))
    for place in PLACES:
        name = "(?P<crawl>[^/]+)" if place == CRAWL else "[^/]+"
        pattern = pattern.replace(re.escape(place), name)
    matches = [re.fullmatch(pattern, path) for path in existing(location)]
    return [_label(match["crawl"], match[0]) for match in matches if match]


def _label(found: str, path: str) -> str:
    """Return a label from a path; it is put back into the location, so that no ending can be left out."""
    bare = without_endings(found)
    if bare != found:
        ending = found.removeprefix(bare)
        raise SourceError(f"{path}: its label would be {found!r}; write the location with {CRAWL}{ending}")
    return check_label(found, path)


def published(
    location: str, crawls: Iterable[DatedCrawl], selection: Selection, ask: Callable[[str], T]
) -> dict[str, T]:
    """Ask for the files of each crawl; a crawl that has none is left out: it is listed before they are published.

    Parameters
    ----------
    location
        Where the files are, for the message.
    crawls
        In time order.
    selection
        A crawl that it names must be there.
    ask
        Gets a label, and raises `AbsentError` when the crawl has no files.

    Raises
    ------
    SourceError
        When no crawl has its files, or one that is named has not.
    """
    labels = [crawl.crawl for crawl in crawls]
    answers = {label: _unless_absent(ask, label) for label in labels}
    found = {label: answer for label, answer in answers.items() if answer is not None}
    check_published(
        location, labels, found, selection, lambda label: location.replace(CRAWL, label).replace(PART, "00000")
    )
    return found


def check_published(
    where: str,
    labels: Sequence[str],
    found: Collection[str],
    selection: Selection,
    looked_for: Callable[[str], str],
) -> None:
    """Refuse crawls of which none has files, and those without that are selected by name.

    Parameters
    ----------
    where
        Where files were looked for.
    labels
        Of the crawls, in time order.
    found
        Labels of those that have files.
    selection
        A crawl that it names must be there.
    looked_for
        Says of a label which files its crawl should have.

    Raises
    ------
    SourceError
        When it is so; the message says what was looked for.
    """
    if not found:
        raise SourceError(
            f"{where}: none of the {len(labels)} crawls listed, {labels[0]} to {labels[-1]}, has files there; looked "
            f"for {looked_for(labels[-1])}, and likewise for the others; check the location, or select other crawls"
        )
    for name in ("first_crawl", "last_crawl"):
        label = getattr(selection, name)
        if label is not None and label not in found:
            raise SourceError(
                f"{where}: {name} {label} has no files there (yet); looked for {looked_for(label)}; select another "
                f"crawl, or leave {name} out"
            )


def without_files(labels: Iterable[str], found: Collection[str]) -> dict[str, str]:
    """Return the finding that names the crawls without files; none when all have some."""
    absent = [label for label in labels if label not in found]
    return {"crawls_without_files": ", ".join(absent)} if absent else {}


def _unless_absent(ask: Callable[[str], T], crawl: str) -> T | None:
    try:
        return ask(crawl)
    except AbsentError:
        return None
