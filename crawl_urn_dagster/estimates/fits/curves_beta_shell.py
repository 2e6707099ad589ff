"""Fit a core and a shell with spread coverage to the mean curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition import SupplementaryFit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Bootstrap, Clock
    from crawl_urn_dagster.urn.results.result import AnyFit


def fit(data: CollectionData, clock: Clock, bootstrap: Bootstrap | None) -> Sequence[AnyFit]:  # noqa: ARG001 - these curves are per crawl
    """Fit the urn to the mean curves, per crawl."""
    from crawl_urn_dagster.estimates.start_curves import fit_mean_curves

    counts = data.counts("crawl")
    return [] if counts is None else [fit_mean_curves("beta_shell", counts, bootstrap)]


DEFINITION = SupplementaryFit(
    projection="curves",
    model="beta_shell",
    label="fit of both mean curves",
    fit=fit,
)
