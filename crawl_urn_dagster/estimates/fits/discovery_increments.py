"""Define the fit of core and shell to the increments of the mean discovery curve: a consistency check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits.definition_builders import mean_discovery_fit

if TYPE_CHECKING:
    from crawl_urn_dagster.estimates.fits.data_points import FloatArray, IndexArray
    from crawl_urn_dagster.urn.results.result import AnyFit


def _fit(t: IndexArray, ratio: FloatArray) -> AnyFit:
    from crawl_urn_dagster.urn import fit_discovery_increments

    return fit_discovery_increments(t, ratio)


def _increments(curves: FloatArray, lengths: IndexArray, abscissa: FloatArray) -> FloatArray:
    import numpy as np

    from_one = np.concatenate([np.ones((len(curves), 1)), curves], axis=1)
    return np.diff(from_one, axis=1)[:, np.isin(lengths, abscissa)]


DEFINITION = mean_discovery_fit(
    "discovery_increments",
    "core_shell",
    "fit of the discovery increments (consistency check only)",
    fitter=_fit,
    points=_increments,
)
