"""Evaluate other coverages and gaps between crawls: how soon the urn is captured, and at what cost.

Uses closed forms of core and shell. Does not forecast the coming crawls (see `forecast`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.curves.conversions import captured_share
from crawl_urn_dagster.urn.curves.model import CoreShellUrn

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: Share of the eligible shell that counts as well captured.
SEEN_WELL = 0.9


@dataclass(frozen=True, eq=False)
class Plan:
    """Consequences of one coverage and one gap; arrays of the broadcast shape of the parameters.

    Attributes
    ----------
    crawl_completeness
        Share of the eligible population that one crawl captures, κ + (1 - κ) c.
    crawls_to_seen
        Number of crawls until 90 % of the eligible shell has been captured: the first n with σ_n ≥ 0.9, where σ_n is
        the captured share after n crawls; infinite if it never is.
    seen_at_last
        Share of the eligible shell that has been captured in the long run, c/(1 - α c̄).
    nu_inf
        Unique rate: long-run fraction of a crawl that is new, (1 - μ) ν∞.
    hidden_time
        Missed time of an element of the shell, in units of time.
    cost_per_new
        Elements fetched for each new element, 1/nu_inf.
    """

    crawl_completeness: FloatArray
    crawls_to_seen: FloatArray
    seen_at_last: FloatArray
    nu_inf: FloatArray
    hidden_time: FloatArray
    cost_per_new: FloatArray


#: Names of the quantities of a plan.
QUANTITIES = tuple(field.name for field in fields(Plan))


def plan(kappa: npt.ArrayLike, alpha: npt.ArrayLike, coverage: npt.ArrayLike, *, gap: float | FloatArray = 1.0) -> Plan:
    """Evaluate crawls of a coverage at a gap.

    Parameters
    ----------
    kappa, alpha
        Core fraction of the urn and shell survival per unit of time, in [0, 1]. All parameters broadcast.
    coverage
        Fraction of the eligible shell that a crawl captures, in (0, 1]; (M - K)/S for a crawl of M elements, of which
        K are core, and a shell of S elements.
    gap
        Time between crawls, above 0.

    Returns
    -------
    Plan
        Completeness, number of crawls, unique rate and cost.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> planned = plan(0.4, 0.75, 0.6)
    >>> round(float(planned.crawl_completeness), 2), round(float(planned.cost_per_new), 2)
    (0.76, 5.91)
    """
    urn = _urn(kappa, alpha, coverage, gap)
    shell = urn.shell
    missed = shell.fates().missed
    seen_at_last = np.asarray(shell.coverage / (1 - missed))
    with np.errstate(divide="ignore", invalid="ignore"):
        # σ_n = seen_at_last (1 - missed^n)
        crawls = np.ceil(np.log1p(-SEEN_WELL / seen_at_last) / np.log(missed) - 1e-9)
        nu_inf = np.asarray((1 - urn.core_share) * shell.asymptote().nu_inf)
        cost = 1 / nu_inf
    crawls = np.where(shell.coverage >= SEEN_WELL, 1.0, crawls)
    return Plan(
        crawl_completeness=captured_share(np.asarray(urn.kappa), urn.coverage),
        crawls_to_seen=np.where(seen_at_last >= SEEN_WELL, crawls, np.inf),
        seen_at_last=seen_at_last,
        nu_inf=nu_inf,
        hidden_time=shell.operator_terms().hidden_time * gap,
        cost_per_new=cost,
    )


def equal_budget_coverage(kappa: npt.ArrayLike, coverage: npt.ArrayLike, cadence: npt.ArrayLike) -> FloatArray:
    """Return the shell coverage that keeps the number of fetches per unit of time when the gap changes.

    A crawl fetches κ + (1 - κ) c of the urn. At a gap r times as long it may fetch r times as much, so the coverage is
    (r (κ + (1 - κ) c) - κ)/(1 - κ).

    Parameters
    ----------
    kappa, coverage
        Core fraction of the urn and present shell coverage, in [0, 1). All parameters broadcast.
    cadence
        Gap relative to the present gap, r, above 0.

    Returns
    -------
    numpy.ndarray
        Coverage in (0, 1]; NaN where crawls of this budget would not contain the core, or would exceed the urn.

    Examples
    --------
    >>> equal_budget_coverage(0.4, 0.6, [0.5, 0.8, 1.0, 1.25, 2.0]).round(3).tolist()
    [nan, 0.347, 0.6, 0.917, nan]
    """
    core, present, ratio = (np.asarray(value, dtype=np.float64) for value in (kappa, coverage, cadence))
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (ratio * captured_share(core, present) - core) / (1 - core)
    return np.where((needed > 0) & (needed <= 1), needed, np.nan)


def seen_share(
    kappa: npt.ArrayLike, alpha: npt.ArrayLike, coverage: npt.ArrayLike, crawls: npt.ArrayLike, *, gap: float = 1.0
) -> FloatArray:
    """Return the share of the eligible population captured after n crawls, κ + (1 - κ) c (1 - (α c̄)^n)/(1 - α c̄).

    Parameters
    ----------
    kappa, alpha, coverage, gap
        As in `plan`.
    crawls
        Number n of crawls, at least 1.

    Examples
    --------
    >>> seen_share(0.4, 0.75, 0.6, [1, 2]).round(4).tolist()
    [0.76, 0.868]
    """
    urn = _urn(kappa, alpha, coverage, gap)
    missed = urn.shell.fates().missed
    shell = urn.coverage * (1 - missed ** np.asarray(crawls, dtype=np.float64)) / (1 - missed)
    return np.asarray(urn.kappa + (1 - np.asarray(urn.kappa)) * shell)


def _urn(kappa: npt.ArrayLike, alpha: npt.ArrayLike, coverage: npt.ArrayLike, gap: float | FloatArray) -> CoreShellUrn:
    share, survival, sampled = (np.asarray(value, dtype=np.float64) for value in (kappa, alpha, coverage))
    if not ((sampled > 0).all() and np.all(np.asarray(gap) > 0)):
        raise ValueError(f"coverage is {sampled} and gap {gap}; expected numbers above 0")
    return CoreShellUrn(share, survival**gap, sampled)
