"""Estimate the first-order autocorrelation of the deviations of successive crawls.

Does not fit the mean or the line that they deviate from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray


def autocorrelation(
    residuals: FloatArray, *, largest: float = 0.95, noise: float = 0.0, are_of_line: bool = False
) -> float:
    """Return the correlation of successive deviations, in [0, `largest`]; 0 if they do not vary.

    Parameters
    ----------
    residuals
        Deviations from a mean or a line, one per crawl; NaN where unknown.
    largest
        Largest correlation.
    noise
        Variance that is independent from crawl to crawl, such as the variance of estimation errors.
    are_of_line
        Whether a line was fitted. Residuals of a line are less correlated than its errors, by about (2 + 4ρ)/n.

    Examples
    --------
    >>> import numpy as np
    >>> autocorrelation(np.array([1.0, 1.0, -1.0, -1.0])), autocorrelation(np.array([1.0, -1.0, 1.0, -1.0]))
    (0.25, 0.0)
    """
    known = residuals[np.isfinite(residuals)]
    products = residuals[1:] * residuals[:-1]
    products = products[np.isfinite(products)]
    variance = float(known @ known) / max(known.size - 1, 1) - noise
    if not variance > 0 or not products.size:
        return 0.0
    estimate = float(products.mean()) / variance
    if are_of_line:
        estimate = (known.size * estimate + 2) / max(known.size - 4, 1)
    return float(np.clip(estimate, 0.0, largest))
