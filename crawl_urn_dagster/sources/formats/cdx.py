"""Read captures from the indexes of web archives: CDX, CDXJ, WACZ, answers of CDX APIs, lists of URL and time.

Does not detect line formats; see `cdx_lines`. Does not read lines; see `cdx_batches`. Does not canonicalise URLs; see
`canonical_urls`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import field_validator

from crawl_urn_dagster.sources.errors import DamagedError, SourceError
from crawl_urn_dagster.sources.formats.archive_captures import CapturesSource
from crawl_urn_dagster.sources.formats.cdx_lines import is_secondary_index, parse_legend
from crawl_urn_dagster.sources.formats.parquet_cache import fetch_one
from crawl_urn_dagster.sources.formats.wacz import INSIDE, extract_indexes, is_wacz
from crawl_urn_dagster.sources.transport.locations import (
    existing_files,
    is_address,
    is_remote,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from crawl_urn_dagster.sources.calendar import Selection
    from crawl_urn_dagster.sources.formats.cdx_fields import PresenceRules
    from crawl_urn_dagster.sources.formats.index_lines import Index
    from crawl_urn_dagster.sources.formats.parquet_cache import ConversionNotes
    from crawl_urn_dagster.sources.formats.quarantine import Failures
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.interface import Listing
    from crawl_urn_dagster.sources.transport.files import Files

_LINES_FOR_SECONDARY = 20
_SECONDARY_NAMES = (".idx", ".loc")


class ArchiveIndexSource(CapturesSource):
    """Captures in files of the index of a web archive; with the parameters of `CdxSource`."""

    _format: ClassVar[str] = "cdx"
    _format_settings: ClassVar[tuple[str, ...]] = ("post", "legend")

    post: Literal["keep", "drop"] = "keep"
    legend: str | None = None

    @field_validator("legend")
    @classmethod
    def _check_legend(cls, legend: str | None) -> str | None:
        if legend is not None:
            parse_legend(legend)
        return legend

    @property
    def rules(self) -> PresenceRules:
        """Rules of which captures count as present."""
        return replace(super().rules, post=self.post)

    def _open(self, local: LocalFile, notes: ConversionNotes, report: Callable[[str], object]) -> Index:  # noqa: ARG002
        from crawl_urn_dagster.sources.formats.index_lines import open_index

        return open_index(local, parse_legend(self.legend) if self.legend else None)


class CdxSource(ArchiveIndexSource):
    r"""Captures in the index files of a web archive.

    Parameters
    ----------
    path
        One file, a folder, a glob, or an address; gzip-compressed or not, or WACZ. The format is detected from the
        legend, or from what the columns contain: CDX, CDXJ, answers of CDX APIs, Netarkivet's eight columns, or URL and
        time.
    element
        Kind of element. ``url``: the canonical key (SURT), taken from the index if present; ``url_as_written``: the URL
        as it was fetched; ``host``: host of the key, in lower case and without ``www.``; ``domain``: registered under
        an ICANN suffix; ``private_domain``: under any public suffix, such as ``a.github.io``.
    crawl_from
        Origin of a capture's crawl. ``file``: the crawl that the names of the file's path state, see `crawl_in_path`.
        ``warc``: the label that `warc_pattern` matches in the name of the WARC. ``day``, ``week`` (from Monday),
        ``month``, ``quarter``, ``year``: the time of the capture; the label is its first day.
    warc_pattern
        Regular expression that is searched for in the name of the WARC; the label is its group, or else the match.
        Captures without a match are left out.
    present
        Captures that count as present: status codes (``200``), classes of them (``2xx``), ``revisit`` (mime
        ``warc/revisit``), ``unknown`` (no status), or ``any``.
    revisits
        Revisits that ``revisit`` stands for. ``all``; ``original_present``: only if the status of the original is
        present by the other values of `present`, or is unknown.
    post
        ``drop``: leave out captures of POST requests, whose keys or URLs have the marks of pywb.
    legend
        Letters of the fields of CDX files without a legend, such as ``N b a m s``.
    max_malformed
        Largest share of malformed lines in a file, in [0, 1].
    calendar
        Start of each crawl: CSV with columns ``id, from``. None: labels are dates, or a crawl starts with its first
        capture.

    References
    ----------
    Internet Archive, "CDX and DAT Legend", https://archive.org/web/researcher/cdx_legend.php.

    Webrecorder, "CDXJ", https://specs.webrecorder.net/cdxj/latest/.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import CdxSource, Files, Selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "urls.txt")
    ...     _ = path.write_text("http://example.org/ 20240105\nhttp://example.org/a 20240207\n")
    ...     source = CdxSource(path=str(path), crawl_from="month")
    ...     listing = source.list_crawls(Files(Path(folder, "cache")), Selection())
    >>> listing.captures
    {'2024-01': 1, '2024-02': 1}
    """

    type: Literal["cdx"] = "cdx"

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the selected crawls; new files are converted first, which takes as long as reading them."""
        listing = super().list_crawls(files, selection)
        left_out = len(self._secondary_indexes(files))
        findings = {**listing.findings, "files_left_out_secondary_index": left_out} if left_out else listing.findings
        return replace(listing, findings=findings)

    def _raw_files(self, files: Files, failed: Failures) -> list[LocalFile]:
        """Return the index files, also those in WACZ files, without secondary indexes."""
        if is_remote(self.path):
            return extract_indexes(files, self.path) if is_wacz(self.path) else files.fetch_all(self.path)
        if is_address(self.path):
            return super()._raw_files(files, failed)
        left_out = self._secondary_indexes(files)
        paths = [path for path in existing_files(self.path) if path not in left_out]
        if not paths:
            found = "are only secondary indexes, of other indexes' blocks" if left_out else "is no such file"
            raise SourceError(f"{self.path}: there {found}; check the path")
        raw: list[LocalFile] = []
        for path in paths:
            fetch = partial(extract_indexes, files, path) if is_wacz(path) else partial(fetch_one, files, path)
            raw += self._fetch(path, failed, fetch)
        return raw

    def _secondary_indexes(self, files: Files) -> list[str]:
        """Return the files of a folder or glob that are indexes of the blocks of another index."""
        paths = [] if is_address(self.path) else existing_files(self.path)
        if paths == [self.path]:
            return []  # One file is read, or refused by name.
        return [
            path
            for path in paths
            if path.lower().endswith(_SECONDARY_NAMES) or (not is_wacz(path) and _is_readable_secondary(files, path))
        ]

    def _label_in_path(self, location: str, locations: list[str], known: Collection[str]) -> str | SourceError | None:
        outside = [other.partition(INSIDE)[0] for other in locations]
        return super()._label_in_path(location.partition(INSIDE)[0], outside, known)


def _is_readable_secondary(files: Files, path: str) -> bool:
    """Test whether a file is a secondary index; the conversion reports a file that cannot be read."""
    try:
        return _is_secondary(files.fetch(path))
    except DamagedError:
        return False


@lru_cache(maxsize=2**14)
def _is_secondary(local: LocalFile) -> bool:
    """Test whether a file is a secondary index, once per content: sensors poll often."""
    from crawl_urn_dagster.sources.formats.text_lines import read_start

    return is_secondary_index(read_start(local, _LINES_FOR_SECONDARY))
