"""Find rows of the observable tables that cannot be correct, the worst first.

Does not report them (`orchestration.checks`, `api`) or test the urn model (`urn.goodness_of_fit`).

A rule allows five standard errors of the source's stated relative error. If counts are exact, it allows no deviation.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

STARTS_INCREASE = "each crawl starts later than the one before"
IN_CALENDAR = "every crawl is in the calendar"
NON_DECREASING = "a longer window has at least the elements of a shorter one from the same start"
AT_LEAST_LARGEST = "a window has at least the elements of its largest crawl"
WITHIN_SMALLER = "an intersection is between 0 and the smaller crawl"
_CHECK_COUNTS = "Check the source's table, or its relative_error."
WHAT_TO_DO = {
    STARTS_INCREASE: "Correct the dates in the calendar: lags and survival per year depend on them.",
    IN_CALENDAR: "They are dated by the ISO week of their label, which can be weeks off: add them to the calendar.",
    NON_DECREASING: _CHECK_COUNTS,
    AT_LEAST_LARGEST: _CHECK_COUNTS,
    WITHIN_SMALLER: _CHECK_COUNTS,
}

STANDARD_ERRORS_ALLOWED = 5
SECONDS_PER_DAY = 86_400
# A gap of this many usual gaps has room for one more crawl.
_LONG_GAP = 1.5


def broken_rules(
    crawls: pd.DataFrame, containment: pd.DataFrame | None, discovery_curve: pd.DataFrame | None, relative_error: float
) -> dict[str, pd.DataFrame]:
    """Return the rows of a collection's tables that break a rule, by rule; rules without such rows are left out."""
    found = {STARTS_INCREASE: calendar_disorder(crawls), IN_CALENDAR: dated_by_week(crawls)}
    if discovery_curve is not None:
        found[NON_DECREASING] = discovery_decreases(discovery_curve, relative_error)
        found[AT_LEAST_LARGEST] = discovery_below_largest_crawl(discovery_curve, crawls, relative_error)
    if containment is not None:
        found[WITHIN_SMALLER] = containment_out_of_range(containment, relative_error)
    return {rule: rows for rule, rows in found.items() if len(rows)}


def breach(rule: str, rows: pd.DataFrame) -> str:
    """Describe how many rows break a rule, and the worst of them."""
    worst = ", ".join(f"{column} {value}" for column, value in rows.iloc[0].items() if not pd.isna(value))
    return f"Broken: {rule}. Rows: {len(rows)}; the worst: {worst}."


def calendar_disorder(crawls: pd.DataFrame) -> pd.DataFrame:
    """Return the crawls that do not start later than the previous crawl."""
    days: pd.Series[float] = crawls["started_at"].diff().dt.total_seconds() / SECONDS_PER_DAY
    found = crawls[["crawl", "started_at"]].assign(days_after_previous=days)
    return found[days <= 0]


def dated_by_week(crawls: pd.DataFrame) -> pd.DataFrame:
    """Return the crawls that are not in the calendar and are dated by the ISO week of their label."""
    return crawls[crawls["dated_by"] == "iso_week"][["crawl", "started_at"]]


def discovery_decreases(discovery_curve: pd.DataFrame, relative_error: float) -> pd.DataFrame:
    """Return the windows with fewer elements than a shorter window from the same start."""
    union = discovery_curve["distinct_elements"].astype(np.float64)
    same_start = discovery_curve.groupby("start_crawl", sort=False)["distinct_elements"]
    largest_before = same_start.cummax().astype(np.float64).groupby(discovery_curve["start_crawl"]).shift()
    return _short_of(discovery_curve, union, largest_before, relative_error)


def discovery_below_largest_crawl(
    discovery_curve: pd.DataFrame, crawls: pd.DataFrame, relative_error: float
) -> pd.DataFrame:
    """Return the windows with fewer elements than their largest crawl."""
    position = pd.Series(crawls["crawl_index"].to_numpy(), index=crawls["crawl"])
    sizes = crawls["elements"].to_numpy(dtype=np.float64, na_value=np.nan)
    start = discovery_curve["start_crawl"].map(position).to_numpy()
    end = discovery_curve["end_crawl"].map(position).to_numpy()
    largest = pd.Series(
        [np.nanmax(sizes[i : j + 1], initial=0.0) for i, j in zip(start, end, strict=True)],
        index=discovery_curve.index,
        dtype=np.float64,
    )
    union = discovery_curve["distinct_elements"].astype(np.float64)
    return _short_of(discovery_curve, union, largest, relative_error)


