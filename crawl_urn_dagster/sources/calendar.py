"""When crawls started: calendars, dates in labels, and the run of crawls a collection takes.

Here: reading a calendar, dating and ordering labels, selecting from the first to the last crawl. Not here:
gaps and years, which follow from the dates (`observables`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from crawl_urn_dagster.sources.formats.count_tables import read_rows, read_text
from crawl_urn_dagster.sources.inputs import SourceError, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from crawl_urn_dagster.sources.inputs import InputFile
    from crawl_urn_dagster.sources.interface import Selection
    from crawl_urn_dagster.sources.transport.files import Files, LocalFile

#: More are taken for a column that holds something else.
MAX_CRAWLS = 10_000
#: Common Crawl's list of its crawls.
COLLINFO = "https://index.commoncrawl.org/collinfo.json"

_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:+ -]{0,62}[A-Za-z0-9._:+-])?")
_ISO_DATE = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}(?P<of_month>-[0-9]{2})?)"
    r"([T ](?P<clock>[0-9]{2}:[0-9]{2}(:[0-9]{2})?)(\.[0-9]+)?(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_TIMESTAMP_FORMATS = {4: "%Y", 6: "%Y%m", 8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_COMMON_CRAWL = re.compile(r"CC-MAIN-([0-9]{4})-([0-9]{2})")
# No web was crawled before; keeps numbered labels (1001, 1002) from passing for years.
_FIRST_YEAR, _LAST_YEAR = 1990, 2099
_DATE_FORMS = "2024-05, 2024-05-31, 2024-05-31T12:00:00 or 20240531120000"


@dataclass(frozen=True)
class DatedCrawl:
    """A crawl, when it started (UTC, without zone), and where that is from (see `crawls.dated_by`)."""

    crawl: str
    started_at: datetime
    dated_by: str


def check_label(label: str, where: str) -> str:
    """Return a crawl's label when it is one.

    Raises
    ------
    SourceError
        When it is not 1 to 64 characters of ASCII letters, digits and ``._:+-``, with spaces inside, that start
        with a letter or digit.
    """
    # Three dots: Dagster takes them for a range of partitions.
    if not _LABEL.fullmatch(label) or "..." in label:
        dots = ", and not three dots in a row" if "..." in label else ""
        raise SourceError(
            f"{where}: found the crawl label {label[:80]!r}, expected 1 to 64 ASCII letters, digits or ._:+- and "
            f"spaces inside, starting with a letter or digit{dots}"
        )
    return label


def parse_date(text: str) -> datetime | None:
    """Read a date: ISO 8601 to the month, day or time, or 4 to 14 digits; None when it is neither.

    A month or year stands for its start; times without zone are UTC.
    """
    try:
        iso = _ISO_DATE.fullmatch(text)
        if iso:
            day = iso["day"] if iso["of_month"] else f"{iso['day']}-01"
            zone = (iso["zone"] or "Z").replace("Z", "+00:00")
            date = datetime.fromisoformat(f"{day}T{iso['clock'] or '00:00'}{zone}")
        elif re.fullmatch("[0-9]+", text) and len(text) in _TIMESTAMP_FORMATS:
            date = datetime.strptime(f"{text}+0000", f"{_TIMESTAMP_FORMATS[len(text)]}%z")
        else:
            return None
        if not _FIRST_YEAR <= date.year <= _LAST_YEAR:
            return None
        return date.astimezone(timezone.utc).replace(tzinfo=None)
    except ValueError:
        return None


def require_date(text: str, where: str) -> datetime:
    """Read a date that must be one.

    Raises
    ------
    SourceError
        When it is none.
    """
    date = parse_date(text.strip())
    if date is None:
        raise SourceError(f"{where}: found {text!r}, expected a date such as {_DATE_FORMS}")
    return date


def read_calendar(local: LocalFile) -> dict[str, datetime]:
    """Read when crawls started, from CSV with columns ``id, from`` or from Common Crawl's collinfo.json.

    Crawls without a date are left out.

    Raises
    ------
    SourceError
        When the file is neither, or a crawl has two dates.
    """
    location = local.input.location
    text = read_text(local)
    if text.lstrip().startswith(("[", "{")):
        entries = list(_collinfo_entries(text, location))
    else:
        _, rows = read_rows(local, {"id": "id", "from": "from"})
        entries = [(row.where, row.cells["id"], row.cells["from"]) for row in rows]
    calendar: dict[str, datetime] = {}
    for where, crawl, started in entries:
        if not started.strip():
            continue
        date = require_date(started, f"{where}, from")
        if calendar.setdefault(check_label(crawl, where), date) != date:
            raise SourceError(f"{where}: {crawl} starts {date}, but {calendar[crawl]} further up; keep one")
    return calendar


def _collinfo_entries(text: str, location: str) -> Iterator[tuple[str, str, str]]:
    """Yield where an entry is, its id, and its start, which may be empty."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{location}: is no JSON: {error}; expected the form of collinfo.json") from error
    if not isinstance(entries, list):
        raise SourceError(f"{location}: expected an array of objects with id and from, as in collinfo.json")
    for number, entry in enumerate(entries):
        where = f"{location}, entry {number}"
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            raise SourceError(f"{where}: found {str(entry)[:80]}, expected an object with id and from")
        started = entry.get("from") or ""
        if not isinstance(started, str):
            raise SourceError(f"{where}, from: found {str(started)[:80]}, expected a date in quotes")
        yield where, entry["id"], started


