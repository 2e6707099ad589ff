"""Forecast the next crawls: table `forecast`.

Does not compute forecasts; see `urn.monitoring`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.assessment.memory import uneven_gaps
from crawl_urn_dagster.estimates.assessment.result import read_quantities
from crawl_urn_dagster.estimates.parameter_history import select_window
from crawl_urn_dagster.estimates.set_aside import Observables, crawls_set_aside
from crawl_urn_dagster.observables.schema import FORECAST
from crawl_urn_dagster.observables.tables import overlaps_matrix, unions_matrix
from crawl_urn_dagster.urn import recaptures_from_unions
from crawl_urn_dagster.urn.capture_recapture.population_trend import population_trend
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE
from crawl_urn_dagster.urn.monitoring.forecast import (
    FEWEST,
    Trend,
    forecast,
    forecast_overlaps,
    interpolate_windows,
)
from crawl_urn_dagster.urn.state_space.fitting import MODELS, fit_model
from crawl_urn_dagster.urn.state_space.likelihood import observe
from crawl_urn_dagster.urn.state_space.prediction import expected_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from crawl_urn_dagster.urn import CaptureHistoryCounts
    from crawl_urn_dagster.urn.monitoring.forecast import Forecast, Prediction

HORIZON = 12
_GAPS = 12
_SEED = 1


def forecast_table(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    quantities: pd.DataFrame | None = None,
    histories: CaptureHistoryCounts | None = None,
    tests: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return table `forecast`: the next 12 crawls from now and from 12 crawls ago, and the last crawl from before it.

    Crawls that were set aside are left out, and do not count as crawls ahead.

    Windows start at each of the last 12 crawls, at the first, and at each future crawl. Without unions only overlaps
    are forecast. Sizes follow the trend of the selected model and, if it has memory, its predictions of each element.

    Parameters
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    quantities
        Table `quantities`; None: no model was selected. Forecasts from earlier crawls use the model but not the values,
        which later crawls determine.
    histories
        Capture histories; None: sizes return to their trend under every model.
    tests
        Table `adequacy_tests`, which names crawls that were set aside; None: not assessed.
    """
    newest = pd.to_datetime(crawls["started_at"]).iloc[-1]
    observed = Observables(crawls, containment, discovery_curve, histories).without(crawls_set_aside(tests))
    crawls, containment, discovery_curve, histories = observed
    known = pd.DataFrame({"quantity": [], "model": []}) if quantities is None else quantities
    model = str(known["model"].iloc[0]) if len(known) else None
    frames = []
    for back in (HORIZON, 1, 0):
        if back and len(crawls) - back < FEWEST:
            continue
        until = len(crawls) - back
        memory = None
        if histories is not None and model in MODELS:
            memory = str(model), histories.select_crawls(range(until))
        trend = _selected_trend(known)
        if trend is None:
            # A population that no model describes may seem to have any trend.
            trend = Trend()
        elif back:
            # A model with memory follows the trend by its elements, and needs it for newcomers only.
            trend = None if memory is None else Trend()
        origin = crawls.iloc[:until], containment, discovery_curve
        frames.append(_from_origin(*origin, horizon=back or HORIZON, trend=trend, memory=memory))
    table = pd.concat(frames, ignore_index=True)
    is_latest = table["origin_crawl"] == crawls["crawl"].iloc[-1]
    table.loc[is_latest, "expected_at"] += newest - pd.to_datetime(crawls["started_at"]).iloc[-1]
    return table


def _selected_trend(quantities: pd.DataFrame) -> Trend | None:
    """Return the growth of the selected model; None if it is not reported."""
    growth = read_quantities(quantities[quantities["quantity"] == "growth"]).get("growth")
    if growth is None or growth.value is None or growth.interval is None:
        return None
    return Trend(growth.value, (growth.interval.high - growth.interval.low) / (2 * NORMAL_QUANTILE))


def _trend_of(sizes: npt.NDArray[np.float64], recaptures: npt.NDArray[np.float64]) -> Trend:
    """Return the trend of the population without a model, or none if too few crawls determine it."""
    found = population_trend(sizes, recaptures)
    return Trend(found.slope, found.se) if found.is_tested else Trend()


