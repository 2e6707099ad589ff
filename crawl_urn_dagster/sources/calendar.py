"""Label, date and select crawls.

Does not compute gaps between crawls or elapsed years; see `observables`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING

from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.sources.csv_tables import read_rows
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.transport.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from crawl_urn_dagster.sources.input_files import InputFile, LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

#: A column with more distinct values is not a column of crawl labels.
MAX_CRAWLS = 10_000
#: Common Crawl's list of its crawls.
COLLINFO = "https://index.commoncrawl.org/collinfo.json"

_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:+ -]{0,62}[A-Za-z0-9._:+-])?")
_ISO_DATE = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}(?P<of_month>-[0-9]{2})?)"
    r"([T ](?P<clock>[0-9]{2}:[0-9]{2}(:[0-9]{2})?)(\.[0-9]+)?(?P<zone>Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
_TIMESTAMP_FORMATS = {4: "%Y", 6: "%Y%m", 8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_COMMON_CRAWL = re.compile(r"CC-MAIN-([0-9]{4})-([0-9]{2})")
# The Web was not crawled before 1990; the bound keeps numbered labels (1001, 1002) from being read as years.
_FIRST_YEAR, _LAST_YEAR = 1990, 2099
# The clock of a crawler, or its time zone, may be ahead of this machine's.
_MAX_CLOCK_DIFFERENCE = timedelta(days=2)
_DATE_FORMS = "2024-05, 2024-05-31, 2024-05-31T12:00:00 or 20240531120000"


@dataclass(frozen=True)
class Selection:
    """The crawls that a collection takes from its source, both ends included.

    Attributes
    ----------
    first_crawl, last_crawl
        Labels of the first and the last crawl; None: of the source.

    Examples
    --------
    >>> Selection(first_crawl="2024-02")
    Selection(first_crawl='2024-02', last_crawl=None)
    """

    first_crawl: str | None = None
    last_crawl: str | None = None


@dataclass(frozen=True)
class DatedCrawl:
    """A crawl and its start.

    Attributes
    ----------
    crawl
        Label of the crawl.
    started_at
        Start, UTC without zone.
    dated_by
        Origin of the date: ``table``, ``calendar``, ``label``, ``iso_week`` or ``first_capture``.
    """

    crawl: str
    started_at: datetime
    dated_by: str


def check_label(label: str, where: str) -> str:
    """Return a crawl's label if it is valid.

    A label has 1 to 64 characters: ASCII letters, digits and ``._:+-``, with spaces inside, starting with a letter or
    digit.

    Raises
    ------
    SourceError
        When the label has another form; `where` is its position in the message.
    """
    # Dagster interprets three dots as a range of partitions.
    if not _LABEL.fullmatch(label) or "..." in label:
        dots = ", and not three dots in a row" if "..." in label else ""
        raise SourceError(
            f"{where}: found the crawl label {label[:80]!r}, expected 1 to 64 ASCII letters, digits or ._:+- and "
            f"spaces inside, starting with a letter or digit{dots}"
        )
    return label


def parse_date(text: str) -> datetime | None:
    """Parse a date in ISO 8601 (to the month, day or time) or of 4 to 14 digits; return None for any other text.

    A month or year stands for its start; times without zone are UTC.
    """
    try:
        iso = _ISO_DATE.fullmatch(text)
        if iso:
            day = iso["day"] if iso["of_month"] else f"{iso['day']}-01"
            zone = (iso["zone"] or "Z").replace("Z", "+0000").replace(":", "").ljust(5, "0")
            zone = f"{zone[:3]}:{zone[3:]}"  # Python 3.10 needs the colon.
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
    """Parse a date as `parse_date` does, and reject any other text."""
    date = parse_date(text.strip())
    if date is None:
        raise SourceError(f"{where}: found {text!r}, expected a date such as {_DATE_FORMS}")
    return date


def read_calendar(local: LocalFile) -> dict[str, datetime]:
    """Read the start of each crawl from CSV with columns ``id, from`` or from Common Crawl's ``collinfo.json``.

    Crawls without a date are left out.

    Raises
    ------
    SourceError
        When the file has neither form, or dates one crawl twice.
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
            raise SourceError(f"{where}: {crawl} starts {date}, but {calendar[crawl]} earlier in the file; keep one")
    return calendar


