"""Measure the time of each figure of a collection, by step, and its ratio to the slowest figure.

    python -m crawl_urn_dagster_tests.benchmarks.figure_speed crawl_urn_home/demo/observables.duckdb

Times the steps of an update for figures, on the tables of an existing collection, without Dagster.
"""

import sys
import tempfile
from collections import defaultdict
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter, process_time

from crawl_urn_dagster.figures import caption, draw, drawable
from crawl_urn_dagster.figures.files import preview_png, save_figure
from crawl_urn_dagster.observables.database import MissingTableError, ObservablesFile
from crawl_urn_dagster.observables.schema import TABLES


def read_frames(file):
    """Return the tables of the collection that figures may need."""
    frames = {}
    for name in set(TABLES) - {"capture_history_counts", "m_array"}:
        with suppress(MissingTableError):
            frames[name] = file.read(name)
    return frames


@contextmanager
def timed(seconds, step):
    began = process_time()
    yield
    seconds[step] += process_time() - began


def time_figures(frames, *, title="collection", clock="crawl"):
    """Return the processor seconds by figure and step."""
    seconds = {}
    strata = bool(frames["parameters"]["stratum"].notna().any())
    with tempfile.TemporaryDirectory() as folder:
        for name in drawable(frames, strata=strata, ranks=strata):
            steps = seconds[name] = defaultdict(float)
            with timed(steps, "two columns"):
                wide = draw(name, frames, title=title, clock=clock)
            with timed(steps, "one column"):
                narrow = draw(name, frames, title=title, clock=clock, columns=1)
            with timed(steps, "caption"):
                text = caption(name, frames, title=title, clock=clock)
            with timed(steps, "files"):
                png, *_ = save_figure(wide, narrow, Path(folder) / name, text)
            with timed(steps, "preview"):
                preview_png(png.read_bytes())
    return seconds


def main():
    frames = read_frames(ObservablesFile(Path(sys.argv[1])))
    began = perf_counter()
    seconds = time_figures(frames)
    wall = perf_counter() - began
    slowest = max(sum(steps.values()) for steps in seconds.values())
    for name, steps in seconds.items():
        total = sum(steps.values())
        parts = ", ".join(f"{step} {value:.2f}" for step, value in steps.items())
        print(f"{name:32} {total:6.2f} s of processor, {total / slowest:4.0%} of the slowest: {parts}")
    print(
        f"{'all':32} {sum(sum(steps.values()) for steps in seconds.values()):6.2f} s of processor, {wall:.1f} s of wall"
    )


if __name__ == "__main__":
    main()
