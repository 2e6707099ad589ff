"""Read crawls and fit urns to them in a few lines of Python, without Dagster.

Does not hold any of the steps: they are those that the assets take (`sources`, `observables`, `estimates`, `figures`),
so the numbers are the same.
"""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.diagnosis import read_verdict
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.inference import estimate
from crawl_urn_dagster.estimates.intervals import LEVEL, REPLICATES, SEED
from crawl_urn_dagster.figures.catalogue import CATALOGUE, draw, drawable
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.engines import LocalEngine
from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.observables.quality import WHAT_TO_DO, breach, broken_rules
from crawl_urn_dagster.observables.schema import PARAMETERS
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_counts, tables_from_histories
from crawl_urn_dagster.sources import (
    Files,
    ObservableTablesSource,
    PresenceListSource,
    PresenceSource,
    Selection,
    SourceError,
)
from crawl_urn_dagster.sources.calendar import crawls_frame
from crawl_urn_dagster.urn import CountingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from matplotlib.figure import Figure

    from crawl_urn_dagster.estimates.diagnosis import Verdict
    from crawl_urn_dagster.estimates.headline import Headline
    from crawl_urn_dagster.sources import TablesSource
    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock, Status

    #: A path or address, or a frame of pandas, polars or pyarrow.
    Data: TypeAlias = str | os.PathLike[str] | pd.DataFrame | Any

_MEMORY_BYTES = 2**32
_LINE = 100  # characters
_FEWEST_RESAMPLES = 20


@dataclass(frozen=True, repr=False)
class Crawls:
    """A sequence of crawls as read by `read_presence`, `read_counts` or `read_source`.

    Attributes
    ----------
    tables
        Tables of the contract by name: crawls, with containment, discovery_curve, m_array and first_returns where the
        data contain them.
    histories
        Capture-history counts; None for counts of overlaps and unions.
    error
        How the elements were counted.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"crawl": ["2024-01", "2024-01", "2024-02"], "element": ["a", "b", "b"]})
    >>> read_presence(frame)
    2 crawls, 2024-01 to 2024-02, of 1 to 2 elements
    """

    tables: Mapping[str, pd.DataFrame]
    histories: CaptureHistoryCounts | None
    error: CountingError

    def __repr__(self) -> str:
        crawls = self.tables["crawls"]
        first, last = crawls["crawl"].iloc[[0, -1]]
        known = crawls["elements"].dropna()
        sizes = f", of {known.min():,} to {known.max():,} elements" if len(known) else ""
        return f"{count_noun(len(crawls), 'crawl')}, {first} to {last}{sizes}"


