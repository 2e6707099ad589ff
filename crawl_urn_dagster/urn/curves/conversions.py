"""Convert between the parameters of urns, with defined results for divisions by 0.

Does not compute observables; see `model`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.data.histories import FloatArray

Fraction: TypeAlias = float | FloatArray


def core_share_from_kappa(kappa: Fraction, coverage: Fraction) -> FloatArray:
    """Return the core share of one crawl, μ = κ/(κ + (1-κ) c).

    Parameters
    ----------
    kappa, coverage
        Core fraction of the urn and shell coverage, in [0, 1]; shapes that broadcast.

    Returns
    -------
    ndarray
        μ in [0, 1]; 0 without a core, also at coverage 0.

    Examples
    --------
    >>> round(float(core_share_from_kappa(0.4, 0.6)), 4)
    0.5263
    """
    return ratio(kappa, kappa + (1 - kappa) * coverage)


def kappa_from_core_share(core_share: Fraction, coverage: Fraction) -> FloatArray:
    """Return the core fraction of the urn, κ = μ c/(1 - μ + μ c), the inverse of `core_share_from_kappa`.

    Parameters
    ----------
    core_share, coverage
        Core share of one crawl and shell coverage, in [0, 1]; shapes that broadcast.

    Returns
    -------
    ndarray
        κ in [0, 1]; 1 at μ = 1 and coverage 0, where κ is undetermined.

    Examples
    --------
    >>> round(float(kappa_from_core_share(0.5263, 0.6)), 4)
    0.4
    """
    return ratio(core_share * coverage, 1 - core_share + core_share * coverage, undefined=1.0)


def captured_share(kappa: Fraction, coverage: Fraction) -> FloatArray:
    """Return the share of the urn that one crawl captures, κ + (1-κ) c.

    Parameters
    ----------
    kappa, coverage
        Core fraction of the urn and shell coverage, in [0, 1]; shapes that broadcast.

    Examples
    --------
    >>> round(float(captured_share(0.4, 0.6)), 4)
    0.76
    """
    return np.asarray(kappa + (1 - kappa) * coverage)


def urn_from_tail(rho_inf: Fraction, tau_h: Fraction) -> tuple[FloatArray, FloatArray]:
    """Return survival and coverage of the homogeneous urn whose discovery curve has a given asymptote.

    Parameters
    ----------
    rho_inf, tau_h
        Long-run fraction captured before and mean time to resolution, as in `Asymptote`.

    Returns
    -------
    alpha, coverage : ndarray
        α = (ρ∞ + τ_h)/(1 + τ_h) and c = ρ∞/(ρ∞ + τ_h). Measured asymptotes can give values outside [0, 1], which are
        returned unchanged. A division by 0 gives infinity.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Urn
    >>> end = Urn(0.75, 0.6).asymptote()
    >>> [round(float(value), 4) for value in urn_from_tail(end.rho_inf, end.tau_h)]
    [0.75, 0.6]
    """
    return ratio(rho_inf + tau_h, 1 + tau_h), ratio(rho_inf, rho_inf + tau_h)


def ratio(numerator: Fraction, denominator: Fraction, undefined: Fraction = 0.0) -> FloatArray:
    """Divide, with infinity where the denominator is 0 or underflows, and `undefined` for 0/0."""
    if isinstance(numerator, float) and isinstance(denominator, float) and abs(numerator) <= 1 and denominator > 1e-9:
        # Searches mostly divide single numbers, for which this gives the same result in a fifth of the time.
        return as_array(numerator / denominator)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        quotient = np.divide(numerator, denominator)
    return as_array(np.where(np.isnan(quotient), undefined, quotient))


def as_array(values: npt.ArrayLike) -> FloatArray:
    """Return float64 values, with shape () as a scalar, because numpy formats it as a number."""
    return np.asarray(values, dtype=np.float64)[()]
