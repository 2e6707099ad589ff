"""Select the headline fit of a collection from its primary fits.

Does not fit, nor word the result; see `fitting` and `headline`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits import definition_of
from crawl_urn_dagster.estimates.fits.definition import PrimaryFit
from crawl_urn_dagster.urn import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.results.result import AnyFit

# The residuals of points that share crawls are not independent; an urn without a core has a ratio of 1.0 to 1.1.
_CLOSER = 1.25


def select_headline(fits: Sequence[AnyFit], *, clock: str) -> AnyFit:
    """Select the headline fit from all candidate fits.

    Candidates are in the order of their ``headline_rank``: joint core-shell fit, core-shell containment (exact), joint
    homogeneous fit, homogeneous containment, core-shell and homogeneous discovery curve. The selected fit is the first
    of

    - the candidates with status ``ok``; a homogeneous fit only if a core does not reduce the residuals of the same
      observable, or of all together, by a quarter;
    - the reported candidates that are urns, except a core-shell fit with an empty core and an inversion outside [0, 1];
    - the reported candidates that are urns;
    - all candidates, whose status then states why nothing is reported.

    Raises
    ------
    ValueError
        When no fit is on that clock.
    """
    candidates = sorted((fit for fit in fits if is_headline_candidate(fit, clock)), key=_rank)
    if not candidates:
        raise ValueError(f"no fit has clock {clock!r}")
    reported_fits = [fit for fit in candidates if fit.is_reported and _is_urn(fit)]
    ok_fits = [fit for fit in reported_fits if fit.status == Status.OK and not _core_is_closer(fit, candidates)]
    fits_with_core = [fit for fit in reported_fits if fit.kappa != 0]
    return (ok_fits or fits_with_core or reported_fits or candidates)[0]


def is_headline_candidate(fit: AnyFit, clock: str) -> bool:
    """Whether a fit may be the headline of a collection whose headline is on a clock."""
    return fit.kind.clock == clock and _rank(fit) >= 0


def _rank(fit: AnyFit) -> int:
    """Return the rank of a candidate; -1 for a fit that is not one."""
    definition = definition_of(fit.kind)
    rank = definition.headline_rank if isinstance(definition, PrimaryFit) else None
    return -1 if rank is None else rank


def _core_is_closer(fit: AnyFit, candidates: Sequence[AnyFit]) -> bool:
    """Whether a core reduces the residuals of a homogeneous fit's observable, or of all observables together."""
    rms = {(one.kind.projection, one.kind.model): one.details.residual_rms for one in candidates}
    for projection in (fit.kind.projection, "joint"):
        alone, cored = rms.get((projection, "homogeneous")), rms.get((projection, "core_shell"))
        if fit.kind.model == "homogeneous" and alone is not None and cored is not None and alone > _CLOSER * cored:
            return True
    return False


def _is_urn(fit: AnyFit) -> bool:
    """Whether survival and coverage are in [0, 1]; a regression can give other values."""
    return all(value is not None and 0 <= value <= 1 for value in (fit.alpha, fit.coverage))
