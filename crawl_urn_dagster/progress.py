"""Report the progress of long work: the amount done, the rate, and the time left.

Does not decide where the lines are written.
"""

from __future__ import annotations

import time
from itertools import accumulate
from typing import TYPE_CHECKING

from crawl_urn_dagster.formatting import count_noun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def with_time_left(report: Callable[[str], object], shares: Sequence[float]) -> Callable[[str], object]:
    """Return a function that reports the stages of long work, with an estimate of the time left from the second on.

    Parameters
    ----------
    report
        Called with each line.
    shares
        Share of the work that each stage takes, in order; they sum to 1.

    Examples
    --------
    >>> report = with_time_left(print, [0.5, 0.5])
    >>> report("fitting")
    fitting
    >>> report("testing")
    testing; about 0 s left
    """
    started, done = time.monotonic(), iter(accumulate(shares, initial=0.0))

    def with_estimate(line: str) -> None:
        share = next(done, 1.0)
        left = (time.monotonic() - started) * (1 - share) / share if share else None
        report(line if left is None else f"{line}; about {left:,.0f} s left")

    return with_estimate


class Progress:
    """Count completed units and report a line every few seconds.

    Parameters
    ----------
    doing
        Start of the line, such as ``reading captures``.
    total
        Total number of units. None: not known, and the line states no time left.
    report
        Called with each line.
    every_seconds
        Shortest time between two lines, in seconds.
    unit
        Singular noun for a unit; its plural takes an s.
    """

    def __init__(
        self,
        doing: str,
        total: int | None,
        report: Callable[[str], object],
        *,
        every_seconds: float = 10.0,
        unit: str = "row",
    ) -> None:
        self._doing = doing
        self._total = total
        self._report = report
        self._every_seconds = every_seconds
        self._unit = unit
        self._done = 0
        self._started = self._reported = time.monotonic()

    def advance(self, units: int) -> None:
        """Add completed units."""
        self._done += units
        now = time.monotonic()
        if now - self._reported >= self._every_seconds:
            self._reported = now
            self._report(self._line(now))

    def finish(self) -> None:
        """Report the total."""
        self._total = None
        self._report(self._line(time.monotonic()))

    def _line(self, now: float) -> str:
        elapsed = max(now - self._started, 1e-9)
        rate = self._done / elapsed
        done = count_noun(self._done, self._unit)
        if self._total is not None:
            done = f"{self._done:,} of {count_noun(self._total, self._unit)}"
        line = f"{self._doing}: {done} in {elapsed:,.1f} s, {rate:,.0f} {self._unit}s/s"
        if self._total is not None and self._done:
            line += f", {max(self._total - self._done, 0) / rate:,.0f} s left"
        return line
