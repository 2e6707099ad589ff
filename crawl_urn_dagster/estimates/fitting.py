"""Fit every primary urn to a collection and apply the violation rule.

Does not compute intervals (see `intervals`), nor select the headline (see `selection`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.estimates.fits import primary_fits
from crawl_urn_dagster.observables.tables import overlaps_matrix, unions_matrix
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, Status, apply_violation_rule, recaptures_from_unions
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Clock, Violation
    from crawl_urn_dagster.urn.results.result import AnyFit

CLOCKS: tuple[Clock, ...] = ("crawl", "year")


def fit_primary(data: CollectionData, clocks: Sequence[Clock] = CLOCKS) -> list[AnyFit]:
    """Fit all primary fits that the tables allow; if the violation rule fails, all have status ``model_violation``.

    Parameters
    ----------
    data
        The collection.
    clocks
        Clocks of the fits.
    """
    fits = [
        definition.fit(data, clock)
        for clock in clocks
        for definition in primary_fits(data.observables, data.own_fits)
        if clock in definition.clocks
    ]
    violation = find_violation(apply_violation_rules(data))
    return [with_violation(fit, violation) for fit in fits]


def apply_violation_rules(data: CollectionData) -> list[Violation]:
    """Return the result of the violation rule for each observable that the collection has.

    First returns come from the unions of windows, which hold the same data as the m-array.
    """
    results = []
    if data.discovery_curve is not None:
        unions = unions_matrix(data.crawls, data.discovery_curve)
        results.append(apply_violation_rule("first_returns", np.diagonal(unions), recaptures_from_unions(unions)))
    if data.containment is not None:
        shares = overlaps_matrix(data.crawls, data.containment, "containment")
        results.append(apply_violation_rule("containment", np.ones(len(data.crawls)), shares))
    return results


def find_violation(results: Sequence[Violation]) -> Violation | None:
    """Return the first violation; None without violations."""
    return next((result for result in results if result.violated), None)


def with_violation(fit: AnyFit, violation: Violation | None) -> AnyFit:
    """Return a fit with status ``model_violation`` if there is a violation."""
    if violation is None:
        return fit
    reason = Reason(ReasonCode.MODEL_VIOLATION, {"explanation": violation.reason})
    return replace(fit, status=Status.MODEL_VIOLATION, reasons=(reason,))


def with_refutation(fit: AnyFit, refuted: Collection[str]) -> AnyFit:
    """Return a fit with status ``refuted`` and the reason first if the tests of the collection refute its model.

    A status that already keeps the estimates from being reported stays; a fit that is not identified gets the reason
    only, so its point estimates stay unreported.
    """
    if fit.kind.model not in refuted or not fit.is_reported:
        return fit
    status = fit.status if fit.status in NO_POINT_ESTIMATE_STATUSES else Status.REFUTED
    return replace(fit, reasons=(Reason(ReasonCode.REFUTED), *fit.reasons), status=status)
