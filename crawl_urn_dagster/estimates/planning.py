"""Evaluate other plans of crawls: tables `planning` and `equal_budget`.

Does not compute the effects of a plan; see `urn.monitoring.planning`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from crawl_urn_dagster.estimates.assessment.result import read_quantities
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.set_aside import Observables, crawls_set_aside
from crawl_urn_dagster.observables.schema import EQUAL_BUDGET, PLANNING
from crawl_urn_dagster.urn import bootstrap_joint, fit_joint
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE
from crawl_urn_dagster.urn.monitoring.planning import QUANTITIES, equal_budget_coverage, plan

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock, CountingError, Counts

_COVERAGES = np.round(np.arange(0.1, 1.0, 0.1), 1)
_SAME_COVERAGE = 0.02
_CADENCES = (0.5, 1.0, 2.0)
_BUDGET_CADENCES = np.array([0.5, 0.8, 1.0, 1.25, 2.0])
# Columns whose name differs from that of the quantity.
_COLUMNS = {"crawl_completeness": "crawl_size"}
#: Models of one core and one shell whose size changes.
CHANGING_CORE_SHELLS = frozenset({"core_shell_growing", "core_shell_fluctuating"})
_LEAST_SHARE = 1e-6
_REPLICATES = 200
_SEED = 1


def planning_tables(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    clock: Clock,
    error: CountingError,
    reported: bool,
    quantities: pd.DataFrame | None = None,
    classes: pd.DataFrame | None = None,
    histories: CaptureHistoryCounts | None = None,
    tests: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Return tables `planning` and `equal_budget` by name.

    `planning` has coverages from 0.1 to 0.9, at half, once and twice the present mean gap; `equal_budget` has gaps from
    half to twice the present one, each with the coverage at which crawls fetch as many elements a year as now.

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
    histories, tests
        Capture histories, and table `adequacy_tests`, which names crawls that were set aside. They are left out.
    """
    observed = Observables(crawls, containment, discovery_curve, histories).without(crawls_set_aside(tests))
    counts = CollectionData(*observed[:3], error).counts(clock)
    urn = None
    if counts is not None and (quantities is None or unplanned_reason(quantities) is None):
        changing = (
            None if quantities is None or classes is None else _changing_urn(quantities, classes, counts.mean_gap)
        )
        urn = changing or (_joint_urn(counts, clock) if reported else None)
    if counts is None or urn is None:
        return {table.name: pd.DataFrame(columns=list(table.column_names)) for table in (PLANNING, EQUAL_BUDGET)}
    return {
        PLANNING.name: _planning(urn, counts.mean_gap, clock),
        EQUAL_BUDGET.name: _equal_budget(urn, counts.mean_gap, clock),
    }


def _planning(urn: _PlannedUrn, mean_gap: float, clock: Clock) -> pd.DataFrame:
    apart = abs(_COVERAGES - urn.coverage) > _SAME_COVERAGE
    coverages = np.sort(np.append(_COVERAGES[apart], urn.coverage))
    coverage, cadence = (grid.ravel() for grid in np.meshgrid(coverages, _CADENCES, indexing="ij"))
    gap = cadence * mean_gap
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


def _equal_budget(urn: _PlannedUrn, mean_gap: float, clock: Clock) -> pd.DataFrame:
    """Return the plans that fetch as many elements a year as the present one; without numbers where none exists."""
    kappa, alpha = urn.kappa[:, None], urn.alpha[:, None]
    coverage = equal_budget_coverage(kappa, urn.coverage, _BUDGET_CADENCES)
    gap = _BUDGET_CADENCES * mean_gap
    # A replicate without such a plan has no part in the interval.
    planned = plan(kappa, alpha, np.where(np.isnan(coverage), 1.0, coverage), gap=gap)
    new = np.where(np.isnan(coverage), np.nan, planned.crawl_completeness * planned.nu_inf / gap)
    now = new[:, _BUDGET_CADENCES == 1]
    columns: dict[str, Any] = {
        "gap": gap,
        "cadence": _BUDGET_CADENCES,
        "current": _BUDGET_CADENCES == 1,
        "clock": clock,
        "coverage": coverage[0],
        "crawl_size": np.where(np.isnan(coverage[0]), np.nan, planned.crawl_completeness[0]),
        "status": urn.status,
    }
    for name, values in {"new_per_time": new, "new_change": new / now - 1}.items():
        possible = np.isfinite(values[0])
        low, high = np.full((2, len(gap)), np.nan)
        low[possible], high[possible] = np.nanquantile(values[1:, possible], [0.025, 0.975], axis=0)
        columns |= {name: values[0], f"{name}_low": low, f"{name}_high": high}
    return pd.DataFrame(columns)[list(EQUAL_BUDGET.column_names)]


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
