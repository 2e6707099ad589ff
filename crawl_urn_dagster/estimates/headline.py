"""Read the headline of a collection from table `parameters`, and word it.

Does not select the headline; see `selection`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.formatting import interval_decimals
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.urn import (
    NO_POINT_ESTIMATE_STATUSES,
    UNREPORTED_STATUSES,
    FitKind,
    Interval,
    ReasonCode,
    Status,
)
from crawl_urn_dagster.urn.results.reasons import split_codes

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Headline:
    """The headline of a collection, or of a stratum, as stored in table `parameters`.

    Attributes
    ----------
    kind
        The selected fit.
    estimates
        By name; estimates that are not reported or not part of the model are absent.
    intervals
        Confidence intervals of the estimates that have one.
    status
        Status of the selected fit.
    reason
        Why it has that status, or what qualifies it, as sentences; None when there is nothing to state.
    reason_codes
        The same as codes.
    level
        Confidence level of the intervals.
    """

    kind: FitKind
    estimates: Mapping[str, float]
    intervals: Mapping[str, Interval]
    status: Status
    reason: str | None
    reason_codes: tuple[ReasonCode, ...] = ()
    level: float = 0.95

    @property
    def is_reported(self) -> bool:
        """Whether estimates may be shown at all."""
        return self.status not in UNREPORTED_STATUSES

    @property
    def has_point_estimates(self) -> bool:
        """Whether estimates may be shown as numbers, and not as intervals only."""
        return self.status not in NO_POINT_ESTIMATE_STATUSES

    @property
    def is_all_core(self) -> bool:
        """Whether all elements belong to the core, so only κ and μ are reported, without intervals."""
        return ReasonCode.ALL_CORE in self.reason_codes

    @property
    def is_refuted(self) -> bool:
        """Whether tests of the collection refute the model."""
        return self.status == Status.REFUTED or ReasonCode.REFUTED in self.reason_codes

    @property
    def is_core_permanent(self) -> bool:
        """Whether no test has refuted that the core is in every crawl."""
        return ReasonCode.CORE_NOT_PERMANENT not in self.reason_codes

    @property
    def is_identified(self) -> bool:
        """Whether the estimates are known well enough to report quantities derived from them."""
        return self.has_point_estimates and not any(one.is_uninformative for one in self.intervals.values())

    @property
    def fit_name(self) -> str:
        """Name of the selected fit for a table or a legend."""
        return str(self.kind)

    @property
    def numbers(self) -> str:
        """The parameters with their symbols and intervals, or that they are not reported."""
        if not self.is_reported:
            return "not reported"
        return ", ".join(map(self.format_estimate, self.estimates))

    def format_estimate(self, name: str) -> str:
        """Return one estimate with its symbol and interval; only the interval if it is not identified."""
        value, *ends = _format(self.estimates[name], self.intervals.get(name), 3)
        within = " to ".join(ends)
        if not ends:
            return f"{SYMBOLS[name]} {f'= {value}' if self.has_point_estimates else 'not identified'}"
        if self.intervals[name].is_uninformative:
            return f"{SYMBOLS[name]} not identified ({within})"
        return f"{SYMBOLS[name]} {f'= {value} ({within})' if self.has_point_estimates else within}"

    @property
    def sentence(self) -> str:
        """The headline in sentences, with its status."""
        if not self.is_reported:
            return (
                f"The urn model does not fit this collection ({self.status}), so no parameters are reported. "
                f"Reason: {self.reason}."
                if self.status == Status.MODEL_VIOLATION
                else f"No parameters are reported ({self.status}). Reason: {self.reason}."
            )
        if self.is_all_core:
            return (
                "Every element appears in every crawl, so the whole collection is core. Shell coverage and shell "
                f"survival are undefined. Status {self.status}: {self.reason}."
            )
        if self.is_refuted:
            return f"Fitted to the curves alone, the parameters are {self.numbers}. {self.reason}."
        later = "at the next crawl" if self.kind.clock == "crawl" else "a year later"
        if "core_share" not in self.estimates:
            text = (
                f"The urn has no separate core. One crawl captures {self._percent('coverage')} of the eligible "
                f"elements. {_capitalised(self._percent('alpha'))} of them is still eligible {later}."
            )
        else:
            text = (
                f"{self._core} makes up {self._percent('core_share')} of each crawl and "
                f"{self._percent('kappa')} of the eligible elements. One crawl captures {self._percent('coverage')} of "
                f"the shell. {_capitalised(self._percent('alpha'))} of the shell is still eligible {later}."
            )
        notes = []
        if not self.intervals:
            notes.append(" No confidence interval could be computed.")
        elif not self.has_point_estimates:
            notes.append(" The parameters are not identified; only confidence intervals are given.")
        if self.reason:
            notes.append(f" Status {self.status}: {self.reason}.")
        return text + "".join(notes)

    @property
    def _core(self) -> str:
        return "The core" if self.is_core_permanent else "The longest-lived part"

    def _percent(self, name: str) -> str:
        if name not in self.estimates:
            return "an unknown share"
        interval = self.intervals.get(name)
        scaled = None if interval is None else Interval(*(100 * end for end in interval))
        value, *ends = _format(100 * self.estimates[name], scaled, 1)
        within = " to ".join(f"{end} %" for end in ends)
        if interval is None:
            return f"{value} %" if self.has_point_estimates else "an unknown share"
        if interval.is_uninformative:
            return f"an unknown share ({100 * self.level:g} % CI {within})"
        return f"{value} % ({100 * self.level:g} % CI {within})" if self.has_point_estimates else within


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _format(value: float, interval: Interval | None, usual: int) -> list[str]:
    """Return a share and the ends of its interval, if it has one, with the decimals they need, or the usual ones."""
    decimals = None if interval is None else interval_decimals(value, *interval)
    decimals = usual if decimals is None else max(decimals, 0)
    return [f"{one:.{decimals}f}" for one in (value, *(interval or ()))]


def read_headline(parameters: pd.DataFrame, stratum: str | None = None) -> Headline:
    """Return the headline of the collection, or of one of its strata, from table `parameters`.

    Raises
    ------
    ValueError
        When no row is marked as headline.
    """
    own = parameters["stratum"].isna() if stratum is None else parameters["stratum"] == stratum
    rows = parameters[own & parameters["headline"].astype(bool)]
    if rows.empty:
        raise ValueError("table parameters has no headline row")
    row = rows.iloc[-1]  # the shell, or the one urn
    status, codes = Status(row["status"]), split_codes(row["reason_code"])
    is_all_core = ReasonCode.ALL_CORE in codes
    names = ["kappa", "core_share"] if is_all_core else list(SYMBOLS)
    names = [] if status in UNREPORTED_STATUSES else names

    def numbers(suffix: str = "") -> dict[str, float]:
        """Return the estimates, or one end of their intervals, by name."""
        columns = {name: row[f"{name}{suffix}"] for name in names}
        return {name: float(value) for name, value in columns.items() if not pd.isna(value)}

    low, high = numbers("_low"), numbers("_high")
    return Headline(
        kind=FitKind(*(str(row[name]) for name in FitKind._fields)),
        estimates=numbers(),
        intervals={} if is_all_core else {name: Interval(low[name], high[name]) for name in low},
        status=status,
        reason=None if pd.isna(row["reason"]) else str(row["reason"]).rstrip("."),
        reason_codes=codes,
    )
