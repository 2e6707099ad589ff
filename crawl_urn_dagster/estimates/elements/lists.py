"""Select the elements to act on: which histories belong to each list, and in which order.

Does not read elements; see `writing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.estimates.elements.history_rows import HistoryRows
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray

#: Probability from which the last crawl was expected to capture an element.
EXPECTED = 0.9
_GONE = 0.05
_CORE = 0.5
_LEAST_RISK = 0.1
_NEWCOMER_CRAWLS = 3


class ListSettings(NamedTuple):
    """Settings of the lists.

    Attributes
    ----------
    missed_crawls
        Fewest last crawls that missed an element of list `reseed`, at least 1.
    rows
        Largest number of rows of each list.
    """

    missed_crawls: int = 1
    rows: int = 1000


class Selection(NamedTuple):
    """Elements that a list takes.

    Attributes
    ----------
    score
        Probability by which the list is ordered, by history, shape (histories,).
    wanted
        Number of elements to take of each history, shape (histories,).
    qualifying
        Number of elements that the list would have without a largest number of rows.
    """

    score: FloatArray
    wanted: IntArray
    qualifying: int


def select_histories(rows: HistoryRows, settings: ListSettings) -> dict[str, Selection]:
    """Return what each list takes of each history, highest score first.

    Parameters
    ----------
    rows
        The known facts of each history.
    settings
        Settings of the lists.
    """
    return {name: _take(score(rows, settings), rows.elements, settings.rows) for name, score in _SCORES.items()}


def _take(score: FloatArray, elements: IntArray, n: int) -> Selection:
    """Take elements in the order of their score, at most `n`; a score of NaN takes none."""
    order = np.argsort(-np.nan_to_num(score, nan=-1.0), kind="stable")
    available = np.where(np.isnan(score), 0, elements)[order]
    before = available.cumsum() - available
    wanted = np.zeros(len(score), dtype=np.int64)
    wanted[order] = np.clip(n - before, 0, available)
    return Selection(score, wanted, int(available.sum()))


def _reseed(rows: HistoryRows, settings: ListSettings) -> FloatArray:
    return np.where(rows.absent >= settings.missed_crawls, rows.probabilities["p_eligible"], np.nan)


def _likely_gone(rows: HistoryRows, _: ListSettings) -> FloatArray:
    eligible = rows.probabilities["p_eligible"]
    return np.where((rows.absent > 0) & (eligible < _GONE), 1 - eligible, np.nan)


def _core_members(rows: HistoryRows, _: ListSettings) -> FloatArray:
    core = rows.probabilities["p_core"]
    return np.where(core >= _CORE, core, np.nan)


def _newcomers_at_risk(rows: HistoryRows, _: ListSettings) -> FloatArray:
    risk = rows.probabilities["p_eligible"] - rows.probabilities["p_captured_next"]
    is_new = rows.first >= rows.n_crawls - _NEWCOMER_CRAWLS
    return np.where(is_new & (risk >= _LEAST_RISK), risk, np.nan)


def _lost_in_last_crawl(rows: HistoryRows, _: ListSettings) -> FloatArray:
    expected = rows.probabilities["p_expected"]
    return np.where((rows.absent > 0) & (expected >= EXPECTED), expected, np.nan)


_SCORES: dict[str, Callable[[HistoryRows, ListSettings], FloatArray]] = {
    "reseed": _reseed,
    "likely_gone": _likely_gone,
    "core_members": _core_members,
    "newcomers_at_risk": _newcomers_at_risk,
    "lost_in_last_crawl": _lost_in_last_crawl,
}
