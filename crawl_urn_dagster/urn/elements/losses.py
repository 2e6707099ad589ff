"""Test whether losses are concentrated in one of several groups.

Does not find the losses; see `posterior`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray

_LEVEL = 0.01
_FEWEST_LOST = 5
_RELEVANT_EXCESS = 0.1


class Concentration(NamedTuple):
    """Result for each group, of shape (groups,).

    Attributes
    ----------
    p_value
        Probability of at least as many losses if all elements are lost with the same probability, corrected for the
        number of groups by Holm's method.
    is_concentrated
        Whether the p-value is below 0.01, at least 5 elements are lost, and the group's share of the losses exceeds its
        share of the elements by at least 0.1.
    """

    p_value: FloatArray
    is_concentrated: BoolArray


def concentration(expected: IntArray, lost: IntArray) -> Concentration:
    """Test each group for more losses than chance allows.

    Parameters
    ----------
    expected
        Elements of each group, shape (groups,).
    lost
        Lost elements of each group.

    Examples
    --------
    >>> found = concentration(np.array([100, 100, 100]), np.array([12, 1, 1]))
    >>> found.is_concentrated.tolist()
    [True, False, False]
    """
    from scipy.stats import hypergeom  # imported here, because it takes half a second

    total, n_lost = int(expected.sum()), int(lost.sum())
    single = np.asarray(hypergeom.sf(lost - 1, total, expected, n_lost))
    order = np.argsort(single, kind="stable")
    stepped = single[order] * (len(single) - np.arange(len(single)))
    p_value = np.empty(len(single))
    p_value[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    excess = lost / max(n_lost, 1) - expected / max(total, 1)
    return Concentration(p_value, (p_value < _LEVEL) & (lost >= _FEWEST_LOST) & (excess >= _RELEVANT_EXCESS))
