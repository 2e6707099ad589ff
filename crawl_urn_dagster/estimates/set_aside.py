"""Leave the crawls that the assessment set aside, such as truncated lists, out of the observables of a collection.

Does not find these crawls; see `urn.goodness_of_fit.outlying_crawls`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.estimates.parameter_history import select_window
from crawl_urn_dagster.observables.tables import tables_from_histories
from crawl_urn_dagster.urn import CountingError

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from crawl_urn_dagster.urn import CaptureHistoryCounts


class Observables(NamedTuple):
    """Tables `crawls`, `containment` and `discovery_curve`, and capture histories; unknown ones are None."""

    crawls: pd.DataFrame
    containment: pd.DataFrame | None
    discovery_curve: pd.DataFrame | None
    histories: CaptureHistoryCounts | None = None

    def without(self, labels: Collection[str]) -> Observables:
        """Return the observables of the other crawls.

        Windows are counted again from the histories, because their unions contain captures of crawls between their
        ends. Without histories, these captures remain.

        Parameters
        ----------
        labels
            Crawls to leave out.
        """
        kept = np.flatnonzero(~self.crawls["crawl"].isin(labels))
        if len(kept) == len(self.crawls):
            return self
        crawls = self.crawls.iloc[kept]
        crawls = crawls.assign(years=crawls["years"] - crawls["years"].iloc[0])
        if self.histories is None:
            pairs = select_window(self.containment, crawls, ("crawl_i", "crawl_j"))
            return Observables(crawls, pairs, select_window(self.discovery_curve, crawls, ("start_crawl", "end_crawl")))
        histories = self.histories.select_crawls(kept.tolist())
        counted = tables_from_histories(crawls, histories, CountingError())
        return Observables(
            crawls,
            None if self.containment is None else counted["containment"],
            None if self.discovery_curve is None else counted["discovery_curve"],
            histories,
        )


def crawls_set_aside(tests: pd.DataFrame | None) -> list[str]:
    """Return the crawls that were set aside.

    Parameters
    ----------
    tests
        Table `adequacy_tests`; None: not assessed.
    """
    if tests is None:
        return []
    return (
        tests.loc[(tests["test"] == "outlying_crawl") & (tests["verdict"] == "fails"), "subject"].astype(str).tolist()
    )
