"""Decide the status of a search, and whether the data identify each parameter.

Does not search; see `optimise`. Does not word the reasons; see `reasons`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawl_urn_dagster.urn.optimise.bounded_least_squares import PARAMETER_MOVE
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode
from crawl_urn_dagster.urn.results.result import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: A parameter that can move by `PARAMETER_MOVE` while no fitted point moves farther than this is not identified, in
#: units of a crawl size.
FITTED_MOVE = 0.01


class Alternative(NamedTuple):
    """The best fit with one parameter held elsewhere.

    Attributes
    ----------
    name
        The parameter that was held.
    fitted
        Shape (points,), in units of a crawl size.
    """

    name: str
    fitted: FloatArray


def search_status(
    bounds: Sequence[Reason], unidentified: Sequence[Reason], *, converged: bool, search: str = "least-squares"
) -> tuple[Status, tuple[Reason, ...]]:
    """Return the status of the end of a search, and the reasons.

    Parameters
    ----------
    bounds
        Parameters at a bound; see `reasons.at_bound`.
    unidentified
        Parameters that the data do not identify; a fit at a bound may have some too.
    converged
        Whether the search converged.
    search
        Kind of search: ``least-squares`` or ``maximum-likelihood``.
    """
    if not converged:
        return Status.NOT_CONVERGED, (Reason(ReasonCode.NOT_CONVERGED, {"search": search}),)
    status = Status.AT_BOUND if bounds else Status.NOT_IDENTIFIED if unidentified else Status.OK
    return status, (*bounds, *unidentified)


def explain_non_identification(
    fit: str, fitted: FloatArray, alternatives: Iterable[Alternative], residual_rms: float
) -> tuple[Reason, ...]:
    """Return a reason that names the first parameter that can move while the fitted points hardly do.

    If the fitted points move by less than the residuals, the parameter is not identified: the model does not resolve
    such a difference.

    Parameters
    ----------
    fit
        Name of the fit in the sentence, such as ``joint`` in "the joint fit".
    fitted
        Fitted points, shape (points,), in units of a crawl size.
    alternatives
        Other fits, tried in order; the search ends at the first that fits alike.
    residual_rms
        Root mean square of the fit's residuals, in units of a crawl size.
    """
    for name, other in alternatives:
        moved = float(abs(other - fitted).max())
        if moved <= max(FITTED_MOVE, residual_rms):
            values = {"parameter": name, "fit": fit, "change": PARAMETER_MOVE, "moved": moved}
            return (Reason(ReasonCode.UNCHANGED_FIT, values),)
    return ()
