"""Test whether elements return more often after two crawls than after one, which the urn model does not allow.

Does not fit urns (see `fits`) and does not count recaptures (see `histories`).

Under any mixture of urns with coverage constant in time, neither the fraction h(j) of a crawl that is first captured
again j crawls later nor the containment g(j) rises with j. If a crawler avoids recently fetched elements, they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.data.block_means import BLOCK, block_mean

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray

Rule = Literal["first_returns", "containment"]

_RISE = 0.02
# Start crawls of the least number of blocks that gives a standard error.
_FEWEST_STARTS = 2 * BLOCK
#: Fewest crawls that can be tested: the last start crawl needs two more.
FEWEST_CRAWLS_FOR_RULE = _FEWEST_STARTS + 2
_STANDARD_ERRORS = 3
_RISES: dict[Rule, str] = {
    "first_returns": "first return more often after 2 crawls than after 1",
    "containment": "return more often after 2 crawls than after 1",
}


class FirstReturns(NamedTuple):
    """Fractions of a crawl that first return after each lag; arrays of shape (n_lags,).

    Attributes
    ----------
    lag
        Crawls until the next capture, for lags that are known for at least one start crawl.
    fraction
        First-return fraction h(lag), a mean over start crawls, in [0, 1].
    fraction_se
        Its standard error; NaN with fewer than two blocks of start crawls.
    n_starts
        Number of start crawls for which the lag is known.
    """

    lag: IntArray
    fraction: FloatArray
    fraction_se: FloatArray
    n_starts: IntArray


@dataclass(frozen=True)
class Violation:
    """Result of the violation rule.

    Attributes
    ----------
    rule
        Compared quantity: ``first_returns`` or ``containment``.
    difference, se
        Mean over start crawls of the value at lag 2 minus the value at lag 1, and its standard error; NaN if unknown.
    violated
        Whether the difference exceeds 0.02 and three standard errors; None if it has no standard error.
    reason
        The result as a sentence with its numbers.

    Examples
    --------
    See `apply_violation_rule`.
    """

    rule: Rule
    difference: float
    se: float
    violated: bool | None
    reason: str


def first_returns(sizes: npt.ArrayLike, recaptures: npt.ArrayLike) -> FirstReturns:
    """Compute the first-return fractions, h(j) = mean over i of r_(i,i+j)/M_i.

    Parameters
    ----------
    sizes
        Elements M_t of each crawl, shape (n_crawls,).
    recaptures
        Elements r_ij captured by crawl i and next captured by crawl j, shape (n_crawls, n_crawls); NaN where unknown.
        Only entries above the diagonal are read.

    Returns
    -------
    FirstReturns
        Fractions, standard errors and numbers of start crawls at the known lags.

    Examples
    --------
    >>> first_returns([10, 10, 10], [[0, 4, 2], [0, 0, 6], [0, 0, 0]]).fraction.tolist()
    [0.5, 0.2]
    """
    rows = []
    for lag in range(1, np.size(sizes)):
        values = _fractions(sizes, recaptures, lag)
        if not np.isnan(values).all():
            rows.append((lag, *block_mean(values), np.count_nonzero(~np.isnan(values))))
    lags, fractions, errors, starts = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return FirstReturns(lags.astype(np.int64), fractions, errors, starts.astype(np.int64))


def apply_violation_rule(rule: Rule, sizes: npt.ArrayLike, counts: npt.ArrayLike) -> Violation:
    """Test whether the value at lag 2 exceeds the value at lag 1 by more than 0.02 and three standard errors.

    Parameters
    ----------
    rule
        ``first_returns`` compares h(1) with h(2), ``containment`` compares g(1) with g(2).
    sizes
        Elements M_t of each crawl, shape (n_crawls,).
    counts
        Recaptures r_ij for ``first_returns``, intersections for ``containment``, shape (n_crawls, n_crawls); NaN where
        unknown. Only entries above the diagonal are read.

    Returns
    -------
    Violation
        The difference and whether it violates the rule.

    Examples
    --------
    >>> import numpy as np
    >>> shared = 50 * np.eye(12, k=1) + 20 * np.eye(12, k=2)
    >>> apply_violation_rule("containment", np.full(12, 100), shared).violated
    False
    """
    at_two = _fractions(sizes, counts, 2)
    rises = at_two - _fractions(sizes, counts, 1)[: at_two.size]
    difference, se = block_mean(rises)
    if np.isnan(se):
        known = np.count_nonzero(~np.isnan(rises))
        reason = (
            f"{known} start crawls have values at lags 1 and 2; the violation test needs {_FEWEST_STARTS}, so at least "
            f"{FEWEST_CRAWLS_FOR_RULE} crawls."
        )
        return Violation(rule, difference, se, violated=None, reason=reason)
    violated = difference > max(_RISE, _STANDARD_ERRORS * se)
    measured = f"(difference {difference:.3f} ± {se:.3f}; allowed: {_RISE} and {_STANDARD_ERRORS} standard errors)"
    reason = (
        f"Elements {_RISES[rule]} {measured}. "
        "The crawler avoids recently fetched elements, so an urn with constant coverage does not fit."
        if violated
        else f"Elements do not {_RISES[rule]} {measured}."
    )
    return Violation(rule, difference, se, violated, reason)


def _fractions(sizes: npt.ArrayLike, counts: npt.ArrayLike, lag: int) -> FloatArray:
    """Divide counts of crawls i and i + lag by the size of i, shape (n_crawls - lag,); NaN for an empty crawl."""
    size = np.asarray(sizes, dtype=np.float64)
    at_lag = np.diagonal(np.asarray(counts, dtype=np.float64), lag)
    return at_lag / np.where(size > 0, size, np.nan)[: at_lag.size]
