"""95 % limits from standard errors.

Here: the normal quantile, and limits on the logit scale. Not here: limits from replicates (`bootstrap`), or those of
counting (`counting_error`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, ndtri

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray

#: Standard normal quantile of two-sided 95 % limits.
NORMAL_QUANTILE = float(ndtri(0.975))


def logit_interval(value: FloatArray, se: FloatArray) -> tuple[FloatArray, FloatArray]:
    """95 % limits of a probability, symmetric on the logit scale; NaN where the standard error is."""
    inside = ~np.isnan(se) & (value > 0) & (value < 1)
    centre, spread = np.where(inside, value, 0.5), np.where(inside, se, np.nan)
    half_width = NORMAL_QUANTILE * spread / (centre * (1 - centre))
    return expit(logit(centre) - half_width), expit(logit(centre) + half_width)
