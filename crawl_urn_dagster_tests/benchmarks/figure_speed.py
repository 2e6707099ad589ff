"""How long the figures of a collection take: seconds, and the ratio to the slowest, by figure and by step.

    python -m crawl_urn_dagster_tests.benchmarks.figure_speed crawl_urn_home/demo/observables.duckdb

Here: timing what an update does for figures, on the tables of a collection that was run. Not here: tables, or Dagster.
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
    """Every table that a figure may need and the collection has."""
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
    """Processor seconds by figure and step."""
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
                said = caption(name, frames, title=title, clock=clock)
            with timed(steps, "files"):
                png, *_ = save_figure(wide, narrow, Path(folder) / name, said)
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
