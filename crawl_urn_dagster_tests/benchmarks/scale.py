"""Measure ingest, counting of capture histories and adding a crawl, as ratios to DuckDB on the same files.

Run ``python -m crawl_urn_dagster_tests.benchmarks.scale FOLDER``; FOLDER keeps the simulated data between runs. Does
not check results; the tests do.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from crawl_urn_dagster.observables.history_arrays import captured, combine, count_by_history, single_captures
from crawl_urn_dagster.observables.kept_histories import KeptHistories
from crawl_urn_dagster.observables.keys import first_key
from crawl_urn_dagster.observables.presence import PresenceFolder, read_keys
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, simulate, unions_from_recaptures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawl_urn_dagster.observables.presence import Partition

# 40 % core, survival 0.75, coverage 0.6, as in the embedded default.
KAPPA, ALPHA, COVERAGE, SEED = 0.4, 0.75, 0.6, 1
CRAWLS, ELEMENTS = 52, 1_850_000
LARGE_CRAWLS, LARGE_ELEMENTS = 120, 5_500_000
NAMED = "SELECT 'https://site-' || (number % 1000) || '.example/page-' || number AS element FROM numbers"


def labels(crawls: int) -> list[str]:
    """Return the labels of crawls, in time order."""
    return [f"crawl-{number:03}" for number in range(crawls)]


def raw_lists(folder: Path, crawls: int, elements: int) -> list[Path]:
    """Write lists of captures as text, one Parquet file per crawl, in the order of the simulator."""
    paths = [folder / "raw" / f"{label}.parquet" for label in labels(crawls)]
    if not paths[-1].exists():
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        core = round(KAPPA * elements)
        simulated = simulate(
            times=np.arange(crawls), core=core, shell=elements - core, alpha=ALPHA, coverage=COVERAGE, seed=SEED
        )
        with duckdb.connect() as connection:
            for number, path in enumerate(paths):
                connection.register("numbers", {"number": simulated.captured(number)})
                connection.execute(f"COPY ({NAMED}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    return paths


def texts(path: Path) -> Iterator[np.ndarray]:
    """Yield the elements of a raw list, about a million at a time."""
    with duckdb.connect() as connection:
        connection.execute("SELECT element FROM read_parquet(?)", [str(path)])
        while len(rows := connection.fetch_df_chunk(512)):
            yield rows["element"].to_numpy(dtype=object)


def ingest(folder: Path, crawl: str, raw: Path) -> Partition:
    """Write the partition of one crawl: read, hash, sort, write."""
    captures = ((crawl, elements, False) for elements in texts(raw))
    return next(iter(PresenceFolder(folder).write(captures, {crawl: "raw"})))


def partitions_of(folder: Path, raw: list[Path]) -> list[Partition]:
    """Return the partitions of all raw lists, written if missing."""
    presence = PresenceFolder(folder / "presence")
    for path in raw:
        if presence.read(path.stem) is None:
            ingest(presence.folder, path.stem, path)
    return presence.read_all(path.stem for path in raw)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a function takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def every_observable(counts: CaptureHistoryCounts) -> tuple[np.ndarray, np.ndarray]:
    """Compute all pairs and all windows."""
    intersections, recaptures = counts.intersections(), counts.recaptures()
    return intersections, unions_from_recaptures(np.diagonal(intersections), recaptures)


def count_and_observe(state: Path, partitions: list[Partition]) -> None:
    """Compute all pairs and windows from partitions, as a run does."""
    every_observable(KeptHistories(state).count(partitions))


def distinct(partitions: list[Partition]) -> None:
    """Count the distinct keys of some partitions in DuckDB."""
    with duckdb.connect() as connection:
        paths = [str(partition.path) for partition in partitions]
        connection.execute("SELECT count(DISTINCT key) FROM read_parquet(?)", [paths]).fetchall()


def measure_ingest(folder: Path, raw: list[Path]) -> None:
    """Compare ingest with DuckDB writing the same rows sorted and unhashed, crawl by crawl."""
    scratch = folder / "scratch"
    ours, theirs, rows = [], [], 0
    for path in raw:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        ours.append(timed(lambda path=path: ingest(scratch, path.stem, path)))
        rows += PresenceFolder(scratch).read_all([path.stem])[0].rows
        target = scratch / "sorted.parquet"
        statement = f"COPY (SELECT element FROM read_parquet('{path}') ORDER BY element) TO '{target}' (FORMAT parquet)"
        with duckdb.connect() as connection:
            theirs.append(timed(lambda statement=statement, connection=connection: connection.execute(statement)))
    shutil.rmtree(scratch)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    print(
        f"ingest: {rows:,} rows in {len(raw)} crawls, {rows / sum(ours):,.0f} rows/s; DuckDB, sorted text: "
        f"{rows / sum(theirs):,.0f} rows/s; ratio to DuckDB's time, median of {len(raw)} pairs: {ratio:.2f}"
    )


def measure_counts(folder: Path, partitions: list[Partition], repeats: int) -> None:
    """Compare counts, pairs and windows with one count(DISTINCT), and adding a crawl with a full count."""
    state, before = folder / "state", partitions[:-1]
    over_distinct, over_all, seconds = [], [], []
    for _ in range(repeats):
        shutil.rmtree(state, ignore_errors=True)
        one_pass = timed(lambda: distinct(before))
        everything = timed(lambda: count_and_observe(state, before))
        adding = timed(lambda: count_and_observe(state, partitions))
        seconds.append(everything)
        over_distinct.append(everything / one_pass)
        over_all.append(adding / everything)
    rows = sum(partition.rows for partition in before)
    print(
        f"counts, pairs and windows: {rows:,} rows, {len(before)} crawls, {statistics.median(seconds):.2f} s; ratio to "
        f"one count(DISTINCT), median of {repeats}: {statistics.median(over_distinct):.2f}"
    )
    ratio = statistics.median(over_all)
    print(f"adding crawl {len(partitions)}: ratio to the full count, median of {repeats}: {ratio:.3f}")
    measure_naive(before, statistics.median(seconds))


def measure_naive(partitions: list[Partition], seconds: float) -> None:
    """Extrapolate one COUNT(DISTINCT) per window and one join per pair from a sample."""
    n = len(partitions)
    rng = np.random.default_rng(SEED)
    windows = [tuple(sorted(rng.integers(0, n, 2))) for _ in range(5)]
    pairs = [tuple(sorted(rng.choice(n, 2, replace=False))) for _ in range(10)]
    sizes = np.array([partition.rows for partition in partitions])
    window_rows = [sizes[i : j + 1].sum() for i in range(n) for j in range(i, n)]
    per_row = sum(timed(lambda i=i, j=j: distinct(partitions[i : j + 1])) for i, j in windows) / sum(
        sizes[i : j + 1].sum() for i, j in windows
    )
    with duckdb.connect() as connection:
        join = "SELECT count(*) FROM read_parquet(?) JOIN read_parquet(?) USING (key)"
        per_pair = statistics.mean(
            timed(lambda i=i, j=j: connection.execute(join, [str(partitions[k].path) for k in (i, j)]).fetchall())
            for i, j in pairs
        )
    naive = per_row * sum(window_rows) + per_pair * n * (n - 1) / 2
    print(
        f"one COUNT(DISTINCT) per window and one join per pair: {naive:,.0f} s, extrapolated by rows from "
        f"{len(windows)} windows and by number from {len(pairs)} pairs; ratio to ours: {naive / seconds:,.0f}"
    )


def measure_growth(folder: Path, partitions: list[Partition]) -> None:
    """Measure counting by rows (crawls and parts of the key space), and pairs by histories."""
    from matplotlib.figure import Figure

    points = []
    for crawls in (13, 26, 39, 51):
        for one_in in (1, 2, 4):
            some = thinned(folder / f"thinned-{one_in}", partitions[:crawls], one_in)
            shutil.rmtree(folder / "state", ignore_errors=True)
            counts = KeptHistories(folder / "state").count(some)
            shutil.rmtree(folder / "state")
            counting = timed(lambda some=some: KeptHistories(folder / "state").count(some))
            pairing = timed(lambda counts=counts: every_observable(counts))
            rows = sum(partition.rows for partition in some)
            points.append((crawls, one_in, rows, counting, counts.distinct_elements, len(counts.elements), pairing))
            print(
                f"growth: {crawls} crawls, one element in {one_in}: {rows:,} rows counted in {counting:.2f} s "
                f"({1e9 * counting / rows:.0f} ns a row); {len(counts.elements):,} histories, pairs and windows in "
                f"{pairing:.3f} s ({1e9 * pairing / (len(counts.elements) * crawls):.0f} ns a history and crawl)"
            )
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    table = np.array(points)
    for crawls in np.unique(table[:, 0]):
        of = table[table[:, 0] == crawls]
        left.plot(of[:, 2] / 1e6, of[:, 3], "o-", label=f"{crawls:.0f} crawls")
        right.plot(of[:, 5] * of[:, 0] / 1e6, of[:, 6], "o-", label=f"{crawls:.0f} crawls")
    left.set(xlabel="rows, millions", ylabel="counting histories, s")
    right.set(xlabel="distinct histories x crawls, millions", ylabel="pairs and windows, s")
    for axes in (left, right):
        axes.set(xlim=0, ylim=0)
        axes.legend()
    figure.savefig(folder / "scale.png", dpi=150)
    print(f"growth: drawn in {folder / 'scale.png'}")


def thinned(folder: Path, partitions: list[Partition], one_in: int) -> list[Partition]:
    """Copy the lowest part of the keys of partitions."""
    if one_in == 1:
        return partitions
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    presence = PresenceFolder(folder)
    for partition in partitions:
        if presence.read(partition.crawl) is None:
            keys = read_keys(partition, first_key(0, one_in), first_key(1, one_in) - 1)
            with pq.ParquetFile(partition.path) as file:
                stored = json.loads(file.metadata.metadata[b"crawl_urn"]) | {"one_in": one_in}
            with pq.ParquetWriter(folder / f"{partition.crawl}.parquet", pa.schema([("key", pa.int64())])) as writer:
                writer.write_table(pa.table({"key": keys}))
                writer.add_key_value_metadata({b"crawl_urn": json.dumps(stored)})
    return presence.read_all(partition.crawl for partition in partitions)


def measure_sample(partitions: list[Partition], one_in: int) -> None:
    """Measure the share of containments inside the confidence intervals of a hash sample, over disjoint samples."""
    bits = single_captures(range(len(partitions)), 1)
    overlaps = []
    for part in range(one_in):
        low, high = first_key(part, one_in), first_key(part + 1, one_in) - 1
        counts = count_by_history(combine([read_keys(one, low, high) for one in partitions], bits).words)
        seen = captured(counts.words, range(len(partitions)))
        overlaps.append(CaptureHistoryCounts(seen, counts.elements * one_in).intersections())
    truth = np.sum(overlaps, axis=0) / one_in
    i, j = np.triu_indices(len(partitions), k=1)
    sizes = np.diagonal(truth)
    true = truth[i, j] / sizes[i]
    inside, width = [], []
    for sampled in overlaps:
        own = np.diagonal(sampled)
        low, high = CountingError(one_in=one_in).containment_interval(sampled[i, j], own[i], own[j])
        inside.append(np.mean((low <= true) & (true <= high)))
        width.append(np.mean(high - low))
    error = np.std(inside, ddof=1) / np.sqrt(one_in)
    print(
        f"sample of one in {one_in}: containment inside its 95 % confidence interval in {np.mean(inside):.3f} "
        f"+- {error:.3f} of {len(i)} pairs, mean over {one_in} disjoint samples (the package's own: {inside[0]:.3f}); "
        f"width of the intervals {np.mean(width):.4f}"
    )


def measure_large(folder: Path) -> None:
    """Measure many crawls within a memory limit, in a separate process, without ingest."""
    partitions = partitions_of(folder, raw_lists(folder, LARGE_CRAWLS, LARGE_ELEMENTS))
    command = [sys.executable, "-m", "crawl_urn_dagster_tests.benchmarks.scale", str(folder), "--count-only"]
    shutil.rmtree(folder / "state", ignore_errors=True)
    rows = sum(partition.rows for partition in partitions)
    seconds = timed(lambda: subprocess.run(command, check=True))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(
        f"{len(partitions)} crawls, {rows:,} rows, memory_gb 4: counts, pairs and windows in {seconds:.1f} s, peak "
        f"resident memory {peak:.2f} GiB"
    )


def count_only(folder: Path) -> None:
    """Count the partitions of a folder within 4 GiB."""
    presence = PresenceFolder(folder / "presence")
    partitions = presence.read_all(sorted(path.stem for path in presence.folder.glob("*.parquet")))
    counts = KeptHistories(folder / "state").count(partitions, memory_bytes=4 * 2**30, report=print)
    every_observable(counts)
    print(f"{counts.distinct_elements:,} elements, {len(counts.elements):,} histories")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=["ingest", "counts", "growth", "sample", "large"], action="append")
    parser.add_argument("--count-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count_only:
        count_only(options.folder)
        return
    chosen = options.only or ["ingest", "counts", "growth", "sample", "large"]
    small, large = options.folder / "small", options.folder / "large"
    if set(chosen) - {"large"}:
        raw = raw_lists(small, CRAWLS, ELEMENTS)
        if "ingest" in chosen:
            measure_ingest(small, raw[:-1])
        partitions = partitions_of(small, raw)
        distinct(partitions)  # loads the files into memory before any comparison
        if "counts" in chosen:
            measure_counts(small, partitions, options.repeats)
        if "growth" in chosen:
            measure_growth(small, partitions)
        if "sample" in chosen:
            measure_sample(partitions[:-1], 64)
    if "large" in chosen:
        measure_large(large)


if __name__ == "__main__":
    main()
