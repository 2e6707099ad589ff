"""Fit a core and two shells to the mean curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition import SupplementaryFit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Bootstrap, Clock
    from crawl_urn_dagster.urn.results.result import AnyFit


def fit(data: CollectionData, clock: Clock, bootstrap: Bootstrap | None) -> Sequence[AnyFit]:  # noqa: ARG001 - these curves are per crawl
    """Fit the urn to the mean curves, per crawl; capture histories identify two shells far better, and replace it."""
    from crawl_urn_dagster.estimates.start_curves import fit_mean_curves

    counts = data.counts("crawl")
    return (
        [] if counts is None or data.histories is not None else [fit_mean_curves("core_two_shells", counts, bootstrap)]
    )


DEFINITION = SupplementaryFit(
    projection="curves",
    model="core_two_shells",
    label="fit of both mean curves",
    fit=fit,
)
