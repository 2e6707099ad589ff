"""Measure which verdict the scenarios of the shared simulator get, and whether a quoted kappa contains the truth.

Run ``python -m crawl_urn_dagster_tests.benchmarks.scenarios --seeds 10``. It needs the shared folder next to the
checkout, and prints a Markdown table: kappa is quoted with its inner and outer interval, or it is not quoted.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from crawl_urn_dagster.estimates.assessment.assess import assess_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster_tests.conftest import SHARED
from crawl_urn_dagster_tests.estimates.observed import collection_data

if TYPE_CHECKING:
    from types import ModuleType

    from crawl_urn_dagster.estimates.assessment.result import Assessment


def simulator() -> ModuleType:
    """Load the simulator, which is not part of the package."""
    spec = importlib.util.spec_from_file_location("simulator", SHARED / "scenarios" / "simulator.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assess_scenario(module: ModuleType, settings: dict[str, Any], seed: int) -> Assessment:
    """Simulate a scenario and assess it."""
    seen = module.simulate(np.random.default_rng(seed), **settings)
    rows, elements = np.unique(seen, axis=0, return_counts=True)
    counts = CaptureHistoryCounts(rows, elements)
    return assess_histories(collection_data(counts), counts, seed=seed)


def main() -> None:
    """Assess every scenario, and print the table."""
    module = simulator()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="seeds of a scenario, from 1")
    parser.add_argument("--scenarios", nargs="+", default=list(module.SCENARIOS), help="names of scenarios")
    arguments = parser.parse_args()
    print("| scenario | truth | verdicts | kappa quoted | in outer | in inner | set aside | completeness quoted |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.scenarios:
        settings, truth = module.SCENARIOS[name]
        found = [assess_scenario(module, settings, seed) for seed in range(1, arguments.seeds + 1)]
        verdicts = collections.Counter(one.verdict.name.value for one in found).most_common()
        kappas = [one.quantities["kappa"] for one in found if one.estimate("kappa") is not None]
        inside = [
            sum(interval is not None and interval.low <= truth <= interval.high for interval in intervals)
            if truth is not None
            else "–"
            for intervals in ([one.interval for one in kappas], [one.inner for one in kappas])
        ]
        set_aside = collections.Counter(crawl for one in found for crawl in one.set_aside).most_common()
        cells = [
            name,
            "–" if truth is None else f"{truth:g}",
            ", ".join(f"{verdict} {count}" for verdict, count in verdicts),
            len(kappas),
            *inside,
            ", ".join(f"{crawl} {count}" for crawl, count in set_aside) or "none",
            sum(one.estimate("completeness") is not None for one in found),
        ]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
