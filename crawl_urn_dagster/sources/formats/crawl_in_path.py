"""Find the crawl of a file in the names of its path.

Does not read files; see `presence_list` and `cdx`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from crawl_urn_dagster.sources.calendar import check_label, is_common_crawl_id, parse_date
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.transport.locations import (
    is_glob,
    label_in_path,
    names_in_location,
    strip_extensions,
    without_settings,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# A date to the month at least, because a year alone may be any number; not part of a longer number.
_DATE_INSIDE = re.compile(
    r"(?<![0-9])([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{2}|[0-9]{14}|[0-9]{8})(?![0-9])|CC-MAIN-[0-9]{4}-[0-9]{2}"
)
_PARTITION = re.compile(r"([^=]+)=(.+)")


def crawl_in_path(
    pattern: str,
    path: str,
    paths: Sequence[str],
    *,
    column: str = "crawl",
    known: Collection[str] = (),
    is_dated_by_name: bool = False,
) -> str | None:
    """Return the label of the crawl that a file belongs to, by the names of its path.

    The label is the value of a partition folder such as ``crawl=2024-01``. Otherwise it is the part that the only ``*``
    of a glob matches, or the name of a file that is directly in the folder. In all other folders and globs it is the
    nearest name that dates the file: the name of the file without extensions, or of a folder above it that the location
    does not fix. A name dates a file if it is a date, a Common Crawl id or a label of the calendar; if no name is, a
    date inside a name counts. Folders ``2024/01`` are read as ``2024-01``.

    Parameters
    ----------
    pattern
        The location: a folder or a glob.
    path
        One of its files.
    paths
        All of its files.
    column
        Name of the partition folders of crawls.
    known
        Labels of the calendar.
    is_dated_by_name
        Whether a date inside the name is the label, if the name itself is not a date.

    Returns
    -------
    The label; None if the location stands for one file, or no name dates the file.

    Raises
    ------
    SourceError
        When the names can be read in two ways; the message states both.
    """
    names = names_in_location(pattern, path)
    for folder in reversed(names[:-1]):
        partition = _PARTITION.fullmatch(folder)
        if partition and partition[1] == column:
            return unquote(partition[2])
    explicit = label_in_path(pattern, path) if len(names) == 1 or is_glob(pattern) else None
    if explicit is not None and (not is_dated_by_name or _is_date(explicit, known)):
        return explicit
    if explicit is not None:
        check_label(explicit, path)  # Copies such as "2024-01(1)" are not separate crawls.
    candidates = list(_dated_folders(names)) if explicit is None else [explicit]
    whole = [one for one in candidates if _is_date(one, known)]
    inside = [match[0] for one in candidates for match in _DATE_INSIDE.finditer(one) if _is_date(match[0], known)]
    readings = list(dict.fromkeys(whole or inside))
    if len(readings) > 1:
        raise _ambiguous(path, readings)
    if readings and explicit is not None:
        _reject_other_names(path, paths, readings[0])
    return readings[0] if readings else explicit


def label_of_file(pattern: str, path: str, label: str | SourceError | None) -> str:
    """Return the crawl of a file of a web archive: the label that `crawl_in_path` found, or the name of the only file.

    Raises
    ------
    SourceError
        When the names of the path can be read in two ways, or the label is not valid.
    """
    if isinstance(label, SourceError):
        raise label
    if label is None:
        names = names_in_location(pattern, path)
        if len(names) > 1:
            raise _ambiguous(path, names[:-3:-1])
        label = strip_extensions(without_settings(path).rstrip("/").rpartition("/")[2])
    return check_label(label, path)


def _reject_other_names(path: str, paths: Sequence[str], date: str) -> None:
    """Reject a file of the same date under a name that differs by more than numbers: it may be another list."""
    kinds = {re.sub("[0-9]+", "0", one.replace(date, "")): one for one in (path, *paths) if date in one}
    if len(kinds) > 1:
        found = " and ".join(list(kinds.values())[:2])
        raise SourceError(
            f"{found}: both have the date {date} in their names, so both would be crawl {date}; write the path so that "
            "it matches one of them"
        )


def _is_date(name: str, known: Collection[str]) -> bool:
    return name in known or is_common_crawl_id(name) or parse_date(name) is not None


def _dated_folders(names: Sequence[str]) -> Iterator[str]:
    """Iterate the names from the nearest on, with a year and the months and days below it joined into one."""
    joined: list[str] = []
    for name in (re.sub(r"^(year|month|day)=", "", one) for one in names):
        is_within_year = joined and re.fullmatch(r"[0-9]{4}(-[0-9]{2})?", joined[-1]) and re.fullmatch("[0-9]{2}", name)
        if is_within_year and parse_date(f"{joined[-1]}-{name}"):
            joined[-1] = f"{joined[-1]}-{name}"
        else:
            joined.append(name)
    return reversed(joined)


def _ambiguous(path: str, readings: Sequence[str]) -> SourceError:
    found = " or ".join(repr(reading) for reading in readings)
    return SourceError(
        f"{path}: its crawl can be {found} by its names; write the path with one * in the place of the crawl, "
        "such as lists/*/part-0.csv"
    )
