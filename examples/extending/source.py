"""Define a source of sitemaps stored as text: one URL per line, one file per crawl, named by the crawl's date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from crawl_urn_dagster.sources import Captures, Listing, PresenceSource, SourceError, fingerprint
from crawl_urn_dagster.sources.calendar import date_crawls, select_crawls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawl_urn_dagster.sources import Files, LocalFile, Selection


class SitemapSource(PresenceSource):
    """Read the URLs of sitemaps.

    Parameters
    ----------
    path
        A glob of files such as ``sitemaps/2024-05-01.txt``.
    """

    location_fields: ClassVar[tuple[str, ...]] = ("path",)

    type: Literal["sitemap_urn.sitemaps"] = "sitemap_urn.sitemaps"
    path: str

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the crawls; the hash of a file shows whether its crawl is new or revised."""
        found = self._by_crawl(files)
        crawls = select_crawls(date_crawls(found, where=self.path), selection, self.path)
        inputs = {crawl.crawl: found[crawl.crawl].input for crawl in crawls}
        return Listing(
            tuple(crawls), tuple(inputs.values()), {label: fingerprint((one,)) for label, one in inputs.items()}
        )

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Yield the captures of these crawls."""
        found = self._by_crawl(files)
        for crawl in crawls:
            path = found[crawl].path
            urls = path.read_text(encoding="utf-8").split("\n")
            urls = urls[:-1] if urls[-1] == "" else urls
            for number, url in enumerate(urls, start=1):
                if not url.startswith(("http://", "https://")):
                    raise SourceError(f"{path}, line {number}: found {url[:80]!r}, expected a URL; correct the line")
            yield Captures(crawl, np.array(urls, dtype=np.object_), complete=True)

    def _by_crawl(self, files: Files) -> dict[str, LocalFile]:
        return {Path(local.input.location).stem: local for local in files.fetch_all(self.path)}
