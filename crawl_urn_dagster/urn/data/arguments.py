"""Check the arguments that the functions of the urn share: fractions, whole numbers and times of crawls.

Knows neither models nor counts; see `histories` for counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray


def gaps_between(times: npt.ArrayLike) -> FloatArray:
    """Return the gaps between consecutive crawls along the last axis.

    Raises
    ------
    ValueError
        If the times decrease or are NaN.
    """
    gaps = np.diff(np.asarray(times, dtype=np.float64), axis=-1)
    if not np.all(gaps >= 0):
        raise ValueError("the times of the crawls decrease or are NaN; expected them in time order")
    return gaps


def require_fraction(name: str, value: npt.ArrayLike) -> None:
    """Raise a ValueError that names the first value outside [0, 1] or NaN."""
    if isinstance(value, float) and 0 <= value <= 1:  # in a tenth of the time of an array; searches check often
        return
    values = np.asarray(value, dtype=np.float64)
    inside = (values >= 0) & (values <= 1)
    if not inside.all():
        raise ValueError(f"{name} is {values[~inside].flat[0]}; expected a number from 0 to 1")


def require_whole_numbers(name: str, values: npt.ArrayLike, least: int) -> FloatArray:
    """Return the values as float64, or raise a ValueError that names the first one below `least` or not whole."""
    numbers = np.asarray(values, dtype=np.float64)
    outside = ~((numbers >= least) & (numbers == np.floor(numbers)) & np.isfinite(numbers))
    if outside.any():
        raise ValueError(f"{name} is {numbers[outside].flat[0]}; expected whole numbers of at least {least}")
    return numbers


def require_not_negative(name: str, value: npt.ArrayLike) -> FloatArray:
    """Return the values as float64, or raise a ValueError that names the first one below 0 or NaN."""
    values = np.asarray(value, dtype=np.float64)
    if not np.all(values >= 0):
        raise ValueError(f"{name} is {values[~(values >= 0)].flat[0]}; expected a number of at least 0")
    return values
