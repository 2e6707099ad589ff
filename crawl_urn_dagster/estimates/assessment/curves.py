"""Read the quantities of a fit to the curves, for collections or models that need no capture histories.

Does not select the fit (see `selection`) or its verdict (see `assess`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.estimates.assessment.adjustments import over_first_captures
from crawl_urn_dagster.estimates.assessment.result import Quantity
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, Interval
from crawl_urn_dagster.urn.data.normal_intervals import logit_interval
from crawl_urn_dagster.urn.open_population.classes import PopulationClass
from crawl_urn_dagster.urn.open_population.quantities import kappa_over_newborn_coverage
from crawl_urn_dagster.urn.open_population.really_new import bound_really_new

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from crawl_urn_dagster.estimates.intervals import FittedCollection
    from crawl_urn_dagster.urn import Status
    from crawl_urn_dagster.urn.results.result import AnyFit

    FloatArray = npt.NDArray[np.float64]
    Parameters = Mapping[str, float] | Mapping[str, FloatArray]


def curve_quantities(
    fitted: FittedCollection, headline: AnyFit, *, n_crawls: int, mean_gap: float, status: Status
) -> dict[str, Quantity]:
    """Return the quantities that a fit to the curves gives; empty if survival or coverage is unknown.

    A fit that is not identified gives intervals only.

    Parameters
    ----------
    fitted
        The primary fits with their replicates.
    headline
        The selected fit.
    n_crawls
        Number of crawls.
    mean_gap
        Mean gap between crawls in units of the fit's clock.
    status
        Status of the quantities.
    """
    estimates = headline.estimates
    if not {"alpha", "coverage"} <= estimates.keys():
        return {}
    alpha, coverage = estimates["alpha"] ** mean_gap, estimates["coverage"]
    refits = fitted.refits.get(headline.kind)
    shell = PopulationClass("shell", np.ones(n_crawls), np.full(n_crawls - 1, alpha), np.full(n_crawls, coverage))

    def quantity(of: Callable[[Parameters, float], FloatArray]) -> Quantity:
        value = float(of(estimates, mean_gap))
        interval = None if refits is None else _interval(value, of(refits.replicated, mean_gap))
        return Quantity(value, interval, status=status)

    found = {
        "completeness": quantity(_completeness),
        "gone": quantity(_gone),
        "really_new": over_first_captures(quantity(_really_new), bound_really_new([shell])),
    }
    if "alpha" in headline.intervals and not estimates.get("kappa"):
        ends = (end**mean_gap for end in headline.intervals["alpha"])
        found["survival"] = Quantity(alpha, Interval(*ends), status=status)
    if "kappa" in estimates:
        inner = headline.intervals.get("kappa")
        outer = None if inner is None else kappa_over_newborn_coverage(inner, [shell])
        found["kappa"] = Quantity(estimates["kappa"], outer, inner, "newborn_coverage", status)
        found["core_share"] = Quantity(estimates["core_share"], headline.intervals.get("core_share"), status=status)
    if headline.status in NO_POINT_ESTIMATE_STATUSES:
        return {name: one._replace(value=None, reason_code=headline.status.value) for name, one in found.items()}
    return found


def _completeness(estimates: Parameters, mean_gap: float) -> FloatArray:
    """Return the share of the known eligible elements that a crawl captures, M/V.

    A shell of M elements has V = M / (1 - α(1 - c)) known eligible ones: alive and captured at least once so far.
    """
    alpha, coverage = np.asarray(estimates["alpha"]) ** mean_gap, np.asarray(estimates["coverage"])
    core = np.asarray(estimates.get("core_share", 0.0))
    return np.asarray(1 / (core + (1 - core) / (1 - alpha * (1 - coverage))))


def _gone(estimates: Parameters, mean_gap: float) -> FloatArray:
    """Return the share of a crawl that is no longer eligible at the next, (1 - μ)(1 - α)."""
    core = np.asarray(estimates.get("core_share", 0.0))
    return np.asarray((1 - core) * (1 - np.asarray(estimates["alpha"]) ** mean_gap))


def _really_new(estimates: Parameters, mean_gap: float) -> FloatArray:
    """Return the share of first captures that appeared since the crawl before, 1 - α(1 - c): a core has none."""
    alpha, coverage = np.asarray(estimates["alpha"]) ** mean_gap, np.asarray(estimates["coverage"])
    return np.asarray(1 - alpha * (1 - coverage))


def _interval(estimate: float, replicated: FloatArray) -> Interval | None:
    low, high = logit_interval(np.asarray(estimate), np.asarray(np.std(replicated, ddof=1)))
    return Interval(float(low), float(high)) if np.isfinite([low, high]).all() else None
