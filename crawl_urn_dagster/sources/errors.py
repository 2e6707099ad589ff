"""Define the errors that sources raise.

Does not read anything; see `transport` for files and `csv_tables` for tables.
"""

from __future__ import annotations


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


class RefusedError(SourceError):
    """Raised when a server answers with a permanent status, such as 403."""
