"""Ask a CDX API for captures: the Wayback Machine's, pywb's, Common Crawl's index server, or OutbackCDX.

Does not send requests; see `cdx_requests`. Does not read captures; see `cdx`.
"""

from __future__ import annotations

import json
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote, urlencode

from pydantic import Field, PrivateAttr, StringConstraints, model_validator

from crawl_urn_dagster.sources.calendar import date_crawls, fetch_calendar, select_crawls
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.cdx import ArchiveIndexSource
from crawl_urn_dagster.sources.formats.cdx_requests import PageClient
from crawl_urn_dagster.sources.transport.locations import CRAWL, is_remote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import Selection
    from crawl_urn_dagster.sources.formats.quarantine import Failures
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.interface import Captures, Listing
    from crawl_urn_dagster.sources.transport.files import Files

_FIELDS = "urlkey,timestamp,original,mimetype,statuscode,digest,length"
_TAIL_BYTES = 4096
# The end of an incomplete answer of the Wayback CDX API, and answers without captures: only names, or nothing.
_RESUME_KEY = re.compile(rb'\[\s*"([^"\s]+)"\s*\]\s*\]\s*\Z')
_EMPTY = re.compile(rb'\s*(\[\s*(\[[^\]]*"timestamp"[^\]]*\]\s*,?\s*)?(\[\s*\]\s*,\s*\[[^\]]*\]\s*)?\])?\s*')
_Time = Annotated[str, StringConstraints(pattern="^[0-9]{4,14}$")]


