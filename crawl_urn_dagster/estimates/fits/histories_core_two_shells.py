"""Fit a core and two shells to whole capture histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition import SupplementaryFit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Bootstrap, Clock
    from crawl_urn_dagster.urn.results.result import AnyFit


def fit(data: CollectionData, clock: Clock, bootstrap: Bootstrap | None) -> Sequence[AnyFit]:  # noqa: ARG001 - a likelihood has its own intervals
    """Fit the urn by maximum likelihood, on the clock of the headline."""
    from crawl_urn_dagster.urn.fits.histories import fit_histories

    counts = data.counted_histories
    return [] if counts is None else [fit_histories(counts, data.times(clock), model="core_two_shells", clock=clock)]


DEFINITION = SupplementaryFit(
    projection="histories",
    model="core_two_shells",
    label="maximum-likelihood fit of capture histories",
    fit=fit,
)
