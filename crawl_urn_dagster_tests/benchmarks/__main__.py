"""Compare the package with other ways to do the same, as ratios of processor time, and with the last recorded ratios.

Run ``python -m crawl_urn_dagster_tests.benchmarks all --quick``; ``--record`` keeps the ratios for the next comparison.
Prints a Markdown table, and names each ratio that is larger in every repeat than in every recorded one. The other
modules of this folder are longer benchmarks of one subject each. Does not compare with R.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.sources import CdxSource, Files, Selection
from crawl_urn_dagster_tests.benchmarks import cdx_speed, scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Last recorded ratios by comparison.
RECORDED = Path(__file__).with_name("quick_ratios.json")
_REPEATS = 5
_CRAWLS, _ELEMENTS, _CDX_LINES, _CURVES = 24, 200_000, 100_000, 50
# Pairs and windows of which the time of all is extrapolated.
_SAMPLED_PAIRS = 8


def processor_seconds(function: Callable[..., object], *arguments: object, **options: object) -> float:
    """Return the processor seconds that a function takes in all threads."""
    began = time.process_time()
    function(*arguments, **options)
    return time.process_time() - began


def compare_counting(folder: Path) -> Iterator[tuple[str, float]]:
    """Compare all pairs and windows with one count(DISTINCT), and with SQL for each pair and window."""
    partitions = scale.partitions_of(folder, scale.raw_lists(folder, _CRAWLS, _ELEMENTS))
    i, j = np.triu_indices(_CRAWLS, k=1)
    sampled = np.random.default_rng(1).choice(i.size, _SAMPLED_PAIRS, replace=False)
    scale.distinct(partitions)  # loads the files into memory
    for _ in range(_REPEATS):
        shutil.rmtree(folder / "state", ignore_errors=True)
        ours = processor_seconds(scale.count_and_observe, folder / "state", partitions)
        yield "counting: one count(DISTINCT)", ours / processor_seconds(scale.distinct, partitions)
        windows = [partitions[i[at] : j[at] + 1] for at in sampled]
        pairs = [[partitions[i[at]], partitions[j[at]]] for at in sampled]
        seconds = sum(processor_seconds(scale.distinct, some) for some in windows + pairs)
        yield "counting: SQL for each pair and window", ours / (seconds * i.size / _SAMPLED_PAIRS)


def compare_fits() -> Iterator[tuple[str, float]]:
    """Compare batched fits of the core-shell urn with lmfit."""
    from crawl_urn_dagster_tests.benchmarks import fit_speed

    for curve, model, function, share, noise in fit_speed.CASES:
        if model == "core_shell":
            curves = fit_speed.problems(curve, share, noise)[:_CURVES]
            start = {share: 0.3, **fit_speed.START}
            for _ in range(_REPEATS):
                ours = processor_seconds(fit_speed.BATCHED[curve], fit_speed.T, curves, model=model)
                theirs = processor_seconds(fit_speed.fit_by_lmfit, function, start, curves)
                yield f"fit of {curve}: lmfit", ours / theirs


def compare_cdx(folder: Path) -> Iterator[tuple[str, float]]:
    """Compare reading a CDX file with a lean loop."""
    for repeat in range(_REPEATS + 1):
        path, files = folder / f"{repeat}.cdx", Files(folder / f"cache-{repeat}")
        cdx_speed.write_index(path, _CDX_LINES if repeat else 1000)
        files.fetch(str(path))  # hashes the file
        source = CdxSource(path=str(path), crawl_from="warc", warc_pattern="^JOB-[0-9]+")
        ours = processor_seconds(source.list_crawls, files, Selection())
        target = folder / "loop.parquet"
        loop = processor_seconds(cdx_speed.read_in_a_loop, path, target, cdx_speed.split_cdx)
        if repeat:  # the first reading loads the libraries
            yield "CDX: lean loop", ours / loop


def is_slower(now: list[float], recorded: list[float]) -> bool:
    """Return whether ratios differ from recorded ones by more than the noise: each exceeds every recorded one."""
    return bool(recorded) and min(now) > max(recorded)


def table(now: dict[str, list[float]], recorded: dict[str, list[float]]) -> Iterator[str]:
    """Yield the lines of the table, and of what became slower."""
    yield "| comparison | ratio of processor time | range | last recorded |"
    yield "|---|---|---|---|"
    for name, ratios in now.items():
        last = f"{statistics.median(recorded[name]):.3g}" if name in recorded else "none"
        yield f"| {name} | {statistics.median(ratios):.3g} | {min(ratios):.3g} to {max(ratios):.3g} | {last} |"
    slower = [name for name in now if is_slower(now[name], recorded.get(name, []))]
    yield ""
    yield f"Slower than recorded by more than the noise: {'; '.join(slower) or 'none'}."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m crawl_urn_dagster_tests.benchmarks", description=__doc__)
    parser.add_argument("which", choices=["all"])
    parser.add_argument("--quick", action="store_true", required=True, help="small inputs, a few minutes")
    parser.add_argument("--record", action="store_true", help=f"replace {RECORDED.name}")
    arguments = parser.parse_args()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    now: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        parts = [compare_counting(Path(folder)), compare_cdx(Path(folder))]
        if importlib.util.find_spec("lmfit"):
            parts.append(compare_fits())
        else:
            print("lmfit is not installed, so the fits are not compared with it.\n")
        for part in parts:
            for name, ratio in part:
                now.setdefault(name, []).append(ratio)
    print("\n".join(table(now, recorded)))
    if arguments.record:
        RECORDED.write_text(json.dumps(now, indent=2) + "\n")


if __name__ == "__main__":
    main()