class CdxApiSource(ArchiveIndexSource):
    """Captures that a CDX API returns for a URL, host or domain.

    All settings of `CdxSource` apply as well.

    Parameters
    ----------
    path
        Address of the API. It may contain ``{crawl}``, as ``https://index.commoncrawl.org/{crawl}-index``: then each
        crawl of the calendar is requested.
    api
        ``wayback``: answers in parts, by resumption keys; ``pywb``: in numbered pages, as Common Crawl's index server;
        ``outbackcdx``: in one part.
    url
        URL, host or domain to request.
    match
        Captures that are requested: of exactly this URL, of URLs that start with it, of its host, or of its domain.
    since, until
        First and last time, of 4 to 14 digits.
    captures_per_request
        Largest number of captures in one part of an answer of ``wayback``.
    seconds_between_requests
        Shortest time between two requests, in seconds.
    refresh_hours
        Time after which the API is asked again, in hours; not used with ``{crawl}``, whose indexes do not change.

    References
    ----------
    Internet Archive, "Wayback CDX Server API", https://github.com/internetarchive/wayback/tree/master/wayback-cdx-server.

    Webrecorder, "CDXJ Server API", https://pywb.readthedocs.io/en/latest/manual/cdxserver_api.html.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import CdxApiSource
    >>> source = CdxApiSource(path="https://web.archive.org/cdx/search/cdx", url="example.org", element="host")
    >>> source.match, source.crawl_from
    ('domain', 'month')
    """

    type: Literal["cdx_api"] = "cdx_api"
    crawl_from: Literal["file", "warc", "day", "week", "month", "quarter", "year"] = "month"
    api: Literal["wayback", "pywb", "outbackcdx"] = "wayback"
    url: str = Field(min_length=1)
    match: Literal["exact", "prefix", "host", "domain"] = "domain"
    since: _Time | None = None
    until: _Time | None = None
    captures_per_request: int = Field(default=10_000, ge=1, le=150_000)
    seconds_between_requests: float = Field(default=3.0, ge=0)
    refresh_hours: float = Field(default=24.0, gt=0)
    _crawls: tuple[str, ...] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _check_address(self) -> Self:
        if not is_remote(self.path):
            raise ValueError("path is not an address that starts with http:// or https://")
        if (CRAWL in self.path) != (self.crawl_from == "file"):
            raise ValueError("crawl_from: file and {crawl} in path go together; set both or neither")
        if CRAWL in self.path and self.calendar is None:
            raise ValueError("path contains {crawl}, so the calendar is needed, which names the crawls")
        return self

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the selected crawls; captures that are new in the answer are converted first."""
        if CRAWL not in self.path:
            return super().list_crawls(files, selection)
        calendar, _ = fetch_calendar(files, self.calendar)
        dated = date_crawls(calendar or {}, where=self.path, calendar=calendar)
        selected = select_crawls(dated, selection, self.path)
        asked = self._asking_for([crawl.crawl for crawl in selected])
        return super(CdxApiSource, asked).list_crawls(files, type(selection)())

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the captures of some crawls, page after page."""
        asked = self._asking_for(crawls) if CRAWL in self.path else self
        return super(CdxApiSource, asked).captures(files, crawls)

    def _asking_for(self, crawls: Sequence[str]) -> Self:
        """Return a copy that requests some crawls only."""
        source = self.model_copy()
        source._crawls = tuple(crawls)
        return source

    def _raw_files(self, files: Files, failed: Failures) -> list[LocalFile]:
        """Return the pages of the answer that have captures."""
        paths = [self.path] if self._crawls is None else [self.path.replace(CRAWL, quote(c)) for c in self._crawls]
        generation = int(time.time() / (3600 * self.refresh_hours)) if self._crawls is None else 0
        client = PageClient(files, generation, self.seconds_between_requests)
        pages = {"wayback": self._parts, "pywb": self._numbered_pages, "outbackcdx": self._whole_answer}[self.api]

        def fetch(path: str) -> list[LocalFile]:
            return [page for page in pages(client, path) if not _has_no_captures(page)]

        found = [page for path in paths for page in self._fetch(self._address(path), failed, partial(fetch, path))]
        if not found:
            raise SourceError(f"{self.path}: the server has no captures of {self.url!r}; check `url` and `match`")
        return found

    def _label_in_path(self, location: str, locations: list[str], known: Collection[str]) -> str | SourceError | None:  # noqa: ARG002 - addresses have no other names
        before, _, after = self.path.partition(CRAWL)
        return location[len(before) :].partition(f"{after}?")[0] if CRAWL in self.path else None

    def _address(self, path: str, **parameters: str | int) -> str:
        times = {"from": self.since, "to": self.until}
        query = {
            "url": self.url,
            "matchType": self.match,
            **{name: value for name, value in times.items() if value is not None},
            **parameters,
        }
        return f"{path}?{urlencode(query)}"

    def _parts(self, client: PageClient, path: str) -> Iterator[LocalFile]:
        """Yield the parts of an answer, each after the resumption key of the one before."""
        address = self._address(
            path, output="json", fl=_FIELDS, gzip="false", limit=self.captures_per_request, showResumeKey="true"
        )
        part, keys = address, set[str]()
        while True:
            page = client.page(part, len(keys), lambda last: last.rstrip().endswith(b"]"))
            yield page
            key = _RESUME_KEY.search(page.path.read_bytes()[-_TAIL_BYTES:])
            if key is None:
                return
            text = key[1].decode()
            if text in keys:
                raise SourceError(f"{part}: the server repeats the resumption key {text[:80]!r}; try again later")
            keys.add(text)
            # The key is encoded already, as the API documents it.
            part = f"{address}&resumeKey={quote(text, safe='%+')}"

    def _numbered_pages(self, client: PageClient, path: str) -> Iterator[LocalFile]:
        """Yield the pages of an answer, after asking for their number."""
        address = self._address(path, output="json")
        answer = client.page(f"{address}&showNumPages=true", -1, lambda _: True).path.read_bytes()
        for number in range(_pages(answer, address)):
            yield client.page(f"{address}&page={number}", number, lambda last: last.rstrip()[-1:] in {b"", b"}", b"]"})

    def _whole_answer(self, client: PageClient, path: str) -> Iterator[LocalFile]:
        yield client.page(self._address(path, fl=_FIELDS), 0, lambda last: last[-1:] in {b"", b"\n"})


def _pages(answer: bytes, address: str) -> int:
    """Return the number of pages, which servers send as a number or as an object of JSON."""
    try:
        found = json.loads(answer or b"0")
    except ValueError:
        found = None
    pages = found.get("pages") if isinstance(found, dict) else found
    if isinstance(pages, bool) or not isinstance(pages, int) or pages < 0:
        shown = answer[:80].decode(errors="replace")
        raise SourceError(
            f"{address}: the server does not report its number of pages: found {shown!r}; check `api` and the address"
        )
    return pages


def _has_no_captures(page: LocalFile) -> bool:
    return page.input.bytes < _TAIL_BYTES and _EMPTY.fullmatch(page.path.read_bytes()) is not None
