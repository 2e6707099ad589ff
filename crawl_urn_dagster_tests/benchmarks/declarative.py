"""Count the materialisations of a collection in mode ``declarative`` under a real daemon.

Run ``python -m crawl_urn_dagster_tests.benchmarks.declarative FOLDER``. Crawls are published, one is added, and one is
revised; each change is followed by a wait in which a further materialisation would arrive.
"""

import argparse
import time
from collections import Counter
from pathlib import Path

import dagster as dg

from crawl_urn_dagster_tests.collections_for_tests import histories, presence_of, write_list
from crawl_urn_dagster_tests.killed_stack import KilledStack

_FIRST_CRAWLS, _QUIET_SECONDS = 3, 90


def _materialisations(stack: KilledStack) -> dict[str, int]:
    """Return the number of materialisations of each partition of `presence`, and of three tables."""
    presence, *others = (dg.AssetKey(["killed", name]) for name in ("presence", "crawls", "parameters", "report"))
    events = stack.instance.fetch_materializations(presence, limit=1000).records
    counts = Counter(str(event.partition_key) for event in events)
    return {**counts, **{key.path[1]: len(stack.instance.fetch_materializations(key, 1000).records) for key in others}}


def main() -> None:
    """Print the materialisations after each change of the source."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir()
    simulated = histories(_FIRST_CRAWLS + 1, urn=200)
    stack = KilledStack(folder, simulated, mode="declarative")
    stack.start()
    crawl, elements = next(iter(presence_of(simulated).items()))
    changes = {
        f"{_FIRST_CRAWLS} crawls": lambda: stack.publish(_FIRST_CRAWLS),
        "a further crawl": stack.publish,
        "a revised crawl": lambda: write_list(folder, crawl, [*elements, "added"]),
    }
    for change, apply in changes.items():
        reports = _materialisations(stack)["report"]
        apply()
        taken = stack.wait_until(lambda reports=reports: _materialisations(stack)["report"] > reports, 900)
        time.sleep(_QUIET_SECONDS)
        print(f"{change}: report after {taken:.0f} s, materialisations {_materialisations(stack)}", flush=True)
    stack.close()


if __name__ == "__main__":
    main()
