"""Find counters of the operator that moved beyond their own scatter: table `counter_changes`.

Names what moved at the same time as a drift or an outlying crawl. Does not claim a cause, and does not find drift; see
`drift`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.last_crawl import unexpected
from crawl_urn_dagster.observables.schema import COUNTER_CHANGES
from crawl_urn_dagster.urn.data.distributions import student_quantile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

# The most recent changes that determine the scatter, and the fewest that do.
_RECENT, _FEWEST = 26, 8
# A change of a few hundredths of a counter that hardly varied before is not a move.
_LEAST_SCATTER = 0.02
# Probability that one of several steady counters exceeds its threshold at a crawl. In longer series it falls with the
# number of values, so daily counts do not raise an alarm every month.
_LEVEL, _VALUES_AT_LEVEL = 0.05, 52
# A median absolute deviation of n normal values is about as uncertain as a standard deviation of 0.37 n values.
_EFFICIENCY = 0.37
#: Scale of the median absolute deviation of normal values.
_NORMAL_SCALE = 1.4826
#: Counter that stands for the sum of the counters of role population.
POPULATION = "population"


class Changes(NamedTuple):
    """Changes of a series from value to value, shape (n,); NaN where unknown.

    Attributes
    ----------
    change
        Logarithm of a value divided by the previous one.
    usual, scatter
        Median and scaled median absolute deviation of the changes before it.
    n_before
        Number of these changes.
    log_value
        Logarithm of the values, divided by the divisor.
    """

    change: FloatArray
    usual: FloatArray
    scatter: FloatArray
    n_before: FloatArray
    log_value: FloatArray

    @property
    def statistic(self) -> FloatArray:
        """Change minus the usual one, in units of the scatter."""
        return np.asarray((self.change - self.usual) / self.scatter)

    def threshold(self, n_counters: int) -> FloatArray:
        """Return the absolute statistic above which a counter moved.

        One in 20 of the first 52 crawls moves one of n steady counters, and fewer of the later ones.
        """
        level = _LEVEL * np.minimum(1, _VALUES_AT_LEVEL / np.arange(1, len(self.change) + 1))
        return np.asarray(student_quantile(1 - level / 2 / n_counters, np.maximum(_EFFICIENCY * self.n_before, 1)))

    def moved(self, n_counters: int) -> BoolArray:
        """Return whether the counter moved at each crawl, except back to the level before an earlier move."""
        statistic, threshold = np.nan_to_num(self.statistic), self.threshold(n_counters)
        found = np.zeros(len(statistic), dtype=bool)
        for at in np.flatnonzero(abs(statistic) > threshold).tolist():
            first = max(at - _RECENT, 0)
            moves = first + np.flatnonzero(found[first:at])
            reverses = np.sign(self.change[moves]) == -np.sign(self.change[at])
            distance = abs(self.log_value[at] - self.log_value[moves - 1])
            found[at] = not (reverses & (distance <= threshold[at] * self.scatter[at])).any()
        return found


def changes_of(values: Sequence[float] | FloatArray, divisor: FloatArray | None = None) -> Changes:
    """Compare each change of a series of counts with the earlier changes only.

    Parameters
    ----------
    values
        Counts in order of time, shape (n,); those below 1 count as 1.
    divisor
        Counts above 0 by which they are divided; None: the counts are compared.

    Examples
    --------
    >>> series = [100.0, 102, 100, 102, 100, 102, 100, 102, 100, 102, 70]
    >>> round(float(changes_of(series).statistic[-1]))
    -20
    """
    logs = np.log(np.maximum(np.asarray(values, dtype=np.float64), 1.0))
    if divisor is not None:
        logs = logs - np.log(divisor)
    change = np.diff(logs, prepend=np.nan)
    usual, scatter, n_before = np.full(logs.shape, np.nan), np.full(logs.shape, np.nan), np.zeros(logs.shape)
    for at in range(len(logs)):
        before = change[max(at - _RECENT, 0) : at]
        before = before[np.isfinite(before)]
        n_before[at] = before.size
        if before.size >= _FEWEST:
            usual[at] = np.median(before)
            scatter[at] = max(_NORMAL_SCALE * np.median(abs(before - usual[at])), _LEAST_SCATTER)
    return Changes(change, usual, scatter, n_before, logs)


def counter_changes_table(
    ground_truth: pd.DataFrame, found: Mapping[str, str], *, divide_by: str | None = None
) -> pd.DataFrame:
    """Return table `counter_changes`, oldest crawl first.

    Parameters
    ----------
    ground_truth
        Table of this name, whose crawls are in order of time.
    found
        Findings by crawl, see `found_at`.
    divide_by
        Counter by which counters without a role are divided; crawls without it are left out of their series.
    """
    wide = ground_truth.pivot_table(index="crawl", columns="quantity", values="value", sort=False)
    role_rows = ground_truth[ground_truth["role"] == POPULATION]
    named = role_rows["quantity"].unique()
    # The population is the counter of interest, so it is not corrected for the number of the others.
    n_counters = {str(name): 1 if list(named) == [name] else len(wide.columns) for name in wide.columns}
    if len(named) > 1:
        wide[POPULATION] = role_rows.groupby("crawl", sort=False)["value"].sum()
        n_counters[POPULATION] = 1
    kept = {divide_by, POPULATION, *ground_truth.loc[ground_truth["role"].notna(), "quantity"]}
    rows: list[dict[str, Any]] = []
    for name, n in n_counters.items():
        divisor = None if divide_by not in wide or name in kept else wide[divide_by]
        rows += _moves(wide[name], n, found, divisor)
    order = {label: position for position, label in enumerate(wide.index)}
    rows.sort(key=lambda row: (order[row["crawl"]], -abs(row["statistic"])))
    return pd.DataFrame(rows, columns=list(COUNTER_CHANGES.column_names)).astype(
        {"found": object, "divided_by": object}
    )


def _moves(
    counts: pd.Series[float], n_counters: int, found: Mapping[str, str], divisor: pd.Series[float] | None
) -> Iterator[dict[str, Any]]:
    is_known = counts.notna() if divisor is None else counts.notna() & divisor.notna()
    counts = counts[is_known]
    values = counts if divisor is None else counts / divisor
    changes = changes_of(
        np.asarray(counts, dtype=np.float64), None if divisor is None else np.asarray(divisor[is_known], np.float64)
    )
    threshold = changes.threshold(n_counters)
    for at in np.flatnonzero(changes.moved(n_counters)).tolist():
        yield {
            "crawl": values.index[at],
            "quantity": counts.name,
            "divided_by": None if divisor is None else divisor.name,
            "value": values.iloc[at],
            "previous": values.iloc[at - 1],
            **{part: getattr(changes, part)[at] for part in ("change", "usual", "scatter", "statistic")},
            "threshold": threshold[at],
            "found": found.get(str(values.index[at])),
        }


def found_at(
    labels: Sequence[str], drift: pd.DataFrame, tests: pd.DataFrame, last_crawl: pd.DataFrame
) -> dict[str, str]:
    """Return what was found at each crawl; a drift is found at every crawl of the interval of its date.

    Parameters
    ----------
    labels
        Crawls in order of time.
    drift, tests, last_crawl
        Tables `drift`, `adequacy_tests` and `last_crawl`.
    """
    found: dict[str, list[str]] = {}
    for label, name in (*_drifted(labels, drift), *_unusual_crawls(tests, last_crawl)):
        found.setdefault(label, []).append(name)
    return {label: ", ".join(dict.fromkeys(names)) for label, names in found.items()}


def _drifted(labels: Sequence[str], drift: pd.DataFrame) -> Iterator[tuple[str, str]]:
    for row in drift[drift["drifted"].fillna(value=False).astype(bool)].to_dict("records"):
        ends = [row[name] for name in ("since_first_crawl", "since_last_crawl")]
        first, last = (labels.index(end) if end in labels else labels.index(row["since_crawl"]) for end in ends)
        yield from ((label, f"drift of {row['parameter']}") for label in labels[first : last + 1])


def _unusual_crawls(tests: pd.DataFrame, last_crawl: pd.DataFrame) -> Iterator[tuple[str, str]]:
    outlying = tests[(tests["test"] == "outlying_crawl") & (tests["verdict"] == "fails")]
    yield from ((str(label), "outlying crawl") for label in outlying["subject"])
    rows = unexpected(last_crawl).to_dict("records")
    yield from ((str(row["crawl"]), f"unusual {row['quantity']}") for row in rows)
