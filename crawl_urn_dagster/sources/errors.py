"""Define the errors that sources raise, and format the options that an error message offers.

Does not read anything; see `transport` for files and `csv_tables` for tables.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_OPTIONS = 20


class SourceError(ValueError):
    """Raised when a source cannot be read as configured.

    The message states where, what was found, what was expected and what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import Files
    >>> Files(Path("cache")).fetch("missing.csv")
    Traceback (most recent call last):
    crawl_urn_dagster.sources.errors.SourceError: missing.csv: there is no such file; check the path
    """


class TooLargeError(SourceError):
    """Raised when a file is larger than the configured limit for downloads or conversions.

    Examples
    --------
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import Files
    >>> Files(Path("cache"), max_derived_bytes=10).derive("key", "0" * 64, print, size=11)
    Traceback (most recent call last):
    crawl_urn_dagster.sources.errors.TooLargeError: a new file has 11 bytes, more than the 10 that may be converted
    """


class DamagedError(SourceError):
    """Raised when the content of one file is damaged: truncated, not decodable, or with an invalid row.

    Such an error concerns only the crawl in that file, so the crawl may be set aside; see the setting `quarantine`.

    Examples
    --------
    >>> issubclass(DamagedError, SourceError)
    True
    """


class AbsentError(SourceError):
    """Raised when a server or a folder reports that a file does not exist."""


def format_options(found: str, expected: Iterable[str]) -> str:
    """Format the valid options for a value: the closest match, if any, and the first 20 options."""
    options = list(dict.fromkeys(expected))
    close = difflib.get_close_matches(found, options, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    more = f", ... ({len(options)} in all)" if len(options) > _MAX_OPTIONS else ""
    return f"{hint}expected one of: {', '.join(options[:_MAX_OPTIONS])}{more}"
