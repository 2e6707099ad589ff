"""Compute 95 % confidence intervals from standard errors.

Does not compute intervals from replicates (see `bootstrap`) or intervals of counts (see `counting_error`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, ndtri

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

#: Standard normal quantile of a two-sided 95 % interval.
NORMAL_QUANTILE = float(ndtri(0.975))
#: Effect in standard errors that a two-sided test at 5 % finds with probability 0.8.
DETECTABLE_STANDARD_ERRORS = 2.8


def logit_interval(
    value: FloatArray, se: FloatArray, may_be_zero: BoolArray | bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return the 95 % confidence interval of a probability, symmetric on the logit scale.

    Both ends are NaN where the standard error is NaN or the value is 0 or 1. Such an interval never contains 0. Where
    the probability may be 0, it begins at 0 if the interval that is symmetric in the probability contains 0.
    """
    inside = ~np.isnan(se) & (value > 0) & (value < 1)
    centre, spread = np.where(inside, value, 0.5), np.where(inside, se, np.nan)
    half_width = NORMAL_QUANTILE * spread / (centre * (1 - centre))
    is_zero_inside = inside & np.asarray(may_be_zero) & (centre <= NORMAL_QUANTILE * spread)
    return np.where(is_zero_inside, 0, expit(logit(centre) - half_width)), expit(logit(centre) + half_width)
