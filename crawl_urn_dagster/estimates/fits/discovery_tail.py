"""Invert the straight tail of the mean discovery curve: the homogeneous urn.

It is defined for equal gaps only, so for clock ``crawl`` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition import PrimaryFit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Clock, Counts
    from crawl_urn_dagster.urn.results.result import AnyFit


def fit(data: CollectionData, clock: Clock) -> AnyFit:
    """Fit the mean discovery curve."""
    from crawl_urn_dagster.estimates.fits.points import discovery_points
    from crawl_urn_dagster.urn.fits.discovery import invert_discovery_tail

    _, _, t, ratio = discovery_points(data, clock)
    return invert_discovery_tail(t, ratio)


def refit(fit: AnyFit, data: CollectionData, counts: Counts) -> Mapping[str, object]:
    """Return the estimates of every replicate, to first order."""
    import numpy as np

    from crawl_urn_dagster.estimates.fits.points import discovery_replicates

    curves, lengths = discovery_replicates(data, fit.kind.clock, counts)
    tail = curves[:, np.isin(lengths, fit.details.abscissa)]
    refits: Mapping[str, object] = fit.details.linear_refits(fit.estimates, tail)
    return refits


DEFINITION = PrimaryFit(
    projection="discovery_tail",
    model="homogeneous",
    label="straight line through the discovery curve's tail, inverted",
    fit=fit,
    refit=refit,
    needs=frozenset({"discovery_curve"}),
    clocks=("crawl",),
    parameters=("alpha", "coverage"),
)
