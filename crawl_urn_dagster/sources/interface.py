"""Define the two kinds of source and the results they return.

Does not read any format; see `formats` and `common_crawl`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from crawl_urn_dagster.sources.calendar import DatedCrawl, fetch_calendar
from crawl_urn_dagster.sources.transport.locations import existing_files, resolve_location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import Selection
    from crawl_urn_dagster.sources.input_files import InputFile
    from crawl_urn_dagster.sources.transport.files import Files


#: Which unreadable crawls are set aside: those whose files are damaged, also those that cannot be reached, or none.
Quarantine = Literal["damaged", "any", "none"]


def select_by_type(schema: dict[str, Any]) -> None:
    """Let the JSON schema of a union select its model by ``type``, because errors then name the invalid key."""
    schema.pop("oneOf")
    models = schema.pop("discriminator")["mapping"]
    schema |= {"type": "object", "required": ["type"], "properties": {"type": {"enum": list(models)}}}
    schema["allOf"] = [
        {"if": {"properties": {"type": {"const": kind}}}, "then": {"$ref": reference}}
        for kind, reference in models.items()
    ]


class QuarantinedCrawl(NamedTuple):
    """A crawl that is set aside, because one of its files cannot be read.

    Attributes
    ----------
    crawl
        Label of the crawl.
    started_at
        Start of the crawl, UTC without zone; None: its label and the calendar do not date it.
    location
        The file.
    kind
        ``damaged``: the content of the file is not as expected; ``unreachable``: the file cannot be fetched.
    reason
        The error.

    Examples
    --------
    >>> QuarantinedCrawl("2024-01", None, "2024-01.csv.gz", "damaged", "is damaged gzip").kind
    'damaged'
    """

    crawl: str
    started_at: datetime | None
    location: str
    kind: Literal["damaged", "unreachable"]
    reason: str


@dataclass(frozen=True)
class Listing:
    """The selected crawls that a source has now.

    Attributes
    ----------
    crawls
        The selected crawls, in time order.
    inputs
        The files that list them.
    revisions
        Presence sources only: by crawl, a hash of its captures or of the files that hold them.
    captures
        Presence sources only: by crawl, the number of captures, to report progress; empty if unknown.
    findings
        Observations while listing: numbers of lines by outcome, samples of malformed lines.
    quarantined
        Crawls that are set aside, in the order of their files; they are not in `crawls`.

    Examples
    --------
    >>> from datetime import datetime
    >>> from crawl_urn_dagster.sources import Listing
    >>> from crawl_urn_dagster.sources.calendar import DatedCrawl
    >>> listing = Listing((DatedCrawl("2024-01", datetime(2024, 1, 1), "label"),), inputs=())
    >>> [crawl.crawl for crawl in listing.crawls]
    ['2024-01']
    """

    crawls: tuple[DatedCrawl, ...]
    inputs: tuple[InputFile, ...]
    revisions: Mapping[str, str] = field(default_factory=dict)
    captures: Mapping[str, int] = field(default_factory=dict)
    findings: Mapping[str, int | str] = field(default_factory=dict)
    quarantined: tuple[QuarantinedCrawl, ...] = ()


@dataclass(frozen=True)
class ObservableTables:
    """Ready-made observables of the selected crawls.

    Attributes
    ----------
    crawls
        Columns ``crawl, started_at, dated_by, elements``, in time order. ``elements`` is nullable (``Int64``), because
        a source may not publish the size of every crawl.
    pairs
        Columns ``crawl_i, crawl_j, size_i, size_j, intersection``, with i earlier than j; None without pairs.
    windows
        Columns ``start_crawl, end_crawl, window_crawls, distinct_elements``, including windows of one crawl. Both ends
        are counted, and both are selected. None without windows.
    inputs
        The files that were read.
    published
        For a source that is revised: all published counts, selected or not, with columns ``quantity, start_crawl,
        end_crawl, window_crawls, distinct_elements, location, sha256``; None for other sources.
    not_published
        Labels of selected crawls that are listed but whose data are not published.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import ObservableTables
    >>> from crawl_urn_dagster.sources.calendar import crawls_frame
    >>> tables = ObservableTables(crawls_frame([], {}), pairs=None, windows=None, inputs=())
    >>> list(tables.crawls.columns)
    ['crawl', 'started_at', 'dated_by', 'elements']
    """

    crawls: pd.DataFrame
    pairs: pd.DataFrame | None
    windows: pd.DataFrame | None
    inputs: tuple[InputFile, ...]
    published: pd.DataFrame | None = None
    not_published: tuple[str, ...] = ()


class Captures(NamedTuple):
    """Some captures of one crawl.

    Attributes
    ----------
    crawl
        Label of the crawl.
    elements
        Elements as text, shape (n_captures,), in any order; an element may occur more than once. A source without
        texts returns their keys, as integers of 64 bits.
    complete
        Whether these are the last captures of the crawl. None: the crawl cannot be read and is set aside, so earlier
        captures of it are to be ignored.
    strata
        Stratum of each capture as text, shape (n_captures,), NaN or None where it is missing. None for a source
        without a stratum column.
    lost
        Whether each element was not released after its capture, shape (n_captures,). None: all were released.

    Examples
    --------
    >>> import numpy as np
    >>> from crawl_urn_dagster.sources import Captures
    >>> Captures("2024-01", np.array(["a.org", "b.org"], dtype=object), complete=True).elements.tolist()
    ['a.org', 'b.org']
    """

    crawl: str
    elements: npt.NDArray[np.object_]
    complete: bool | None
    strata: npt.NDArray[np.object_] | None = None
    lost: npt.NDArray[np.bool_] | None = None

    @classmethod
    def end_of(cls, crawl: str) -> Captures:
        """Return the mark, without elements, that completes a crawl."""
        import numpy as np

        return cls(crawl, np.empty(0, dtype=np.object_), complete=True)

    @classmethod
    def set_aside(cls, crawl: str) -> Captures:
        """Return the mark of a crawl that cannot be read."""
        return cls.end_of(crawl)._replace(complete=None)


class StratumColumn(NamedTuple):
    """The column that divides the elements into strata.

    Attributes
    ----------
    name
        Name of the column in the source.
    ranks
        Whether its values must be whole numbers from 1.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import StratumColumn
    >>> StratumColumn("rank", ranks=True)
    StratumColumn(name='rank', ranks=True)
    """

    name: str
    ranks: bool


class Sample(NamedTuple):
    """A coordinated sample of elements: the same elements are kept in every crawl.

    Attributes
    ----------
    one_in
        The k of the sampling fraction 1/k.
    keeps
        Function that returns, for elements as text, shape (n_captures,), which of them are in the sample.

    Examples
    --------
    >>> import numpy as np
    >>> from crawl_urn_dagster.sources import Sample
    >>> sample = Sample(2, lambda elements: np.array([element < "b" for element in elements]))
    >>> sample.keeps(np.array(["a.org", "b.org"], dtype=object)).tolist()
    [True, False]
    """

    one_in: int
    keeps: Callable[[npt.NDArray[np.object_]], npt.NDArray[np.bool_]]


class Located(BaseModel):
    """Base of settings that hold locations of files; rejects unknown keys and wrong types.

    Examples
    --------
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import PresenceListSource
    >>> PresenceListSource(path="hosts.csv").relative_to(Path("data")).path
    'data/hosts.csv'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    #: Names of the fields that hold a location.
    location_fields: ClassVar[tuple[str, ...]] = ()

    def relative_to(self, folder: Path) -> Self:
        """Return a copy whose relative paths are resolved against a folder; http(s) addresses stay."""
        return self.model_copy(
            update={name: resolve_location(folder, value) for name, value in self._locations().items()}
        )

    def missing_files(self) -> list[str]:
        """Return the configured local files that do not exist, and the globs that match no file."""
        return [value for value in self._locations().values() if not existing_files(value)]

    def _locations(self) -> dict[str, str]:
        values = {name: getattr(self, name) for name in self.location_fields}
        return {name: value for name, value in values.items() if value is not None}


