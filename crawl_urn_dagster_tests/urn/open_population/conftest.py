"""Collections of the independent simulator, as capture-history counts."""

import importlib.util

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts


@pytest.fixture(scope="session")
def simulate(shared_scenarios):
    """Return a function that simulates 2,000 elements and 12 crawls by default."""
    spec = importlib.util.spec_from_file_location("scenario_simulator", shared_scenarios / "simulator.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def simulated(seed, **settings):
        seen = module.simulate(np.random.default_rng(seed), **{"N": 2_000, "T": 12, **settings})
        return CaptureHistoryCounts(*np.unique(seen, axis=0, return_counts=True))

    return simulated
