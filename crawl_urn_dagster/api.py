"""Fit urns to crawls in a few lines of Python, without Dagster.

Does not hold any of the steps: they are those that the assets take (`sources`, `observables`, `estimates`, `figures`),
so the numbers are the same. Does not read crawls; see `reading`.
"""

from __future__ import annotations

import base64
import sys
import textwrap
from dataclasses import dataclass, field, replace
from html import escape
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crawl_urn_dagster.config.settings import DriftSettings
from crawl_urn_dagster.estimates.assessment.reading import curves_withheld_reason, state_quantity
from crawl_urn_dagster.estimates.assessment.result import format_quantity
from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.estimated_collection import EstimatedCollection
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.intervals import LEVEL, REPLICATES, SEED
from crawl_urn_dagster.figures.catalogue import CATALOGUE, drawable
from crawl_urn_dagster.figures.files import render_png
from crawl_urn_dagster.figures.plots import Plots
from crawl_urn_dagster.reading import Crawls, as_crawls, read_counts, read_presence, read_source, warned

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pandas as pd

    from crawl_urn_dagster.estimates.assessment.result import Assessment
    from crawl_urn_dagster.estimates.assessment.verdicts import Verdict
    from crawl_urn_dagster.estimates.headline import Headline
    from crawl_urn_dagster.reading import Data
    from crawl_urn_dagster.urn import Clock, Interval, Status

__all__ = ["CrawlFit", "Crawls", "fit", "read_counts", "read_presence", "read_source"]

_LINE = 80  # characters, the width of a terminal
_FEWEST_RESAMPLES = 20


