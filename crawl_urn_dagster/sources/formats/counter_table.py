"""Read an operator's own counters from one table of crawl, quantity and value.

Does not compare them with estimates; see `estimates.ground_truth`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.sources.calendar import check_label
from crawl_urn_dagster.sources.csv_tables import add_once, parse_count, read_rows
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.interface import CounterSource
from crawl_urn_dagster.sources.transport.locations import Location  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from crawl_urn_dagster.sources.csv_tables import Row
    from crawl_urn_dagster.sources.transport.files import Files


class CounterTableSource(CounterSource):
    r"""Counters of any operator: CSV with a row for each crawl and quantity.

    Parameters
    ----------
    path
        The table.
    crawl_column, quantity_column, value_column
        Its columns: label of the crawl as in the collection, name of the counter, and a count of at least 0.
    population, new, divide_by
        See `CounterSource`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import CounterTableSource, Files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "counters.csv")
    ...     _ = path.write_text("crawl,quantity,value\n2024-01,alive,10\n")
    ...     CounterTableSource(path=str(path)).read_counters(Files(Path(folder, "cache"))).values.tolist()
    [['2024-01', 'alive', 10]]
    """

    location_fields: ClassVar[tuple[str, ...]] = ("path",)

    type: Literal["counter_table"] = "counter_table"
    path: Location
    crawl_column: str = "crawl"
    quantity_column: str = "quantity"
    value_column: str = "value"

    def read_counters(self, files: Files) -> pd.DataFrame:
        """Read the table."""
        columns = {"crawl": self.crawl_column, "quantity": self.quantity_column, "value": self.value_column}
        _, rows = read_rows(files.fetch(self.path), columns)
        cells = ((row, row.cells["quantity"].strip(), "value") for row in rows)
        return counters_frame(cells, self, self.path)


def counters_frame(cells: Iterable[tuple[Row, str, str]], source: CounterSource, location: str) -> pd.DataFrame:
    """Return counters as columns ``crawl, quantity, value``; counts that are empty or ``nan`` are left out.

    Parameters
    ----------
    cells
        Row, counter, and the column of the row that holds its value.
    source
        Its settings name counters that must occur.
    location
        Origin of the cells, for the message.
    """
    import pandas as pd

    seen: dict[tuple[str, str], Row] = {}
    found = []
    for row, quantity, column in cells:
        crawl = check_label(row.cells["crawl"], row.where)
        add_once(seen, (crawl, quantity), row)
        value = parse_count(row, column, estimated=True) if row.cells[column].strip() else None
        if value is not None:
            found.append((crawl, quantity, value))
    frame = pd.DataFrame(found, columns=["crawl", "quantity", "value"])
    divisor = [] if source.divide_by is None else [source.divide_by]
    for name in (*source.population, *source.new, *divisor):
        if name not in set(frame["quantity"]):
            raise SourceError(
                f"{location}: has no counter {name!r}; {format_options(name, frame['quantity'].unique())}"
            )
    zero = frame[frame["quantity"].isin(divisor) & (frame["value"] == 0)]
    if len(zero):
        crawl, name, _ = zero.iloc[0]
        raise SourceError(f"{location}: counter {name!r} of divide_by is 0 at crawl {crawl}; expected counts above 0")
    return frame
