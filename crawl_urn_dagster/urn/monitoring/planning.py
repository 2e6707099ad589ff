"""What an operator can expect of another coverage or cadence: how soon the urn is seen, and at which cost.

Here: closed forms of core and shell, for plans. Not here: forecasts of the crawls to come as they are (`forecast`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.curves.model import CoreShellUrn

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: Share of the living shell that counts as seen well.
SEEN_WELL = 0.9


@dataclass(frozen=True, eq=False)
class Plan:
    """What crawls of one coverage at one cadence bring; arrays of the shape of the parameters.

    Attributes
    ----------
    crawl_completeness
        Part of the urn that one crawl holds, κ + (1 - κ) c.
    crawls_to_seen
        Crawls until 90 % of the living shell has been seen: the first n with σ_n ≥ 0.9; infinite when it never is.
    seen_at_last
        Part of the living shell that has been seen in the long run, c/(1 - α c̄).
    nu_inf
        Long-run fraction of a crawl that was never seen before, (1 - μ) ν∞.
    hidden_time
        Time that an element of the shell still lives unsampled, in units of time.
    cost_per_new
        Elements fetched for each that was never seen before, 1/nu_inf.
    """

    crawl_completeness: FloatArray
    crawls_to_seen: FloatArray
    seen_at_last: FloatArray
    nu_inf: FloatArray
    hidden_time: FloatArray
    cost_per_new: FloatArray


#: Names of what a plan tells.
QUANTITIES = tuple(field.name for field in fields(Plan))


def plan(kappa: npt.ArrayLike, alpha: npt.ArrayLike, coverage: npt.ArrayLike, *, gap: float | FloatArray = 1.0) -> Plan:
    """Plan crawls of a coverage at a gap.

    Parameters
    ----------
    kappa, alpha
        Of the urn; α is per unit of time. They broadcast against the rest.
    coverage
        Fraction of the living shell that a crawl samples, in (0, 1]; of a crawl of M elements (M - K)/S.
    gap
        Time between crawls, above 0.

    Raises
    ------
    ValueError
        When a parameter is out of range.
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
        crawl_completeness=np.asarray(urn.kappa + (1 - np.asarray(urn.kappa)) * urn.coverage),
        crawls_to_seen=np.where(seen_at_last >= SEEN_WELL, crawls, np.inf),
        seen_at_last=seen_at_last,
        nu_inf=nu_inf,
        hidden_time=shell.operator_terms().hidden_time * gap,
        cost_per_new=cost,
    )


def seen_share(
    kappa: npt.ArrayLike, alpha: npt.ArrayLike, coverage: npt.ArrayLike, crawls: npt.ArrayLike, *, gap: float = 1.0
) -> FloatArray:
    """Share of the living urn that n crawls have seen, κ + (1 - κ) σ_n with σ_n = c (1 - (α c̄)^n)/(1 - α c̄).

    Parameters
    ----------
    crawls
        n, at least 1.
    kappa, alpha, coverage, gap
        As of `plan`.
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
