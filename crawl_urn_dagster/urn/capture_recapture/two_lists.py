"""Bound the abundance of a closed population from two lists that may depend on each other.

Two lists alone never show their dependence: it is set as an odds ratio, or measured where a register or a third list
holds elements whatever the two lists do. Does not fit models of several lists (see `loglinear`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.capture_recapture.loglinear import list_patterns
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    import numpy.typing as npt

#: Odds ratios between 1 divided by this number and this number are near independence: the estimated number of elements
#: on neither list is then off by this factor at most.
NEAR_INDEPENDENCE = 1.25


class OddsRatio(NamedTuple):
    """Odds ratio of two lists, with its 95 % confidence interval; 1: independent."""

    estimate: float
    low: float
    high: float

    @property
    def is_near_one(self) -> bool:
        """Whether the whole interval is near independence."""
        return bool(self.low >= 1 / NEAR_INDEPENDENCE and self.high <= NEAR_INDEPENDENCE)

    @property
    def is_known(self) -> bool:
        """Whether the odds ratio can be estimated."""
        return bool(np.isfinite(self.estimate))


class Band(NamedTuple):
    """Abundance under a range of odds ratios, with the 95 % sampling error at both ends."""

    low: float
    high: float


class TwoLists(NamedTuple):
    """Elements on two lists.

    Attributes
    ----------
    first_only, second_only, both
        Elements on one list only, and on both.
    """

    first_only: float
    second_only: float
    both: float

    @property
    def captured(self) -> float:
        """Elements on at least one list."""
        return self.first_only + self.second_only + self.both

    def after_losses(self, survival: float, *, first_is_earlier: bool) -> TwoLists:
        """Return the lists at the time of the later one, without the lost elements of the earlier one.

        Parameters
        ----------
        survival
            Probability that an element of the earlier list is still eligible at the time of the later one.
        first_is_earlier
            Whether the first list is the earlier one.
        """
        alone = self.first_only if first_is_earlier else self.second_only
        kept = max((alone + self.both) * survival - self.both, 0.0)
        return self._replace(first_only=kept) if first_is_earlier else self._replace(second_only=kept)

    def unseen(self, odds_ratio: float = 1.0) -> float:
        """Return the expected elements on neither list; NaN without an element on both.

        Examples
        --------
        >>> TwoLists(150, 150, 450).unseen(), TwoLists(150, 150, 450).unseen(4)
        (50.0, 200.0)
        """
        return odds_ratio * self.first_only * self.second_only / self.both if self.both else np.nan

    def population(self, odds_ratio: float = 1.0) -> float:
        """Return the expected elements on some list or on none; Petersen's estimate at an odds ratio of 1."""
        return self.captured + self.unseen(odds_ratio)

    def band(self, lowest: float, highest: float) -> Band:
        """Return the population under a range of odds ratios, log-normal in the elements on neither list.

        Examples
        --------
        >>> band = TwoLists(150, 150, 450).band(1, 10)
        >>> round(band.low), round(band.high)
        (785, 1398)
        """
        cells = np.array([self.first_only, self.second_only, self.both])
        if not self.both:
            return Band(self.captured, np.inf)
        if not cells.all():
            return Band(self.captured, self.captured)
        variance = (1 / cells).sum()
        ends = []
        for odds_ratio, sign in ((lowest, -1), (highest, 1)):
            unseen = self.unseen(odds_ratio)
            ends.append(self.captured + unseen * np.exp(sign * NORMAL_QUANTILE * np.sqrt(variance + 1 / unseen)))
        return Band(*(float(end) for end in ends))


def frame_odds_ratio(lists: TwoLists, neither: float) -> OddsRatio:
    """Return the odds ratio of two lists among the elements of a register that holds every element.

    Parameters
    ----------
    lists
        Elements of the register on the lists.
    neither
        Elements of the register on neither list.

    Examples
    --------
    >>> ratio = frame_odds_ratio(TwoLists(150, 150, 450), 50)
    >>> ratio.estimate, ratio.is_near_one
    (1.0, False)
    """
    return _mantel_haenszel(np.array([[lists.both, lists.first_only, lists.second_only, neither]]))


def conditional_odds_ratio(counts: npt.ArrayLike, first: int, second: int) -> OddsRatio:
    """Return the odds ratio of two lists among the elements that a third list holds (Mantel and Haenszel 1959).

    Parameters
    ----------
    counts
        Elements of each pattern of three or more lists, in the order of `loglinear.list_patterns`.
    first, second
        Positions of the two lists.

    Returns
    -------
    OddsRatio
        Common odds ratio over the patterns of the other lists, with the interval of Robins, Breslow and Greenland
        (1986); NaN if no other list holds elements on both, or on neither.

    References
    ----------
    Robins, J., Breslow, N. and Greenland, S. (1986). Estimators of the Mantel-Haenszel variance consistent in both
    sparse data and large-strata limiting models. Biometrics 42, 311-323.

    Examples
    --------
    >>> conditional_odds_ratio([100, 100, 100, 100, 100, 100, 100], 0, 1).estimate
    1.0
    """
    elements = np.asarray(counts, dtype=np.float64)
    n_lists = int(elements.size + 1).bit_length() - 1
    held = list_patterns(n_lists).astype(np.int64)
    others = held @ (1 << np.arange(n_lists)) & ~(1 << first | 1 << second)
    tables = [
        [elements[(others == code) & (held[:, first] == a) & (held[:, second] == b)].sum() for a, b in _CELLS]
        for code in np.unique(others[others > 0])
    ]
    return _mantel_haenszel(np.array(tables).reshape(-1, 4))


_CELLS = ((1, 1), (1, 0), (0, 1), (0, 0))


def _mantel_haenszel(tables: npt.NDArray[np.float64]) -> OddsRatio:
    """Combine tables of (both, first only, second only, neither), shape (tables, 4)."""
    tables = tables[tables.sum(axis=1) > 0]
    both, first, second, neither = tables.T
    total = tables.sum(axis=1)
    agreeing, differing = both * neither / total, first * second / total
    if not (agreeing.sum() > 0 and differing.sum() > 0):
        return OddsRatio(np.nan, np.nan, np.nan)
    estimate = agreeing.sum() / differing.sum()
    p, q = (both + neither) / total, (first + second) / total
    variance = (p * agreeing).sum() / (2 * agreeing.sum() ** 2)
    variance += (p * differing + q * agreeing).sum() / (2 * agreeing.sum() * differing.sum())
    variance += (q * differing).sum() / (2 * differing.sum() ** 2)
    spread = np.exp(NORMAL_QUANTILE * np.sqrt(variance))
    return OddsRatio(float(estimate), float(estimate / spread), float(estimate * spread))
