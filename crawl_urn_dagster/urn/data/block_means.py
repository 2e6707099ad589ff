"""Average a series whose neighbours share crawls, with a standard error from means of blocks.

Knows nothing of the quantity in the series; see `violation` and `revisit` for its uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

#: Consecutive start crawls in a block. Their windows share crawls.
BLOCK = 4


def block_mean(values: npt.ArrayLike, block: int = BLOCK) -> tuple[float, float]:
    """Mean of a series whose neighbours share crawls, and its standard error from means of blocks.

    The variance of a block's mean is half the mean squared difference of neighbouring blocks (von Neumann),
    in which a change of regime within the series counts once and not in every block.

    Parameters
    ----------
    values
        Shape (n,), in time order; NaN (unknown) is left out.
    block
        Least number of consecutive known values in a block; a remainder makes blocks longer.

    Returns
    -------
    Mean, NaN when nothing is known, and its standard error, NaN when there are fewer than two blocks.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    mean = float(known.mean()) if known.size else np.nan
    n_blocks = known.size // block
    if n_blocks < 2:
        return mean, np.nan
    steps = np.diff([part.mean() for part in np.array_split(known, n_blocks)])
    return mean, float(np.sqrt(np.mean(steps**2) / 2 / n_blocks))
