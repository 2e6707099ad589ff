"""Compute the tables that follow from the fit of a collection: forecast, planning, drift, and estimates by window.

Does not fit the collection (`estimation`), and does not read or write tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.assessment.reading import read_assessment, refitted_curves_withheld_reason
from crawl_urn_dagster.estimates.drift import drift_tables
from crawl_urn_dagster.estimates.forecast import forecast_table
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.last_crawl import last_crawl_table
from crawl_urn_dagster.estimates.parameter_history import parameter_history_table
from crawl_urn_dagster.estimates.planning import planning_tables
from crawl_urn_dagster.estimates.set_aside import crawls_set_aside
from crawl_urn_dagster.estimates.window_lengths import window_lengths_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import pandas as pd

    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock, CountingError


@dataclass(frozen=True, eq=False)
class EstimatedCollection:
    """A collection whose fit is known.

    Attributes
    ----------
    tables
        Its tables by name: those of the crawls and of `Estimation.tables` that the wanted tables need.
    read_histories
        Returns its capture histories, or None. Called only for tables that need them; `planning` and `drift` do if
        crawls were set aside.
    clock
        Clock of the headline.
    error
        How its elements were counted.
    """

    tables: Mapping[str, pd.DataFrame]
    read_histories: Callable[[], CaptureHistoryCounts | None]
    clock: Clock
    error: CountingError

    def forecast(self) -> dict[str, pd.DataFrame]:
        """Return tables `forecast` and `last_crawl`."""
        tests, population, histories = self.tables["adequacy_tests"], self.tables["population"], self.read_histories()
        forecast = forecast_table(
            *self._observed, quantities=self.tables["quantities"], histories=histories, tests=tests
        )
        last_crawl = last_crawl_table(
            *self._observed, forecast=forecast, population=population, histories=histories, tests=tests
        )
        return {"forecast": forecast, "last_crawl": last_crawl}

    def planning(self) -> dict[str, pd.DataFrame]:
        """Return tables `planning` and `equal_budget`."""
        return planning_tables(
            *self._observed,
            clock=self.clock,
            error=self.error,
            reported=self._withheld_reason is None,
            quantities=self.tables["quantities"],
            classes=self.tables["classes"],
            histories=self._histories_to_count_again(),
            tests=self.tables["adequacy_tests"],
        )

    def drift(self, *, window_crawls: int, reference_from: str | None) -> dict[str, pd.DataFrame]:
        """Return tables `drift` and `control_chart`; see `drift_tables`."""
        return drift_tables(
            *self._observed,
            clock=self.clock,
            error=self.error,
            window_crawls=window_crawls,
            reference_from=reference_from,
            unreported_reason=self._withheld_reason,
            population=self.tables["population"],
            tests=self.tables["adequacy_tests"],
            histories=self._histories_to_count_again(),
        )

    def by_window(
        self, *, window_crawls: int, step_crawls: int, own_fits: Collection[str] = ()
    ) -> dict[str, pd.DataFrame]:
        """Return tables `parameter_history` and `window_lengths`.

        Rows of windows with unchanged inputs are kept where these tables are among `tables`; see
        `parameter_history_table`.
        """
        quantities = self.tables["quantities"]
        return {
            "parameter_history": parameter_history_table(
                *self._observed,
                self.tables.get("parameter_history"),
                clock=self.clock,
                error=self.error,
                window_crawls=window_crawls,
                step_crawls=step_crawls,
                own_fits=own_fits,
            ),
            "window_lengths": window_lengths_table(
                *self._observed,
                self.tables.get("window_lengths"),
                histories=self.read_histories(),
                model=str(quantities["model"].iloc[0]) if len(quantities) else None,
                error=self.error,
            ),
        }

    @property
    def _observed(self) -> tuple[pd.DataFrame, pd.DataFrame | None, pd.DataFrame | None]:
        return self.tables["crawls"], self.tables.get("containment"), self.tables.get("discovery_curve")

    @property
    def _withheld_reason(self) -> str | None:
        return refitted_curves_withheld_reason(read_headline(self.tables["parameters"]), read_assessment(self.tables))

    def _histories_to_count_again(self) -> CaptureHistoryCounts | None:
        """Return the histories if crawls were set aside; windows are counted again without them."""
        return self.read_histories() if crawls_set_aside(self.tables["adequacy_tests"]) else None
