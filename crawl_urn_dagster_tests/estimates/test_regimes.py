import numpy as np
import pytest

from crawl_urn_dagster.estimates.regimes import fit_regimes, regimes_of, revisit_regimes_table
from crawl_urn_dagster.urn import simulate_revisit_delay
from crawl_urn_dagster_tests.estimates.observed import collection_data, urn

N, CHANGE = 48, 24


@pytest.fixture(scope="module")
def data():
    """A crawler that starts to avoid recent fetches half-way."""
    histories = simulate_revisit_delay(
        delays=np.where(np.arange(N) < CHANGE, 0, 1),
        elements=8_000,
        alpha=0.9,
        coverage=0.4,
        revisit_coverage=0.02,
        seed=4,
    )
    return collection_data(histories.counts(), histories=False)


def test_only_regimes_with_a_delay_are_fitted(data):
    regimes = regimes_of(data)
    assert [regime.delay for regime in regimes] == [0, 1]
    (fit,) = fit_regimes(data)
    assert (fit.details.delay_crawls, fit.details.last_crawl) == (1, data.labels[-1])
    assert abs(data.labels.index(fit.details.first_crawl) - CHANGE) <= 4
    assert fit.intervals["revisit_coverage"].high < 0.1


def test_table_has_three_lags_of_every_regime(data):
    table = revisit_regimes_table(data)
    assert table["lag_crawls"].tolist() == [1, 2, 3, 1, 2, 3]
    assert table["delay_crawls"].tolist() == [0, 0, 0, 1, 1, 1]
    assert (table["fraction_low"] < table["fraction"]).all()


def test_unknown_sizes_give_no_regimes():
    data = collection_data(urn(6, core=40, shell=60, alpha=0.75, coverage=0.6, seed=3), windows=False, histories=False)
    data.crawls["elements"] = data.crawls["elements"].astype("Int64").mask(data.crawls.index == 0)
    assert regimes_of(data) == fit_regimes(data) == []
    assert revisit_regimes_table(data).empty