@dataclass(frozen=True, repr=False)
class CrawlFit:
    """Result of fitting urn models to a collection, including the selected fit.

    Attributes
    ----------
    crawls
        The crawls that were fitted.
    tables
        Tables of the contract by name: those of the crawls, those of `Estimation.tables` and, with capture histories,
        those of `capture_recapture_tables`. Their intervals are 95 % confidence intervals.
    headline
        The selected fit of the curves, which is the paper's reading of the collection.
    assessment
        The selected model and what may be quoted of the collection.
    plot
        Draws a figure: ``plot("core_shell_fits")`` or ``plot.core_shell_fits()``. Shells complete the names.

    Examples
    --------
    See `fit`.
    """

    crawls: Crawls
    tables: Mapping[str, pd.DataFrame]
    headline: Headline
    assessment: Assessment
    plot: Plots = field(init=False, compare=False)

    @property
    def verdict(self) -> Verdict:
        """Overall result of the tests."""
        return self.assessment.verdict

    @property
    def model(self) -> str | None:
        """Name of the selected model; None when no model is adequate."""
        return self.assessment.model

    @property
    def kappa(self) -> float | None:
        """Fraction of the urn that is a permanent core, in [0, 1]; None unless a core may be quoted."""
        return self.assessment.estimate("kappa")

    @property
    def core_share(self) -> float | None:
        """Share of a crawl that belongs to the permanent core, in [0, 1]; None unless a core may be quoted."""
        return self.assessment.estimate("core_share")

    @property
    def completeness(self) -> float | None:
        """Share of the known eligible elements that one crawl captures, in [0, 1]; None when not reported."""
        return self.assessment.estimate("completeness")

    @property
    def population(self) -> float | None:
        """Known eligible elements at the last crawl; None when not reported."""
        return self.assessment.estimate("population")

    @property
    def survival(self) -> float | None:
        """Share of the eligible elements that is still eligible at the next crawl; None when not reported."""
        return self.assessment.estimate("survival")

    @property
    def classes(self) -> pd.DataFrame:
        """Classes of the selected model: table `classes`."""
        return self.tables["classes"]

    @property
    def alpha(self) -> float | None:
        """Survival of the one shell, or of the homogeneous urn, per unit of the clock; None if refuted."""
        return self._curve_estimate("alpha")

    @property
    def coverage(self) -> float | None:
        """Coverage of the one shell, or of the homogeneous urn; None if refuted."""
        return self._curve_estimate("coverage")

    def _curve_estimate(self, name: str) -> float | None:
        return None if self.headline.is_refuted else self.headline.estimates.get(name)

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Confidence intervals by name, over the assumptions that no test can check; unknown ones are absent."""
        curves = {name: one for name in ("alpha", "coverage") if (one := self._curve_interval(name)) is not None}
        return {**curves, **self.assessment.intervals}

    def _curve_interval(self, name: str) -> Interval | None:
        return None if self._curve_estimate(name) is None else self.headline.intervals.get(name)

    @property
    def status(self) -> Status:
        """Status of the quoted numbers."""
        return self.assessment.status

    @property
    def figures(self) -> list[str]:
        """Names of the figures that `plot` draws; without reported parameters, those of the observables."""
        is_drawn = self.headline.is_reported
        return [name for name in drawable(self.tables) if is_drawn or not CATALOGUE[name].has_parameters]

    def __post_init__(self) -> None:
        reason = None if self.headline.is_reported else f"parameters are not reported ({self.status})"
        # The dataclass is frozen. An attribute, and not a property, lets a shell complete the names of figures.
        object.__setattr__(self, "plot", Plots(self.tables, self.figures, self.headline.kind.clock, reason))

    def forecast(self, *, back_test: bool = False) -> pd.DataFrame:
        """Forecast the next crawls.

        Parameters
        ----------
        back_test
            False: the forecast from the last crawl. True: before it, also the forecasts from 12 crawls and from one
            crawl earlier, to compare with what followed; see column ``origin_crawl``.

        Returns
        -------
        pandas.DataFrame
            Rows of table `forecast`: size, new and returning elements of the next 12 crawls, with 95 % prediction
            intervals.
        """
        table = self._fitted.forecast()["forecast"]
        is_last = table["origin_crawl"] == table["origin_crawl"].iloc[-1]
        return table if back_test else table[is_last].reset_index(drop=True)

    def drift(
        self, *, window_crawls: int = DriftSettings().window_crawls, reference_from: str | None = None
    ) -> pd.DataFrame:
        """Test whether parameters, population and completeness changed since a reference period.

        Parameters
        ----------
        window_crawls
            Crawls in the reference period, at least 5.
        reference_from
            Its first crawl; None: the first of all.

        Returns
        -------
        pandas.DataFrame
            Table `drift`.

        Raises
        ------
        UnknownReferenceError
            When there is no crawl `reference_from`.
        """
        return self._fitted.drift(window_crawls=window_crawls, reference_from=reference_from)["drift"]

    def planning(self) -> Mapping[str, pd.DataFrame]:
        """Evaluate other coverages and gaps between crawls.

        Returns
        -------
        mapping
            Tables ``planning`` and ``equal_budget``; empty unless the selected model has one core and one shell.
        """
        return self._fitted.planning()

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "crawls",
        granularity: str = "other",
        progress: bool | Callable[[str], object] = False,
    ) -> Path:
        """Write the report of the crawls as one HTML file, or as Markdown without figures.

        Parameters
        ----------
        path
            File to write; its suffix is ``.html`` or ``.md``.
        name, granularity
            Name of the collection, and what its elements are: ``url``, ``host``, ``domain`` or ``other``.
        progress
            True: print each stage and the time left to standard error; or a function that takes a line.
        """
        from crawl_urn_dagster.report.fitted import write_report

        labels = {"name": name, "granularity": granularity}
        return write_report(path, self.crawls, self.tables, **labels, clock=self._clock, report=_reporter(progress))

    @property
    def _fitted(self) -> EstimatedCollection:
        return EstimatedCollection(self.tables, lambda: self.crawls.histories, self._clock, self.crawls.error)

    @property
    def _clock(self) -> Clock:
        return cast("Clock", self.headline.kind.clock)

    @property
    def _curve_numbers(self) -> str:
        withheld = curves_withheld_reason(self.headline, self.verdict)
        is_withheld = withheld is not None and self.headline.is_reported
        return "numbers not quoted" if is_withheld else self.headline.numbers

    def summary(self) -> str:
        """Return verdict, quoted numbers with intervals, and the paper's reading as lines of text."""
        assessment = self.assessment
        lines = [
            repr(self.crawls),
            f"verdict: {self.verdict.name}. {self.verdict.meaning}",
            f"quotable: {self.verdict.quotable.value}",
            f"model: {self.model or 'none is adequate'}",
            *(state_quantity(*one) for one in assessment.quantities.items()),
            f"intervals: {100 * self.headline.level:g} % confidence intervals",
            f"reading of the curves: {self.headline.fit_name}: {self.headline.status}, {self._curve_numbers}",
            *([] if self.headline.reason is None else [self.headline.reason]),
        ]
        layout: dict[str, Any] = {
            "subsequent_indent": "  ",
            "break_long_words": False,
            "break_on_hyphens": False,
        }
        return "\n".join(textwrap.fill(line, _LINE, **layout) for line in lines)

    def _repr_html_(self) -> str:
        """Return verdict and quoted numbers for a notebook, with a figure of the population if it may be quoted."""
        rows = [format_quantity(*one) for one in self.assessment.quantities.items()]
        shown = [
            f"<b>Numbers may be quoted: {escape(self.verdict.quotable.value)}</b> ({escape(self.verdict.name)}). "
            f"{escape(self.verdict.meaning)}",
            escape(repr(self.crawls)),
            f"model: {escape(self.model or 'none is adequate')}",
            *map(escape, rows),
        ]
        text = "".join(f"<div>{line}</div>" for line in shown)
        if self.tables["population"].empty:
            return text
        png = base64.b64encode(render_png(self.plot("completeness_by_crawl"))).decode("ascii")
        alt = "Known eligible elements, and the part that each crawl captured."
        return f'{text}<img alt="{alt}" style="max-width: 40em" src="data:image/png;base64,{png}">'

    def __repr__(self) -> str:
        quoted = ", ".join(
            format_quantity(*one) for one in self.assessment.quantities.items() if one[1].value is not None
        )
        return f"{self.model or 'no adequate model'}: {self.verdict.name}, {quoted or 'no numbers may be quoted'}"