def containment_out_of_range(containment: pd.DataFrame, relative_error: float) -> pd.DataFrame:
    """Return the pairs whose containment in either direction is outside [0, 1].

    An intersection from sketches is size_i + size_j - union and carries the error of all three.
    """
    size_i, size_j, shared = (containment[column].astype(np.float64) for column in ("size_i", "size_j", "intersection"))
    error = relative_error * np.sqrt(size_i**2 + size_j**2 + (size_i + size_j - shared) ** 2)
    excess = np.maximum(-shared, shared - np.minimum(size_i, size_j))
    broken = excess > STANDARD_ERRORS_ALLOWED * error
    columns = ["crawl_i", "crawl_j", "size_i", "size_j", "intersection"]
    return containment[broken][columns].assign(excess=excess[broken]).sort_values("excess", ascending=False)


def lag1_containment(containment: pd.DataFrame | None, discovery_curve: pd.DataFrame | None) -> pd.DataFrame:
    """Return the containment of each crawl in the next one, in time order.

    Parameters
    ----------
    containment, discovery_curve
        Observable tables; the second is used if the first is None.

    Returns
    -------
    ``crawl`` (the later one), ``containment`` in [0, 1] and ``containment_high``, the upper end of the 95 %
    confidence interval of the counting error.
    """
    if containment is not None:
        pairs = containment[containment["lag_crawls"] == 1]
        return pd.DataFrame(
            {
                "crawl": pairs["crawl_j"],
                "containment": pairs["containment"],
                "containment_high": pairs["containment_high"].fillna(pairs["containment"]),
            }
        ).reset_index(drop=True)
    if discovery_curve is None:
        raise ValueError("lag-1 containment needs table containment or discovery_curve; the collection has neither")
    sizes = discovery_curve[discovery_curve["window_crawls"] == 1].set_index("start_crawl")["distinct_elements"]
    pairs = discovery_curve[discovery_curve["window_crawls"] == 2].reset_index(drop=True)
    size_i, size_j = (pairs[end].map(sizes).astype(np.float64) for end in ("start_crawl", "end_crawl"))
    union = pairs["distinct_elements"].astype(np.float64)
    union_low = pairs["distinct_elements_low"].astype(np.float64).fillna(union)
    return pd.DataFrame(
        {
            "crawl": pairs["end_crawl"],
            "containment": (size_i + size_j - union) / size_i,
            "containment_high": (size_i + size_j - union_low) / size_i,
        }
    ).dropna(ignore_index=True)


def _short_of(windows: pd.DataFrame, union: pd.Series, floor: pd.Series, relative_error: float) -> pd.DataFrame:
    """Return the windows whose union is below a floor by more than the error of both allows."""
    allowed = STANDARD_ERRORS_ALLOWED * relative_error * np.hypot(union, floor)
    missing = floor - union
    broken = missing > allowed  # False where the floor is NaN
    columns = ["start_crawl", "end_crawl", "window_crawls", "distinct_elements"]
    return windows[broken][columns].assign(missing=missing[broken]).sort_values("missing", ascending=False)


def long_gaps(crawls: pd.DataFrame, usual_days: float) -> pd.DataFrame:
    """Return the gaps between crawls that have room for more crawls at the usual gap.

    Parameters
    ----------
    crawls
        Table `crawls`.
    usual_days
        Usual gap between crawls, in days.

    Returns
    -------
    pandas.DataFrame
        Columns ``after`` and ``before`` (the crawls on either side), ``days`` and ``room_for`` (crawls that would fit).
    """
    days = crawls["started_at"].diff().dt.total_seconds() / SECONDS_PER_DAY
    gaps = pd.DataFrame({"after": crawls["crawl"].shift(), "before": crawls["crawl"], "days": days})
    gaps["room_for"] = (days / usual_days).round() - 1
    long: pd.DataFrame = gaps[days > _LONG_GAP * usual_days].astype({"room_for": "Int64"})
    return long
