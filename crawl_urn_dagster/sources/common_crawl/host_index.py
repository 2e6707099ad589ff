"""Read fetched hosts or domains, with their ranks, from Common Crawl's host index, which has a row per host.

Does not read files; see `columnar_index`. Does not form strata; see `observables.strata`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from pydantic import Field, PrivateAttr

from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.sources.common_crawl.columnar_index import ColumnarSource
from crawl_urn_dagster.sources.formats.canonical_urls import host_of_key, map_distinct

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from typing_extensions import Self

    from crawl_urn_dagster.sources.interface import StratumColumn
    from crawl_urn_dagster.sources.transport.stores import Store

_COLUMNS = {"host": "surt_host_name", "registered_domain": "url_host_registered_domain"}
_FETCHED = "fetch_200"
_SCALES = ("hcrank10", "prank10")
_RANKS = (*_SCALES, "hcrank")
_CRAWL = re.compile(r"crawl=(CC-MAIN-[0-9-]+)/")


class CommonCrawlHostIndexSource(ColumnarSource):
    """Hosts or domains from which a crawl fetched a page, with their rank in the web graph as stratum column.

    Parameters
    ----------
    element
        ``host``, or ``registered_domain``: below an ICANN suffix.
    path_list
        Path of the list of files in `data`.
    data, calendar, parallel_requests
        See `CommonCrawlIndexSource`.

    Notes
    -----
    The stratum columns are ``hcrank10`` and ``prank10`` (harmonic centrality and PageRank on a scale from 0 to 10,
    highest last; stratum 3 extends from 3 to below 4) and ``hcrank`` (harmonic centrality, rounded down). The value of
    a domain is the largest value of its hosts.

    References
    ----------
    Common Crawl, "Host Index", https://github.com/commoncrawl/cc-host-index.

    Examples
    --------
    >>> CommonCrawlHostIndexSource(element="registered_domain").granularity
    'domain'
    """

    type: Literal["common_crawl_host_index"] = "common_crawl_host_index"
    element: Literal["host", "registered_domain"] = "host"
    path_list: str = Field(default="projects/host-index-testing/v2.paths.gz", pattern=r"^[a-z0-9][a-z0-9./_-]*\.gz$")
    _rank: str | None = PrivateAttr(default=None)

    @property
    def granularity(self) -> str:
        """Kind of element: ``host`` or ``domain``."""
        return "host" if self.element == "host" else "domain"

    def with_stratum(self, column: StratumColumn) -> Self:
        """Return a source that adds the whole part of a rank to its captures.

        Raises
        ------
        ValueError
            When the column is not a rank, or is a scale that cannot be divided into bands.
        """
        if column.name not in _RANKS:
            raise ValueError(f"has no rank {column.name!r}; {format_options(column.name, _RANKS)}")
        if column.ranks and column.name in _SCALES:
            raise ValueError(
                f"has {column.name} on a scale from 0 to 10, whose whole numbers are strata; leave out bands"
            )
        source = self.model_copy()
        source._rank = column.name
        return source

    @property
    def _columns(self) -> list[str]:
        return [_COLUMNS[self.element], _FETCHED, *([self._rank] if self._rank else [])]

    @property
    def _has_values(self) -> bool:
        return self._rank is not None

    def _paths(self, store: Store) -> Callable[[str], list[str]]:
        found: dict[str, list[str]] = {}
        for path in store.read_list(self.path_list):
            match = _CRAWL.search(path)
            if match and path.endswith(".parquet"):
                found.setdefault(match[1], []).append(path)
        return lambda crawl: found.get(crawl, [])

    def _searched_files(self, crawl: str) -> str:
        return f"paths with crawl={crawl}/ in {self.path_list}"

    def _captured_rows(self, batch: pa.Table) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        name = self._columns[0]
        batch = batch.filter(pc.and_kleene(pc.greater(batch[_FETCHED], 0), pc.is_valid(batch[name])))
        elements = batch[name].cast(pa.string()).combine_chunks()
        if self.element == "host":
            elements = map_distinct(elements, lambda name: host_of_key(f"{name})"))
        values = batch[self._rank].cast(pa.float64()) if self._rank else pa.nulls(len(batch), pa.float64())
        return pa.table({"element": elements, "value": values})
