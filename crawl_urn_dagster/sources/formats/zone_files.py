"""Read the delegated names of DNS zone files.

Does not resolve names or check zones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.sources.errors import DamagedError
from crawl_urn_dagster.sources.formats.parquet_cache import capture_schema
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from crawl_urn_dagster.sources.input_files import LocalFile


def write_zone(connection: duckdb.DuckDBPyConnection, local: LocalFile, label: str, target: Path) -> None:
    """Write the delegated names of a zone file as captures of one crawl.

    A delegated name owns an NS record and is not the top of the zone, which owns the SOA record. Names are in lower
    case and without the final dot.

    Raises
    ------
    DamagedError
        When the file has no SOA record, or a relative name without $ORIGIN.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from crawl_urn_dagster.sources.formats.text_lines import line_batches

    location = local.input.location
    schema = capture_schema()
    statement = load_statement("read_zone_lines")
    origin = owner = top = ""
    with pq.ParquetWriter(target, schema, compression="zstd", use_dictionary=["crawl"]) as writer:
        for lines in line_batches(local, lambda _: False):
            connection.register("lines", lines)
            parameters = {"origin": origin, "owner": owner}
            rows: pa.Table = connection.sql(statement, params=parameters).to_arrow_table()
            if len(rows) == 0:
                continue
            origin, owner = (rows[name][-1].as_py() for name in ("origin", "owner"))
            found = rows.filter(pc.equal(rows["kind"], "SOA"))["name"]
            top = top or (found[0].as_py() if len(found) else "")
            delegated = rows.filter(pc.and_(pc.equal(rows["kind"], "NS"), pc.not_equal(rows["name"], top)))
            without_name = delegated.filter(pc.equal(delegated["name"], ""))
            if len(without_name):
                number = without_name["line_number"][0]
                raise DamagedError(f"{location}, line {number}: has a relative name, but no $ORIGIN line is before it")
            elements = delegated["name"].unique()
            columns = [pa.repeat(label, len(elements)), elements, pa.nulls(len(elements), pa.string())]
            writer.write_table(pa.table(columns, schema=schema))
    if not top:
        raise DamagedError(f"{location}: has no SOA record, expected a DNS zone file; check the setting format")
