"""Backtest forecasts on real collections, compared with three simple extrapolations.

Run ``python -m crawl_urn_dagster_tests.benchmarks.forecast_backtest DATA`` with the folder of real data. Only futures
are random, with a fixed seed. It takes a minute and prints Markdown tables.

The origin rolls: from the first 12 crawls on, each forecast uses only the crawls up to its origin. It predicts the
discovery curve from the first crawl, 6 and 12 crawls ahead. The published table of URLs has windows of at most 12
crawls; there, it predicts the curve of 12 crawls of which the first 6 (or the first 3, 9 ahead) are known.

- last slope: the last known step of the curve continues.
- Heaps: a power law of the number of crawls, fitted to the logarithms of the curve, through its last point.
- Good-Turing: every future capture is of a new element with probability f₁/n; only for lists.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from crawl_urn_dagster.observables.tables import crawls_table, discovery_curve_table, unions_matrix
from crawl_urn_dagster.sources import Selection
from crawl_urn_dagster.sources.common_crawl.statistics import CommonCrawlStatisticsSource
from crawl_urn_dagster.sources.transport.files import Files
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, recaptures_from_unions
from crawl_urn_dagster.urn.capture_recapture.comparators import heaps
from crawl_urn_dagster.urn.capture_recapture.unseen_elements import good_turing
from crawl_urn_dagster.urn.monitoring.forecast import forecast, interpolate_windows

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

FIRST_ORIGIN, HORIZON = 12, 12
RIVALS = ("last slope", "Heaps", "Good-Turing")
FORECAST = "forecast"


class Real(NamedTuple):
    """A real collection: unions of its windows, captures of its elements if known, and whether it is pooled."""

    name: str
    unions: FloatArray
    seen: BoolArray | None = None
    pooled: bool = True


class Score(NamedTuple):
    """One prediction from one origin: relative errors, and whether the interval contains the observed value."""

    errors: dict[str, float]
    inside: bool


def presence(path: Path) -> Real:
    """Read a collection from a list of crawls and elements."""
    rows = pd.read_csv(path, dtype=str)
    crawl, _ = pd.factorize(rows["snapshot"], sort=True)
    element, elements = pd.factorize(rows["element"])
    seen = np.zeros((len(elements), crawl.max() + 1), dtype=bool)
    seen[element, crawl] = True
    counts = CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64))
    return Real(path.name.partition(".")[0], counts.unions().astype(float), seen)


def sketched(path: Path, name: str, *, crawls: int | None = None) -> Real:
    """Read a collection from a table of all windows."""
    rows = pd.read_csv(path)
    labels = pd.Index(rows["start"].unique()[:crawls])
    rows = rows[rows["start"].isin(labels) & rows["end"].isin(labels)]
    unions = np.full((len(labels), len(labels)), np.nan)
    unions[labels.get_indexer(rows["start"]), labels.get_indexer(rows["end"])] = rows["union"]
    return Real(name, unions, pooled=crawls is None)


def published(data: Path, last: str | None = None) -> tuple[list[str], FloatArray]:
    """Return labels and unions of the published table of URLs, from CC-MAIN-2013-20 on."""
    source = CommonCrawlStatisticsSource(
        windows=str(data / "common_crawl_statistics" / "url_last_n_crawls.csv"),
        calendar=str(data / "crawls.csv"),
        relative_error=0.008,
    )
    tables = source.read_tables(Files(Path()), Selection("CC-MAIN-2013-20", last))
    crawls = crawls_table(tables.crawls)
    windows = discovery_curve_table(crawls, tables.windows, CountingError(0.008))
    return crawls["crawl"].tolist(), unions_matrix(crawls, windows)


def last_slope(lengths: FloatArray, curve: FloatArray, ahead: FloatArray) -> FloatArray:
    """Extrapolate the last known step of a curve."""
    return curve[-1] + ahead * (curve[-1] - curve[-2]) / (lengths[-1] - lengths[-2])


def power_law(lengths: FloatArray, curve: FloatArray, ahead: FloatArray) -> FloatArray:
    """Extrapolate by Heaps' law through the last point."""
    return curve[-1] * ((lengths[-1] + ahead) / lengths[-1]) ** heaps(lengths, curve).estimate


def turing(seen: BoolArray, unions: FloatArray, ahead: FloatArray) -> FloatArray:
    """Extrapolate by the new fraction of Good and Turing, in crawls of the last size."""
    frequencies = np.bincount(seen.sum(axis=1), minlength=3)
    frequencies[0] = 0
    return unions[0, -1] + ahead * good_turing(frequencies)[1].estimate * unions[-1, -1]


