"""Find the gap at which the scope of a collection changes: many elements leave or enter at once.

Does not fit a model; the caller gives the expected elements of a core and shell without a break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray

_FEWEST_ELEMENTS = 25.0
_SHARE_OF_UBIQUITOUS = 0.005
_TIMES_OTHER_GAPS = 4.0
_STANDARD_ERRORS = 4.0


class ScopeBreak(NamedTuple):
    """A break of scope, and the evidence at each gap; arrays of shape (max(n_crawls - 1, 0),).

    Attributes
    ----------
    crawl
        First crawl after the break; None without a break.
    left
        Elements beyond expectation that were captured by every crawl before the gap and by none after it.
    entered
        Elements beyond expectation that were captured by every crawl after the gap and by none before it.
    """

    crawl: int | None
    left: FloatArray
    entered: FloatArray

    @property
    def is_tested(self) -> bool:
        """Whether at least two gaps have two crawls on each side."""
        return self.left.size > 3

    @property
    def longer_side(self) -> slice:
        """Crawls of the longer side of the break, the later one if both are equal; all crawls without a break."""
        n_crawls = self.left.size + 1
        if self.crawl is None:
            return slice(0, n_crawls)
        return slice(self.crawl, n_crawls) if 2 * self.crawl <= n_crawls else slice(0, self.crawl)


def find_scope_break(observed: FloatArray, expected: FloatArray) -> ScopeBreak:
    """Find the gap before and after which more elements than expected were captured by every crawl of one side only.

    There is a break if the elements beyond expectation exceed 25, 0.5 % of the elements in all crawls, 4 standard
    errors and 4 times those of any other gap. The first and the last gap are not compared: a single crawl on one side
    does not distinguish a change of scope from elements that live for one crawl or from a truncated crawl.

    Parameters
    ----------
    observed, expected
        Elements by first capture, last capture and captures, shape (n_crawls, n_crawls, n_crawls + 1); see
        `cells.expected_cells`. The expected elements are of a fitted core and shell.

    Returns
    -------
    ScopeBreak
        The break, or None, with the evidence.

    Examples
    --------
    >>> import numpy as np
    >>> observed = np.zeros((5, 5, 6))
    >>> observed[0, 4, 5], observed[0, 1, 2], observed[2, 4, 3] = 900, 50, 50
    >>> find_scope_break(observed, np.zeros((5, 5, 6))).crawl
    2
    """
    n_crawls = observed.shape[0]
    gap = np.arange(1, n_crawls)
    only_before, only_after = (0, gap - 1, gap), (gap, n_crawls - 1, n_crawls - gap)
    if n_crawls < 2:
        return ScopeBreak(None, np.zeros(0), np.zeros(0))
    left, entered = ((observed - expected)[cells] for cells in (only_before, only_after))
    result = ScopeBreak(None, left, entered)
    if not result.is_tested:
        return result
    inner = (left + entered)[1:-1]
    largest = int(inner.argmax())
    threshold = max(
        _FEWEST_ELEMENTS,
        _SHARE_OF_UBIQUITOUS * observed[0, n_crawls - 1, n_crawls],
        _TIMES_OTHER_GAPS * np.delete(inner, largest).max(),
        _STANDARD_ERRORS * np.sqrt(expected[only_before] + expected[only_after])[1 + largest],
    )
    return result._replace(crawl=largest + 2) if inner[largest] > threshold else result
