"""What the report of a collection is made from.

Here: the tables, the pictures and what follows from them in one step. Not here: reading them (`assets.report`), or what
is said of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.diagnosis import read_verdict
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.observables.quality import IN_CALENDAR
from crawl_urn_dagster.urn import DAYS_PER_YEAR

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import pandas as pd

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.estimates.diagnosis import Verdict
    from crawl_urn_dagster.estimates.headline import Headline
    from crawl_urn_dagster.report.blocks import Picture


@dataclass(frozen=True)
class Content:
    """What a report is made from.

    Parameters
    ----------
    collection
        The collection as it is configured.
    frames
        Tables of the contract by name: crawls, parameters, operator_terms, diagnosis, model_comparison,
        revisit_regimes, drift, forecast, planning, revisions, findings and inputs, with containment, discovery_curve,
        first_returns, capture_recapture, comparators, publications and truth where the collection has them, and strata
        as of `estimates.strata.stratum_sizes`.
    broken_rules
        Rows that break a rule of `observables.quality`, by the rule in words.
    pictures
        The figures that are shown, by name.
    read_at
        When the source was last read, UTC; None where that is not known.
    """

    collection: Collection
    frames: Mapping[str, pd.DataFrame]
    broken_rules: Mapping[str, pd.DataFrame]
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    read_at: datetime | None = None

    @property
    def noun(self) -> str:
        """What an element is, in the singular."""
        return self.collection.noun

    @property
    def impossible(self) -> dict[str, pd.DataFrame]:
        """Rows that cannot be true, by the rule; that the calendar lacks a crawl can."""
        return {rule: rows for rule, rows in self.broken_rules.items() if rule != IN_CALENDAR}

    @cached_property
    def headline(self) -> Headline:
        """The fit that speaks for the collection."""
        return read_headline(self.frames["parameters"])

    @cached_property
    def verdict(self) -> Verdict:
        """What the tests come to."""
        return read_verdict(self.frames["diagnosis"])

    @property
    def crawls(self) -> pd.DataFrame:
        """Table `crawls`."""
        return self.frames["crawls"]

    @property
    def mean_gap_days(self) -> float:
        """Mean number of days from the start of a crawl to that of the next; NaN for a single crawl."""
        return mean_gap_days(self.crawls)

    def shown(self, *names: str) -> list[Picture]:
        """Those of some pictures that there are."""
        return [self.pictures[name] for name in names if name in self.pictures]


def mean_gap_days(crawls: pd.DataFrame) -> float:
    """Mean number of days between the crawls of table `crawls`; NaN for a single one."""
    return float(crawls["years"].diff().mean()) * DAYS_PER_YEAR
