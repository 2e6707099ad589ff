"""The fit that speaks for a collection, and its numbers in plain words.

Here: the choice among fits, and sentences for people. Not here: fits (`fitting`), or layout of a page
(`report`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.urn import UNSAID, WITHHELD, Interval
from crawl_urn_dagster.urn.fits.status import is_all_core

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.urn import Fit

_PREFERENCE = (
    ("joint", "core_shell", "exact"),
    ("containment", "core_shell", "exact"),
    ("joint", "homogeneous", "exact"),
    ("containment", "homogeneous", "exact"),
    ("discovery_curve", "core_shell", "exact"),
    ("discovery_curve", "homogeneous", "exact"),
)
#: How the reason of a fit begins whose core is none.
NO_CORE = "There is no core that is in every crawl"
# The residuals of points that share crawls are no sample; an urn without core has a ratio of 1.0 to 1.1.
_CLOSER = 1.25


def choose_headline(fits: Sequence[Fit], *, clock: str) -> Fit:
    """Choose the fit that speaks for the collection.

    The first that is ok of: joint core-shell fit, core-shell containment (exact), joint homogeneous fit, homogeneous
    containment, core-shell and homogeneous discovery curve; a homogeneous fit only if a core does not bring the same
    observable, or all together, closer by a quarter of its residuals. When none is ok, the first that is not withheld,
    but for a core-shell fit whose core is empty, which says that the homogeneous urn suffices, and an inversion that
    came out as no urn's. When none of those is left, the first that is not withheld, and when all are, the first, whose
    status says why.

    Raises
    ------
    ValueError
        When no fit is on that clock.
    """
    candidates = sorted((fit for fit in fits if may_speak(fit, clock)), key=lambda fit: _PREFERENCE.index(_kind(fit)))
    if not candidates:
        raise ValueError(f"no fit has clock {clock!r}")
    shown = [fit for fit in candidates if fit.status not in WITHHELD and _is_urn(fit)]
    well = [fit for fit in shown if fit.status == "ok" and not _core_is_closer(fit, candidates)]
    speaking = [fit for fit in shown if fit.kappa != 0]
    return (well or speaking or shown or candidates)[0]


def _core_is_closer(fit: Fit, candidates: Sequence[Fit]) -> bool:
    """Whether the same observable, or all of them together, speak against the homogeneous urn of a fit."""
    rms = {(one.projection, one.model): one.residual_rms for one in candidates}
    for projection in (fit.projection, "joint"):
        alone, cored = rms.get((projection, "homogeneous")), rms.get((projection, "core_shell"))
        if fit.model == "homogeneous" and alone is not None and cored is not None and alone > _CLOSER * cored:
            return True
    return False


def may_speak(fit: Fit, clock: str) -> bool:
    """Whether a fit is of a kind that speaks for a collection whose headline is on some clock."""
    return fit.clock == clock and _kind(fit) in _PREFERENCE


def _kind(fit: Fit) -> tuple[str, str, str]:
    return fit.projection, fit.model, fit.form


def _is_urn(fit: Fit) -> bool:
    """Whether survival and coverage are an urn's: a regression can give values outside [0, 1]."""
    return all(value is not None and 0 <= value <= 1 for value in (fit.alpha, fit.coverage))


