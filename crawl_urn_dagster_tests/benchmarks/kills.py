"""Kill all processes of an unattended collection at random moments, and measure how it recovers.

Run ``python -m crawl_urn_dagster_tests.benchmarks.kills FOLDER --kills 20``. A crawl is published, and `dagster dev`
with its webserver, daemon, code server and runs is killed by SIGKILL at a random moment of the ingest and the update,
and started again. Each kill ends with the seconds from the restart until the UI answers and, at the end of each group,
until the collection is up to date, with the times of the runs since the restart, and with the load of the last 5
minutes.
"""

import argparse
import os
import time
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from crawl_urn_dagster_tests.collections_for_tests import histories
from crawl_urn_dagster_tests.killed_stack import KilledStack

FIRST_CRAWLS = 3
#: Recovery on a machine under load takes minutes.
LONGEST_SECONDS = 1800


def main() -> None:
    """Print a line per kill and per recovery, then the interrupted runs, their alerts, and the tables that differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--kills-per-crawl", type=int, default=1)
    parser.add_argument("--between", type=float, nargs=2, default=(10, 80), help="Seconds from a restart to the kill.")
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    options.folder.mkdir()
    stack = KilledStack(options.folder, histories(FIRST_CRAWLS + options.kills, urn=200))
    stack.publish(FIRST_CRAWLS)
    stack.start()
    print(f"undisturbed: up to date after {stack.wait_until(stack.is_up_to_date, LONGEST_SECONDS):.0f} s", flush=True)
    for number in range(1, options.kills + 1):
        if number % options.kills_per_crawl == 1 or options.kills_per_crawl == 1:
            stack.publish()
        stack.wait_until(lambda: not stack.is_up_to_date(), LONGEST_SECONDS)
        wait = rng.uniform(*options.between)
        time.sleep(wait)
        killed = stack.kill()
        running = [f"{run.job_name} ({run.status.value.lower()})" for run in stack.unfinished_runs()]
        restart, restarted_at = time.monotonic(), datetime.now(timezone.utc)
        stack.start()
        line = f"kill {number}: {killed} processes after {wait:.1f} s, in {', '.join(running) or 'no run'}"
        line += f"; UI after {stack.wait_until(stack.is_serving, LONGEST_SECONDS):.0f} s"
        if number % options.kills_per_crawl == 0:
            stack.wait_until(stack.is_up_to_date, LONGEST_SECONDS)
            line += f"; up to date {time.monotonic() - restart:.0f} s after the restart"
            line += f" ({stack.runs_since(restarted_at)})"
        print(f"{line}; load {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores", flush=True)
    interrupted = stack.interrupted_runs()
    stack.wait_until(lambda: len(stack.reported_interruptions()) >= len(interrupted), LONGEST_SECONDS)
    time.sleep(60)  # A further alert would arrive.
    reported = stack.reported_interruptions()
    print(f"{len(interrupted)} interrupted runs, {len(reported)} alerts, of {len(set(reported))} runs", flush=True)
    print(f"tables that differ: {', '.join(stack.different_tables()) or 'none'}", flush=True)
    stack.close()


if __name__ == "__main__":
    main()
