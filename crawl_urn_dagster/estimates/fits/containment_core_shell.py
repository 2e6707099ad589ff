"""Fit core and shell to containment, in its exact form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition import PrimaryFit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Clock, Counts
    from crawl_urn_dagster.urn.results.result import AnyFit


def fit(data: CollectionData, clock: Clock) -> AnyFit:
    """Fit the urn to containment."""
    from crawl_urn_dagster.estimates.fits.points import containment_points
    from crawl_urn_dagster.urn.fits.containment import fit_containment_core_shell

    return fit_containment_core_shell(*containment_points(data, clock), form="exact", clock=clock)


def refit(fit: AnyFit, data: CollectionData, counts: Counts) -> Mapping[str, object]:
    """Fit the containment of every replicate."""
    from crawl_urn_dagster.estimates.fits.points import containment_replicates
    from crawl_urn_dagster.urn.fits.batched import fit_containment_batch

    curves, _ = containment_replicates(data, fit.kind.clock, counts)
    again = fit_containment_batch(fit.details.abscissa, curves, model="core_shell", form="exact")
    return {name: getattr(again, name) for name in fit.estimates}


DEFINITION = PrimaryFit(
    projection="containment",
    model="core_shell",
    label="fit of containment",
    fit=fit,
    refit=refit,
    needs=frozenset({"containment"}),
    parameters=("kappa", "core_share", "alpha", "coverage"),
    headline_rank=1,
)
