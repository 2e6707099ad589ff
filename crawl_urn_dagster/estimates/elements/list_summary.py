"""Summarise the lists of elements to act on: rows, expected yield, and why a list is empty.

Does not select the elements; see `lists`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawl_urn_dagster.estimates.elements.assessment import LARGEST_RETURN_ERROR, read_prediction_assessment

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

#: Actions for the elements of each list.
USES = {
    "reseed": "seed again",
    "likely_gone": "drop from the seeds",
    "core_members": "expect in every crawl",
    "newcomers_at_risk": "seed soon, before they are lost from view",
    "lost_in_last_crawl": "look for an outage or a block",
}
#: Elements that the expected yield of each list counts.
YIELDS = {
    "reseed": "still eligible",
    "likely_gone": "gone",
    "core_members": "in the permanent core",
    "newcomers_at_risk": "eligible, but missed by the next crawl",
    "lost_in_last_crawl": "expected in the last crawl",
}
_NEEDS_ELIGIBILITY = frozenset(USES) - {"lost_in_last_crawl"}
_NO_CORE = "The model has no permanent core."
_NONE_QUALIFIES = "No element qualifies."


class ListSummary(NamedTuple):
    """Summary of one list.

    Attributes
    ----------
    rows
        Number of elements.
    qualifying
        Number of elements without a largest number of rows.
    expected_yield
        Expected number of hits among them; 0 for an empty list.
    reason
        Why the list is empty; None if it is not.
    """

    rows: int
    qualifying: int
    expected_yield: float
    reason: str | None

    @property
    def counted(self) -> str:
        """Number of elements, and of how many if the list ends early."""
        return f"{self.rows:,}" if self.rows == self.qualifying else f"{self.rows:,} of {self.qualifying:,}"


def summarise_lists(frames: Mapping[str, pd.DataFrame]) -> dict[str, ListSummary]:
    """Return a summary of each list by name.

    Parameters
    ----------
    frames
        Table `element_scores` and the lists, by name.
    """
    assessment = read_prediction_assessment(frames["element_scores"])
    withheld = None if assessment.reason is None else assessment.reason.sentence
    has_core = any(frames[name]["p_core"].notna().any() for name in USES)
    found = {}
    for name in USES:
        table, reason = frames[name], None
        if table.empty:
            is_reported = assessment.is_eligibility_reported if name in _NEEDS_ELIGIBILITY else assessment.is_reported
            reason = _NONE_QUALIFIES if is_reported else withheld
            if is_reported and name == "core_members" and not has_core:
                reason = _NO_CORE
        qualifying = 0 if table.empty else int(table["qualifying"].iloc[0])
        found[name] = ListSummary(len(table), qualifying, float(table["score"].sum()), reason)
    return found


def state_calibration(scores: pd.DataFrame) -> str | None:
    """State how far predictions of held-out crawls were off; None if none was tested.

    Parameters
    ----------
    scores
        Table `element_scores`.
    """
    rows = scores[(scores["predictor"] == "model") & scores["calibration_error"].notna()]
    if rows.empty:
        return None
    errors = ", ".join(
        f"{100 * error:.1f} for {ahead} ahead" if ahead > 1 else f"{100 * error:.1f} for the next crawl"
        for ahead, error in zip(rows["crawls_ahead"], rows["calibration_error"], strict=True)
    )
    return f"In held-out crawls, predicted and observed shares of captures differ by, in percentage points: {errors}."


def state_returns(scores: pd.DataFrame) -> str | None:
    """State how many missed elements were expected to return in held-out crawls, and did; None if none was tested.

    Parameters
    ----------
    scores
        Table `element_scores`.
    """
    rows = scores[(scores["predictor"] == "model") & (scores["missed"] > 0)]
    if rows.empty:
        return None
    row = rows.sort_values("crawls_ahead").iloc[-1].to_dict()
    last = f"{row['crawls_ahead']} crawls" if row["crawls_ahead"] > 1 else "crawl"
    return (
        f"A fit without the last {last} expected {row['returned_expected']:,.0f} of "
        f"{row['missed']:,.0f} missed elements to return; {row['returned']:,.0f} did. By "
        f"probability, the shares differ by {100 * row['return_error']:.1f} percentage points on average (97.5 % upper "
        f"limit {100 * row['return_error_high']:.1f}; states are not reported above "
        f"{100 * LARGEST_RETURN_ERROR:.0f})."
    )
