"""Hold a collection against other archives of the same web: table `cross_archive`.

Matches the crawls of the archives and counts each match. Does not compute what follows from the counts
(`cross_archive_rows`) or read settings (`config.cross_archive`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.cross_archive_rows import JOINED_BY, Match, match_rows
from crawl_urn_dagster.observables.list_patterns import common_one_in, list_counting
from crawl_urn_dagster.observables.quality import SECONDS_PER_DAY, long_gaps
from crawl_urn_dagster.observables.schema import CROSS_ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawl_urn_dagster.estimates.cross_archive_rows import Row
    from crawl_urn_dagster.observables.list_patterns import ListCounter
    from crawl_urn_dagster.observables.presence import Partition

# Two crawls have one gap, which does not show a cadence.
_LEAST_FOR_CADENCE = 3


class Archive(NamedTuple):
    """A collection of lists.

    Attributes
    ----------
    name
        Name of the collection.
    crawls
        Its table `crawls`.
    partitions
        Its presence partitions by crawl.
    quantities, population
        Its tables of these names; None: not computed yet.
    locations
        Paths and addresses of the files that it was read from.
    is_frame
        Whether it is a register that holds every element.
    """

    name: str
    crawls: pd.DataFrame
    partitions: Mapping[str, Partition]
    quantities: pd.DataFrame | None = None
    population: pd.DataFrame | None = None
    locations: frozenset[str] = frozenset()
    is_frame: bool = False

    @property
    def dates(self) -> pd.Series[pd.Timestamp]:
        """Start of each crawl that has a partition, by label."""
        dated = self.crawls.set_index("crawl")["started_at"]
        return dated[dated.index.isin(list(self.partitions))]

    def survival(self, days: float) -> float:
        """Return the share of the eligible elements that is still eligible after some days; NaN if unknown.

        A crawl later is the mean gap of the collection later.
        """
        if days == 0:
            return 1.0
        if self.quantities is None or len(self.crawls) < 2:
            return np.nan
        rows = self.quantities[self.quantities["quantity"] == "survival"]
        value = pd.to_numeric(rows["value"]).dropna()
        gap = _days(self.crawls["started_at"].iloc[-1] - self.crawls["started_at"].iloc[0]) / (len(self.crawls) - 1)
        return float(value.iloc[0] ** (days / gap)) if len(value) and gap > 0 else np.nan

    def completeness(self, crawl: str) -> tuple[float, float, float] | None:
        """Return the crawl completeness that the urn gives a crawl, with its interval; None: not reported."""
        if self.population is None:
            return None
        rows = self.population[(self.population["crawl"] == crawl) & self.population["completeness"].notna()]
        if rows.empty:
            return None
        value, low, high = rows.iloc[0][["completeness", "completeness_low", "completeness_high"]].astype(float)
        return value, low, high


def cross_archive_table(
    archives: Sequence[Archive], *, days: float, odds_ratios: tuple[float, float], memory_bytes: int = 2**32
) -> pd.DataFrame:
    """Return table `cross_archive`.

    Parameters
    ----------
    archives
        Two or more collections of one key space; at most one is a register. Its crawls, or else those of the first
        collection, are the reference.
    days
        Largest number of days between a reference crawl and a crawl matched to it.
    odds_ratios
        Smallest and largest odds ratio of two lists under which the population is stated.
    memory_bytes
        Bound on the memory for counting.
    """
    reference = next((one for one in archives if one.is_frame), archives[0])
    rows: list[Row] = []
    with list_counting(memory_bytes) as count:
        for label, crawls in match_crawls(archives, reference, days):
            rows += _missing_crawls(archives, reference, label, crawls)
            for match in _matches(archives, reference, label, crawls, count):
                rows += match_rows(match, odds_ratios)
    rows += [row for one in archives if not one.is_frame for row in _calendar_gaps(one)]
    return pd.DataFrame(rows, columns=list(CROSS_ARCHIVE.column_names))


def _matches(
    archives: Sequence[Archive], reference: Archive, label: str, crawls: Mapping[str, str], count: ListCounter
) -> Iterator[Match]:
    """Yield the counts of the crawls that match a reference crawl: of all elements, and of each stratum."""
    matched = [one for one in archives if one.name in crawls]
    if sum(not one.is_frame for one in matched) < (1 if reference.is_frame else 2):
        return
    partitions = [one.partitions[crawls[one.name]] for one in matched]
    for stratum, counts in count(partitions).items():
        yield Match(
            label=label,
            stratum=stratum,
            names=tuple(one.name for one in matched),
            crawls=tuple(crawls[one.name] for one in matched),
            days=tuple(_days(one.dates[crawls[one.name]] - reference.dates[label]) for one in matched),
            counts=counts,
            one_in=common_one_in(partitions),
            frame=matched.index(reference) if reference.is_frame else None,
            survival=tuple(one.survival for one in matched),
            one_crawler=frozenset(_shared_sources(matched)),
            has_strata=all(partition.strata for partition in partitions),
            completeness=tuple(one.completeness(crawls[one.name]) for one in matched),
        )


def latest_match(cross_archive: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of all elements of the last match of two or more lists, or of a list and a register."""
    rows = cross_archive[cross_archive["stratum"].isna()]
    element_rows = rows[rows["quantity"] == "elements"]
    if element_rows.empty:
        return element_rows
    has_all = element_rows.groupby("match", sort=False).size()
    label = has_all[has_all == has_all.max()].index[-1]
    latest: pd.DataFrame = rows[(rows["match"] == label) & ~rows["quantity"].isin(["missing_crawl", "calendar_gap"])]
    return latest


