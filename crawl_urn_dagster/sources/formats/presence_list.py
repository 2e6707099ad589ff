"""Convert presence lists in CSV or Parquet: which elements each crawl captured.

Does not read the indexes of web archives; see `cdx`. Does not count captures; see `observables`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from crawl_urn_dagster.sources.calendar import MAX_CRAWLS, check_label
from crawl_urn_dagster.sources.csv_tables import find_column, read_header
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.parquet_cache import LOST, ParquetCachedSource
from crawl_urn_dagster.sources.transport.duckdb_connection import connect
from crawl_urn_dagster.sources.transport.locations import is_glob, label_in_path
from crawl_urn_dagster.sources.transport.text_files import is_gzip, open_text
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    from typing_extensions import Self

    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.interface import StratumColumn
    from crawl_urn_dagster.sources.transport.files import Files

_DEFAULT_CRAWL_COLUMN = "crawl"
_RANK = "a whole number from 1, because stratum.bands divide ranks"
_STRATUM = "1 to 64 letters, digits, spaces or ._:+/-, starting with a letter or digit"


class PresenceListSource(ParquetCachedSource):
    r"""Lists of captures, one row per crawl and element, as CSV (gzip-compressed or not) or Parquet.

    Each raw file is converted once to Parquet in the cache; crawls and captures are read from there. Only new and
    changed files are converted.

    Parameters
    ----------
    path
        One file, a folder, or a glob such as ``lists/*.csv.gz``.
    crawl_column
        Name of the column with the crawl's label. None: ``crawl``; if the files of a folder or glob lack that column,
        each file is one crawl, labelled by its name or by the part of the path that the glob's only ``*`` matches,
        without extensions such as ``.csv.gz``.
    element_column
        Name of the column with the element. A column ``lost``, if there is one, marks elements that no later crawl can
        capture, because they were not released.
    calendar
        Start of each crawl: CSV with columns ``id, from``, or Common Crawl's ``collinfo.json``. None: labels are dates
        or Common Crawl ids.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import Files, PresenceListSource, Selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "hosts.csv")
    ...     _ = path.write_text("crawl,element\n2024-01,a.org\n2024-01,b.org\n2024-02,b.org\n")
    ...     listing = PresenceListSource(path=str(path)).list_crawls(Files(Path(folder, "cache")), Selection())
    >>> listing.captures
    {'2024-01': 2, '2024-02': 1}
    """

    type: Literal["presence_list"] = "presence_list"
    crawl_column: str | None = Field(default=None, min_length=1)
    element_column: str = Field(default="element", min_length=1)

    @model_validator(mode="after")
    def _check_columns_differ(self) -> Self:
        if self.crawl_column == self.element_column:
            raise ValueError(f"crawl_column and element_column are both {self.element_column!r}; expected two columns")
        return self

    def with_stratum(self, column: StratumColumn) -> Self:
        """Return a source that adds the values of a column to its captures."""
        source = self.model_copy()
        source._stratum = column
        return source

    def _settings(self) -> tuple[str, ...]:
        stratum = () if self._stratum is None else (self._stratum.name,)
        return self.crawl_column or "", self.element_column, *stratum

    def _convert(self, files: Files, local: LocalFile) -> Path:
        """Return the Parquet file of a raw file, with columns ``crawl, element, stratum`` and maybe ``lost``."""
        ranks = self._stratum is not None and self._stratum.ranks
        label = label_in_path(self.path, local.input.location)
        key = ("presence with stratum and losses", local.input.location, label, *self._settings(), ranks)

        def make(target: Path) -> None:
            with connect(files.cache) as connection:
                has_lost = self._copy(connection, local, target)
                _check_rows(connection, target, local.input.location, ranks=ranks, has_lost=has_lost)

        return files.derive(repr(key), local.input.sha256, make, size=local.input.bytes)

    def _copy(self, connection: duckdb.DuckDBPyConnection, local: LocalFile, target: Path) -> bool:
        """Convert a raw file, and return whether it has a column of losses."""
        import duckdb

        location = local.input.location
        parameters: dict[str, Any] = {"source": str(local.path), "target": str(target)}
        try:
            raw = _describe_parquet(connection, local) if _is_parquet(local) else _describe_csv(local)
            element = raw.identifiers[find_column(raw.header, self.element_column, location, meaning="element")]
            label = self._label_of_path(raw.header, location)
            if label is None:
                name = self.crawl_column or _DEFAULT_CRAWL_COLUMN
                crawl = raw.identifiers[find_column(raw.header, name, location, meaning="crawl")]
            else:
                crawl = "$label"
                parameters["label"] = label
            stratum = "''"
            if self._stratum is not None:
                position = find_column(raw.header, self._stratum.name, location, meaning="stratum")
                stratum = raw.identifiers[position]
            lost = ""
            if has_lost := LOST in raw.header:
                lost = f", nullif(trim({raw.identifiers[raw.header.index(LOST)]}::VARCHAR), '') AS {LOST}"
            columns = {"crawl": crawl, "element": element, "stratum": stratum, "lost": lost}
            statement = load_statement(raw.statement).format(**columns)
            connection.execute(statement, {**parameters, **raw.parameters})
        except duckdb.Error as error:
            # DuckDB appends advice on its own options, which users cannot set.
            reason = " ".join(str(error).split("\nPossible")[0].split())
            raise SourceError(f"{location}: cannot be read: {reason[:500]}") from error
        return has_lost

    def _label_of_path(self, header: list[str], location: str) -> str | None:
        """Return the label of a file's only crawl; None when a column gives the labels."""
        if self.crawl_column is not None or _DEFAULT_CRAWL_COLUMN in header:
            return None
        label = label_in_path(self.path, location)
        if label is None and is_glob(self.path):
            raise SourceError(
                f"{location}: has no column {_DEFAULT_CRAWL_COLUMN!r}, so its crawl is the part of the path "
                f"that * matches, but {self.path} does not have exactly one *; set crawl_column (the columns are "
                f"{header}), or write the path with one *"
            )
        return None if label is None else check_label(label, location)


@dataclass(frozen=True)
class _RawList:
    """Statement and parameters that read a raw file, and the SQL identifier of each column of its header."""

    statement: str
    header: list[str]
    identifiers: list[str]
    parameters: dict[str, Any]


def _describe_csv(local: LocalFile) -> _RawList:
    if is_gzip(local):
        with open_text(local) as stream:
            while stream.read(1 << 20):  # To the end, because DuckDB 1.5 accepts a truncated file.
                pass
    header = read_header(local)
    # Columns are named by position, so no text of the file enters the statement.
    names = [f"column_{position}" for position in range(len(header))]
    parameters = {
        "columns": dict.fromkeys(names, "VARCHAR"),
        "compression": "gzip" if is_gzip(local) else "none",
    }
    return _RawList("convert_presence_csv", header, names, parameters)


def _describe_parquet(connection: duckdb.DuckDBPyConnection, local: LocalFile) -> _RawList:
    # The columns of the file itself, without those of a partitioned path.
    query = "DESCRIBE SELECT * FROM read_parquet($source, hive_partitioning = false)"
    described = connection.execute(query, {"source": str(local.path)}).fetchall()
    header = [row[0] for row in described]
    return _RawList("convert_presence_parquet", header, [_quote(name) for name in header], {})


def _quote(identifier: str) -> str:
    """Quote an identifier that DuckDB found in a file; identifiers cannot be bound as parameters."""
    return '"' + identifier.replace('"', '""') + '"'


def _is_parquet(local: LocalFile) -> bool:
    with local.path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _check_rows(
    connection: duckdb.DuckDBPyConnection, presence: Path, location: str, *, ranks: bool, has_lost: bool
) -> None:
    """Reject a list without rows, and rows without a valid crawl label, element, stratum or mark of a loss."""
    statement = load_statement("check_presence").format(lost=LOST if has_lost else "NULL::VARCHAR")
    parameters = {"presence": str(presence), "limit": MAX_CRAWLS + 1, "ranks": ranks}
    rows = connection.execute(statement, parameters).fetchall()
    if not rows:
        raise SourceError(f"{location}: has a header but no rows; expected a row per crawl and element")
    for label, first_row, row_without_element, row_of_wrong_stratum, wrong_stratum, row_of_wrong_loss, loss in rows:
        check_label(label or "", f"{location}, data row {first_row}")
        if row_without_element is not None:
            raise SourceError(
                f"{location}, data row {row_without_element}: found no element (crawl {label}), expected one "
                "in every row; remove the row or complete it"
            )
        if row_of_wrong_stratum is not None:
            expected = _RANK if ranks else _STRATUM
            raise SourceError(
                f"{location}, data row {row_of_wrong_stratum}: found the stratum {wrong_stratum[:80]!r}, expected "
                f"{expected}, or an empty cell"
            )
        if row_of_wrong_loss is not None:
            raise SourceError(
                f"{location}, data row {row_of_wrong_loss}: found {loss[:80]!r} in column {LOST!r}, expected 1 or true "
                "for an element that was not released after its capture, otherwise 0, false or an empty cell"
            )
    if len(rows) > MAX_CRAWLS:
        raise SourceError(
            f"{location}: has more than {MAX_CRAWLS:,} crawls ({rows[0][0]!r}, {rows[1][0]!r}, ...); check "
            "the setting crawl_column"
        )
