"""Content of a collection's report: its tables, its figures, and the rows that belong to the headline.

Does not read tables or write sentences; see `orchestration.assets.report` and the modules of the sections.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.estimates.assessment.reading import curves_withheld_reason, read_assessment
from crawl_urn_dagster.estimates.diagnosis import read_verdict
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.set_aside import crawls_set_aside
from crawl_urn_dagster.formatting import replace_element_noun
from crawl_urn_dagster.observables.quality import IN_CALENDAR
from crawl_urn_dagster.report.charts import charts_of
from crawl_urn_dagster.report.markdown import escape
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES
from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.estimates.assessment.result import Assessment
    from crawl_urn_dagster.estimates.assessment.verdicts import Verdict
    from crawl_urn_dagster.estimates.headline import Headline
    from crawl_urn_dagster.report.blocks import Picture
    from crawl_urn_dagster.report.markdown import Row

_FIT_KEY = ["projection", "model", "form", "clock", "component"]
_INTERVAL = ("", "_low", "_high")


@dataclass(frozen=True)
class Content:
    """Content of a report.

    Parameters
    ----------
    collection
        Configuration of the collection.
    frames
        Tables by name: crawls, quantities, classes, population, adequacy_tests, candidate_models, parameters,
        operator_terms, diagnosis, model_comparison, revisit_regimes, parameter_history, window_lengths, drift,
        forecast, last_crawl, planning and equal_budget; quarantine, revisions, findings and inputs unless the crawls
        are in memory. Also containment, discovery_curve, first_returns, capture_recapture, comparators, element_scores,
        the lists of elements, publications and truth if the collection has them, and strata as returned by
        `estimates.strata.stratum_sizes`.
    broken_rules
        Rows that break a rule of `observables.quality`, by rule.
    pictures
        Figures to show, by name.
    read_at
        Time at which the source was last read, UTC; None: unknown.
    """

    collection: Collection
    frames: Mapping[str, pd.DataFrame]
    broken_rules: Mapping[str, pd.DataFrame]
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    read_at: datetime | None = None

    @property
    def noun(self) -> str:
        """Noun for an element, in the singular."""
        return self.collection.noun

    def adapt(self, text: str) -> str:
        """Return text of the package with elements called by the collection's noun."""
        return replace_element_noun(text, self.noun)

    def escape(self, text: str | None) -> str:
        """Return text of a table as Markdown, with the noun of the collection."""
        return escape(self.adapt(text or ""))

    @property
    def violated_rules(self) -> dict[str, pd.DataFrame]:
        """Rows that cannot be true, by rule; a crawl without a date in the calendar can be."""
        return {rule: rows for rule, rows in self.broken_rules.items() if rule != IN_CALENDAR}

    @cached_property
    def headline(self) -> Headline:
        """Numbers of the selected fit of the curves."""
        return read_headline(self.frames["parameters"])

    @cached_property
    def verdict(self) -> Verdict:
        """Overall result of the tests."""
        return read_verdict(self.frames["diagnosis"])

    @cached_property
    def assessment(self) -> Assessment:
        """The numbers that may be quoted for the collection."""
        return read_assessment(self.frames)

    @cached_property
    def withheld_reason(self) -> str | None:
        """Why nothing is concluded from the selected fit of the curves; None if it may be used."""
        return curves_withheld_reason(self.headline, self.verdict)

    @property
    def has_core(self) -> bool:
        """Whether the selected fit has a core; if so, its coverage and survival describe the shell."""
        return "core_share" in self.headline.estimates

    @property
    def crawls(self) -> pd.DataFrame:
        """Table `crawls`."""
        return self.frames["crawls"]

    @property
    def labels(self) -> list[str]:
        """Labels of the crawls in order."""
        return list(self.crawls["crawl"])

    @property
    def last_assessed(self) -> str | None:
        """The last crawl that the quoted numbers describe; None without a population."""
        assessed = self.frames["population"]["crawl"]
        return str(assessed.iloc[-1]) if len(assessed) else None

    @property
    def mean_gap_days(self) -> float:
        """Mean time between the starts of consecutive crawls, in days; NaN for a single crawl."""
        return float(self.crawls["years"].diff().mean()) * DAYS_PER_YEAR

    @property
    def mean_size(self) -> float:
        """Mean number of elements of a crawl that was not set aside; NaN if no size is known."""
        used = ~self.crawls["crawl"].isin(crawls_set_aside(self.frames["adequacy_tests"]))
        return float(self.crawls.loc[used, "elements"].astype("Float64").astype("float64").mean())

    def figures(self, *names: str) -> list[Picture]:
        """Return those of the named figures that are shown, with charts of the same numbers."""
        return [
            self.pictures[name]._replace(charts=charts_of(name, self.frames, self.noun))
            for name in names
            if name in self.pictures
        ]

    @cached_property
    def fit(self) -> dict[str, Any]:
        """Row of table `parameters` with the headline: the shell, or the urn if the model has no core."""
        parameters = self.frames["parameters"]
        rows = parameters[parameters["stratum"].isna() & parameters["headline"].astype(bool)]
        return dict(rows.iloc[-1])

    @cached_property
    def yearly_fit(self) -> dict[str, Any] | None:
        """Row of the same fit on the clock `year`; None if it has no point estimates."""
        rows = rows_of_fit(self.frames["parameters"], {**self.fit, "clock": "year"})
        rows = rows[~rows["status"].isin(NO_POINT_ESTIMATE_STATUSES)]
        return dict(rows.iloc[-1]) if len(rows) else None

    @cached_property
    def terms(self) -> dict[str, Any]:
        """Row of table `operator_terms` that belongs to the headline."""
        return dict(rows_of_fit(self.frames["operator_terms"], self.fit).iloc[0])

    @cached_property
    def crawl_shares(self) -> dict[str, Any] | None:
        """Crawl completeness (``crawl_size``) and unique rate (``nu_inf``) of the headline; None if unknown.

        Without a core they are the coverage and the unique rate of the urn. With a core they are in table `planning`,
        which exists for the joint fit only.
        """
        if self.fit["model"] == "homogeneous":
            return {f"crawl_size{end}": self.fit[f"coverage{end}"] for end in _INTERVAL} | {
                f"nu_inf{end}": self.terms[f"nu_inf{end}"] for end in _INTERVAL
            }
        planning = self.frames["planning"]
        current = planning[planning["current"].astype(bool)]
        return dict(current.iloc[0]) if self.fit["projection"] == "joint" and len(current) else None


def rows_of_fit(frame: pd.DataFrame, fit: Row) -> pd.DataFrame:
    """Return the rows of a table of all elements that belong to the component of a fit."""
    key = pd.Series({name: fit[name] for name in _FIT_KEY})
    rows: pd.DataFrame = frame[frame["stratum"].isna() & (frame[_FIT_KEY] == key).all(axis=1)]
    return rows


def churn(fit: Row) -> dict[str, Any]:
    """Return churn, 1 − α, with its interval and the status of the fit."""
    return {
        "status": fit["status"],
        "churn": 1 - fit["alpha"],
        "churn_low": 1 - fit["alpha_high"],
        "churn_high": 1 - fit["alpha_low"],
    }
