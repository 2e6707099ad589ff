"""Tables of small collections that several tests of estimates use."""

import numpy as np
import pandas as pd

from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, histories


def observables_of(n):
    counts = histories(n).counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    made = tables_from_histories(crawls, counts, CountingError())
    return crawls, made["containment"], made["discovery_curve"]


def quantities_of(model, **values):
    """Return table `quantities` of a model, each value with its interval, and with that inside an assumption."""
    rows = [
        {"quantity": name, "value": value, "value_low": low, "value_high": high, "inner_low": low, "inner_high": high}
        for name, (value, low, high) in values.items()
    ]
    table = pd.DataFrame(rows).assign(model=model, status="qualified")
    return table.reindex(columns=list(TABLES["quantities"].column_names))
