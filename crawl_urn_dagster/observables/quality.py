"""What cannot be true of observables, found.

Here: for each rule, the rows that break it, worst first, and what to do. Not here: who is told (`checks`, `api`), or
whether an urn fits (`urn.violation`).

A rule allows five standard errors of the source's stated relative error, and nothing where counts are exact.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

STARTS_IN_TURN = "each crawl starts later than the one before"
IN_CALENDAR = "every crawl is in the calendar"
NON_DECREASING = "a longer window has at least the elements of a shorter one from the same start"
AT_LEAST_LARGEST = "a window has at least the elements of its largest crawl"
WITHIN_SMALLER = "an intersection is between 0 and the smaller crawl"
_CHECK_COUNTS = "Check the source's table, or its relative_error."
WHAT_TO_DO = {
    STARTS_IN_TURN: "Correct the dates in the calendar: lags and survival per year depend on them.",
    IN_CALENDAR: "They are dated by the ISO week of their label, which can be weeks off: add them to the calendar.",
    NON_DECREASING: _CHECK_COUNTS,
    AT_LEAST_LARGEST: _CHECK_COUNTS,
    WITHIN_SMALLER: _CHECK_COUNTS,
}

STANDARD_ERRORS_ALLOWED = 5
SECONDS_PER_DAY = 86_400


def broken_rules(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    relative_error: float,
) -> dict[str, pd.DataFrame]:
    """Rows of the collection's tables that break a rule, by the rule in words; rules that hold are left out."""
    found = {STARTS_IN_TURN: calendar_disorder(crawls), IN_CALENDAR: dated_by_week(crawls)}
    if discovery_curve is not None:
        found[NON_DECREASING] = discovery_decreases(discovery_curve, relative_error)
        found[AT_LEAST_LARGEST] = discovery_below_largest_crawl(discovery_curve, crawls, relative_error)
    if containment is not None:
        found[WITHIN_SMALLER] = containment_out_of_range(containment, relative_error)
    return {rule: rows for rule, rows in found.items() if len(rows)}


def breach(rule: str, rows: pd.DataFrame) -> str:
    """Say how many rows break a rule, and which does worst."""
    worst = ", ".join(f"{column} {value}" for column, value in rows.iloc[0].items())
    return f"Broken: {rule}. Rows: {len(rows)}; the worst: {worst}."


def calendar_disorder(crawls: pd.DataFrame) -> pd.DataFrame:
    """Crawls of table `crawls` that do not start later than the crawl before them."""
    days: pd.Series[float] = crawls["started_at"].diff().dt.total_seconds() / SECONDS_PER_DAY
    found = crawls[["crawl", "started_at"]].assign(days_after_previous=days)
    return found[days <= 0]


def dated_by_week(crawls: pd.DataFrame) -> pd.DataFrame:
    """Crawls of table `crawls` that the calendar lacks, dated by the ISO week of their label."""
    return crawls[crawls["dated_by"] == "iso_week"][["crawl", "started_at"]]


def discovery_decreases(discovery_curve: pd.DataFrame, relative_error: float) -> pd.DataFrame:
    """Windows of table `discovery_curve` with fewer elements than a shorter one from the same start."""
    union = discovery_curve["distinct_elements"].astype(np.float64)
    same_start = discovery_curve.groupby("start_crawl", sort=False)["distinct_elements"]
    largest_before = same_start.cummax().astype(np.float64).groupby(discovery_curve["start_crawl"]).shift()
    return _short_of(discovery_curve, union, largest_before, relative_error)


def discovery_below_largest_crawl(
    discovery_curve: pd.DataFrame, crawls: pd.DataFrame, relative_error: float
) -> pd.DataFrame:
    """Windows of table `discovery_curve` with fewer elements than the largest crawl inside them."""
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
    """Pairs of table `containment` whose containment is outside [0, 1] in either direction.

    An intersection from sketches is size_i + size_j - union and carries the error of all three.
    """
    size_i, size_j, both = (containment[column].astype(np.float64) for column in ("size_i", "size_j", "intersection"))
    error = relative_error * np.sqrt(size_i**2 + size_j**2 + (size_i + size_j - both) ** 2)
    excess = np.maximum(-both, both - np.minimum(size_i, size_j))
    broken = excess > STANDARD_ERRORS_ALLOWED * error
    columns = ["crawl_i", "crawl_j", "size_i", "size_j", "intersection"]
    return containment[broken][columns].assign(excess=excess[broken]).sort_values("excess", ascending=False)


def lag1_containment(containment: pd.DataFrame | None, discovery_curve: pd.DataFrame | None) -> pd.DataFrame:
    """Which part of each crawl the next one sees again, in the order of time.

    Parameters
    ----------
    containment, discovery_curve
        Tables of the contract; the second is used when there is no first.

    Returns
    -------
    ``crawl`` (the later one), ``seen_again`` in [0, 1], ``seen_again_high`` (its upper 95 % limit of the counting).
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
        raise ValueError("what is seen again needs table containment or discovery_curve; the collection has neither")
    sizes = discovery_curve[discovery_curve["window_crawls"] == 1].set_index("start_crawl")["distinct_elements"]
    pairs = discovery_curve[discovery_curve["window_crawls"] == 2].reset_index(drop=True)
    size_i, size_j = (pairs[end].map(sizes).astype(np.float64) for end in ("start_crawl", "end_crawl"))
    union = pairs["distinct_elements"].astype(np.float64)
    least = pairs["distinct_elements_low"].astype(np.float64).fillna(union)
    return pd.DataFrame(
        {
            "crawl": pairs["end_crawl"],
            "containment": (size_i + size_j - union) / size_i,
            "containment_high": (size_i + size_j - least) / size_i,
        }
    ).dropna(ignore_index=True)


def _short_of(windows: pd.DataFrame, union: pd.Series, floor: pd.Series, relative_error: float) -> pd.DataFrame:
    """Windows whose union falls short of a floor by more than the error of both allows."""
    allowed = STANDARD_ERRORS_ALLOWED * relative_error * np.hypot(union, floor)
    missing = floor - union
    broken = missing > allowed  # False where there is no floor
    columns = ["start_crawl", "end_crawl", "window_crawls", "distinct_elements"]
    return windows[broken][columns].assign(missing=missing[broken]).sort_values("missing", ascending=False)
