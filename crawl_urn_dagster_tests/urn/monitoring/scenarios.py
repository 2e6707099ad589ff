"""Collections of simulated scenarios of drift, simulated once each."""

from functools import cache

from crawl_urn_dagster.urn.monitoring.control_charts import monitor
from crawl_urn_dagster_tests.benchmarks.drift_error_rates import SCENARIOS, Cell, simulated

CELL = Cell(24, 0.0)
SEED = 3


@cache
def counts_of(scenario):
    """Return the counts of a scenario, by its name."""
    return simulated(CELL, SCENARIOS[scenario], SEED)


def monitored(baseline, scenario):
    """Return the charts of a scenario."""
    return monitor(baseline, counts_of(scenario))