class Headline(NamedTuple):
    """The headline fit as numbers and words.

    Attributes
    ----------
    estimates
        By name, as in `urn.ESTIMATES`; those that are withheld or not part of the model are absent.
    limits
        95 % limits of the estimates that have any.
    """

    projection: str
    model: str
    form: str
    clock: str
    estimates: Mapping[str, float]
    limits: Mapping[str, Interval]
    status: str
    reason: str | None

    @property
    def withheld(self) -> bool:
        """Whether no number may be shown."""
        return self.status in WITHHELD

    @property
    def all_core(self) -> bool:
        """Whether there is no shell, so that only κ and μ are said, and no limits of them."""
        return is_all_core(self.reason)

    @property
    def fit_name(self) -> str:
        """Which fit it is, for a table or a legend."""
        form = f", {self.form} form" if self.model == "core_shell" else ""
        return f"{self.model} {self.projection}{form}, per {self.clock}"

    @property
    def numbers(self) -> str:
        """The parameters with their names and limits, or that they are withheld."""
        if self.withheld:
            return "withheld"
        return ", ".join(map(self.written, self.estimates))

    @property
    def is_identified(self) -> bool:
        """Whether its numbers are known well enough for what follows from them to be said."""
        return self.status not in UNSAID and not any(interval.is_open for interval in self.limits.values())

    def written(self, name: str) -> str:
        """Write one of the estimates with its symbol and limits; of one that is not identified the limits alone."""
        value, *limits = _written(self.estimates[name], self.limits.get(name), 3)
        within = " to ".join(limits)
        if not limits:
            return f"{SYMBOLS[name]} {f'= {value}' if self.status not in UNSAID else 'not identified'}"
        if self.limits[name].is_open:
            return f"{SYMBOLS[name]} not identified ({within})"
        return f"{SYMBOLS[name]} {f'= {value} ({within})' if self.status not in UNSAID else within}"

    @property
    def sentence(self) -> str:
        """The headline in plain words, with its status."""
        if self.withheld:
            return f"No urn parameters are given ({self.status}): {self.reason}."
        if self.all_core:
            return (
                "Everything that was crawled was there every time: it is all core, and there is no rest of which "
                f"coverage or survival could be told. Status {self.status}: {self.reason}."
            )
        later = "in the next crawl" if self.clock == "crawl" else "a year later"
        still = f"{self._percent('alpha')} can still be fetched {later}"
        if "core_share" not in self.estimates:
            text = (
                f"Without a separate core: a crawl samples {self._percent('coverage')} of all that the crawler "
                f"could have fetched, and {still}."
            )
        else:
            text = (
                f"Of each crawl, {self._percent('core_share')} is {self._core}, which is "
                f"{self._percent('kappa')} of all that the crawler could have fetched. Of the rest, one crawl "
                f"samples {self._percent('coverage')}, and {still}."
            )
        said = "In brackets" if self.status not in UNSAID else "No one number is identified; limits"
        meaning = f" {said}: 95 % intervals." if self.limits else " No interval could be computed."
        caution = f" Status {self.status}: {self.reason}." if self.reason else ""
        return f"{text}{meaning}{caution}"

    @property
    def _core(self) -> str:
        """What the core is: no core at all where too few elements are in every crawl."""
        return "a part that lives longest" if NO_CORE in (self.reason or "") else "a core that was there every time"

    def _percent(self, name: str) -> str:
        if name not in self.estimates:
            return "an unknown share"
        interval, is_said = self.limits.get(name), self.status not in UNSAID
        scaled = None if interval is None else Interval(*(100 * limit for limit in interval))
        value, *limits = _written(100 * self.estimates[name], scaled, 1)
        within = " to ".join(limits)
        if interval is None:
            return f"{value} %" if is_said else "an unknown share"
        if interval.is_open:
            return f"an unknown share ({within})"
        return f"{value} % ({within})" if is_said else f"{within} %"


def _written(value: float, interval: Interval | None, usual: int) -> list[str]:
    """Write a share and its limits, if it has any, with as many decimals as these need, or the usual ones."""
    decimals = None if interval is None else interval.decimals(value)
    decimals = usual if decimals is None else max(decimals, 0)
    return [f"{one:.{decimals}f}" for one in (value, *(interval or ()))]


def read_headline(parameters: pd.DataFrame, stratum: str | None = None) -> Headline:
    """Headline of the collection, or of one of its strata, from table `parameters`.

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
    reason = None if pd.isna(row["reason"]) else str(row["reason"]).rstrip(".")
    said: Sequence[str] = list(SYMBOLS)
    if row["status"] in WITHHELD:
        said = []
    elif is_all_core(reason):
        said = ("kappa", "core_share")

    def numbers(suffix: str = "") -> dict[str, float]:
        """Estimates, or one of their limits, by name."""
        columns = {name: row[f"{name}{suffix}"] for name in said}
        return {name: float(value) for name, value in columns.items() if not pd.isna(value)}

    low, high = numbers("_low"), numbers("_high")
    return Headline(
        projection=str(row["projection"]),
        model=str(row["model"]),
        form=str(row["form"]),
        clock=str(row["clock"]),
        estimates=numbers(),
        limits={} if is_all_core(reason) else {name: Interval(low[name], high[name]) for name in low},
        status=str(row["status"]),
        reason=reason,
    )
