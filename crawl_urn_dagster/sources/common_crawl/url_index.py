"""Common Crawl's columnar index: a row per page, of which one column is read.

Here: which files and which column. Not here: reading them (`columnar`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from crawl_urn_dagster.sources.formats.columnar_index import ColumnarSource
from crawl_urn_dagster.sources.inputs import AbsentError, SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from crawl_urn_dagster.sources.transport.stores import Store

_COLUMNS = {
    "registered_domain": "url_host_registered_domain",
    "private_domain": "url_host_private_domain",
    "host": "url_host_name",
    "url": "url_surtkey",
}


class CommonCrawlIndexSource(ColumnarSource):
    """Domains, hosts or URLs of every crawl, from Common Crawl's columnar index of successfully fetched pages.

    Files that were read are kept while their crawl is being read: a run that was interrupted goes on with the others.

    Parameters
    ----------
    element
        ``registered_domain``: below an ICANN suffix; ``private_domain``: below any public suffix, private ones such as
        ``github.io`` included; ``host``; ``url``: the canonical key (SURT), for which set `sample_one_in`.
    data
        Where the index is: an http(s) address, an s3 address (with the credentials of AWS's own configuration), or a
        folder with the same layout.
    calendar
        Common Crawl's collinfo.json, or CSV with columns ``id, from``.
    parallel_requests
        Files that are read at once.
    """

    type: Literal["common_crawl_index"] = "common_crawl_index"
    element: Literal["registered_domain", "private_domain", "host", "url"] = "registered_domain"

    @property
    def granularity(self) -> str:
        """What an element is."""
        return "domain" if self.element.endswith("domain") else self.element

    @property
    def _columns(self) -> list[str]:
        return [_COLUMNS[self.element]]

    def _files_of(self, store: Store, crawls: Sequence[str]) -> Mapping[str, list[str]]:
        found = {crawl: _files_of_crawl(store, crawl) for crawl in crawls}
        return {crawl: paths for crawl, paths in found.items() if paths}

    def _looked_for(self, crawl: str) -> str:
        return f"{_list_of(crawl)}, or in a folder {_folder_of(crawl)}*.parquet"

    def _rows(self, batch: pa.Table) -> pa.Table:
        import pyarrow as pa

        elements = batch.column(0).cast(pa.string()).drop_null()
        return pa.table({"element": elements, "value": pa.nulls(len(elements), pa.float64())})


def _list_of(crawl: str) -> str:
    return f"crawl-data/{crawl}/cc-index-table.paths.gz"


def _folder_of(crawl: str) -> str:
    return f"cc-index/table/cc-main/warc/crawl={crawl}/subset=warc/"


def _files_of_crawl(store: Store, crawl: str) -> list[str]:
    """Paths of the files of a crawl; none when it has no list (yet), nor files in a folder."""
    folder = _folder_of(crawl)
    try:
        listed = store.read_list(_list_of(crawl))
    except AbsentError:
        return store.list_folder(f"{folder}*.parquet")
    paths = [path for path in listed if path.startswith(folder)]
    if not paths:
        raise SourceError(f"{store.root}: the list of {crawl} has no file in {folder}; found {listed[0][:80]!r}")
    return paths
