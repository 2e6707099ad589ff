"""Measure the processor time of each step of `crawl-urn run`, or compare the tables that two runs wrote.

Usage::

    python -m crawl_urn_dagster_tests.benchmarks.step_speed run HOME [COLLECTIONS.yaml]
    python -m crawl_urn_dagster_tests.benchmarks.step_speed compare HOME HOME
    python -m crawl_urn_dagster_tests.benchmarks.step_speed long CRAWLS [CRAWLS ...]

The first form prints processor seconds (this process and its children), wall seconds and the peak memory so far of each
step. The second prints every column with a number that differs by more than 0.1 %, or with another text. The third
prints the same as the first for each stage of `cu.fit` of simulated lists with these numbers of crawls. Processor time
is compared because wall time depends on what else the machine does.
"""

import multiprocessing
import os
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pandas.testing

_TOLERANCE = 1e-3
#: Elements of the core and of the shell of `simulated_list`.
SIMULATED_CORE, SIMULATED_SHELL = 100, 500


def _processor_seconds() -> float:
    """Return the processor time of this process, and of others that it started, also while they run (on Linux)."""
    running = 0
    for process in multiprocessing.active_children():
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        running += int(fields[11]) + int(fields[12])
    return sum(os.times()[:4]) + running / os.sysconf("SC_CLK_TCK")


def peak_megabytes() -> float:
    """Return the largest resident memory of this process or of one of its children."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def run(home: Path, collections: Path | None) -> None:
    """Run the command in this process, and print a line per step."""
    started, wall = _processor_seconds(), time.monotonic()
    from crawl_urn_dagster.cli import launching
    from crawl_urn_dagster.cli.main import main

    execute = launching.CodeLocation.execute

    def timed(location, instance, run):
        for event in execute(location, instance, run):
            if event.event_type_value == "STEP_START":
                began = _processor_seconds(), time.monotonic()
            elif event.event_type_value in {"STEP_SUCCESS", "STEP_FAILURE"}:
                spent = _processor_seconds() - began[0], time.monotonic() - began[1]
                print(f"| {event.step_key} | {spent[0]:.2f} | {spent[1]:.2f} | {peak_megabytes():.0f} |")
            yield event

    launching.CodeLocation.execute = timed
    listed = [] if collections is None else ["--collections", str(collections)]
    main(["run", "--home", str(home), *listed], standalone_mode=False)
    spent = _processor_seconds() - started, time.monotonic() - wall
    print(f"| whole command | {spent[0]:.2f} | {spent[1]:.2f} | {peak_megabytes():.0f} |")


def simulated_list(n_crawls: int) -> pd.DataFrame:
    """Simulate weekly crawls of a core of 100 and a shell of 500 elements, of which a crawl captures about 0.6."""
    from crawl_urn_dagster.urn import simulate

    logits = np.log(0.6 / 0.4) + 0.3 * np.random.default_rng(1).standard_normal(n_crawls)
    histories = simulate(
        times=np.arange(float(n_crawls)),
        core=SIMULATED_CORE,
        shell=SIMULATED_SHELL,
        alpha=1 - 3 / n_crawls,
        coverage=1 / (1 + np.exp(-logits)),
        seed=1,
    )
    labels = pd.date_range("2000-01-01", periods=n_crawls, freq="7D").strftime("%Y-%m-%d")
    captured = [histories.captured(crawl) for crawl in range(n_crawls)]
    return pd.DataFrame(
        {"crawl": np.repeat(labels, [len(found) for found in captured]), "element": np.concatenate(captured)}
    )


def fit_long(n_crawls: int) -> None:
    """Fit a simulated list in a fresh process, and print a line per stage."""
    import crawl_urn_dagster as cu

    crawls = cu.read_presence(simulated_list(n_crawls))
    stages: list[tuple[str, float, float]] = []

    def mark(stage: str) -> None:
        now = stage.partition(";")[0], _processor_seconds(), time.monotonic()
        if stages:
            name, began, wall = stages[-1]
            print(f"| {n_crawls} | {name} | {now[1] - began:.2f} | {now[2] - wall:.2f} | {peak_megabytes():.0f} |")
        stages.append(now)

    fitted = cu.fit(crawls, progress=mark)
    mark("end")
    (_, began, wall), (_, ended, wall_end) = stages[0], stages[-1]
    verdict = fitted.verdict.name.value
    print(f"| {n_crawls} | {verdict} | {ended - began:.2f} | {wall_end - wall:.2f} | {peak_megabytes():.0f} |")


def compare(before: Path, after: Path) -> None:
    """Print the columns in which the tables of two home folders differ."""
    for path in sorted(before.glob("*/observables.duckdb")):
        if not (after / path.relative_to(before)).exists():
            continue
        tables = [_read(folder / path.relative_to(before)) for folder in (before, after)]
        for name in sorted(tables[0].keys() | tables[1].keys()):
            old, new = (some.get(name, pd.DataFrame()) for some in tables)
            for column in dict.fromkeys([*old.columns, *new.columns]):
                found = _difference(old, new, column)
                if found:
                    print(f"{path.parent.name}, {name}.{column}: {found}")


def _difference(old: pd.DataFrame, new: pd.DataFrame, column: str) -> str:
    try:
        pandas.testing.assert_series_equal(old[column], new[column], rtol=_TOLERANCE, check_dtype=False)
    except (AssertionError, KeyError) as error:
        return " ".join(str(error).split())[:160]
    return ""


def _read(path: Path) -> dict[str, pd.DataFrame]:
    with duckdb.connect(str(path), read_only=True) as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        return {name: connection.execute(f'FROM "{name}" ORDER BY ALL').df() for (name,) in names}


if __name__ == "__main__":
    what, home, *others = sys.argv[1:]
    if what == "long":
        for crawls in [home, *others]:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                pool.submit(fit_long, int(crawls)).result()
    elif what == "run":
        run(Path(home), Path(others[0]) if others else None)
    else:
        compare(Path(home), Path(others[0]))
