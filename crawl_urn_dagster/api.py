"""From a presence list, or from counts, to a fitted urn in a few lines of Python: no Dagster, nothing kept on disk.

Here: reading into memory, fitting, and what was fitted as one object. Not here: any of the steps, which are those that
the assets take (`sources`, `observables`, `estimates`, `figures`), so that the numbers are the same.
"""

from __future__ import annotations

import os
import tempfile
import textwrap
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.estimates.diagnosis import read_verdict
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.inference import estimate_tables
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
    from collections.abc import Iterator, Mapping

    from matplotlib.figure import Figure

    from crawl_urn_dagster.estimates.diagnosis import Verdict
    from crawl_urn_dagster.estimates.headline import Headline
    from crawl_urn_dagster.sources import TablesSource
    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock

    _Data = str | os.PathLike[str] | pd.DataFrame

_MEMORY_BYTES = 2**32
_LINE = 100  # characters


@dataclass(frozen=True, repr=False)
class Crawls:
    """What was read of a sequence of crawls.

    Attributes
    ----------
    tables
        Tables of the contract by name: crawls, with containment, discovery_curve, m_array and first_returns as far as
        the data tell them.
    histories
        Capture-history counts; None where there were only counts.
    error
        How the elements were counted.
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
    """Urns fitted to a sequence of crawls, and the one that speaks for it.

    Attributes
    ----------
    crawls
        What was fitted.
    tables
        Tables of the contract by name: those of the crawls, parameters, operator_terms, diagnosis, model_comparison,
        revisit_regimes and kappa_profile.
    headline
        The fit that speaks for the crawls.
    verdict
        What its tests come to.
    """

    crawls: Crawls
    tables: Mapping[str, pd.DataFrame]
    headline: Headline
    verdict: Verdict

    @property
    def kappa(self) -> float | None:
        """Core's share of the urn, in [0, 1]; None: withheld, or not part of the model."""
        return self.headline.estimates.get("kappa")

    @property
    def core_share(self) -> float | None:
        """Core's share of one crawl, in [0, 1]; None: withheld, or not part of the model."""
        return self.headline.estimates.get("core_share")

    @property
    def alpha(self) -> float | None:
        """Survival of the shell, or the one urn, per unit of the clock, in [0, 1]; None: withheld."""
        return self.headline.estimates.get("alpha")

    @property
    def coverage(self) -> float | None:
        """Fraction of the living shell, or the one urn, that a crawl samples, in [0, 1]; None: withheld."""
        return self.headline.estimates.get("coverage")

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """95 % intervals by name of the parameter; one that has none is absent."""
        return self.headline.limits

    @property
    def status(self) -> str:
        """Status of the fit, as in `urn.STATUSES`."""
        return self.headline.status

    @property
    def figures(self) -> list[str]:
        """Names of the figures that `plot` draws; those of parameters are withheld together with them."""
        return [
            name for name in drawable(self.tables) if not (self.headline.withheld and CATALOGUE[name].has_parameters)
        ]

    def plot(self, name: str = "core_shell_fits", *, title: str = "crawls") -> Figure:
        """Draw a figure.

        Parameters
        ----------
        name
            One of `figures`.
        title
            What the crawls are, for the first line of the figure.

        Raises
        ------
        ValueError
            When there is no such figure of these crawls, or it is withheld.
        """
        if name not in self.figures:
            withheld = self.headline.withheld and name in CATALOGUE
            why = f" because parameters are withheld ({self.status})" if withheld else ""
            raise ValueError(f"{name!r} is not drawn{why}; the figures of these crawls are {', '.join(self.figures)}")
        return draw(name, self.tables, title=title, clock=self.headline.clock)

    def summary(self) -> str:
        """Say what was fitted, the parameters with intervals, the status and the verdict, as lines of text."""
        meanings = {column.name: column.description.split(" (")[0] for column in PARAMETERS.columns}
        parameters = [f"{self.headline.written(name)}: {meanings[name]}" for name in self.headline.estimates]
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
    presence: _Data,
    *,
    crawl_column: str = "crawl",
    element_column: str = "element",
    calendar: _Data | None = None,
) -> Crawls:
    """Read which element was in which crawl, a row each.

    Parameters
    ----------
    presence
        Path or address of CSV, gzip CSV or Parquet, or a frame.
    crawl_column, element_column
        Names of the two columns.
    calendar
        When the crawls started, ``id, from``, where their labels are neither dates nor Common Crawl ids.

    Raises
    ------
    SourceError
        When a file, a row, a date or a crawl is not as expected; the message says where and what to do.
    """
    with _located(presence=presence, calendar=calendar) as locations:
        columns = {"crawl_column": crawl_column, "element_column": element_column}
        path, when = locations["presence"], locations["calendar"]
        source = PresenceListSource.model_validate({"path": path, "calendar": when, **columns})
        return _warned(_read(source, Selection()))


def read_counts(
    *,
    pairs: _Data | None = None,
    windows: _Data | None = None,
    calendar: _Data | None = None,
    relative_error: float = 0.0,
) -> Crawls:
    """Read counts of crawls, of which at least one of two tables is needed.

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
        One standard error of sketched counts, in [0, 1); 0: they are exact.

    Raises
    ------
    SourceError
        When a file, a row, a date or a crawl is not as expected; the message says where and what to do.

    Warns
    -----
    UserWarning
        When the counts cannot all be true, such as an intersection that is larger than one of its crawls, by more than
        `relative_error` allows; `fit` warns of the same.
    """
    with _located(pairs=pairs, windows=windows, calendar=calendar) as locations:
        source = ObservableTablesSource.model_validate({**locations, "relative_error": relative_error})
        return _warned(_read(source, Selection()))


def read_source(
    source: PresenceSource | TablesSource, *, first_crawl: str | None = None, last_crawl: str | None = None
) -> Crawls:
    """Read any source, from the first to the last crawl, both included.

    Raises
    ------
    SourceError
        When the source cannot be read, or is not as expected; the message says where and what to do.
    """
    return _warned(_read(source, Selection(first_crawl, last_crawl)))


def fit(crawls: Crawls, *, clock: Clock = "crawl") -> CrawlFit:
    """Fit all urns to all that was read, with intervals, and choose the one that speaks for it.

    Parameters
    ----------
    crawls
        What was read.
    clock
        Of the headline: survival per crawl, or per year.
    """
    _warned(crawls)
    tables = estimate_tables(
        crawls.tables["crawls"],
        crawls.tables.get("containment"),
        crawls.tables.get("discovery_curve"),
        crawls.histories,
        clock=clock,
        error=crawls.error,
    )
    return CrawlFit(
        crawls,
        MappingProxyType({**crawls.tables, **tables}),
        read_headline(tables["parameters"]),
        read_verdict(tables["diagnosis"]),
    )


def _warned(crawls: Crawls) -> Crawls:
    """Warn the caller of a public function of what cannot be true of what was read."""
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
def _located(**data: _Data | None) -> Iterator[dict[str, str | None]]:
    """Give the location of each table by name; frames are files for as long as it takes to read them."""
    with tempfile.TemporaryDirectory(prefix="crawl_urn_") as folder:
        locations = {name: None if one is None else _locate(one, Path(folder), name) for name, one in data.items()}
        try:
            yield locations
        except SourceError as error:
            raise SourceError(str(error).replace(f"{folder}{os.sep}", "frame ")) from error


def _locate(data: _Data, folder: Path, name: str) -> str:
    if not isinstance(data, pd.DataFrame):
        return os.fspath(data)
    path = folder / f"{name}.csv"
    data.to_csv(path, index=False)
    return str(path)
