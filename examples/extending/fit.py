"""Define a fit of a shell that decays as a stretched exponential, in addition to the fits of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.fits import SupplementaryFit

if TYPE_CHECKING:
    import numpy as np

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Bootstrap, Clock, FitResult


def stretched(lag, core_share, coverage, alpha, stretch):
    """Return containment g(d) = mu + (1 - mu) c alpha^(d^beta); beta = 1 is the core-shell urn."""
    return core_share + (1 - core_share) * coverage * alpha ** (lag**stretch)


def fit_stretched(data: CollectionData, clock: Clock, bootstrap: Bootstrap | None) -> list[FitResult]:
    """Fit all pairs by least squares, with intervals from a jackknife that leaves out one crawl at a time."""
    import numpy as np
    from scipy.optimize import curve_fit

    from crawl_urn_dagster.urn import FitKind, FitResult, Interval, Status
    from crawl_urn_dagster.urn.curves.conversions import kappa_from_core_share
    from crawl_urn_dagster.urn.results.reasons import at_bound
    from crawl_urn_dagster.urn.results.result import LeastSquaresDetails

    if data.containment is None:
        return []
    first, last = (data.containment[name].to_numpy() for name in ("crawl_i", "crawl_j"))
    lag = data.containment["lag_crawls"].to_numpy(dtype=float)
    observed = data.containment["containment"].to_numpy(dtype=float)

    def parameters(kept: np.ndarray) -> np.ndarray:
        start, bounds = (0.3, 0.5, 0.8, 1.0), ([0, 0, 0, 0.2], [1, 1, 1, 3])
        return curve_fit(stretched, lag[kept], observed[kept], start, bounds=bounds)[0]

    estimate = parameters(np.full(len(lag), fill_value=True))
    without = np.array([parameters((first != crawl) & (last != crawl)) for crawl in data.labels])
    spread = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    half = 1.96 * np.sqrt((len(without) - 1) / len(without) * spread)
    # Table `parameters` has columns for the first three; other estimates stay in the result.
    names = ("core_share", "coverage", "alpha", "stretch")
    bounds = [name for name, value in zip(names[:3], estimate[:3], strict=True) if min(value, 1 - value) < 1e-6]
    kappa = float(kappa_from_core_share(estimate[0], estimate[1]))
    return [
        FitResult(
            kind=FitKind("containment", "stretched_shell", "exact", "crawl"),
            estimates={"kappa": kappa, **dict(zip(names, estimate.tolist(), strict=True))},
            intervals={
                name: Interval(value - by, value + by) for name, value, by in zip(names, estimate, half, strict=True)
            },
            status=Status.AT_BOUND if bounds else Status.OK,
            reasons=tuple(at_bound(name, round(estimate[names.index(name)])) for name in bounds),
            details=LeastSquaresDetails(lag, observed, stretched(lag, *estimate), np.empty((0, len(lag))), ()),
        )
    ]


STRETCHED_SHELL = SupplementaryFit(
    projection="containment",
    model="stretched_shell",
    label="fit of containment with a stretched decay",
    fit=fit_stretched,
)
