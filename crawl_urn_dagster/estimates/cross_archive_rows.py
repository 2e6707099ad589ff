"""State what the counts of one match of crawls show: rows of table `cross_archive`.

Two lists never show their own dependence. An estimate of the population is therefore reported only if a register or
other lists show that the lists are near independent; otherwise its bound and its range over odds ratios are.

Does not match or count crawls; see `cross_archive`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from crawl_urn_dagster.urn.capture_recapture.closed_populations import chapman, petersen
from crawl_urn_dagster.urn.capture_recapture.loglinear import chao_bound, list_patterns, select_loglinear
from crawl_urn_dagster.urn.capture_recapture.two_lists import (
    NEAR_INDEPENDENCE,
    Band,
    OddsRatio,
    TwoLists,
    conditional_odds_ratio,
    frame_odds_ratio,
)
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawl_urn_dagster.urn.capture_recapture.loglinear import LoglinearFit
    from crawl_urn_dagster.urn.data.histories import FloatArray

#: Separator of the names and of the labels of several lists.
JOINED_BY = " + "
Row: TypeAlias = dict[str, Any]
# Models whose AIC exceeds the smallest by no more than this have support; their estimates are in the sensitivity.
_SUPPORTED_AIC = 4.0
# Statuses of two lists, from that which says least of their independence.
_WORST_FIRST = ("one_crawler", "too_few_points", "dependent", "dependence_unknown", "ok")
_CODES = {"too_few_points": "no_overlap"}
_UNKNOWN_RATIO = OddsRatio(np.nan, np.nan, np.nan)
_REASONS = {
    "one_crawler": "The lists were read from the same file or server. Two crawls of one crawler are not two lists, "
    "because they miss the same elements.",
    "no_overlap": "No element is on both lists; check that the collections have the same kind of elements.",
    "dependent": "The odds ratio of the lists is not near 1. The bound holds if it is above 1.",
    "dependence_unknown": "Neither a register nor other lists show that the lists are near independent. The bound "
    "holds if an element on one list is at least as likely as others to be on the other.",
    "survival_unknown": "The crawls are of different dates and no survival is known, so losses are not corrected.",
    "outside_interval": "The counted coverage is outside the interval that the collection's own crawls give.",
}


class _Range(NamedTuple):
    """An estimate with its confidence interval."""

    estimate: float
    low: float = np.nan
    high: float = np.nan


class _Population(NamedTuple):
    """Findings of some lists on the population: a lower bound, its sensitivity, and whether an estimate is reported."""

    bound: _Range
    band: Band
    status: str
    codes: list[str]

    def reported(self, estimate: float, low: float, high: float) -> _Range:
        """Return an estimate if it may be reported."""
        return _Range(estimate, low, high) if self.status == "ok" else _Range(np.nan)

    @property
    def qualified(self) -> dict[str, Any]:
        """Status, codes and sensitivity of a row with an estimate of the population."""
        return {"status": self.status, "codes": self.codes, "sensitivity": self.band}


@dataclass(frozen=True)
class Match:
    """Crawls of several archives that are compared, and the elements of one stratum or of all.

    Attributes
    ----------
    label
        Label of the reference crawl.
    stratum
        None: all elements.
    names, crawls, days
        Name of each archive, label of its crawl, and days from the reference crawl to it.
    counts
        Elements of the sample by pattern, see `loglinear.list_patterns`.
    one_in
        Inverse sampling fraction.
    frame
        Position of the register; None: none.
    survival
        For each archive, the share of its elements that is still eligible after some days; NaN if unknown.
    one_crawler
        Pairs of archives that come from one crawler, by position.
    has_strata
        Whether every archive has strata; the population of a stratum is estimated only then.
    completeness
        For each archive, the completeness that its own crawls give this crawl, with interval; None: not reported.
    """

    label: str
    stratum: str | None
    names: tuple[str, ...]
    crawls: tuple[str, ...]
    days: tuple[float, ...]
    counts: FloatArray
    one_in: int
    frame: int | None
    survival: tuple[Callable[[float], float], ...]
    one_crawler: frozenset[tuple[int, int]]
    has_strata: bool
    completeness: tuple[tuple[float, float, float] | None, ...]

    @property
    def lists(self) -> list[int]:
        """Positions of the archives that are not the register."""
        return [position for position in range(len(self.names)) if position != self.frame]

    def elements(self, inside: Sequence[int] = (), outside: Sequence[int] = ()) -> float:
        """Return the elements of the sample that are on some lists and on none of others."""
        held = list_patterns(len(self.names)).astype(bool)
        return float(self.counts[held[:, list(inside)].all(axis=1) & ~held[:, list(outside)].any(axis=1)].sum())

    def counts_of(self, lists: Sequence[int]) -> FloatArray:
        """Return the elements of the sample by the pattern of some lists."""
        codes = list_patterns(len(self.names))[:, list(lists)] @ (1 << np.arange(len(lists)))
        return np.bincount(codes.astype(np.int64), weights=self.counts, minlength=2 ** len(lists))[1:]

    def survival_between(self, first: int, second: int) -> float:
        """Return the share of the earlier of two lists that is still eligible at the crawl of the later one."""
        earlier = first if self.days[first] <= self.days[second] else second
        return self.survival[earlier](abs(self.days[first] - self.days[second]))

    def row(
        self,
        lists: Sequence[int],
        quantity: str,
        estimator: str,
        value: _Range,
        *,
        unit: str = "elements",
        status: str = "ok",
        codes: Sequence[str] = (),
        sensitivity: Band | None = None,
        **columns: object,
    ) -> Row:
        """Return a row; numbers of elements are multiplied to all elements, with the error of the sample."""
        days = [self.days[position] for position in lists]
        ends = _Range(*value) if unit != "elements" else self._scaled_to_all(value)
        scale = self.one_in if unit == "elements" else 1
        return {
            "match": self.label,
            "stratum": self.stratum,
            "lists": JOINED_BY.join(self.names[position] for position in lists),
            "crawls": JOINED_BY.join(self.crawls[position] for position in lists),
            "days_apart": max(days) - min(days),
            "quantity": quantity,
            "estimator": estimator,
            "estimate": ends.estimate,
            "estimate_low": ends.low,
            "estimate_high": ends.high,
            "sensitivity_low": None if sensitivity is None else sensitivity.low * scale,
            "sensitivity_high": None if sensitivity is None else sensitivity.high * scale,
            "unit": unit,
            "status": status,
            "reason_code": ",".join(codes) or None,
            "reason": " ".join(_REASONS[code] for code in codes) or None,
            **columns,
        }

    def _scaled_to_all(self, value: _Range) -> _Range:
        """Multiply numbers of the sample, and add the error of the sample's size to the interval."""
        if self.one_in == 1:
            return value
        error = NORMAL_QUANTILE * np.sqrt(max(value.estimate, 0.0) * (1 - 1 / self.one_in))
        low, high = (np.hypot(value.estimate - np.nan_to_num(end, nan=value.estimate), error) for end in value[1:])
        return _Range(*(self.one_in * end for end in (value.estimate, value.estimate - low, value.estimate + high)))


