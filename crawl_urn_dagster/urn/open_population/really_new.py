"""Bound the share of first captures that appeared since the previous crawl.

Does not fit (see `ladder`) or estimate intervals (see `quantities`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.open_population.classes import PopulationClass

#: Smallest and largest ratio of the coverage of elements in their first crawl to that in later crawls.
NEWBORN_COVERAGE = (1 / 3, 1.5)
_EDGE = 1e-12


class ReallyNew(NamedTuple):
    """Share of first captures that appeared since the crawl before, over assumptions that no test can check.

    Attributes
    ----------
    lowest
        New elements are covered less than others, and no crawl before the window captured elements.
    fitted
        New elements are covered as others, and crawls before the window captured elements as those in it did.
    highest
        New elements are covered more than others, and crawls before the window captured as above.
    """

    lowest: float
    fitted: float
    highest: float


def bound_really_new(classes: Sequence[PopulationClass]) -> ReallyNew:
    """Return the share of first captures that appeared since the crawl before, with its ends over the assumptions.

    N(1 - α) elements of a class with survival α and coverage c appear per crawl, which captures Nc(1 - α) of
    them. Its first captures are Nc(1 - α) / (1 - α(1 - c)) in the long run. Without crawls before the window they are
    more, because the first crawls capture older elements for the first time. Histories determine the first captures
    but not the ratio r of the coverage of elements in their first crawl to that in later crawls; with it,
    r / (α + r(1 - α)) times as many elements are new.

    Parameters
    ----------
    classes
        Fitted classes. A core is captured by every crawl, so its ratio is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from crawl_urn_dagster.urn.open_population.classes import PopulationClass
    >>> shell = PopulationClass("shell", np.full(9, 100.0), np.full(8, 0.75), np.full(9, 0.6))
    >>> [round(share, 3) for share in bound_really_new([shell])]
    [0.255, 0.7, 0.933]
    """
    new, first, new_in_window, first_in_window = (np.zeros(len(classes)) for _ in range(4))
    factors = np.ones((2, len(classes)))
    for k, one in enumerate(classes):
        births = np.maximum(one.eligible[1:] - one.eligible[:-1] * one.survival, 0.0)
        coverage, eligible = float(one.coverage.mean()), float(one.eligible[1:].mean())
        turnover = min(float(births.mean()) / max(eligible, _EDGE), 1.0)
        new[k] = eligible * turnover * coverage
        first[k] = new[k] / max(1 - (1 - turnover) * (1 - coverage), _EDGE)
        new_in_window[k] = births @ one.coverage[1:]
        first_in_window[k] = (one.eligible * one.coverage * one.never_before)[1:].sum()
        if one.name != "core":
            ratios = np.minimum(NEWBORN_COVERAGE, 1 / max(coverage, _EDGE))
            factors[:, k] = ratios / (1 - turnover * (1 - ratios))
    return ReallyNew(
        _share(factors[0] @ new_in_window, first_in_window.sum()),
        _share(new.sum(), first.sum()),
        _share(factors[1] @ new, first.sum()),
    )


def _share(part: float, whole: float) -> float:
    """Return the quotient, 0 of nothing; rounding can leave a part above the whole."""
    return min(float(part / whole), 1.0) if whole > 0 else 0.0
