"""When no urn fits: elements that return more often after two crawls than after one.

Here: first-return fractions, means over overlapping windows with their standard errors, and the violation
rule. Not here: fits (`fits`), or where counts come from (`histories`).

Under any mixture of urns with coverage constant in time, neither the fraction h(j) of a crawl that is first
seen again j crawls later nor the containment g(j) rises with j. Under a crawler that avoids what it fetched
recently they do.
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
_STANDARD_ERRORS = 3
_RISES: dict[Rule, str] = {
    "first_returns": "first return more often after 2 crawls than after 1",
    "containment": "reappear more often 2 crawls later than in the next",
}


class FirstReturns(NamedTuple):
    """How soon a crawl's elements are seen again; arrays of shape (lags,).

    Attributes
    ----------
    lag
        Crawls until the next capture, those that are known for some start crawl.
    fraction
        h(lag), mean over start crawls of the fraction of a crawl that is first seen again at the lag.
    fraction_se
        Its standard error; NaN with fewer than two blocks of start crawls.
    n_starts
        Start crawls for which the lag is known.
    """

    lag: IntArray
    fraction: FloatArray
    fraction_se: FloatArray
    n_starts: IntArray


@dataclass(frozen=True)
class Violation:
    """Verdict of the violation rule.

    Attributes
    ----------
    rule
        What was compared at lags 1 and 2: ``first_returns`` or ``containment``.
    difference, se
        Mean over start crawls of the value at lag 2 less that at lag 1, and its standard error; NaN when
        unknown.
    violated
        Whether the difference exceeds 0.02 and three standard errors; None when it has no standard error.
    reason
        The verdict as a sentence with its numbers.
    """

    rule: Rule
    difference: float
    se: float
    violated: bool | None
    reason: str


def first_returns(sizes: npt.ArrayLike, recaptures: npt.ArrayLike) -> FirstReturns:
    """First-return fractions, h(j) = mean over i of r_(i,i+j)/M_i.

    Parameters
    ----------
    sizes
        M_t, shape (crawls,).
    recaptures
        r_ij, captured in i and next captured in j, shape (crawls, crawls); NaN where unknown. Only what is
        above the diagonal is read.
    """
    lags, fractions, errors, starts = [], [], [], []
    for lag in range(1, np.size(sizes)):
        values = _fractions(sizes, recaptures, lag)
        n_starts = np.count_nonzero(~np.isnan(values))
        if n_starts:
            mean, se = block_mean(values)
            lags.append(lag)
            fractions.append(mean)
            errors.append(se)
            starts.append(n_starts)
    return FirstReturns(
        np.array(lags, dtype=np.int64),
        np.array(fractions),
        np.array(errors),
        np.array(starts, dtype=np.int64),
    )


def apply_violation_rule(rule: Rule, sizes: npt.ArrayLike, counts: npt.ArrayLike) -> Violation:
    """Apply the violation rule: whether the value at lag 2 exceeds that at lag 1.

    Parameters
    ----------
    rule
        ``first_returns``: compare h(1) and h(2). ``containment``: compare g(1) and g(2).
    sizes
        M_t, shape (crawls,).
    counts
        r_ij for ``first_returns``, the intersections of crawls i and j for ``containment``; shape
        (crawls, crawls), NaN where unknown. Only what is above the diagonal is read.
    """
    at_two = _fractions(sizes, counts, 2)
    rises = at_two - _fractions(sizes, counts, 1)[: at_two.size]
    difference, se = block_mean(rises)
    if np.isnan(se):
        known = np.count_nonzero(~np.isnan(rises))
        reason = f"{known} start crawls have lags 1 and 2; judging violation needs {2 * BLOCK}."
        return Violation(rule, difference, se, violated=None, reason=reason)
    violated = difference > max(_RISE, _STANDARD_ERRORS * se)
    measured = f"{difference:.3f} ± {se:.3f} (threshold {_RISE} and {_STANDARD_ERRORS} standard errors)"
    reason = (
        f"Elements {_RISES[rule]}, by {measured}; "
        "the crawler avoids recent fetches, so no urn with constant coverage fits."
        if violated
        else f"Elements do not {_RISES[rule]}: the difference is {measured}."
    )
    return Violation(rule, difference, se, violated, reason)


def _fractions(sizes: npt.ArrayLike, counts: npt.ArrayLike, lag: int) -> FloatArray:
    """Divide counts of crawls i and i + lag by the size of i, shape (crawls - lag,); NaN for no elements."""
    size = np.asarray(sizes, dtype=np.float64)
    at_lag = np.diagonal(np.asarray(counts, dtype=np.float64), lag)
    return at_lag / np.where(size > 0, size, np.nan)[: at_lag.size]
