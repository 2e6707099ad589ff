"""Average a series whose neighbours share crawls, with a standard error from means of blocks.

Does not interpret the series; see `violation` and `revisit` for its uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

#: Consecutive start crawls in a block. Windows of neighbouring start crawls share crawls.
BLOCK = 4


def block_mean(values: npt.ArrayLike, block: int = BLOCK) -> tuple[float, float]:
    """Average a series whose neighbours are correlated, and estimate the standard error from blocks.

    The variance of a block's mean is half the mean squared difference between neighbouring blocks (von Neumann), so
    a single change of regime within the series counts once and not in every block.

    Parameters
    ----------
    values
        Shape (n,), in time order. NaN (unknown) is left out.
    block
        Minimum number of consecutive known values in a block, at least 1. A remainder makes blocks longer.

    Returns
    -------
    mean : float
        NaN if no value is known.
    standard_error : float
        NaN if there are fewer than two blocks.

    References
    ----------
    von Neumann, J. (1941). Distribution of the ratio of the mean square successive difference to the variance. Annals
    of Mathematical Statistics 12, 367-395.

    Examples
    --------
    >>> mean, standard_error = block_mean([1, 2, 6, 10], block=2)
    >>> mean, round(standard_error, 2)
    (4.75, 3.25)
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    mean = float(known.mean()) if known.size else np.nan
    n_blocks = known.size // block
    if n_blocks < 2:
        return mean, np.nan
    steps = np.diff([part.mean() for part in np.array_split(known, n_blocks)])
    return mean, float(np.sqrt(np.mean(steps**2) / 2 / n_blocks))