def scores(real: Real, horizon: int) -> list[Score]:
    """Score the predictions from every origin."""
    found = []
    n = len(real.unions)
    for known in range(FIRST_ORIGIN, n - HORIZON + 1):
        unions = real.unions[:known, :known]
        predicted = forecast(unions, recaptures_from_unions(unions), horizon=HORIZON).distinct(0)
        observed = real.unions[0, known - 1 + horizon]
        lengths, ahead = np.arange(1.0, known + 1), np.array([float(horizon)])
        others = {"last slope": last_slope(lengths, unions[0], ahead), "Heaps": power_law(lengths, unions[0], ahead)}
        if real.seen is not None:
            others["Good-Turing"] = turing(real.seen[:, :known], unions, ahead)
        found.append(_score(predicted, horizon, others, observed))
    return found


def scores_of_published(unions: FloatArray, known_of_window: int) -> list[Score]:
    """Score predictions of windows of 12 crawls, some of them known, from every origin of the published table."""
    found = []
    horizon = HORIZON - known_of_window
    for known in range(2 * HORIZON, len(unions) - horizon + 1):
        start = known - known_of_window
        observed = unions[start, start + HORIZON - 1]
        curve = unions[start, start:known]
        lengths = np.flatnonzero(np.isfinite(curve)) + 1.0
        if not np.isfinite(observed) or len(lengths) < 2:
            continue
        filled = interpolate_windows(unions[:known, :known])
        predicted = forecast(filled, recaptures_from_unions(filled), horizon=HORIZON).distinct(start)
        points, ahead = curve[np.isfinite(curve)], np.array([float(horizon)])
        others = {"last slope": last_slope(lengths, points, ahead), "Heaps": power_law(lengths, points, ahead)}
        found.append(_score(predicted, horizon, others, observed))
    return found


def _score(predicted: tuple[FloatArray, ...], horizon: int, others: dict[str, FloatArray], observed: float) -> Score:
    value, low, high = (numbers[horizon - 1] for numbers in predicted)
    values = {FORECAST: value, **{name: float(other[0]) for name, other in others.items()}}
    return Score({name: abs(value / observed - 1) for name, value in values.items()}, bool(low <= observed <= high))


def line(name: str, found: list[Score], horizon: str) -> str:
    """Return a row of the table."""
    cells = []
    for method in (FORECAST, *RIVALS):
        errors = [score.errors[method] for score in found if method in score.errors]
        cells.append(f"{100 * np.mean(errors):.2f} %" if errors else "–")
    inside = np.mean([score.inside for score in found])
    return f"| {name} | {horizon} | {len(found)} | {' | '.join(cells)} | {inside:.2f} |"


def table(reals: list[Real], urls: FloatArray) -> str:
    """Return errors and coverage of intervals by collection and horizon, and pooled."""
    head = ["collection", "ahead", "origins", FORECAST, *RIVALS, "inside 95 % intervals"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    pooled: list[Score] = []
    for real in reals:
        for horizon in (6, 12):
            found = scores(real, horizon)
            pooled += found if real.pooled else []
            lines.append(line(real.name, found, str(horizon)))
    for known in (6, 3):
        found = scores_of_published(urls, known)
        pooled += found
        lines.append(line("published table of URLs", found, str(HORIZON - known)))
    lines.append(line("pooled", pooled, "all"))
    lists = [score for score in pooled if "Good-Turing" in score.errors]
    lines.append(line("pooled, lists only", lists, "all"))
    return "\n".join(lines)


def comparison_with_2025(data: Path) -> str:
    """Compare forecasts of the published table from CC-MAIN-2024-51 with the crawls of 2025."""
    labels, whole = published(data)
    known = labels.index("CC-MAIN-2024-51") + 1
    filled = interpolate_windows(whole[:known, :known])
    found = forecast(filled, recaptures_from_unions(filled), horizon=HORIZON)
    lines = ["| crawl | distinct URLs of the 12 crawls to it, in billions | forecast | error |", "|---|---|---|---|"]
    for step in range(HORIZON):
        end = known + step
        value, low, high = (numbers[step] / 1e9 for numbers in found.distinct(end - HORIZON + 1))
        observed = whole[end - HORIZON + 1, end] / 1e9
        mark = "" if low <= observed <= high else ", outside"
        forecasted = f"{value:.2f} ({low:.2f} to {high:.2f}{mark})"
        lines.append(f"| {labels[end]} | {observed:.2f} | {forecasted} | {100 * (value / observed - 1):+.1f} % |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of real data")
    data = parser.parse_args().data
    windows = data / "edu_hll" / "edu_url_discovery_hll.csv"
    reals = [
        presence(data / "presence" / "us_gov_hosts.csv.gz"),
        presence(data / "presence" / "cc_webgraph_top1000.csv.gz"),
        sketched(windows, "edu_urls"),
        sketched(windows, "edu_urls to CC-MAIN-2016-50 (not pooled)", crawls=29),
    ]
    print(table(reals, published(data)[1]), comparison_with_2025(data), sep="\n\n")


if __name__ == "__main__":
    main()
