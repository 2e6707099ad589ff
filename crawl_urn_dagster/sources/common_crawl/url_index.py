"""Read domains, hosts or URLs from Common Crawl's columnar index, which has a row per page.

Does not read files; see `columnar_index`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from crawl_urn_dagster.sources.common_crawl.columnar_index import ColumnarSource
from crawl_urn_dagster.sources.common_crawl.failed_crawls import attributing
from crawl_urn_dagster.sources.errors import AbsentError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from crawl_urn_dagster.sources.transport.stores import Store

_COLUMNS = {
    "registered_domain": "url_host_registered_domain",
    "private_domain": "url_host_private_domain",
    "host": "url_host_name",
    "url": "url_surtkey",
}


class CommonCrawlIndexSource(ColumnarSource):
    """Domains, hosts or URLs of each crawl, from Common Crawl's columnar index of successfully fetched pages.

    Parameters
    ----------
    element
        ``registered_domain``: below an ICANN suffix; ``private_domain``: below any public suffix, including private
        ones such as ``github.io``; ``host``; ``url``: the canonical key (SURT), for which a sample is recommended
        (`sample_one_in`).
    data
        Root of the index: an http(s) address, an S3 address (with AWS's configured credentials), or a folder with the
        same layout.
    calendar
        Common Crawl's ``collinfo.json``, or CSV with columns ``id, from``.
    parallel_requests
        Number of files that are read at the same time.

    References
    ----------
    Common Crawl, "Columnar Index", https://commoncrawl.org/columnar-index.

    Examples
    --------
    >>> CommonCrawlIndexSource(element="host").granularity
    'host'
    """

    type: Literal["common_crawl_index"] = "common_crawl_index"
    element: Literal["registered_domain", "private_domain", "host", "url"] = "registered_domain"

    @property
    def granularity(self) -> str:
        """Kind of element: ``domain``, ``host`` or ``url``."""
        return "domain" if self.element.endswith("domain") else self.element

    @property
    def _columns(self) -> list[str]:
        return [_COLUMNS[self.element]]

    def _paths(self, store: Store) -> Callable[[str], list[str]]:
        return partial(_paths_of_crawl, store)

    def _searched_files(self, crawl: str) -> str:
        return f"{_list_path(crawl)}, or in a folder {_folder(crawl)}*.parquet"

    def _captured_rows(self, batch: pa.Table) -> pa.Table:
        import pyarrow as pa

        elements = batch.column(0).cast(pa.string()).drop_null()
        return pa.table({"element": elements, "value": pa.nulls(len(elements), pa.float64())})


def _list_path(crawl: str) -> str:
    return f"crawl-data/{crawl}/cc-index-table.paths.gz"


def _folder(crawl: str) -> str:
    return f"cc-index/table/cc-main/warc/crawl={crawl}/subset=warc/"


def _paths_of_crawl(store: Store, crawl: str) -> list[str]:
    """Return the paths of a crawl's files; empty when there is neither a list nor a mirrored file."""
    folder = _folder(crawl)
    with attributing(f"{store.root.rstrip('/')}/{_list_path(crawl)}"):
        try:
            listed = store.read_list(_list_path(crawl))
        except AbsentError:
            return store.list_folder(f"{folder}*.parquet")
    paths = [path for path in listed if path.startswith(folder)]
    if not paths:
        raise SourceError(f"{store.root}: the list of {crawl} has no file in {folder}; found {listed[0][:80]!r}")
    return paths
