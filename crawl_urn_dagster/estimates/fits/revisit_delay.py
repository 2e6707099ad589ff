"""Fit the urn with a revisit delay to the discovery curve of every regime that has a delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition import SupplementaryFit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Bootstrap, Clock
    from crawl_urn_dagster.urn.results.result import AnyFit


def fit(data: CollectionData, clock: Clock, bootstrap: Bootstrap | None) -> Sequence[AnyFit]:  # noqa: ARG001 - a regime has its own jackknife
    """Fit each regime, per crawl."""
    from crawl_urn_dagster.estimates.regimes import fit_regimes

    return fit_regimes(data)


DEFINITION = SupplementaryFit(
    projection="discovery_curve",
    model="revisit_delay",
    label="fit of the discovery curve of a crawler with a revisit delay",
    fit=fit,
    is_urn=False,
)