def fetch_calendar(files: Files, location: str | None) -> tuple[dict[str, datetime] | None, tuple[InputFile, ...]]:
    """Fetch and read the calendar of a source, when it has one, and say which file it was."""
    if location is None:
        return None, ()
    local = files.fetch(location)
    return read_calendar(local), (local.input,)


def date_crawls(
    labels: Iterable[str],
    *,
    where: str,
    calendar: Mapping[str, datetime] | None = None,
    table_dates: Mapping[str, datetime] | None = None,
    first_captures: Mapping[str, datetime] | None = None,
) -> list[DatedCrawl]:
    """Date crawls and put them in time order.

    A date comes from the table itself, else from the calendar, else from the label when it is a date, else it
    is the Monday of the ISO week in a Common Crawl id, else that of the crawl's first capture.

    Parameters
    ----------
    labels
        The crawls, in any order, each once or more.
    where
        Where the labels are from, for the message.
    calendar, table_dates, first_captures
        Start of some crawls.

    Raises
    ------
    SourceError
        When a crawl cannot be dated, or there are more than `MAX_CRAWLS`.
    """
    distinct = dict.fromkeys(labels)
    if len(distinct) > MAX_CRAWLS:
        raise SourceError(
            f"{where}: has {len(distinct):,} crawls, expected at most {MAX_CRAWLS:,}; check which column has the label"
        )
    dated = [_date_crawl(label, where, calendar, table_dates or {}, first_captures or {}) for label in distinct]
    return sorted(dated, key=lambda crawl: (crawl.started_at, crawl.crawl))


def _date_crawl(
    label: str,
    where: str,
    calendar: Mapping[str, datetime] | None,
    table_dates: Mapping[str, datetime],
    first_captures: Mapping[str, datetime],
) -> DatedCrawl:
    if label in table_dates:
        return DatedCrawl(label, table_dates[label], "table")
    if calendar is not None and label in calendar:
        return DatedCrawl(label, calendar[label], "calendar")
    date = parse_date(label)
    if date is not None:
        return DatedCrawl(label, date, "label")
    monday = _iso_week_monday(label)
    if monday is not None:
        return DatedCrawl(label, monday, "iso_week")
    if label in first_captures:
        return DatedCrawl(label, first_captures[label], "first_capture")
    what_to_do = (
        "set `calendar` to a CSV file with columns id,from or to Common Crawl's collinfo.json"
        if calendar is None
        else f"add it to the calendar; {listed(label, calendar)}"
    )
    raise SourceError(f"{where}: crawl {label!r} cannot be dated, it is no date (such as {_DATE_FORMS}); {what_to_do}")


def _iso_week_monday(label: str) -> datetime | None:
    match = _COMMON_CRAWL.fullmatch(label)
    try:
        return datetime.fromisocalendar(int(match[1]), int(match[2]), 1) if match else None
    except ValueError:
        return None


def select_run(crawls: Sequence[DatedCrawl], selection: Selection, where: str) -> list[DatedCrawl]:
    """Return the crawls from the first to the last selected one, both included.

    Raises
    ------
    SourceError
        When there is no crawl, a selected one is not there, or the first is later than the last.
    """
    labels = [crawl.crawl for crawl in crawls]
    if not labels:
        raise SourceError(f"{where}: has no crawl; check the location")
    ends = []
    for name, default in (("first_crawl", 0), ("last_crawl", len(labels) - 1)):
        label = getattr(selection, name)
        if label is not None and label not in labels:
            raise SourceError(f"{where}: {name} {label!r} is not among the crawls; {listed(label, labels)}")
        ends.append(default if label is None else labels.index(label))
    first, last = ends
    if first > last:
        raise SourceError(f"{where}: first_crawl {labels[first]} is later than last_crawl {labels[last]}")
    return list(crawls[first : last + 1])


def crawls_frame(crawls: Sequence[DatedCrawl], elements: Mapping[str, int]) -> pd.DataFrame:
    """Frame ``crawl, started_at, dated_by, elements`` of dated crawls; elements is NA where it is unknown."""
    import pandas as pd

    return pd.DataFrame(
        {
            "crawl": [crawl.crawl for crawl in crawls],
            "started_at": pd.Series([crawl.started_at for crawl in crawls], dtype="datetime64[us]"),
            "dated_by": [crawl.dated_by for crawl in crawls],
            "elements": pd.Series([elements.get(crawl.crawl) for crawl in crawls], dtype="Int64"),
        }
    )
