"""The fit that speaks for a collection, and its numbers in plain words.

Here: the choice among fits, and sentences for people. Not here: fits (`fitting`), or layout of a page
(`report`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from crawl_urn_dagster.urn import WITHHELD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn import Fit

_PREFERENCE = (
    ("containment", "core_shell", "exact"),
    ("containment", "homogeneous", "exact"),
    ("discovery_curve", "core_shell", "exact"),
    ("discovery_curve", "homogeneous", "exact"),
)


def choose_headline(fits: Sequence[Fit], *, clock: str) -> Fit:
    """Choose the fit that speaks for the collection.

    The first of core-shell containment (exact), homogeneous containment, core-shell discovery curve and
    homogeneous discovery curve that is not withheld. A core-shell fit whose core is empty says that the homogeneous
    urn suffices, and gives way to it; so does an inversion that came out as no urn's. When none is left, the first
    that is not withheld, and when all are, the first, whose status says why.

    Raises
    ------
    ValueError
        When no fit is on that clock.
    """
    by_kind = {(fit.projection, fit.model, fit.form): fit for fit in fits if fit.clock == clock}
    candidates = [by_kind[kind] for kind in _PREFERENCE if kind in by_kind]
    if not candidates:
        raise ValueError(f"no fit has clock {clock!r}")
    shown = [fit for fit in candidates if fit.status not in WITHHELD and _is_urn(fit)]
    speaking = [fit for fit in shown if fit.kappa != 0]
    return (speaking or shown or candidates)[0]


def _is_urn(fit: Fit) -> bool:
    """Whether survival and coverage are an urn's: a regression can give values outside [0, 1]."""
    return all(value is not None and 0 <= value <= 1 for value in (fit.alpha, fit.coverage))


class Headline(NamedTuple):
    """The headline fit as numbers and words; numbers are None when they are withheld or not part of the model."""

    projection: str
    model: str
    form: str
    clock: str
    kappa: float | None
    core_share: float | None
    alpha: float | None
    coverage: float | None
    status: str
    reason: str | None

    @property
    def withheld(self) -> bool:
        """Whether no number may be shown."""
        return self.status in WITHHELD

    @property
    def fit_name(self) -> str:
        """Which fit it is, for a table or a legend."""
        form = f", {self.form} form" if self.model == "core_shell" else ""
        return f"{self.model} {self.projection}{form}, per {self.clock}"

    @property
    def numbers(self) -> str:
        """The parameters with their names, or that they are withheld."""
        if self.withheld:
            return "withheld"
        named = (("κ", self.kappa), ("μ", self.core_share), ("α", self.alpha), ("c", self.coverage))
        return ", ".join(f"{name} = {value:.3f}" for name, value in named if value is not None)

    @property
    def sentence(self) -> str:
        """The headline in plain words, with its status."""
        if self.withheld:
            return f"No urn parameters are given ({self.status}): {self.reason}."
        unit = "crawl to the next" if self.clock == "crawl" else "year to the next"
        shell = (
            f"a crawl samples {_percent(self.coverage)} of what could be sampled, "
            f"and {_percent(self.alpha)} of it is still there from one {unit}"
        )
        if self.core_share is None:
            text = f"No separate core is needed: {shell}."
        else:
            text = (
                f"Of each crawl, {_percent(self.core_share)} is a core that is there every time "
                f"({_percent(self.kappa)} of the urn); of the rest, {shell}."
            )
        caution = "" if self.status == "ok" else f" Status {self.status}: {self.reason}."
        return f"{text} Intervals are not computed yet.{caution}"


def read_headline(parameters: pd.DataFrame) -> Headline:
    """Headline from table `parameters`.

    Raises
    ------
    ValueError
        When no row is marked as headline.
    """
    rows = parameters[parameters["headline"].astype(bool)]
    if rows.empty:
        raise ValueError("table parameters has no headline row")
    row = rows.iloc[-1]  # the shell, or the one urn
    withheld = row["status"] in WITHHELD

    def number(column: str) -> float | None:
        return None if withheld or pd.isna(row[column]) else float(row[column])

    return Headline(
        projection=str(row["projection"]),
        model=str(row["model"]),
        form=str(row["form"]),
        clock=str(row["clock"]),
        kappa=number("kappa"),
        core_share=number("core_share"),
        alpha=number("alpha"),
        coverage=number("coverage"),
        status=str(row["status"]),
        reason=None if pd.isna(row["reason"]) else str(row["reason"]).rstrip("."),
    )


def _percent(value: float | None) -> str:
    return "an unknown share" if value is None else f"{100 * value:.1f} %"