@dataclass(frozen=True, repr=False)
class CrawlFit:
    """Result of fitting urn models to a collection, including the selected fit.

    Attributes
    ----------
    crawls
        The crawls that were fitted.
    tables
        Tables of the contract by name: those of the crawls, parameters, operator_terms, diagnosis, model_comparison,
        revisit_regimes and kappa_profile. Their intervals are 95 % confidence intervals.
    headline
        The selected fit.
    verdict
        Overall result of its tests.

    Examples
    --------
    See `fit`.
    """

    crawls: Crawls
    tables: Mapping[str, pd.DataFrame]
    headline: Headline
    verdict: Verdict

    @property
    def kappa(self) -> float | None:
        """Core fraction of the urn, in [0, 1]; None when not reported or not part of the model."""
        return self.headline.estimates.get("kappa")

    @property
    def core_share(self) -> float | None:
        """Core share of a crawl, in [0, 1]; None when not reported or not part of the model."""
        return self.headline.estimates.get("core_share")

    @property
    def alpha(self) -> float | None:
        """Survival of the shell, or of the homogeneous urn, per unit of the clock, in [0, 1]; None: not reported."""
        return self.headline.estimates.get("alpha")

    @property
    def coverage(self) -> float | None:
        """Coverage of the shell, or of the homogeneous urn, in [0, 1]; None when not reported."""
        return self.headline.estimates.get("coverage")

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Confidence intervals by name of the parameter; a parameter without one is absent."""
        return self.headline.intervals

    @property
    def status(self) -> Status:
        """Status of the selected fit."""
        return self.headline.status

    @property
    def figures(self) -> list[str]:
        """Names of the figures that `plot` draws; without reported parameters, those of the observables."""
        is_drawn = self.headline.is_reported
        return [name for name in drawable(self.tables) if is_drawn or not CATALOGUE[name].has_parameters]

    def plot(self, name: str = "core_shell_fits", *, title: str = "crawls") -> Figure:
        """Draw a figure.

        Parameters
        ----------
        name
            One of `figures`.
        title
            Name of the crawls, for the first line of the figure.

        Raises
        ------
        ValueError
            When there is no such figure of these crawls, or its parameters are not reported.
        """
        if name not in self.figures:
            is_unreported = not self.headline.is_reported and name in CATALOGUE
            why = f" because parameters are not reported ({self.status})" if is_unreported else ""
            raise ValueError(f"{name!r} is not drawn{why}; the figures of these crawls are {', '.join(self.figures)}")
        return draw(name, self.tables, title=title, clock=self.headline.kind.clock)

    def summary(self) -> str:
        """Return crawls, parameters with intervals, status and verdict as lines of text."""
        meanings = {column.name: column.description.split(" (")[0] for column in PARAMETERS.columns}
        parameters = [f"{self.headline.format_estimate(name)}: {meanings[name]}" for name in self.headline.estimates]
        reason = f". {self.headline.reason}" if self.headline.reason else ""
        lines = [
            repr(self.crawls),
            f"fit: {self.headline.fit_name}",
            *parameters,
            f"status: {self.status}{reason}",
            f"verdict: {self.verdict.name}. {self.verdict.meaning}",
        ]
        return "\n".join(textwrap.fill(line, _LINE, subsequent_indent="  ") for line in lines)

    def __repr__(self) -> str:
        return f"{self.headline.fit_name}: {self.status}, {self.headline.numbers}"


def read_presence(
    presence: Data,
    *,
    crawl_column: str = "crawl",
    element_column: str = "element",
    calendar: Data | None = None,
) -> Crawls:
    """Read a presence list: one row per crawl and element.

    Parameters
    ----------
    presence
        Path or address of CSV, gzip CSV or Parquet, or a frame of pandas, polars or pyarrow.
    crawl_column, element_column
        Names of the two columns.
    calendar
        Start dates of the crawls, columns ``id, from``, if their labels are neither dates nor Common Crawl ids.

    Returns
    -------
    Crawls
        The crawls with their observables.

    Raises
    ------
    SourceError
        When a file, a row, a date or a crawl is not as expected; the message names the place and what to do.

    Examples
    --------
    >>> frame = pd.DataFrame({"snapshot": ["2024-01", "2024-02", "2024-02"], "host": ["a.org", "a.org", "b.org"]})
    >>> crawls = read_presence(frame, crawl_column="snapshot", element_column="host")
    >>> crawls.tables["containment"]["containment"].tolist()
    [1.0]
    """
    with _located(presence=presence, calendar=calendar) as locations:
        columns = {"crawl_column": crawl_column, "element_column": element_column}
        path, when = locations["presence"], locations["calendar"]
        source = PresenceListSource.model_validate({"path": path, "calendar": when, **columns})
        return _warned(_read(source, Selection()))


def read_counts(
    *,
    pairs: Data | None = None,
    windows: Data | None = None,
    calendar: Data | None = None,
    relative_error: float = 0.0,
) -> Crawls:
    """Read published counts of crawls: pairwise overlaps, unions of windows, or both.

    Parameters
    ----------
    pairs
        Path, address or frame of intersections: ``crawl_i, crawl_j, size_i, size_j, intersection``, and
        ``started_i, started_j`` where the table dates the crawls.
    windows
        Path, address or frame of unions of consecutive crawls: ``start, end, union``.
    calendar
        See `read_presence`.
    relative_error
        Standard error of sketched counts as a fraction of the count, in [0, 1); 0 for exact counts.

    Returns
    -------
    Crawls
        The crawls with their observables.

    Raises
    ------
    SourceError
        When a file, a row, a date or a crawl is not as expected; the message names the place and what to do.

    Warns
    -----
    UserWarning
        When the counts cannot all be true, such as an intersection larger than one of its crawls, by more than
        `relative_error` allows; `fit` gives the same warning.

    Examples
    --------
    >>> pairs = pd.DataFrame(
    ...     {"crawl_i": ["2024-01"], "crawl_j": ["2024-02"], "size_i": [100], "size_j": [90], "intersection": [60]}
    ... )
    >>> read_counts(pairs=pairs).tables["containment"]["containment"].tolist()
    [0.6]
    """
    with _located(pairs=pairs, windows=windows, calendar=calendar) as locations:
        source = ObservableTablesSource.model_validate({**locations, "relative_error": relative_error})
        return _warned(_read(source, Selection()))


def read_source(
    source: PresenceSource | TablesSource, *, first_crawl: str | None = None, last_crawl: str | None = None
) -> Crawls:
    """Read any source.

    Parameters
    ----------
    source
        One of the classes of `crawl_urn_dagster.sources`, or a source of your own.
    first_crawl, last_crawl
        The first and the last crawl to read, both included; by default all.

    Returns
    -------
    Crawls
        The crawls with their observables.

    Raises
    ------
    SourceError
        When the source cannot be read or is not as expected; the message names the place and what to do.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import SimulatedSource
    >>> source = SimulatedSource(kappa=0.4, alpha=0.8, coverage=0.6, crawls=3, elements=500)
    >>> len(read_source(source).tables["crawls"])
    3
    """
    return _warned(_read(source, Selection(first_crawl, last_crawl)))


def fit(
    crawls: Crawls | Data,
    *,
    clock: Clock = "crawl",
    confidence_level: float = LEVEL,
    n_resamples: int = REPLICATES,
    rng: int | np.random.Generator = SEED,
    progress: bool | Callable[[str], object] = False,
) -> CrawlFit:
    """Fit all urns to a sequence of crawls, with intervals, and select the headline.

    Parameters
    ----------
    crawls
        Crawls as read by `read_presence`, `read_counts` or `read_source`; or a presence list with the columns ``crawl``
        and ``element``: a path, an address, or a frame of pandas, polars or pyarrow.
    clock
        Clock of the headline: survival per ``crawl``, or per ``year``.
    confidence_level
        Level of `CrawlFit.intervals`, in (0, 1). Tables always have 95 % confidence intervals.
    n_resamples
        Bootstrap replicates on each clock, at least 20. An end of an interval has a relative error of about
        0.7 divided by the square root of this number.
    rng
        Seed of the bootstrap, or a generator that one is drawn from. The default gives the numbers of the assets.
    progress
        True: print each stage to standard error; or a function that takes a line.

    Returns
    -------
    CrawlFit
        The selected fit, all tables, and figures.

    Raises
    ------
    TypeError
        When `crawls` is neither crawls nor a presence list.
    ValueError
        When a number is out of range.
    SourceError
        When a presence list cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> shell = {crawl: rng.random(300) < 0.6 for crawl in ("2024-01", "2024-02", "2024-03", "2024-04", "2024-05")}
    >>> rows = [(crawl, f"core-{k}") for crawl in shell for k in range(200)]
    >>> rows += [(crawl, f"shell-{k}") for crawl, captured in shell.items() for k in np.flatnonzero(captured)]
    >>> fitted = fit(pd.DataFrame(rows, columns=["crawl", "element"]), n_resamples=20)
    >>> abs(fitted.kappa - 0.4) < 0.05
    True

    References
    ----------
    Paris, Çelikkanat and Foppiano, Measuring What the Crawler Sees: Discovery Curves, Core Persistence, and Shell
    Dynamics in Longitudinal Web Crawls, Common Crawl Foundation, 2026.
    """
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level is {confidence_level}; expected a number between 0 and 1")
    if n_resamples < _FEWEST_RESAMPLES:
        raise ValueError(f"n_resamples is {n_resamples}; expected at least {_FEWEST_RESAMPLES}")
    seed = int(rng.integers(2**32)) if isinstance(rng, np.random.Generator) else rng
    read = _warned(crawls if isinstance(crawls, Crawls) else _as_crawls(crawls))
    tables = read.tables
    data = CollectionData(
        tables["crawls"], tables.get("containment"), tables.get("discovery_curve"), read.error, read.histories
    )
    estimation = estimate(data, clock=clock, n_replicates=n_resamples, seed=seed, report=_reporter(progress))
    headline = read_headline(estimation.tables["parameters"])
    if confidence_level != LEVEL:
        intervals = estimation.headline_intervals(confidence_level)
        at_level = {name: intervals[name] for name in headline.intervals}
        headline = replace(headline, intervals=at_level, level=confidence_level)
    return CrawlFit(
        read,
        MappingProxyType({**tables, **estimation.tables}),
        headline,
        read_verdict(estimation.tables["diagnosis"]),
    )


def _as_crawls(data: Data) -> Crawls:
    """Read a presence list with the default column names.

    Raises
    ------
    TypeError
        When it is neither a path nor a frame.
    """
    if isinstance(data, str | os.PathLike) or _is_frame(data):
        return read_presence(data)
    raise TypeError(
        f"crawls is a {type(data).__name__}; expected the result of read_presence, read_counts or read_source, a frame "
        "with the columns crawl and element, or the path of such a table"
    )


def _is_frame(data: object) -> bool:
    """Whether data are a frame: of pandas, or one that can be converted to it, as those of polars and pyarrow can."""
    return isinstance(data, pd.DataFrame) or hasattr(data, "to_pandas")


def _reporter(progress: bool | Callable[[str], object]) -> Callable[[str], object]:
    if callable(progress):
        return progress
    return (lambda line: print(line, file=sys.stderr)) if progress else (lambda _: None)


def _warned(crawls: Crawls) -> Crawls:
    """Warn the caller of a public function about counts that cannot be true."""
    tables = crawls.tables
    broken = broken_rules(
        tables["crawls"], tables.get("containment"), tables.get("discovery_curve"), crawls.error.relative
    )
    for rule, rows in broken.items():
        warnings.warn(f"{breach(rule, rows)} {WHAT_TO_DO[rule]}", stacklevel=3)
    return crawls


def _read(source: PresenceSource | TablesSource, selection: Selection) -> Crawls:
    with tempfile.TemporaryDirectory(prefix="crawl_urn_") as scratch:
        if isinstance(source, PresenceSource):
            return _read_presence_source(source, selection, Path(scratch))
        return _read_tables_source(source, selection, Path(scratch))


def _read_presence_source(source: PresenceSource, selection: Selection, scratch: Path) -> Crawls:
    files, presence = Files(scratch / "cache"), PresenceFolder(scratch / "presence")
    listing = source.list_crawls(files, selection)
    labels = [crawl.crawl for crawl in listing.crawls]
    written = {
        partition.crawl: partition for partition in presence.write(source.captures(files, labels), listing.revisions)
    }
    histories = LocalEngine().count_histories(
        [written[label] for label in labels], state=scratch / "histories", memory_bytes=_MEMORY_BYTES, report=str
    )
    elements = {label: partition.elements for label, partition in written.items()}
    content = {label: partition.content for label, partition in written.items()}
    crawls, exact = crawls_table(crawls_frame(listing.crawls, elements), content), CountingError()
    tables = {"crawls": crawls, **tables_from_histories(crawls, histories, exact)}
    return Crawls(MappingProxyType(tables), histories, exact)


def _read_tables_source(source: TablesSource, selection: Selection, scratch: Path) -> Crawls:
    read = source.read_tables(Files(scratch / "cache"), selection)
    crawls, error = crawls_table(read.crawls), CountingError(relative=source.relative_error)
    tables = {"crawls": crawls, **tables_from_counts(crawls, read.pairs, read.windows, error)}
    return Crawls(MappingProxyType(tables), None, error)


@contextmanager
def _located(**data: Data | None) -> Iterator[dict[str, str | None]]:
    """Yield the location of each table by name; frames are temporary files while they are read."""
    with tempfile.TemporaryDirectory(prefix="crawl_urn_") as folder:
        locations = {name: None if one is None else _locate(one, Path(folder), name) for name, one in data.items()}
        try:
            yield locations
        except SourceError as error:
            raise SourceError(str(error).replace(f"{folder}{os.sep}", "frame ")) from error


def _locate(data: Data, folder: Path, name: str) -> str:
    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    if not _is_frame(data):
        raise TypeError(
            f"{name} is a {type(data).__name__}; expected a path, an address, or a frame of pandas, polars or pyarrow"
        )
    path = folder / f"{name}.csv"
    (data if isinstance(data, pd.DataFrame) else data.to_pandas()).to_csv(path, index=False)
    return str(path)