class CounterSource(Located, ABC):
    """Settings of the operator's own counters, with which a collection is compared.

    Attributes
    ----------
    population
        Counters whose sum is the number of eligible elements; empty: not counted.
    new
        Counters whose sum is the number of elements that no earlier crawl captured; empty: not counted.
    divide_by
        Counter by which counters that are not part of `population` or `new` are divided before their changes are
        compared, such as the budget of a crawl; None: counts are compared.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import CounterTableSource
    >>> CounterTableSource(path="counters.csv", population=["alive"]).population
    ['alive']
    """

    population: list[str] = Field(default=[])
    new: list[str] = Field(default=[])
    divide_by: str | None = None

    @abstractmethod
    def read_counters(self, files: Files) -> pd.DataFrame:
        """Read the counters as columns ``crawl, quantity, value``, each pair of the first two once.

        Raises
        ------
        SourceError
            When a file or a count is not as expected, a counter that `population`, `new` or `divide_by` names is
            missing, or that of `divide_by` is 0.
        """


class SourceConfig(Located, ABC):
    """Base of the configuration of every source.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import PresenceListSource, SourceConfig
    >>> issubclass(PresenceListSource, SourceConfig)
    True
    """

    @property
    def granularity(self) -> str | None:
        """Kind of element (``url``, ``host``, ``domain`` or ``other``); None if the source does not determine it."""
        return None

    @abstractmethod
    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the selected crawls that the source has now.

        Parameters
        ----------
        files
            Access to local and remote files.
        selection
            The crawls that the collection takes.

        Raises
        ------
        SourceError
            When a file, a date or a selected crawl is not as expected, or a server cannot be reached.
        """

    def unpublished_crawls(self, files: Files, listing: Listing) -> list[str]:
        """Return the crawls of the calendar that are later than every listed crawl: announced but not published."""
        calendar, _ = fetch_calendar(files, self._locations().get("calendar"))
        return [crawl for crawl, date in (calendar or {}).items() if date > listing.crawls[-1].started_at]


class PresenceSource(SourceConfig):
    """A source of presence lists: which elements each crawl captured.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import PresenceListSource, PresenceSource
    >>> issubclass(PresenceListSource, PresenceSource)
    True
    """

    #: Presence lists are counted, not estimated.
    relative_error: ClassVar[float] = 0.0
    #: Whether captures contain the texts of elements; otherwise, they contain keys.
    has_texts: ClassVar[bool] = True

    def with_stratum(self, column: StratumColumn) -> Self:
        """Return a source that adds the values of a column to its captures.

        Raises
        ------
        ValueError
            When the source does not have the column.
        """
        raise ValueError(f"has no column {column.name!r} to take a stratum from; leave stratum out")

    def with_quarantine(self, quarantine: Quarantine) -> Self:  # noqa: ARG002 - for sources of one file per crawl
        """Return a source that sets unreadable crawls aside; most sources stop at any error."""
        return self

    def with_sample(self, sample: Sample) -> Self:  # noqa: ARG002 - for sources that can use it
        """Return a source that may leave out elements outside a sample; most sources return every element."""
        return self

    @abstractmethod
    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the captures of some listed crawls, one crawl after another as far as the files allow.

        Parameters
        ----------
        files
            Access to local and remote files.
        crawls
            Labels of the crawls.

        Yields
        ------
        Captures, the last of each crawl marked as complete or as set aside.

        Raises
        ------
        SourceError
            When a file is missing, damaged, or not as expected.
        """


