"""Predict captures of single elements by simple rules, against which a model is compared.

Does not score predictions; see `scores`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln

from crawl_urn_dagster.urn.data.histories import first_and_last

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, FloatArray, IntArray

_BOUNDS = ((-7.0, 7.0),) * 4
_TINY = 1e-300


def last_time(histories: CaptureHistoryCounts, ahead: Sequence[int]) -> FloatArray:
    """Predict by whether the last crawl captured an element: the share of such elements captured later, so far.

    Parameters
    ----------
    histories
        Elements of each capture history up to the crawl from which to predict.
    ahead
        Numbers of crawls ahead, each at least 1.

    Returns
    -------
    ndarray
        Probabilities, shape (len(ahead), n_histories).

    Examples
    --------
    >>> from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
    >>> histories = CaptureHistoryCounts(np.array([[1, 1, 1], [1, 1, 0]], dtype=bool), np.array([60, 39]))
    >>> last_time(histories, [1]).round(3)
    array([[0.802, 0.5  ]])
    """
    seen, elements = histories.seen, histories.elements
    is_known = np.maximum.accumulate(seen, axis=1)
    result = []
    for crawls in ahead:
        now, later, known = seen[:, :-crawls], seen[:, crawls:], is_known[:, :-crawls]
        shares = []
        for is_captured in (False, True):
            weight = elements[:, None] * (known & (now == is_captured))
            # Half an element of each outcome keeps the share inside (0, 1).
            shares.append(((weight * later).sum() + 0.5) / (weight.sum() + 1))
        result.append(np.where(seen[:, -1], shares[1], shares[0]))
    return np.array(result)


def share_of_crawls(histories: CaptureHistoryCounts, ahead: Sequence[int]) -> FloatArray:
    """Predict by the share of the crawls that captured an element; parameters and result as in `last_time`.

    Examples
    --------
    >>> from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
    >>> share_of_crawls(CaptureHistoryCounts(np.array([[1, 1, 0]], dtype=bool), np.array([1])), [1, 3])
    array([[0.625],
           [0.625]])
    """
    share = (histories.seen.sum(axis=1) + 0.5) / (histories.n_crawls + 1)
    return np.broadcast_to(share, (len(ahead), len(share))).copy()


class _Customers(NamedTuple):
    """Distinct numbers of recaptures, of crawls from the first to the last capture, and of crawls since the first.

    All have shape (rows,); ``elements`` is the number of elements of each row, and ``row`` has the row of each history.
    """

    recaptures: IntArray
    recency: IntArray
    opportunities: IntArray
    elements: FloatArray
    row: IntArray


def bg_bb(histories: CaptureHistoryCounts, ahead: Sequence[int]) -> FloatArray:
    """Predict by the BG/BB model, fitted to the histories; parameters and result as in `last_time`.

    Elements are captured independently with a coverage from a beta distribution, and die with a probability per crawl
    from another. Predictions depend on the number of captures and the last one only.

    References
    ----------
    Fader, Hardie and Shang, Customer-Base Analysis in a Discrete-Time Noncontractual Setting, Marketing Science 29(6),
    2010, equations 5 and 11.

    Examples
    --------
    >>> from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
    >>> seen = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0]], dtype=bool)
    >>> captured_always, gone, returned = bg_bb(CaptureHistoryCounts(seen, np.array([50, 40, 10])), [1])[0]
    >>> bool(captured_always > returned > gone)
    True
    """
    customers = _count_customers(histories.seen, histories.elements)
    found = minimize(_negative_log_likelihood, np.zeros(4), args=(customers,), method="L-BFGS-B", bounds=_BOUNDS)
    a, b, g, d = np.exp(found.x)
    x, _, n, _, row = customers
    likelihood = np.maximum(_likelihood(found.x, customers), _TINY)
    captured = np.exp(betaln(a + x + 1, b + n - x) - betaln(a, b))
    alive = np.array([np.exp(betaln(g, d + n + crawls) - betaln(g, d)) for crawls in ahead])
    return np.asarray(np.minimum(captured * alive / likelihood, 1.0)[:, row])


def _count_customers(seen: BoolArray, elements: IntArray) -> _Customers:
    n_crawls = seen.shape[1]
    first, last = first_and_last(seen)
    keys = np.array([seen.sum(axis=1) - 1, last - first, n_crawls - 1 - first])
    (recaptures, recency, opportunities), row = np.unique(keys, axis=1, return_inverse=True)
    total = np.bincount(row.ravel(), weights=elements).astype(np.float64)
    return _Customers(recaptures, recency, opportunities, total, row.ravel())


def _likelihood(logs: FloatArray, customers: _Customers) -> FloatArray:
    """Return the probability of each row, with the parameters (a, b) of captures and (g, d) of deaths as logarithms."""
    a, b, g, d = np.exp(logs)
    x, recency, n, _, _ = customers
    largest = int(n.max(initial=0))
    crawls = np.arange(largest + 1)
    # Entry (x, m): x captures in the first m crawls, and death before the next. Sums start with the smallest terms.
    with np.errstate(invalid="ignore"):
        captures = betaln(a + crawls[:, None], b + np.maximum(crawls - crawls[:, None], 0)) - betaln(a, b)
    died = np.exp(captures + betaln(g + 1, d + crawls) - betaln(g, d))
    from_crawl = np.pad(died[:, ::-1].cumsum(axis=1)[:, ::-1], ((0, 0), (0, 1)))
    alive = np.exp(captures[x, n] + betaln(g, d + n) - betaln(g, d))
    return np.asarray(alive + from_crawl[x, recency] - from_crawl[x, n])


def _negative_log_likelihood(logs: FloatArray, customers: _Customers) -> float:
    likelihood = np.maximum(_likelihood(logs, customers), _TINY)
    return -float(customers.elements @ np.log(likelihood) / max(customers.elements.sum(), 1))
