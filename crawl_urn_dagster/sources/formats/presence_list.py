"""Convert presence lists of many formats: which elements each crawl captured.

Does not read the indexes of web archives; see `cdx`. Does not count captures; see `observables`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from crawl_urn_dagster.sources.calendar import MAX_CRAWLS, check_label
from crawl_urn_dagster.sources.errors import DamagedError, SourceError
from crawl_urn_dagster.sources.formats.parquet_cache import LOST, ConvertedParts, ParquetCachedSource, lost_column
from crawl_urn_dagster.sources.formats.quarantine import Failure
from crawl_urn_dagster.sources.formats.raw_lists import RawList, describe_list
from crawl_urn_dagster.sources.formats.table_folders import find_table
from crawl_urn_dagster.sources.formats.zone_files import write_zone
from crawl_urn_dagster.sources.transport.duckdb_connection import connect
from crawl_urn_dagster.sources.transport.locations import is_glob
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    from typing_extensions import Self

    from crawl_urn_dagster.sources.formats.quarantine import Failures
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.interface import StratumColumn
    from crawl_urn_dagster.sources.transport.files import Files

_DEFAULT_CRAWL_COLUMN = "crawl"
_RANK = "a whole number from 1, because stratum.bands divide ranks"
_STRATUM = "1 to 64 letters, digits, spaces or ._:+/-, starting with a letter or digit"


class PresenceListSource(ParquetCachedSource):
    r"""Lists of captures, one row per crawl and element.

    Formats are detected from the content: CSV, JSON lines, Parquet, Feather, ORC, Delta and Iceberg tables (extra
    `tables`); text may be compressed by gzip, bzip2, xz, zstd or zip.

    Each raw file is converted once to Parquet in the cache; crawls and captures are read from there. Only new and
    changed files are converted.

    Parameters
    ----------
    path
        One file, a folder, or a glob such as ``lists/*.csv.gz``; also in an object store.
    crawl_column
        Name of the column with the crawl's label. None: ``crawl``; if the files of a folder or glob lack that column,
        each file belongs to one crawl, which the names of its path state, see `crawl_in_path`.
    element_column
        Name of the column with the element. A column ``lost``, if there is one, marks elements that no later crawl can
        capture, because they were not released.
    columns
        Names of the columns of CSV files without a header. A single name: the whole line is the element.
    format
        ``table``: rows with columns. ``zone``: DNS zone files; elements are the delegated names.
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
    columns: list[Annotated[str, Field(min_length=1)]] | None = Field(default=None, min_length=1)
    format: Literal["table", "zone"] = "table"
    _is_dated_by_name: ClassVar[bool] = True

    @model_validator(mode="after")
    def _check_columns_differ(self) -> Self:
        if self.crawl_column == self.element_column:
            raise ValueError(f"crawl_column and element_column are both {self.element_column!r}; expected two columns")
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            raise ValueError(f"columns names a column twice: {self.columns}")
        if self.format == "zone" and (self.columns is not None or self.crawl_column is not None):
            raise ValueError("format: zone has no columns; leave columns and crawl_column out")
        return self

    def with_stratum(self, column: StratumColumn) -> Self:
        """Return a source that adds the values of a column to its captures."""
        if self.format == "zone":
            raise ValueError(f"reads zone files, which have no column {column.name!r}; leave stratum out")
        source = self.model_copy()
        source._stratum = column
        return source

    @property
    def _partition_column(self) -> str:
        return self.crawl_column or _DEFAULT_CRAWL_COLUMN

    def _settings(self) -> tuple[str, ...]:
        stratum = () if self._stratum is None else (self._stratum.name,)
        rows = () if self.format == "table" and self.columns is None else (self.format, *(self.columns or ()))
        return self.crawl_column or "", self.element_column, *stratum, *rows

    def _raw_files(self, files: Files, failed: Failures) -> list[LocalFile]:
        table = find_table(self.path)
        return super()._raw_files(files, failed) if table is None else [table]

    def _converted_parts(self, files: Files) -> ConvertedParts:
        """Convert the raw files that are new; a file without rows must be one of several parts of its crawl."""
        converted = super()._converted_parts(files)
        both = list(zip(converted.parts, converted.labels, strict=True))
        filled = {label for part, label in both if _has_rows(part.path)}
        for part, label in both:
            if label not in filled and isinstance(label, str) and not _has_rows(part.path):
                location = part.input.location
                failure = Failure.of_content(part.input, _no_rows(location))
                if not failure.is_allowed(self._quarantine):
                    raise failure.error
                converted.failed[location] = failure._replace(crawl=check_label(label, location))
        kept = [(part, label) for part, label in both if part.input.location not in converted.failed]
        return ConvertedParts([part for part, _ in kept], [label for _, label in kept], converted.failed)

    def _convert(self, files: Files, local: LocalFile, label: str | SourceError | None) -> Path:
        """Return the Parquet file of a raw file, with columns ``crawl, element, stratum`` and maybe ``lost``."""
        ranks = self._stratum is not None and self._stratum.ranks
        key = ("presence in any format and encoding", local.input.location, str(label), *self._settings(), ranks)

        def make(target: Path) -> None:
            with connect(files.cache) as connection, tempfile.TemporaryDirectory(dir=files.cache) as scratch:
                if self.format == "zone":
                    write_zone(connection, local, self._require_label(local.input.location, label), target)
                else:
                    self._copy(connection, local, label, Path(scratch), target)
                is_part = isinstance(label, str)
                _check_rows(connection, target, local.input.location, ranks=ranks, may_be_empty=is_part)

        return files.derive(repr(key), local.input.sha256, make, size=local.input.bytes)

    def _copy(
        self,
        connection: duckdb.DuckDBPyConnection,
        local: LocalFile,
        label: str | SourceError | None,
        scratch: Path,
        target: Path,
    ) -> None:
        import duckdb

        location = local.input.location
        try:
            raw = describe_list(connection, local, scratch, self.columns)
            expressions = self._expressions(raw, location, label)
            parameters: dict[str, Any] = {**raw.parameters, "target": str(target)}
            if expressions["crawl"] == "$label":
                parameters["label"] = self._require_label(location, label)
            connection.execute(load_statement(raw.statement).format(**expressions), parameters)
        except duckdb.Error as error:
            # DuckDB appends advice on its own options, which users cannot set.
            reason = " ".join(str(error).split("\nPossible")[0].split())
            raise DamagedError(f"{location}: cannot be read: {reason[:500]}") from error

    def _expressions(self, raw: RawList, location: str, label: str | SourceError | None) -> dict[str, str]:
        """Return the SQL expressions of crawl, element and stratum, and the column of losses if there is one."""
        try:
            element = raw.text_of(self.element_column, location, meaning="element")
        except SourceError as error:
            if self.columns is not None or self.element_column in raw.header:
                raise
            raise SourceError(f"{error}; if the file has no header, name its columns in the setting columns") from error
        crawl = "$label"
        if self._partition_column in raw.header or not self._has_label(location, label):
            crawl = raw.text_of(self._partition_column, location, meaning="crawl")
        elif label is None or isinstance(label, SourceError):
            self._require_label(location, label, header=raw.header)
        stratum = "''"
        if self._stratum is not None:
            stratum = raw.text_of(self._stratum.name, location, meaning="stratum")
        lost = ""
        if LOST in raw.header:
            lost = f", nullif(trim({raw.text_of(LOST, location, meaning='marks of losses')}), '') AS {LOST}"
        return {"crawl": crawl, "element": element, "stratum": stratum, "lost": lost}

    def _has_label(self, location: str, label: str | SourceError | None) -> bool:
        """Test whether the path of a file may state its crawl, if the file has no column that does."""
        if self.crawl_column is not None:
            return f"/{self.crawl_column}=" in location
        return label is not None or is_glob(self.path)

    def _require_label(
        self, location: str, label: str | SourceError | None, *, header: Sequence[str] | None = None
    ) -> str:
        """Return the label of a file's only crawl."""
        if isinstance(label, SourceError):
            raise label
        if label is None:
            columns = "" if header is None else f"set crawl_column (the columns are {list(header)}), or "
            raise SourceError(
                f"{location}: has no column {_DEFAULT_CRAWL_COLUMN!r}, so its crawl is the part of the path "
                f"that * matches, but {self.path} does not have exactly one *; {columns}write the path with one *"
            )
        return check_label(label, location)


def _has_rows(converted: Path) -> bool:
    import pyarrow.parquet as pq

    n_rows: int = pq.read_metadata(converted).num_rows
    return n_rows > 0


def _no_rows(location: str) -> DamagedError:
    return DamagedError(f"{location}: has a header but no rows; expected a row per crawl and element")


def _check_rows(
    connection: duckdb.DuckDBPyConnection, presence: Path, location: str, *, ranks: bool, may_be_empty: bool
) -> None:
    """Reject a list without rows, and rows without a valid crawl label, element, stratum or mark of a loss."""
    statement = load_statement("check_presence").format(lost=lost_column(presence))
    parameters = {"presence": str(presence), "limit": MAX_CRAWLS + 1, "ranks": ranks}
    rows = connection.execute(statement, parameters).fetchall()
    if not rows and not may_be_empty:
        raise _no_rows(location)
    for label, first_row, row_without_element, missing, row_of_wrong_stratum, wrong_stratum, *wrong_loss in rows:
        check_label(label or "", f"{location}, data row {first_row}")
        if row_without_element is not None:
            found = f"{missing!r}, which stands for a missing value, as an element" if missing else "no element"
            raise DamagedError(
                f"{location}, data row {row_without_element}: found {found} (crawl {label}), expected one "
                "in every row; remove the row or complete it"
            )
        if row_of_wrong_stratum is not None:
            expected = _RANK if ranks else _STRATUM
            raise DamagedError(
                f"{location}, data row {row_of_wrong_stratum}: found the stratum {wrong_stratum[:80]!r}, expected "
                f"{expected}, or an empty cell"
            )
        if wrong_loss[0] is not None:
            raise DamagedError(
                f"{location}, data row {wrong_loss[0]}: found {wrong_loss[1][:80]!r} in column {LOST!r}, expected 1 or "
                "true for an element that was not released after its capture, otherwise 0, false or an empty cell"
            )
    if len(rows) > MAX_CRAWLS:
        raise SourceError(
            f"{location}: has more than {MAX_CRAWLS:,} crawls ({rows[0][0]!r}, {rows[1][0]!r}, ...); check "
            "the setting crawl_column"
        )