class TablesSource(SourceConfig):
    """A source of ready-made observables.

    Attributes
    ----------
    relative_error
        One standard error of the source's counts, as a fraction of the count, in [0, 1); 0: exact counts.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import ObservableTablesSource
    >>> source = ObservableTablesSource(pairs="pairs.csv")
    >>> source.has_pairs, source.has_windows
    (True, False)
    """

    relative_error: float = Field(default=0.0, ge=0, lt=1)

    @property
    @abstractmethod
    def has_pairs(self) -> bool:
        """Whether the source gives pairwise intersections."""

    @property
    @abstractmethod
    def has_windows(self) -> bool:
        """Whether the source gives the number of distinct elements of windows."""

    @property
    def is_revised(self) -> bool:
        """Whether published counts may be revised; if so, every publication is kept."""
        return False

    @abstractmethod
    def read_tables(self, files: Files, selection: Selection) -> ObservableTables:
        """Read the observables of the selected crawls.

        Raises
        ------
        SourceError
            When a file, a date, a count or a selected crawl is not as expected.
        """

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the crawls of the tables, which are small enough to be read for this."""
        tables = self.read_tables(files, selection)
        dated = (DatedCrawl(*row) for row in tables.crawls[["crawl", "started_at", "dated_by"]].itertuples(index=False))
        return Listing(tuple(dated), tables.inputs)
