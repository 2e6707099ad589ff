"""Progress of long work in words: how much is done, how fast, and how long it will take.

Here: counting and wording. Not here: where the words go.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from crawl_urn_dagster.formatting import count_noun

if TYPE_CHECKING:
    from collections.abc import Callable


class Progress:
    """Counts rows, or whatever the unit is, as they are done and reports every few seconds.

    Parameters
    ----------
    doing
        What is being done, as the start of the line.
    total
        Units in all; None when that is not known, and then no time is said to be left.
    report
        Takes a line.
    every_seconds
        Shortest time between two lines.
    unit
        What is counted, in the singular; it takes an s.
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

    def advance(self, rows: int) -> None:
        """Count what was done."""
        self._done += rows
        now = time.monotonic()
        if now - self._reported >= self._every_seconds:
            self._reported = now
            self._report(self._line(now))

    def finish(self) -> None:
        """Report the whole."""
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
