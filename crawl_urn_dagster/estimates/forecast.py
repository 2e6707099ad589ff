"""Forecast the next crawls and evaluate other crawl plans: tables `forecast` and `planning`.

Does not compute forecasts and plans; see `urn.monitoring`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from crawl_urn_dagster.estimates.assessment.memory import uneven_gaps
from crawl_urn_dagster.estimates.assessment.result import read_quantities
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.parameter_history import select_window
from crawl_urn_dagster.observables.schema import FORECAST, PLANNING
from crawl_urn_dagster.observables.tables import overlaps_matrix, unions_matrix
from crawl_urn_dagster.urn import bootstrap_joint, fit_joint, recaptures_from_unions
from crawl_urn_dagster.urn.capture_recapture.population_trend import population_trend
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE
from crawl_urn_dagster.urn.monitoring.forecast import (
    FEWEST,
    Trend,
    forecast,
    forecast_overlaps,
    interpolate_windows,
)
from crawl_urn_dagster.urn.monitoring.planning import QUANTITIES, plan
from crawl_urn_dagster.urn.state_space.fitting import MODELS, fit_model
from crawl_urn_dagster.urn.state_space.likelihood import observe
from crawl_urn_dagster.urn.state_space.prediction import expected_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock, CountingError, Counts
    from crawl_urn_dagster.urn.monitoring.forecast import Forecast, Prediction

HORIZON = 12
_GAPS = 12
_COVERAGES = np.round(np.arange(0.1, 1.0, 0.1), 1)
_SAME_COVERAGE = 0.02
_CADENCES = (0.5, 1.0, 2.0)
# Columns whose name differs from that of the quantity.
_COLUMNS = {"crawl_completeness": "crawl_size"}
#: Models of one core and one shell whose size changes.
CHANGING_CORE_SHELLS = frozenset({"core_shell_growing", "core_shell_fluctuating"})
_LEAST_SHARE = 1e-6
_REPLICATES = 200
_SEED = 1


def forecast_table(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    quantities: pd.DataFrame | None = None,
    histories: CaptureHistoryCounts | None = None,
) -> pd.DataFrame:
    """Return table `forecast`: the next 12 crawls from now and from 12 crawls ago, and the last crawl from before it.

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
    """
    known = pd.DataFrame({"quantity": [], "model": []}) if quantities is None else quantities
    model = str(known["model"].iloc[0]) if len(known) else None
    frames = []
    for back in (HORIZON, 1, 0):
        if back and len(crawls) - back < FEWEST:
            continue
        until = len(crawls) - back
        memory = None
        if histories is not None and model in MODELS:
            memory = str(model), histories.of_crawls(range(until))
        trend = _selected_trend(known)
        if trend is None:
            # A population that no model describes may seem to have any trend.
            trend = Trend()
        elif back:
            # A model with memory follows the trend by its elements, and needs it for newcomers only.
            trend = None if memory is None else Trend()
        origin = crawls.iloc[:until], containment, discovery_curve
        frames.append(_from_origin(*origin, horizon=back or HORIZON, trend=trend, memory=memory))
    return pd.concat(frames, ignore_index=True)


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


def planning_table(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    clock: Clock,
    error: CountingError,
    reported: bool,
    quantities: pd.DataFrame | None = None,
    classes: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return table `planning`: coverages from 0.1 to 0.9, at half, once and twice the present mean gap.

    The present coverage replaces the nearest of these coverages if it is close to it, and is added otherwise.

    Intervals are between quantiles, for fixed coverage and gap: of the bias-corrected replicates of the joint
    core-shell fit (`Bootstrap.corrected`) or, if the selected model is a core and a shell of changing size, of draws
    from the confidence intervals of its core fraction and shell survival.

    Parameters
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    clock
        Clock of the gaps.
    error
        How the elements were counted.
    reported
        Whether the fits of the curves may be used. If they may not, or if the joint fit is not reported, only a
        selected model of changing size gives plans.
    quantities, classes
        Tables of the assessment; None: not assessed. If the selected model does not have one core and one shell, the
        table is empty; see `unplanned_reason`.
    """
    counts = CollectionData(crawls, containment, discovery_curve, error).counts(clock)
    urn = None
    if counts is not None and (quantities is None or unplanned_reason(quantities) is None):
        changing = (
            None if quantities is None or classes is None else _changing_urn(quantities, classes, counts.mean_gap)
        )
        urn = changing or (_joint_urn(counts, clock) if reported else None)
    if counts is None or urn is None:
        return pd.DataFrame(columns=list(PLANNING.column_names))
    apart = abs(_COVERAGES - urn.coverage) > _SAME_COVERAGE
    coverages = np.sort(np.append(_COVERAGES[apart], urn.coverage))
    coverage, cadence = (grid.ravel() for grid in np.meshgrid(coverages, _CADENCES, indexing="ij"))
    gap = cadence * counts.mean_gap
    planned = plan(urn.kappa[0], urn.alpha[0], coverage, gap=gap)
    spread = plan(urn.kappa[1:, None], urn.alpha[1:, None], coverage, gap=gap)
    columns: dict[str, Any] = {
        "coverage": coverage,
        "gap": gap,
        "current": (coverage == urn.coverage) & (cadence == 1),
        "clock": clock,
        "status": urn.status,
    }
    for name in QUANTITIES:
        # Infinite values cannot be interpolated.
        low, high = np.quantile(getattr(spread, name), [0.025, 0.975], axis=0, method="nearest")
        column = _COLUMNS.get(name, name)
        columns |= {column: getattr(planned, name), f"{column}_low": low, f"{column}_high": high}
    return pd.DataFrame(columns)[list(PLANNING.column_names)]


