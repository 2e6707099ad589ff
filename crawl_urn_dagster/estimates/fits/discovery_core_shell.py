"""Fit core and shell to the discovery curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition import PrimaryFit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Clock, Counts
    from crawl_urn_dagster.urn.results.result import AnyFit


def fit(data: CollectionData, clock: Clock) -> AnyFit:
    """Fit the urn to the discovery curve."""
    from crawl_urn_dagster.estimates.fits.points import discovery_points
    from crawl_urn_dagster.urn.fits.discovery import fit_discovery_core_shell

    return fit_discovery_core_shell(*discovery_points(data, clock), clock=clock)


def refit(fit: AnyFit, data: CollectionData, counts: Counts) -> Mapping[str, object]:
    """Fit the discovery curve of every replicate; to first order on clock ``year``, whose windows have own gaps."""
    from crawl_urn_dagster.estimates.fits.points import discovery_replicates
    from crawl_urn_dagster.urn.fits.batched import fit_discovery_batch

    curves, _ = discovery_replicates(data, fit.kind.clock, counts)
    if fit.kind.clock == "year":
        refits: Mapping[str, object] = fit.details.linear_refits(fit.estimates, curves)
        return refits
    again = fit_discovery_batch(fit.details.abscissa, curves, model="core_shell")
    return {name: getattr(again, name) for name in fit.estimates}


DEFINITION = PrimaryFit(
    projection="discovery_curve",
    model="core_shell",
    label="fit of the discovery curve",
    fit=fit,
    refit=refit,
    needs=frozenset({"discovery_curve"}),
    parameters=("kappa", "core_share", "alpha", "coverage"),
    headline_rank=4,
)