def fit(
    crawls: Crawls | Data,
    *,
    clock: Clock = "crawl",
    confidence_level: float = LEVEL,
    n_resamples: int = REPLICATES,
    rng: int | np.random.Generator = SEED,
    progress: bool | Callable[[str], object] = False,
) -> CrawlFit:
    """Fit all models to a sequence of crawls, and select the one whose numbers may be quoted.

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
        When `crawls` is neither crawls nor a presence list, or a number is not one.
    ValueError
        When a number is out of range.
    SourceError
        When a presence list cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> shell = {f"2024-0{month}": rng.random(3000) < 0.6 for month in range(1, 7)}
    >>> rows = [(crawl, f"core-{k}") for crawl in shell for k in range(2000)]
    >>> rows += [(crawl, f"shell-{k}") for crawl, captured in shell.items() for k in np.flatnonzero(captured)]
    >>> fitted = fit(pd.DataFrame(rows, columns=["crawl", "element"]), n_resamples=20)
    >>> fitted.verdict.name.value, abs(fitted.kappa - 0.4) < 0.03
    ('not_tested_enough', True)

    References
    ----------
    Paris, Çelikkanat and Foppiano, Measuring What the Crawler Sees: Discovery Curves, Core Persistence, and Shell
    Dynamics in Longitudinal Web Crawls, Common Crawl Foundation, 2026.
    """
    for name, value in {"confidence_level": confidence_level, "n_resamples": n_resamples}.items():
        if not isinstance(value, Real):
            raise TypeError(f"{name}: found {type(value).__name__} {value!r}, expected a number")
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level is {confidence_level}; expected a number between 0 and 1")
    if n_resamples < _FEWEST_RESAMPLES:
        raise ValueError(f"n_resamples is {n_resamples}; expected at least {_FEWEST_RESAMPLES}")
    seed = int(rng.integers(2**32)) if isinstance(rng, np.random.Generator) else rng
    read = warned(crawls if isinstance(crawls, Crawls) else as_crawls(crawls))
    tables = read.tables
    data = CollectionData(
        tables["crawls"], tables.get("containment"), tables.get("discovery_curve"), read.error, read.histories
    )
    report = _reporter(progress)
    estimation = estimate(data, clock=clock, n_replicates=n_resamples, seed=seed, report=report)
    if read.histories is not None and data.counted_histories is not None:
        report("applying capture-recapture estimators")
        tables = {
            **tables,
            **capture_recapture_tables(tables["crawls"], read.histories, clock=clock, one_in=read.error.one_in),
        }
    headline, assessment = read_headline(estimation.tables["parameters"]), estimation.assessment
    if confidence_level != LEVEL:
        intervals = estimation.headline_intervals(confidence_level)
        at_level = {name: intervals[name] for name in headline.intervals}
        headline = replace(headline, intervals=at_level, level=confidence_level)
        assessment = assessment.at_level(confidence_level)
    return CrawlFit(read, MappingProxyType({**tables, **estimation.tables}), headline, assessment)


def _reporter(progress: bool | Callable[[str], object]) -> Callable[[str], object]:
    if callable(progress):
        return progress
    return (lambda line: print(line, file=sys.stderr)) if progress else (lambda _: None)
