"""Fit the homogeneous urn to containment by log-linear regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition import PrimaryFit
from crawl_urn_dagster.estimates.fits.definition_builders import PARAMETERS, linear_refits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Clock, Counts
    from crawl_urn_dagster.urn.results.result import AnyFit


def fit(data: CollectionData, clock: Clock) -> AnyFit:
    """Regress the logarithm of containment on the lag."""
    from crawl_urn_dagster.estimates.fits.data_points import containment_points
    from crawl_urn_dagster.urn.fits.containment import fit_containment_log_linear

    return fit_containment_log_linear(*containment_points(data, clock), clock=clock)


def refit(fit: AnyFit, data: CollectionData, counts: Counts) -> Mapping[str, object]:
    """Return the estimates of every replicate, to first order."""
    from crawl_urn_dagster.estimates.fits.data_points import containment_replicates

    curves, observed = containment_replicates(data, fit.kind.clock, counts)
    return linear_refits(fit, curves[:, observed > 0])


DEFINITION = PrimaryFit(
    projection="containment",
    model="homogeneous",
    label="log-linear fit of containment",
    fit=fit,
    refit=refit,
    needs=frozenset({"containment"}),
    parameters=PARAMETERS["homogeneous"],
    headline_rank=3,
)
