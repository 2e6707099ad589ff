"""Give the tests of the state-space urn the real lists that several of them use."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts


@pytest.fixture(scope="session")
def presence_list(shared_data):
    """Return the histories of a list by its path in the shared data."""

    def read(name):
        table = pd.read_csv(shared_data / f"{name}.csv.gz")
        (element, elements), (crawl, crawls) = (
            pd.factorize(table["element"]),
            pd.factorize(table["snapshot"], sort=True),
        )
        seen = np.zeros((len(elements), len(crawls)), dtype=bool)
        seen[element, crawl] = True
        histories, elements = np.unique(seen, axis=0, return_counts=True)
        return CaptureHistoryCounts(histories, elements)

    return read


@pytest.fixture(scope="session")
def us_gov_hosts(presence_list):
    """39 fortnightly lists of US-government hosts."""
    return presence_list("presence/us_gov_hosts")