def coverage_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage that own crawls give, by match, with the one counted in a register as ``counted``."""
    rows = frame[(frame["quantity"] == "coverage") & frame["stratum"].isna()]
    register_rows = rows[rows["estimator"] == "frame"][["match", "lists", "estimate"]]
    return rows[rows["estimator"] == "urn"].merge(
        register_rows.rename(columns={"estimate": "counted"}), on=["match", "lists"]
    )


def match_crawls(archives: Sequence[Archive], reference: Archive, days: float) -> Iterator[tuple[str, dict[str, str]]]:
    """Match the crawls of each archive to reference crawls: both must be nearest to each other, within some days.

    Yields
    ------
    Label of the reference crawl, and the label of the matched crawl of every archive that has one, by archive.
    """
    origin = reference.dates
    found: dict[str, dict[str, str]] = {label: {} for label in origin.index}
    for one in archives:
        apart = np.abs(
            (one.dates.to_numpy()[None, :] - origin.to_numpy()[:, None]) / np.timedelta64(1, "s") / SECONDS_PER_DAY
        )
        for position, label in enumerate(origin.index):
            if not apart.size:
                break
            nearest = int(apart[position].argmin())
            if apart[position, nearest] <= days and apart[:, nearest].argmin() == position:
                found[label][one.name] = one.dates.index[nearest]
    yield from found.items()


def _missing_crawls(
    archives: Sequence[Archive], reference: Archive, label: str, crawls: Mapping[str, str]
) -> Iterator[Row]:
    """Yield the archives that have no crawl at a crawl of the register, although they have earlier and later ones."""
    for one in archives:
        if one.name in crawls or not reference.is_frame or one.dates.empty:
            continue
        if one.dates.min() < reference.dates[label] < one.dates.max():
            yield {
                "match": label,
                "lists": one.name,
                "crawls": label,
                "days_apart": 0.0,
                "quantity": "missing_crawl",
                "estimator": "counted",
                "estimate": 1.0,
                "unit": "crawls",
                "status": "missing",
                "reason_code": "missing_crawl",
                "reason": "The register has a crawl of this date; the list has none within the days allowed.",
            }


def _calendar_gaps(archive: Archive) -> Iterator[Row]:
    """Yield the gaps into which more crawls would fit at the archive's usual gap."""
    if len(archive.crawls) < _LEAST_FOR_CADENCE:
        return
    usual = float((archive.crawls["started_at"].diff().dt.total_seconds() / SECONDS_PER_DAY).median())
    for gap in long_gaps(archive.crawls, usual).to_dict("records") if usual > 0 else ():
        yield {
            "match": gap["before"],
            "lists": archive.name,
            "crawls": f"{gap['after']}{JOINED_BY}{gap['before']}",
            "days_apart": gap["days"],
            "quantity": "calendar_gap",
            "estimator": "counted",
            "estimate": float(gap["room_for"]),
            "unit": "crawls",
            "status": "missing",
            "reason_code": "calendar_gap",
            "reason": f"At the usual gap of {usual:.3g} days, more crawls would fit between these two.",
        }


def _shared_sources(archives: Sequence[Archive]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of archives that were read from the same file or the same server."""
    origins = [{urlsplit(place).netloc or place for place in one.locations} for one in archives]
    for first, ours in enumerate(origins):
        for second in range(first + 1, len(origins)):
            if ours & origins[second]:
                yield first, second


def _days(span: pd.Timedelta) -> float:
    return span.total_seconds() / SECONDS_PER_DAY
