"""Observable tables of simulated collections, for tests of estimates.

Does not assert anything.
"""

import numpy as np

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, simulate
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls

EXACT = CountingError()


def observables(counts, error=EXACT):
    """Return tables `crawls`, `containment` and `discovery_curve` of capture-history counts."""
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    frames = tables_from_histories(crawls, counts, error)
    return crawls, frames["containment"], frames["discovery_curve"]


def collection_data(counts, error=EXACT, *, pairs=True, windows=True, histories=True):
    """Return the data of a collection that has some of the observables."""
    crawls, containment, discovery_curve = observables(counts, error)
    return CollectionData(
        crawls,
        containment if pairs else None,
        discovery_curve if windows else None,
        error,
        counts if histories else None,
    )


def together(*several):
    """Return capture-history counts of several populations in the same crawls."""
    return CaptureHistoryCounts(
        np.concatenate([counts.seen for counts in several]), np.concatenate([counts.elements for counts in several])
    )


def urn(crawls, *, core=0, shell, alpha, coverage, seed):
    """Return capture-history counts of one simulated urn."""
    times = np.arange(float(crawls))
    return simulate(times=times, core=core, shell=shell, alpha=alpha, coverage=coverage, seed=seed).counts()
