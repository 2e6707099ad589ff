"""Add the ranks of domains in a web graph to another source of domains, as stratum columns.

Does not read the other source; see `formats`. Does not form strata; see `observables.strata`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, PrivateAttr, field_validator

from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.sources.common_crawl.count_files import CommonCrawlCountsSource  # noqa: TC001 - a field's type
from crawl_urn_dagster.sources.common_crawl.url_index import CommonCrawlIndexSource  # noqa: TC001 - a field's type
from crawl_urn_dagster.sources.csv_tables import find_column
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.cdx import CdxSource  # noqa: TC001 - a field's type
from crawl_urn_dagster.sources.formats.presence_list import PresenceListSource  # noqa: TC001 - a field's type
from crawl_urn_dagster.sources.input_files import fingerprint
from crawl_urn_dagster.sources.interface import (
    Captures,
    Listing,
    PresenceSource,
    Quarantine,
    Sample,
    StratumColumn,
    select_by_type,
)
from crawl_urn_dagster.sources.transport.duckdb_connection import VECTORS_PER_CHUNK, connect
from crawl_urn_dagster.sources.transport.locations import Location  # noqa: TC001 - a field's type
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb
    import pyarrow as pa
    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import Selection
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

_RANKED = "domain"
_NAMES_TESTED = 10_000
# Names below private suffixes are domains in some web graphs, but most names in a table of hosts are below a domain.
_MAX_HOST_SHARE = 0.2
_RANKS = ("harmonicc_pos", "pr_pos")


class WebGraphRanksSource(PresenceSource):
    """Domains of another source, with their ranks in a web graph as stratum columns; a collection must set one.

    Parameters
    ----------
    ranks
        Ranks of the domains of a web graph, as Common Crawl publishes them: tab-separated, gzip-compressed or not, with
        columns ``#harmonicc_pos``, ``#pr_pos`` and ``#host_rev`` among others.
    of
        The source of domains.

    Notes
    -----
    The stratum columns are ``harmonicc_pos`` and ``pr_pos``; 1 is the highest rank. A domain that is not in the table
    has no rank. One table ranks all crawls, so no domain changes its stratum.

    References
    ----------
    Common Crawl, "Web Graphs", https://commoncrawl.org/web-graphs.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import PresenceListSource, StratumColumn, WebGraphRanksSource
    >>> source = WebGraphRanksSource(ranks="ranks.txt.gz", of=PresenceListSource(path="domains.csv"))
    >>> source.with_stratum(StratumColumn("pr_pos", ranks=True)).granularity
    'domain'
    """

    location_fields: ClassVar[tuple[str, ...]] = ("ranks",)

    type: Literal["web_graph_ranks"] = "web_graph_ranks"
    ranks: Location
    of: Annotated[
        PresenceListSource | CdxSource | CommonCrawlIndexSource | CommonCrawlCountsSource,
        Field(discriminator="type", json_schema_extra=select_by_type),
    ]
    _rank: str | None = PrivateAttr(default=None)

    @field_validator("of")
    @classmethod
    def _check_granularity(cls, of: PresenceSource) -> PresenceSource:
        if of.granularity not in {None, _RANKED}:
            raise ValueError(
                f"gives elements of granularity {of.granularity}, but the table ranks domains; set it to give domains"
            )
        return of

    @property
    def granularity(self) -> str:
        """Kind of element: ``domain``."""
        return _RANKED

    def relative_to(self, folder: Path) -> Self:
        """Return a copy whose relative paths are resolved against a folder; addresses stay."""
        return super().relative_to(folder).model_copy(update={"of": self.of.relative_to(folder)})

    def missing_files(self) -> list[str]:
        """Return the configured local files that do not exist."""
        return super().missing_files() + self.of.missing_files()

    def with_stratum(self, column: StratumColumn) -> Self:
        """Return a source that adds a rank to its captures.

        Raises
        ------
        ValueError
            When the column is not a rank, or is not divided into bands.
        """
        if column.name not in _RANKS:
            raise ValueError(f"has no rank {column.name!r}; {format_options(column.name, _RANKS)}")
        if not column.ranks:
            raise ValueError(f"has ranks in {column.name}, and each rank would be a stratum; set bands")
        source = self.model_copy()
        source._rank = column.name
        return source

    def with_quarantine(self, quarantine: Quarantine) -> Self:
        """Return a source that sets aside the crawls that the source of domains cannot read."""
        return self.model_copy(update={"of": self.of.with_quarantine(quarantine)})

    def with_sample(self, sample: Sample) -> Self:
        """Return a source that may leave out elements outside a sample."""
        return self.model_copy(update={"of": self.of.with_sample(sample)})

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the crawls of the source of domains; a new table of ranks revises every crawl."""
        listing = self.of.list_crawls(files, selection)
        table = files.fetch(self.ranks).input
        return Listing(
            listing.crawls,
            (*listing.inputs, table),
            {crawl: fingerprint((table,), revision) for crawl, revision in listing.revisions.items()},
            listing.captures,
            listing.findings,
            listing.quarantined,
        )

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the captures of some crawls; ranks, if set, are joined when a crawl is complete."""
        if self._rank is None:
            yield from self.of.captures(files, crawls)
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        ranks = _convert(files, files.fetch(self.ranks))
        schema = pa.schema([("element", pa.string())])
        with tempfile.TemporaryDirectory(prefix="ranks-", dir=files.cache) as folder:
            paths = {crawl: Path(folder) / str(number) for number, crawl in enumerate(crawls)}
            writers = {crawl: pq.ParquetWriter(path, schema, compression="zstd") for crawl, path in paths.items()}
            for captures in self.of.captures(files, crawls):
                writer, path = writers[captures.crawl], paths[captures.crawl]
                if captures.complete is None:
                    yield captures
                    continue
                writer.write_table(pa.table({"element": pa.array(captures.elements, pa.string())}))
                if captures.complete:
                    writer.close()
                    yield from self._join_ranks(files, captures.crawl, path, ranks)
                    yield captures._replace(elements=captures.elements[:0], strata=captures.elements[:0])
                    path.unlink()

    def _join_ranks(self, files: Files, crawl: str, captures: Path, ranks: Path) -> Iterator[Captures]:
        with connect(files.cache) as connection:
            statement = load_statement("rank_elements").format(rank=self._rank)
            connection.execute(statement, {"captures": str(captures), "ranks": str(ranks)})
            while len(rows := connection.fetch_df_chunk(VECTORS_PER_CHUNK)):
                elements, strata = (rows[name].to_numpy(dtype=object) for name in ("element", "stratum"))
                yield Captures(crawl, elements, complete=False, strata=strata)


def _convert(files: Files, local: LocalFile) -> Path:
    """Return a cached Parquet file of a table of ranks."""

    def make(target: Path) -> None:
        with connect(files.cache) as connection:
            convert_ranks(connection, local, target)

    return files.derive(f"web graph ranks {local.input.location}", local.input.sha256, make)


def convert_ranks(connection: duckdb.DuckDBPyConnection, local: LocalFile, target: Path) -> None:
    """Convert a table of ranks to Parquet with columns ``element, harmonicc_pos, pr_pos``.

    Raises
    ------
    SourceError
        When the file is not such a table.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from crawl_urn_dagster.sources.formats.text_lines import line_batches, read_start

    location = local.input.location
    schema = pa.schema([("element", pa.string()), *((name, pa.uint64()) for name in _RANKS)])
    header = [name.lstrip("#") for name in [*read_start(local, 1), ""][0].split("\t")]
    positions = {
        name: find_column(header, name, location, meaning="of the ranks of a web graph") + 1
        for name in (*_RANKS, "host_rev")
    }
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for lines in line_batches(local, lambda _: False):
            connection.register("lines", lines)
            table: pa.Table = connection.sql(load_statement("split_ranks"), params=positions).to_arrow_table()
            wrong = table.filter(pc.invert(table["is_whole"]))
            if len(wrong):
                raise SourceError(
                    f"{location}, line {wrong['line_number'][0]}: has no whole number as harmonicc_pos or pr_pos, or "
                    f"no host_rev; expected the columns {header}, separated by tabs"
                )
            if lines["line_number"][0].as_py() == 1:
                _reject_hosts(table["element"][:_NAMES_TESTED].to_pylist(), location)
            writer.write_table(table.select(schema.names).cast(schema))


def _reject_hosts(names: Sequence[str], location: str) -> None:
    """Reject a table of hosts, by its content: their ranks are not those of domains."""
    from crawl_urn_dagster.sources.formats.canonical_urls import registered_domain

    hosts = [name for name in names if registered_domain(name) not in {None, name}]
    if len(hosts) > _MAX_HOST_SHARE * len(names):
        raise SourceError(
            f"{location}: {len(hosts):,} of its first {len(names):,} names are hosts below a domain, such as "
            f"{hosts[0]!r}, expected domains; use the table of domain ranks of the web graph"
        )
