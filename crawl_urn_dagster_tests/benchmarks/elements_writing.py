"""Measure how long table `elements` takes compared with reading the crawls, and its size.

Does not test probabilities. Run ``python -m crawl_urn_dagster_tests.benchmarks.elements_writing 10000000``.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from crawl_urn_dagster.estimates.elements.element_model import ElementModel
from crawl_urn_dagster.estimates.elements.lists import ListSettings
from crawl_urn_dagster.estimates.elements.tables import ElementInputs, element_tables
from crawl_urn_dagster.observables.element_names import ElementNames
from crawl_urn_dagster.observables.kept_histories import KeptHistories
from crawl_urn_dagster.observables.presence import PresenceFolder

_CRAWLS = 12
_LABELS = [f"crawl-{number:02d}" for number in range(_CRAWLS)]
_CHUNK = 500_000
_SURVIVAL, _COVERAGE, _CORE = 0.9, 0.7, 0.4


def _captures(n: int):
    """Yield the captures of the crawls: a core, and a shell that is replaced as it is lost."""
    rng = np.random.default_rng(1)
    core, number = int(_CORE * n), n
    shell = np.arange(core, n)
    for label in _LABELS:
        captured = np.r_[np.arange(core), shell[rng.random(len(shell)) < _COVERAGE]]
        for low in range(0, len(captured), _CHUNK):
            texts = np.char.add("https://example.org/", captured[low : low + _CHUNK].astype(str)).astype(object)
            yield label, texts, low + _CHUNK >= len(captured)
        lost = rng.random(len(shell)) >= _SURVIVAL
        shell[lost] = np.arange(number, number + lost.sum())
        number += int(lost.sum())


def _timed(what: str, make):
    """Call a function, and print its wall-clock and processor time."""
    wall, processor = time.perf_counter(), time.process_time()
    result = make()
    print(
        f"{what}: {time.perf_counter() - wall:.1f} s, {time.process_time() - processor:.1f} s of processor", flush=True
    )
    return result


def main(n: int) -> None:
    """Write the presence of `n` eligible elements in 12 crawls, then the table, and print times and bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        presence, kept = PresenceFolder(folder / "presence"), KeptHistories(folder / "histories")
        revisions = dict.fromkeys(_LABELS, "1")
        _timed("reading all crawls", lambda: list(presence.write(_captures(n), revisions)))
        partitions = presence.read_all(_LABELS)
        histories = _timed("counting histories", lambda: kept.count(partitions))
        inputs = ElementInputs(_LABELS, histories, partitions, kept, ElementNames(folder / "names"), "url")
        path = folder / "elements" / "elements.parquet"
        model = ElementModel("core_shell", tuple(range(_CRAWLS)), np.arange(_CRAWLS) / 12, 1)
        facts = _timed("table elements without a model", lambda: element_tables(inputs, None, path, ListSettings()))
        found = _timed("table elements", lambda: element_tables(inputs, model, path, ListSettings()))
        captures = sum(partition.rows for partition in partitions)
        print(f"{found.rows:,} elements, {captures:,} captures, {len(histories.elements):,} histories")
        print(f"{path.stat().st_size / facts.rows:.2f} bytes a row")
        print(f"largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main(int(sys.argv[1]))
