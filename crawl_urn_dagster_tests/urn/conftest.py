"""Give the tests of the urn data that several of their folders use."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts


@pytest.fixture(scope="session")
def published_urls(shared_data):
    """Labels, and U(i..j) of the windows of 1 to 12 crawls that Common Crawl publishes, 2020-2025."""
    table = pd.read_csv(shared_data / "common_crawl_statistics" / "url_last_n_crawls.csv", index_col="crawl")
    table = table.loc["CC-MAIN-2020-05":"CC-MAIN-2025-51"]
    unions = np.full((51, 51), np.nan)
    for length, column in table.items():
        ends = np.arange(int(length) - 1, 51)
        unions[ends - int(length) + 1, ends] = column.to_numpy()[ends]
    return list(table.index), unions


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
