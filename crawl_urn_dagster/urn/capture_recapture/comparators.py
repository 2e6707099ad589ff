"""Apply every comparator to the capture histories of a collection.

Defines Heaps' law only; see `closed_populations`, `closed_models` and `unseen_elements` for the other estimators.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.capture_recapture.closed_models import m0, mb, mh_darroch, mh_poisson2, mt
from crawl_urn_dagster.urn.capture_recapture.closed_populations import chapman, petersen, schnabel, schumacher_eschmeyer
from crawl_urn_dagster.urn.capture_recapture.comparator import Comparator, comparator
from crawl_urn_dagster.urn.capture_recapture.unseen_elements import chao1, chao2, good_turing

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts


def heaps(crawls: npt.ArrayLike, distinct: npt.ArrayLike, name: str = "heaps") -> Comparator:
    """Fit Heaps' law U ∝ T^b by least squares of logarithms; the estimate is b.

    Parameters
    ----------
    crawls
        Numbers of crawls T, each at least 1, shape (n_windows,).
    distinct
        Distinct elements U in the first T crawls, shape (n_windows,).
    name
        Name of the result.

    Returns
    -------
    Comparator
        Estimate of b, without a standard error.

    References
    ----------
    Heaps, H. S. (1978). Information Retrieval: Computational and Theoretical Aspects. Academic Press.

    Examples
    --------
    >>> round(heaps([1, 2, 4], [100, 150, 225]).estimate, 3)
    0.585
    """
    lengths, elements = np.asarray(crawls, dtype=np.float64), np.asarray(distinct, dtype=np.float64)
    lengths, elements = lengths[elements > 0], elements[elements > 0]
    known = lengths.size > 1
    estimate = float(np.polyfit(np.log(lengths), np.log(elements), 1)[0]) if known else np.nan
    reason = "Windows share crawls, so the residuals give no standard error."
    few = "Fewer than two windows contain an element."
    return comparator("heaps", estimate, np.nan, np.nan, np.nan, reason=reason if known else few, name=name)


def comparators(counts: CaptureHistoryCounts) -> tuple[Comparator, ...]:
    """Apply every comparator to capture histories of at least one crawl.

    Estimators of two crawls are applied to the last two crawls (lag 1), and to the first and the last crawl. Heaps' law
    is fitted to all windows that start at the first crawl, and to the shorter and the longer half of them.

    Parameters
    ----------
    counts
        Elements of each capture history.

    Returns
    -------
    tuple of Comparator
        One result per estimator and choice of crawls.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import simulate
    >>> counts = simulate(times=[0, 1, 2], core=0, shell=1000, alpha=0.9, coverage=0.5, seed=1).counts()
    >>> [result.name for result in comparators(counts)][:3]
    ['petersen_lag_1', 'petersen_lag_2', 'chapman_lag_1']
    """
    shared = counts.intersections()
    sizes, distinct, frequencies = np.diagonal(shared), counts.unions()[0], counts.capture_frequencies()
    n = counts.n_crawls
    marked = np.append(0, distinct[:-1])
    recaptured = sizes - (distinct - marked)
    lengths = np.arange(1, n + 1)
    pairs = [(lag, n - 1 - lag) for lag in sorted({1, n - 1}) if 0 < lag < n]
    lincoln_petersen = [
        replace(
            estimator(int(sizes[first]), int(sizes[-1]), int(shared[first, -1])), name=f"{estimator.__name__}_lag_{lag}"
        )
        for estimator in (petersen, chapman)
        for lag, first in pairs
    ]
    return (
        *lincoln_petersen,
        schnabel(sizes, recaptured, marked),
        schumacher_eschmeyer(sizes, recaptured, marked),
        m0(frequencies),
        mt(sizes, counts.distinct_elements),
        mh_poisson2(frequencies),
        mh_darroch(frequencies),
        mb(sizes - recaptured),
        chao1(frequencies),
        chao2(frequencies, n),
        *good_turing(frequencies),
        heaps(lengths, distinct),
        heaps(lengths[: (n + 1) // 2], distinct[: (n + 1) // 2], "heaps_first_half"),
        heaps(lengths[n // 2 :], distinct[n // 2 :], "heaps_second_half"),
    )