class _PlannedUrn(NamedTuple):
    """Urn that plans vary: core fraction and survival per unit of the clock, the estimate first, then replicates."""

    kappa: npt.NDArray[np.float64]
    alpha: npt.NDArray[np.float64]
    coverage: float
    status: str


def unplanned_reason(quantities: pd.DataFrame) -> str | None:
    """Return why the selected model gives no plans; None if it has one core and one shell.

    Parameters
    ----------
    quantities
        Table `quantities`.
    """
    if quantities.empty:
        return "No model of the collection was selected."
    model = quantities["model"].iloc[0]
    if model in {"core_shell", *CHANGING_CORE_SHELLS}:
        return None
    return f"Plans need one core and one shell; the selected model is {model}."


def _joint_urn(counts: Counts, clock: Clock) -> _PlannedUrn | None:
    fit = fit_joint(counts, model="core_shell", clock=clock)
    if not fit.is_reported or fit.is_all_core or fit.kappa is None or fit.alpha is None or fit.coverage is None:
        return None
    replicated = bootstrap_joint(fit, seed=_SEED, n_replicates=_REPLICATES).corrected
    kappa, alpha = np.append(fit.kappa, replicated["kappa"]), np.append(fit.alpha, replicated["alpha"])
    return _PlannedUrn(kappa, alpha, fit.coverage, fit.status.value)


def _changing_urn(quantities: pd.DataFrame, classes: pd.DataFrame, mean_gap: float) -> _PlannedUrn | None:
    """Return the core and shell of a selected model of changing size; None for other models."""
    kappa = read_quantities(quantities).get("kappa")
    shell = classes[classes["class"] == "shell"]
    is_changing = quantities["model"].isin(CHANGING_CORE_SHELLS).any() and len(shell) == 1
    if not is_changing or kappa is None or kappa.value is None or kappa.inner is None:
        return None
    row, rng = shell.iloc[0], np.random.default_rng(_SEED)
    survival = _drawn(rng, float(row["survival"]), (float(row["survival_low"]), float(row["survival_high"])))
    coverage = 1 / float(row["mean_absence"])
    return _PlannedUrn(_drawn(rng, kappa.value, kappa.inner), survival ** (1 / mean_gap), coverage, kappa.status.value)


def _drawn(rng: np.random.Generator, value: float, interval: tuple[float, float]) -> npt.NDArray[np.float64]:
    """Return a share and draws from its 95 % confidence interval, normal on the logit scale."""
    low, high = logit(np.clip(interval, _LEAST_SHARE, 1 - _LEAST_SHARE))
    draws = expit(logit(value) + (high - low) / (2 * NORMAL_QUANTILE) * rng.standard_normal(_REPLICATES))
    return np.append(value, draws)


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
    """Yield one row per future crawl, in whole elements; unknown values are left out."""
    for step, (value, low, high) in enumerate(zip(*prediction, strict=True)):
        if np.isfinite(value):
            yield {
                "quantity": quantity,
                "crawls_ahead": step + 1,
                "start_crawl": start_crawl,
                "window_crawls": None if start is None else n + step + 1 - start,
                "value": np.round(value),
                "value_low": np.floor(low),
                "value_high": np.ceil(high),
            }
