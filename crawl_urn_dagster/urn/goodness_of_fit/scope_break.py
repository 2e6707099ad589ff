"""Find the gap at which the scope of a collection changes: many elements leave or enter at once.

Does not fit a model. For independent draws the caller gives the expected elements of a core and shell without a break;
where absence comes in runs, each gap is compared with the other gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logit

from crawl_urn_dagster.urn.data.histories import count_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, FloatArray, IntArray
    from crawl_urn_dagster.urn.open_population.classes import PopulationClass

_FEWEST_ELEMENTS = 25.0
_SHARE_OF_UBIQUITOUS = 0.005
_TIMES_OTHER_GAPS = 4.0
_STANDARD_ERRORS = 4.0
# Crawls after a gap that must all miss an element before it counts as gone; at most this share of all crawls.
_MOST_MISSES, _SHARE_OF_MISSES = 8, 3
_FEWEST_MISSES = 5
_FEWEST_OTHER_GAPS = 6
_RELEVANT_SHARE = 0.05
_TIMES_OTHER_SHARES = 1.5
# Distance from the median of the other gaps, in robust standard deviations on the logit scale.
_FAR = 4.0
_NORMAL_MAD = 1.4826


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


class Runs(NamedTuple):
    """Elements without a miss between their first and their last capture, of which one is by the first or last crawl.

    Attributes
    ----------
    before, after
        Elements captured by exactly the crawls before, and by exactly those after each gap, shape (n_crawls - 1,).
    in_all
        Elements captured by every crawl.
    """

    before: FloatArray
    after: FloatArray
    in_all: float


def runs_of_cells(cells: FloatArray) -> Runs:
    """Select runs from elements by first capture, last capture and captures, shape (n, n, n + 1); see `cells`."""
    n = cells.shape[0]
    gap = np.arange(1, n)
    if n == 0:
        return Runs(np.zeros(0), np.zeros(0), 0.0)
    return Runs(cells[0, gap - 1, gap], cells[gap, n - 1, n - gap], float(cells[0, n - 1, n]))


def observed_runs(counts: CaptureHistoryCounts) -> Runs:
    """Count the runs of capture histories."""
    n, (first, last, captures, elements) = counts.n_crawls, count_cells(counts)
    is_run = captures == last - first + 1
    before, after = np.zeros((2, n))
    np.add.at(before, last[is_run & (first == 0)], elements[is_run & (first == 0)])
    np.add.at(after, first[is_run & (last == n - 1)], elements[is_run & (last == n - 1)])
    return Runs(before[:-1], after[1:], float(counts.in_all))


def expected_runs(classes: Sequence[PopulationClass]) -> Runs:
    """Compute the expected runs, if each class draws every crawl independently."""
    n = len(classes[0].coverage)
    before, after = np.zeros((2, n))
    for group in classes:
        new = group.eligible * group.never_before * group.coverage
        again = group.survival * group.coverage[1:]
        before += new[0] * np.append(1.0, again.cumprod()) * group.never_again
        after += new * np.append(again[::-1].cumprod()[::-1], 1.0)
    return Runs(before[:-1], after[1:], float(after[0]))


def find_scope_break(observed: Runs, expected: Runs, *, with_steps: bool = True) -> ScopeBreak:
    """Find the gap before and after which more elements than expected were captured by every crawl of one side only.

    There is a break if the elements beyond expectation exceed 25, 0.5 % of the elements in all crawls, 4 standard
    errors and 4 times those of any other gap. The first and the last gap are not compared: a single crawl on one side
    does not distinguish a change of scope from elements that live for one crawl or from a truncated crawl.

    Elements that stop being captured by every crawl without leaving are lost one by one after the break. With steps,
    there is therefore also a break if the elements that left exceed those of any earlier gap in this way, or the
    elements that entered those of any later gap.

    Parameters
    ----------
    observed, expected
        Runs; the expected ones are of a fitted core and shell.
    with_steps
        Whether such steps count. Absence in runs looks like them.

    Returns
    -------
    ScopeBreak
        The break, or None, with the evidence.

    Examples
    --------
    >>> import numpy as np
    >>> observed = np.zeros((5, 5, 6))
    >>> observed[0, 4, 5], observed[0, 1, 2], observed[2, 4, 3] = 900, 50, 50
    >>> find_scope_break(runs_of_cells(observed), runs_of_cells(np.zeros((5, 5, 6)))).crawl
    2
    """
    left, entered = observed.before - expected.before, observed.after - expected.after
    result = ScopeBreak(None, left, entered)
    if not result.is_tested:
        return result
    least = max(_FEWEST_ELEMENTS, _SHARE_OF_UBIQUITOUS * observed.in_all)
    se_left, se_entered = np.sqrt(expected.before), np.sqrt(expected.after)
    both = left + entered
    at = int(both[1:-1].argmax()) + 1
    others = np.delete(both[1:-1], at - 1)
    if both[at] > max(least, _exceeds(others, float(np.hypot(se_left, se_entered)[at]))):
        return result._replace(crawl=at + 1)
    if not with_steps:
        return result
    steps = []
    for excess, se, is_loss in ((left, se_left, True), (entered, se_entered, False)):
        at = int(excess[1:-1].argmax()) + 1
        others = excess[1:at] if is_loss else excess[at + 1 : -1]
        if others.size and excess[at] > max(least, _exceeds(others, float(se[at]))):
            steps.append((float(excess[at]), at + 1))
    return result._replace(crawl=max(steps)[1]) if steps else result


def _exceeds(others: FloatArray, se: float) -> float:
    """Return the excess above which a gap differs from other gaps by more than chance."""
    return max(_TIMES_OTHER_GAPS * float(others.max()), _STANDARD_ERRORS * se)


class MassChange(NamedTuple):
    """A gap at which many more elements leave permanently, or are new, than at any other gap.

    Attributes
    ----------
    crawl
        First crawl after the gap; None without such a gap.
    share
        Share of the crawl before the gap that left, or minus the share of the crawl after it that is new, beyond the
        median of the other gaps; NaN without such a gap.
    """

    crawl: int | None
    share: float


def find_mass_change(histories: CaptureHistoryCounts) -> MassChange:
    """Find the gap that many more elements than usual do not survive, or at which many more are new.

    An element has left if it is captured by the last crawl before a gap and missed by up to eight crawls after it.
    A temporary absence counts alike at every gap, so the other gaps with as many crawls after them are the standard. A
    gap stands out if the share beyond their median exceeds 5 % of the crawl, 25 elements, and 1.5 times that of any
    other gap, and its logit is more than four robust standard deviations from the median. New elements are those that
    left when time runs backwards.

    Parameters
    ----------
    histories
        Elements of each capture history.

    Examples
    --------
    >>> import numpy as np
    >>> from crawl_urn_dagster.urn import CaptureHistoryCounts
    >>> seen = np.ones((3, 16), dtype=bool)
    >>> seen[1, 9:] = seen[2, 4] = False
    >>> find_mass_change(CaptureHistoryCounts(seen, np.array([700, 200, 100]))).crawl
    9
    """
    left = _standing_out(histories.seen, histories.elements)
    entered = _standing_out(histories.seen[:, ::-1], histories.elements)
    if entered.crawl is not None and (left.crawl is None or entered.share > left.share):
        return MassChange(histories.n_crawls - entered.crawl, -entered.share)
    return left


def _standing_out(seen: BoolArray, elements: IntArray) -> MassChange:
    n = seen.shape[1]
    most = min(_MOST_MISSES, n // _SHARE_OF_MISSES)
    excess, is_far = np.zeros(n), np.zeros(n, dtype=np.bool_)
    sizes = elements @ seen
    for misses in range(_FEWEST_MISSES, most + 1):
        gaps = np.arange(1, n - misses + 1)
        if len(gaps) <= _FEWEST_OTHER_GAPS:
            continue
        gone = np.array([elements @ (seen[:, g - 1] & ~seen[:, g : g + misses].any(axis=1)) for g in gaps])
        share = gone / np.maximum(sizes[gaps - 1], 1)
        scaled = logit((gone + 0.5) / (sizes[gaps - 1] + 1))
        # The last gaps have fewer crawls after them, and each gap is compared with as many as it has.
        for g in gaps if misses == most else gaps[-1:]:
            others = np.delete(scaled, g - 1)
            spread = _NORMAL_MAD * np.median(abs(others - np.median(others)))
            excess[g] = share[g - 1] - np.median(np.delete(share, g - 1))
            is_far[g] = scaled[g - 1] - np.median(others) > _FAR * spread
    largest = int(excess.argmax())
    next_largest = np.delete(excess, largest).max(initial=0.0)
    is_relevant = excess[largest] > max(_RELEVANT_SHARE, _TIMES_OTHER_SHARES * next_largest)
    # Fewer crawls before a gap do not show that the elements were there to stay.
    if largest < _FEWEST_MISSES or not (is_relevant and is_far[largest]):
        return MassChange(None, np.nan)
    if excess[largest] * sizes[largest - 1] <= _FEWEST_ELEMENTS:
        return MassChange(None, np.nan)
    return MassChange(largest, float(excess[largest]))