def match_rows(match: Match, odds_ratios: tuple[float, float]) -> Iterator[Row]:
    """Yield the rows of one match.

    Parameters
    ----------
    match
        Counts of the match.
    odds_ratios
        Smallest and largest odds ratio of two lists under which the population is stated.
    """
    yield from _register_rows(match)
    if match.frame is not None:
        yield from _in_frame(match, match.frame)
    if len(match.lists) < 2 or (match.stratum is not None and not match.has_strata):
        return
    verdicts = []
    for first, second in combinations(match.lists, 2):
        ratio, source = _odds_ratio(match, (first, second))
        if ratio.is_known:
            yield match.row((first, second), "odds_ratio", source, _Range(*ratio), unit="ratio")
        verdicts.append(_dependence(match, (first, second), ratio))
        yield from _pair(match, first, second, odds_ratios, verdicts[-1])
    if len(match.lists) > 2:
        yield from _several(match, odds_ratios, min(verdicts, key=_WORST_FIRST.index))


def _register_rows(match: Match) -> Iterator[Row]:
    """Yield the elements of each list, of all lists together, of both of two lists, and those of one list only."""
    for position in match.lists:
        others = [other for other in match.lists if other != position]
        yield match.row([position], "elements", "counted", _Range(match.elements([position])))
        yield match.row([position], "only", "counted", _Range(match.elements([position], others)))
    for pair in combinations(match.lists, 2):
        yield match.row(pair, "overlap", "counted", _Range(match.elements(pair)))
    if len(match.lists) > 1:
        yield match.row(match.lists, "union", "counted", _Range(float(match.counts_of(match.lists).sum())))


def _in_frame(match: Match, frame: int) -> Iterator[Row]:
    """Yield the coverage that the register shows, and next to it that of the collection's own crawls."""
    whole = match.elements([frame])
    sets = [[position] for position in match.lists] + ([match.lists] if len(match.lists) > 1 else [])
    for lists in sets:
        inside = whole - match.elements([frame], lists)
        coverage = _share(inside, whole, match.one_in)
        yield match.row(lists, "coverage", "frame", coverage, unit="fraction")
        if len(lists) > 1:
            continue
        outside = match.elements(lists, [frame])
        yield match.row(lists, "outside_frame", "counted", _Range(outside))
        urn_completeness = match.completeness[lists[0]]
        if urn_completeness is not None and match.stratum is None:
            agrees = urn_completeness[1] <= coverage.estimate <= urn_completeness[2]
            finding: dict[str, Any] = {} if agrees else {"status": "differs", "codes": ["outside_interval"]}
            yield match.row(lists, "coverage", "urn", _Range(*urn_completeness), unit="fraction", **finding)


