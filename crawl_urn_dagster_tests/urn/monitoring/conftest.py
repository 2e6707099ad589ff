"""A baseline that the tests of control charts and of attribution share."""

import pytest

from crawl_urn_dagster.urn import fit_joint
from crawl_urn_dagster.urn.monitoring.control_charts import draw_baseline
from crawl_urn_dagster_tests.benchmarks.drift_error_rates import NONE
from crawl_urn_dagster_tests.urn.monitoring.scenarios import CELL, counts_of


@pytest.fixture(scope="session")
def baseline():
    """The reference period of a collection in which nothing changes."""
    counts = counts_of(NONE)
    reference = fit_joint(counts.window(0, CELL.window), model="core_shell", clock="crawl")
    return draw_baseline(reference, counts, seed=1, n_replicates=150)
