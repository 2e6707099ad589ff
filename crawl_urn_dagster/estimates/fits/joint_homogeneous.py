"""Fit the homogeneous urn to all raw counts at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition import PrimaryFit

if TYPE_CHECKING:
    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Clock
    from crawl_urn_dagster.urn.results.result import AnyFit


def fit(data: CollectionData, clock: Clock) -> AnyFit:
    """Fit the urn to all raw counts of pairs and windows."""
    from crawl_urn_dagster.urn.fits.joint import fit_joint
    from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode
    from crawl_urn_dagster.urn.results.result import FitKind, no_fit

    counts = data.counts(clock)
    if counts is None:
        return no_fit(FitKind("joint", "homogeneous", "exact", clock), Reason(ReasonCode.NO_COUNTS))
    return fit_joint(counts, model="homogeneous", clock=clock)


DEFINITION = PrimaryFit(
    projection="joint",
    model="homogeneous",
    label="joint fit of all pairs and windows",
    fit=fit,
    parameters=("alpha", "coverage"),
    headline_rank=2,
)