def _from_origin(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    horizon: int,
    trend: Trend | None,
    memory: tuple[str, CaptureHistoryCounts] | None,
) -> pd.DataFrame:
    """Return rows of the forecast from these crawls only.

    Without a trend, the one of the population is estimated from these crawls; `memory` names a model and holds the
    histories.
    """
    labels, started = crawls["crawl"].tolist(), pd.to_datetime(crawls["started_at"])
    recent = started.iloc[-_GAPS - 1 :]
    gap = (recent.iloc[-1] - recent.iloc[0]) / max(len(recent) - 1, 1)
    rows: list[dict[str, Any]] = []
    reason = f"A forecast needs {FEWEST} crawls; there are {len(crawls)}." if len(crawls) < FEWEST else None
    if reason is None and discovery_curve is not None:
        windows = select_window(discovery_curve, crawls, ("start_crawl", "end_crawl"))
        assert windows is not None  # noqa: S101 - the table exists
        unions = unions_matrix(crawls, windows)
        sizes = crawls["elements"].to_numpy(dtype=np.float64, na_value=np.nan)
        np.fill_diagonal(unions, np.where(np.isnan(np.diagonal(unions)), sizes, np.diagonal(unions)))
        unions = interpolate_windows(unions)
        recaptures = recaptures_from_unions(unions)
        trend = trend or _trend_of(np.diagonal(unions), recaptures)
        expected = None if memory is None else _expected_sizes(*memory, crawls["years"].to_numpy(), trend, horizon)
        try:
            found = forecast(unions, recaptures, trend=trend, expected_sizes=expected, horizon=horizon)
            rows += _window_rows(found, labels, horizon)
        except ValueError as error:
            reason = str(error)
    if reason is None and containment is not None:
        rows += _overlap_rows(crawls, containment, labels, horizon)
    if not rows:
        reason = reason or "The source has neither unions nor overlaps of enough crawls."
        rows = [{"quantity": "new_elements", "crawls_ahead": 1, "reason": reason}]
    frame = pd.DataFrame(rows, columns=list(FORECAST.column_names))
    frame["origin_crawl"], frame["status"] = labels[-1], "too_few_points" if reason else "ok"
    frame["expected_at"] = started.iloc[-1] + frame["crawls_ahead"] * gap
    return frame


def _expected_sizes(
    model: str, histories: CaptureHistoryCounts, years: npt.NDArray[np.float64], trend: Trend, horizon: int
) -> npt.NDArray[np.float64]:
    gaps = uneven_gaps(years)
    mixture = fit_model(model, observe(histories, gaps), seed=_SEED).mixture
    return expected_sizes(mixture, histories, horizon, growth=float(np.exp(trend.growth)), gaps=gaps)


def _window_rows(found: Forecast, labels: list[str], horizon: int) -> Iterator[dict[str, Any]]:
    n = len(labels)
    yield from _rows("crawl_size", found.crawl_sizes())
    since = n - found.longest if found.longest < n - 1 else 0
    for quantity, prediction in (
        ("new_elements", found.new(since)),
        ("returning_elements", found.returning(since)),
        ("new_share", found.new_share(since)),
    ):
        yield from _rows(quantity, prediction, start=since, n=n, start_crawl=labels[since])
    for start in sorted({0, *range(max(n - HORIZON, 0), n + horizon)}):
        label = labels[start] if start < n else None
        yield from _rows("distinct_elements", found.distinct(start), start=start, n=n, start_crawl=label)


def _overlap_rows(
    crawls: pd.DataFrame, containment: pd.DataFrame, labels: list[str], horizon: int
) -> Iterator[dict[str, Any]]:
    pairs = select_window(containment, crawls, ("crawl_i", "crawl_j"))
    assert pairs is not None  # noqa: S101 - the table exists
    n, overlaps = len(labels), overlaps_matrix(crawls, pairs)
    for end, size in (("crawl_i", "size_i"), ("crawl_j", "size_j")):
        at = pd.Index(labels).get_indexer(pd.Index(pairs[end]))
        overlaps[at, at] = pairs[size]
    found = forecast_overlaps(overlaps, horizon=horizon)
    for start in range(max(n - HORIZON, 0), n):
        prediction = type(found)(*(table[start] for table in found))
        yield from _rows("overlap", prediction, start=start, n=n, start_crawl=labels[start])


def _rows(
    quantity: str, prediction: Prediction, *, start: int | None = None, n: int = 0, start_crawl: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield one row per future crawl, numbers of elements in whole elements; unknown values are left out."""
    is_count = quantity != "new_share"
    for step, (value, low, high) in enumerate(zip(*prediction, strict=True)):
        if np.isfinite(value):
            yield {
                "quantity": quantity,
                "crawls_ahead": step + 1,
                "start_crawl": start_crawl,
                "window_crawls": None if start is None else n + step + 1 - start,
                "value": np.round(value) if is_count else value,
                "value_low": np.floor(low) if is_count else low,
                "value_high": np.ceil(high) if is_count else high,
            }
