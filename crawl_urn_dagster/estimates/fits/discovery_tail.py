"""Define the inversion of the straight tail of the mean discovery curve: the homogeneous urn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition_builders import mean_discovery_fit

if TYPE_CHECKING:
    from crawl_urn_dagster.estimates.fits.data_points import FloatArray, IndexArray
    from crawl_urn_dagster.urn.results.result import AnyFit


def _fit(t: IndexArray, ratio: FloatArray) -> AnyFit:
    from crawl_urn_dagster.urn import invert_discovery_tail

    return invert_discovery_tail(t, ratio)


def _tail(curves: FloatArray, lengths: IndexArray, abscissa: FloatArray) -> FloatArray:
    import numpy as np

    return curves[:, np.isin(lengths, abscissa)]


DEFINITION = mean_discovery_fit(
    "discovery_tail",
    "homogeneous",
    "straight line through the discovery curve's tail, inverted",
    fitter=_fit,
    points=_tail,
)