def _pair(match: Match, first: int, second: int, odds_ratios: tuple[float, float], verdict: str) -> Iterator[Row]:
    """Yield bound and estimates of two lists, corrected for the losses between their crawls."""
    lists = TwoLists(
        match.elements([first], [second]), match.elements([second], [first]), match.elements([first, second])
    )
    survival = match.survival_between(first, second)
    is_corrected = bool(np.isfinite(survival))
    if is_corrected:
        lists = lists.after_losses(survival, first_is_earlier=match.days[first] <= match.days[second])
    low, high = odds_ratios
    losses = [] if is_corrected else ["survival_unknown"]
    codes = [*([] if verdict == "ok" else [_CODES.get(verdict, verdict)]), *losses]
    bound = _Range(lists.population(low), *lists.band(low, low))
    found = _Population(bound, lists.band(low, high), verdict, codes)
    status = "ok" if lists.both else "too_few_points"
    columns: dict[str, Any] = {"survival": survival if is_corrected else None}
    model: dict[str, Any] = {"model": f"odds ratio {low:g}", **columns}
    yield match.row((first, second), "population", "bound", bound, status=status, codes=losses, **model)
    sizes = lists.first_only + lists.both, lists.second_only + lists.both, lists.both
    for name, estimator in (("petersen", petersen), ("chapman", chapman)):
        list_estimate = estimator(*sizes)
        value = found.reported(list_estimate.estimate, list_estimate.low, list_estimate.high)
        yield match.row((first, second), "population", name, value, **found.qualified, **columns)
        if len(match.lists) == 2 and name == "petersen":
            yield from _coverages(match, name, value, found)


def _several(match: Match, odds_ratios: tuple[float, float], verdict: str) -> Iterator[Row]:
    """Yield bound and log-linear estimate of three or more lists."""
    counts = match.counts_of(match.lists)
    names = [match.names[position] for position in match.lists]
    floor, fits = chao_bound(counts), select_loglinear(counts)
    if not fits or not np.isfinite(floor.estimate):
        yield match.row(match.lists, "population", "loglinear", _Range(np.nan), status="too_few_points")
        return
    low, high = odds_ratios
    best = fits[0]
    supported = [fit for fit in fits if fit.aic <= best.aic + _SUPPORTED_AIC]
    band = Band(
        floor.captured + low * (_end(floor, 0) - floor.captured),
        max(fit.captured + high * (_end(fit, 1) - fit.captured) for fit in supported),
    )
    codes = [] if verdict == "ok" else [_CODES.get(verdict, verdict)]
    found = _Population(_Range(floor.estimate, *floor.interval), band, verdict, codes)
    yield match.row(match.lists, "population", "bound", found.bound, model="chao")
    value = found.reported(best.estimate, *best.interval)
    model = best.describe(names)
    yield match.row(match.lists, "population", "loglinear", value, model=model, **found.qualified)
    yield from _coverages(match, "loglinear", value, found)


def _end(fit: LoglinearFit, end: int) -> float:
    """Return one end of an interval; the estimate if it has none."""
    return fit.interval[end] if np.isfinite(fit.interval[end]) else fit.estimate


def _coverages(match: Match, estimator: str, population: _Range, found: _Population) -> Iterator[Row]:
    """Yield the coverage of each list and of their union that the population implies."""
    for lists in [*([position] for position in match.lists), match.lists]:
        elements = float(match.counts_of(lists).sum())
        upper, value = (
            _Range(*(_ratio(elements, end) for end in (size.estimate, size.high, size.low)))
            for size in (found.bound, population)
        )
        yield match.row(lists, "coverage", "bound", upper, unit="fraction")
        limits = Band(_ratio(elements, found.band.high), _ratio(elements, found.band.low))
        qualified = {**found.qualified, "sensitivity": limits}
        yield match.row(lists, "coverage", estimator, value, unit="fraction", **qualified)


def _odds_ratio(match: Match, pair: tuple[int, int]) -> tuple[OddsRatio, str]:
    """Return the odds ratio of two lists, and how it is known."""
    if match.frame is not None:
        inside = TwoLists(
            match.elements([match.frame, pair[0]], [pair[1]]),
            match.elements([match.frame, pair[1]], [pair[0]]),
            match.elements([match.frame, *pair]),
        )
        return frame_odds_ratio(inside, match.elements([match.frame], pair)), "frame"
    if len(match.lists) < 3:
        return _UNKNOWN_RATIO, "third_list"
    first, second = (match.lists.index(position) for position in pair)
    return conditional_odds_ratio(match.counts_of(match.lists), first, second), "third_list"


def _dependence(match: Match, pair: tuple[int, int], ratio: OddsRatio) -> str:
    """Return the status of an estimate that assumes independence."""
    if pair in match.one_crawler:
        return "one_crawler"
    if not match.elements(pair):
        return "too_few_points"
    if ratio.is_near_one:
        return "ok"
    is_dependent = ratio.is_known and (ratio.low > NEAR_INDEPENDENCE or ratio.high < 1 / NEAR_INDEPENDENCE)
    return "dependent" if is_dependent else "dependence_unknown"


def _share(part: float, whole: float, one_in: int) -> _Range:
    """Return a share of counted elements; it has an interval if they are a sample."""
    share = _ratio(part, whole)
    if one_in == 1 or not whole:
        return _Range(share)
    half_width = NORMAL_QUANTILE * float(np.sqrt(share * (1 - share) * (1 - 1 / one_in) / whole))
    return _Range(share, share - half_width, share + half_width)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else np.nan
