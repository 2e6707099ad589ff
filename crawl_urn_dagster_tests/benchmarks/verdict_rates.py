"""Measure how often the curves of a collection that satisfies the model are not ``sound``, and which test fails.

Run ``python -m crawl_urn_dagster_tests.benchmarks.verdict_rates FOLDER``. Each simulated collection adds a line to a
file of its cell in the folder, and a new run continues after the last line. It prints a Markdown table. The collections
are simulated as in `interval_coverage`.
"""

from __future__ import annotations

import argparse
import collections
import datetime as dt
import zlib
from pathlib import Path

import numpy as np

from crawl_urn_dagster.estimates.assessment.assess import assess_curves
from crawl_urn_dagster.estimates.diagnosis import diagnosis_table
from crawl_urn_dagster.estimates.fitting import apply_violation_rules, fit_primary
from crawl_urn_dagster.estimates.intervals import with_intervals
from crawl_urn_dagster.estimates.selection import select_headline
from crawl_urn_dagster_tests.benchmarks.interval_coverage import CELLS, CORE, SHELL, Cell, path_of, simulated_histories
from crawl_urn_dagster_tests.estimates.observed import collection_data


def verdict_of(cell: Cell, number: int) -> str:
    """Return the verdict that the curves of one simulated collection give, and the tests that fail."""
    counts = simulated_histories(cell, zlib.crc32(f"{cell.name} {number}".encode()))
    data = collection_data(counts)
    fitted = with_intervals(fit_primary(data, ["crawl"]), data)
    selected = select_headline(fitted.fits, clock="crawl")
    tests = diagnosis_table(fitted, selected, apply_violation_rules(data), data.in_all)
    failed = sorted(set(tests.loc[tests["verdict"] == "fails", "test"]))
    return " ".join([assess_curves(data, fitted, selected, tests).verdict.name.value, *failed])


def table(folder: Path) -> str:
    """Return a Markdown table of the files in the folder."""
    lines = [
        f"Verdicts on collections that satisfy the model; {CORE + SHELL:,} elements, seeds from the names of the "
        f"cells, {dt.datetime.now(dt.timezone.utc):%Y-%m-%d}.",
        "",
        "| noise, crawls | collections | not sound | binomial error | verdicts, and tests that failed |",
        "|---|---|---|---|---|",
    ]
    for cell in CELLS:
        path = path_of(cell, folder).with_suffix(".txt")
        if not path.exists():
            continue
        verdicts = collections.Counter(path.read_text().splitlines())
        n = verdicts.total()
        share = 1 - verdicts["sound"] / n
        error = np.sqrt(max(share, 1 / n) * (1 - share) / n)
        others = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common() if verdict != "sound")
        lines.append(f"| {cell.name} | {n} | {share:.3f} | {error:.3f} | {others or 'none'} |")
    return "\n".join(lines)


def main() -> None:
    """Simulate missing collections, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of the results")
    parser.add_argument("--collections", type=int, default=100, help="simulated collections in a cell")
    parser.add_argument("--crawls", type=int, choices=(24, 51), help="only cells of this number of crawls")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = [cell for cell in CELLS if arguments.crawls in {None, cell.crawls}]
    for number in range(arguments.collections):
        for cell in chosen:
            path = path_of(cell, arguments.folder).with_suffix(".txt")
            done = len(path.read_text().splitlines()) if path.exists() else 0
            if done == number:
                with path.open("a") as file:
                    file.write(f"{verdict_of(cell, number)}\n")
    print(table(arguments.folder))


if __name__ == "__main__":
    main()
