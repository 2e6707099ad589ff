"""Fit the discovery curve of every revisit regime, and write table `revisit_regimes`.

Does not find the regimes; see `urn.monitoring.regimes`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.start_curves import jackknife, mean_of_known, with_spread
from crawl_urn_dagster.observables.schema import REVISIT_REGIMES
from crawl_urn_dagster.urn import find_regimes, fit_revisit_delay, recaptures_from_unions
from crawl_urn_dagster.urn.data.distributions import normal_quantile
from crawl_urn_dagster.urn.fits.mean_curves import UrnDetails
from crawl_urn_dagster.urn.monitoring.regimes import Regime

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Counts, FitResult

    FloatArray = npt.NDArray[np.float64]


_DELAYS = (1, 2, 3)


@dataclass(frozen=True, eq=False)
class RegimeDetails(UrnDetails):
    """Points, residuals and fitted urn of one regime, its crawls and its delay.

    Attributes
    ----------
    first_crawl, last_crawl
        Labels of the first and the last fitted crawl.
    delay_crawls
        Revisit delay, in crawls.
    """

    first_crawl: str
    last_crawl: str
    delay_crawls: int


def regimes_of(data: CollectionData) -> list[Regime]:
    """Return the regimes of first returns; an empty list when the size of a crawl is not known."""
    counts = data.counts("crawl")
    if counts is None:
        return []
    unions = counts.unions.copy()
    np.fill_diagonal(unions, counts.sizes)
    return find_regimes(counts.sizes, recaptures_from_unions(unions))


def fit_regimes(data: CollectionData) -> list[FitResult[RegimeDetails]]:
    """Fit the discovery curve of every regime with a revisit delay, with intervals by the jackknife."""
    counts = data.counts("crawl")
    if counts is None:
        return []
    fits = (_fit_regime(counts, regime, data.labels) for regime in regimes_of(data) if regime.delay >= 1)
    return [fit for fit in fits if fit is not None]


def fit_window_delay(data: CollectionData) -> FitResult[RegimeDetails] | None:
    """Fit the urn with a revisit delay to all crawls as one regime, with the delay that fits best; None without curve.

    The delay of the regimes follows from first returns, which a window may be too short for.
    """
    counts = data.counts("crawl")
    if counts is None:
        return None
    whole = (Regime(0, len(data.labels) - 4, delay, (), (), None) for delay in _DELAYS)
    fits = [fit for regime in whole if (fit := _fit_regime(counts, regime, data.labels)) is not None]
    return min(fits, key=lambda fit: fit.details.residual_rms or 0.0, default=None)


def _fit_regime(counts: Counts, regime: Regime, labels: Sequence[str]) -> FitResult[RegimeDetails] | None:
    """Fit one regime; None when no window is known.

    Each window is in units of the mean size of its crawls and lies within the crawls of the regime. These extend beyond
    its last start crawl, because a first return after two crawls involves two more crawls.
    """
    last = len(labels) - 1 if regime.last == len(labels) - 4 else regime.last + 2
    n = last - regime.first + 1
    sizes = counts.sizes[regime.first : last + 1]
    unions = counts.unions[regime.first : last + 1, regime.first : last + 1]
    lengths = np.arange(1, n // 2 + 1)
    whole = np.concatenate([[0.0], np.cumsum(sizes)])
    start = np.arange(n)[:, None]
    end = np.minimum(start + lengths, n - 1)
    mean_sizes = (whole[end + 1] - whole[start]) / (lengths + 1)
    values = np.where(start + lengths < n, unions[start, end] / mean_sizes, np.nan)
    known = np.isfinite(values).any(axis=0)
    if not known.any():
        return None
    fit = fit_revisit_delay(lengths[known], mean_of_known(values[:, known]), delay=regime.delay)
    fit = with_spread(fit, jackknife(values[:, known]))
    details = RegimeDetails(
        **{field.name: getattr(fit.details, field.name) for field in fields(UrnDetails)},
        first_crawl=labels[regime.first],
        last_crawl=labels[last],
        delay_crawls=regime.delay,
    )
    return replace(fit, details=details)  # type: ignore[return-value]


def revisit_regimes_table(data: CollectionData) -> pd.DataFrame:
    """Return table `revisit_regimes`: first-return fractions of every regime, with 95 % confidence intervals."""
    half, labels = normal_quantile(0.975), data.labels
    rows = [
        {
            "first_crawl": labels[regime.first],
            "last_crawl": labels[regime.last],
            "delay_crawls": regime.delay,
            "lag_crawls": lag,
            "fraction": fraction,
            "fraction_low": fraction - half * se,
            "fraction_high": fraction + half * se,
            "p_value": regime.p_value,
        }
        for regime in regimes_of(data)
        for lag, (fraction, se) in enumerate(zip(regime.fraction, regime.fraction_se, strict=True), start=1)
    ]
    return pd.DataFrame(rows, columns=list(REVISIT_REGIMES.column_names))
