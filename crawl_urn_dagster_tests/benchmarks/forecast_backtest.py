"""Backtest forecasts on real collections, compared with three simple extrapolations.

Run ``python -m crawl_urn_dagster_tests.benchmarks.forecast_backtest DATA`` with the folder of real data. Only futures
are random, with a fixed seed. It takes five minutes and prints Markdown tables. With ``--scenarios N`` it assesses N
seeds of simulated scenarios instead, forecasts them by the selected model, and prints the shares of the coming values
that are inside, below and above the intervals; that takes about 20 minutes.

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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.estimates.forecast import forecast_table
from crawl_urn_dagster.observables.tables import crawls_table, discovery_curve_table, unions_matrix
from crawl_urn_dagster.sources import Selection
from crawl_urn_dagster.sources.common_crawl.statistics import CommonCrawlStatisticsSource
from crawl_urn_dagster.sources.transport.files import Files
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, recaptures_from_unions
from crawl_urn_dagster.urn.capture_recapture.comparators import heaps
from crawl_urn_dagster.urn.capture_recapture.unseen_elements import good_turing
from crawl_urn_dagster.urn.monitoring.forecast import forecast, interpolate_windows
from crawl_urn_dagster.urn.state_space.fitting import fit_model
from crawl_urn_dagster.urn.state_space.likelihood import observe
from crawl_urn_dagster.urn.state_space.prediction import expected_sizes
from crawl_urn_dagster_tests.benchmarks.scenarios import simulator
from crawl_urn_dagster_tests.estimates.observed import collection_data

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray
    from crawl_urn_dagster.urn.monitoring.forecast import Forecast

FIRST_ORIGIN, HORIZON = 12, 12
RIVALS = ("last slope", "Heaps", "Good-Turing")
FORECAST = "forecast"
MODEL_OF_LISTS = "markov_3"
SCENARIOS = ("growth_2", "growth_2_noise", "plain", "coverage_noise", "dormancy")
# Crawls that scenarios are assessed by, and crawls ahead.
ASSESSED, AHEAD = 24, (1, 3, 6)


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


def forecast_list(seen: BoolArray | None, unions: FloatArray) -> Forecast:
    """Forecast by the histories of a list, under the model that is selected for both lists, or by unions alone."""
    expected = None
    if seen is not None:
        rows, elements = np.unique(seen[seen.any(axis=1)], axis=0, return_counts=True)
        histories = CaptureHistoryCounts(rows, elements)
        expected = expected_sizes(fit_model(MODEL_OF_LISTS, observe(histories), seed=1).mixture, histories, HORIZON)
    return forecast(unions, recaptures_from_unions(unions), expected_sizes=expected, horizon=HORIZON)


def scores(real: Real, horizon: int) -> list[Score]:
    """Score the predictions from every origin."""
    found = []
    n = len(real.unions)
    for known in range(FIRST_ORIGIN, n - HORIZON + 1):
        unions = real.unions[:known, :known]
        predicted = forecast_list(None if real.seen is None else real.seen[:, :known], unions).distinct(0)
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
        predicted = forecast_list(None, filled).distinct(start)
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
    found = forecast_list(None, filled)
    lines = ["| crawl | distinct URLs of the 12 crawls to it, in billions | forecast | error |", "|---|---|---|---|"]
    for step in range(HORIZON):
        end = known + step
        value, low, high = (numbers[step] / 1e9 for numbers in found.distinct(end - HORIZON + 1))
        observed = whole[end - HORIZON + 1, end] / 1e9
        mark = "" if low <= observed <= high else ", outside"
        forecasted = f"{value:.2f} ({low:.2f} to {high:.2f}{mark})"
        lines.append(f"| {labels[end]} | {observed:.2f} | {forecasted} | {100 * (value / observed - 1):+.1f} % |")
    return "\n".join(lines)


def forecast_scenario(settings: dict[str, Any], seed: int) -> pd.DataFrame:
    """Assess a simulated collection, and compare its forecast with the crawls that follow."""
    seen = simulator().simulate(np.random.default_rng(seed), **{**settings, "T": ASSESSED + max(AHEAD)})
    rows, elements = np.unique(seen, axis=0, return_counts=True)
    whole = CaptureHistoryCounts(rows, elements)
    unions = whole.unions().astype(float)
    data = collection_data(whole.select_crawls(range(ASSESSED)))
    quantities = estimate(data, clock="crawl", n_replicates=20).tables["quantities"]
    found = forecast_table(
        data.crawls, data.containment, data.discovery_curve, quantities=quantities, histories=data.histories
    )
    found = found[(found["origin_crawl"] == data.labels[-1]) & found["crawls_ahead"].isin(AHEAD)]
    end = ASSESSED - 1 + found["crawls_ahead"].to_numpy(dtype=int)
    sizes, new = unions[end, end], unions[0, end] - unions[0, end - 1]
    observed = {"crawl_size": sizes, "new_elements": new, "returning_elements": sizes - new}
    observed["distinct_elements"] = unions[0, end]
    values = np.select([found["quantity"] == name for name in observed], list(observed.values()), np.nan)
    is_whole = (found["quantity"] != "distinct_elements") | (found["start_crawl"] == data.labels[0])
    found = found.assign(below=values < found["value_low"], above=values > found["value_high"])
    return found[is_whole & np.isfinite(values)]


def scenario_table(n_seeds: int) -> str:
    """Return the shares of coming values inside, below and above the intervals, by scenario and crawls ahead."""
    lines = ["| scenario | crawls ahead | values | inside 95 % PI | below | above |", "|---|---|---|---|---|---|"]
    for name in SCENARIOS:
        settings, _ = simulator().SCENARIOS[name]
        found = pd.concat([forecast_scenario(settings, seed) for seed in range(1, n_seeds + 1)])
        for ahead, rows in found.groupby("crawls_ahead"):
            below, above = rows["below"].mean(), rows["above"].mean()
            lines.append(f"| {name} | {ahead} | {len(rows)} | {1 - below - above:.2f} | {below:.2f} | {above:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of real data")
    parser.add_argument("--scenarios", type=int, metavar="N", help="forecast N seeds of each scenario instead")
    arguments = parser.parse_args()
    if arguments.scenarios:
        print(scenario_table(arguments.scenarios))
        return
    if arguments.data is None:
        parser.error("expected the folder of real data, or --scenarios N")
    data = arguments.data
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