def _collinfo_entries(text: str, location: str) -> Iterator[tuple[str, str, str]]:
    """Yield the position of each entry, its id, and its start, which may be empty."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{location}: is not JSON: {error}; expected the form of collinfo.json") from error
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
    """Return the start of each crawl in a source's calendar, and its file; None and no file without a calendar."""
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
    """Date crawls and sort them by time.

    The first available date is used: from the table itself, from the calendar, from a label that is a date, the Monday
    of the ISO week in a Common Crawl id, or the crawl's first capture.

    Parameters
    ----------
    labels
        The crawls, in any order, each at least once.
    where
        Origin of the labels, for the message.
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
    dates = {
        "table": table_dates.get(label),
        "calendar": (calendar or {}).get(label),
        "label": parse_date(label),
        "iso_week": _iso_week_monday(label),
        "first_capture": first_captures.get(label),
    }
    for dated_by, date in dates.items():
        if date is not None:
            return DatedCrawl(label, date, dated_by)
    remedy = (
        "set `calendar` to a CSV file with columns id,from or to Common Crawl's collinfo.json"
        if calendar is None
        else f"add it to the calendar; {format_options(label, calendar)}"
    )
    raise SourceError(
        f"{where}: crawl {label!r} cannot be dated, its label is not a date (such as {_DATE_FORMS}); {remedy}"
    )


def is_common_crawl_id(label: str) -> bool:
    """Test whether a label is the id of a Common Crawl crawl with a valid ISO week."""
    return _iso_week_monday(label) is not None


def _iso_week_monday(label: str) -> datetime | None:
    match = _COMMON_CRAWL.fullmatch(label)
    try:
        return datetime.fromisocalendar(int(match[1]), int(match[2]), 1) if match else None
    except ValueError:
        return None


def check_starts(crawls: Sequence[DatedCrawl], where: str) -> None:
    """Reject crawls that start in the future, and crawls that start at the same time.

    Parameters
    ----------
    crawls
        Crawls that have data, in time order.
    where
        Origin of the crawls, for the message.

    Raises
    ------
    SourceError
        When there are such crawls; the message names their labels.
    """
    latest = datetime.now(timezone.utc).replace(tzinfo=None) + _MAX_CLOCK_DIFFERENCE
    for crawl in crawls:
        if crawl.started_at > latest:
            raise SourceError(
                f"{where}: crawl {crawl.crawl!r} starts {crawl.started_at} ({crawl.dated_by}), which is in the future; "
                "correct its date"
            )
    for before, crawl in pairwise(crawls):
        if before.started_at == crawl.started_at:
            raise SourceError(
                f"{where}: crawls {before.crawl!r} and {crawl.crawl!r} both start {crawl.started_at}, expected one "
                "crawl per start; give both the same label, or date them in the calendar"
            )


def select_crawls(crawls: Sequence[DatedCrawl], selection: Selection, where: str) -> list[DatedCrawl]:
    """Return the crawls from the first to the last selected one, both included.

    Parameters
    ----------
    crawls
        All crawls of the source, in time order.
    selection
        The first and the last crawl.
    where
        Origin of the crawls, for the message.

    Raises
    ------
    SourceError
        When the source has no crawl, a selected crawl is missing, or the first is later than the last.
    """
    labels = [crawl.crawl for crawl in crawls]
    if not labels:
        raise SourceError(f"{where}: has no crawl; check the location")
    ends = []
    for name, default in (("first_crawl", 0), ("last_crawl", len(labels) - 1)):
        label = getattr(selection, name)
        if label is not None and label not in labels:
            raise SourceError(f"{where}: {name} {label!r} is not among the crawls; {format_options(label, labels)}")
        ends.append(default if label is None else labels.index(label))
    first, last = ends
    if first > last:
        raise SourceError(f"{where}: first_crawl {labels[first]} is later than last_crawl {labels[last]}")
    return list(crawls[first : last + 1])


def crawls_frame(crawls: Sequence[DatedCrawl], elements: Mapping[str, int]) -> pd.DataFrame:
    """Return the frame ``crawl, started_at, dated_by, elements`` of dated crawls; unknown `elements` are NA."""
    import pandas as pd

    return pd.DataFrame(
        {
            "crawl": [crawl.crawl for crawl in crawls],
            "started_at": pd.Series([crawl.started_at for crawl in crawls], dtype="datetime64[us]"),
            "dated_by": [crawl.dated_by for crawl in crawls],
            "elements": pd.Series([elements.get(crawl.crawl) for crawl in crawls], dtype="Int64"),
        }
    )
