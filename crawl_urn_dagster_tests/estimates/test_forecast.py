import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.forecast import HORIZON, forecast_table
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, histories
from crawl_urn_dagster_tests.estimates.frames import observables_of, quantities_of

N = 24
GROWTH = 0.02


@pytest.fixture(scope="module")
def observables():
    return observables_of(N)


@pytest.fixture(scope="module")
def forecast(observables):
    return forecast_table(*observables)


def test_forecast_has_every_quantity_of_the_next_crawls(observables, forecast):
    crawls, *_ = observables
    assert tuple(forecast.columns) == TABLES["forecast"].column_names
    latest = forecast[forecast["origin_crawl"] == crawls["crawl"].iloc[-1]]
    assert set(forecast["status"]) == {"ok"}
    for quantity in ("crawl_size", "new_elements", "returning_elements"):
        rows = latest[latest["quantity"] == quantity]
        assert rows["crawls_ahead"].tolist() == list(range(1, HORIZON + 1))
        assert (rows["value_low"] < rows["value"]).all()
        assert (rows["value"] < rows["value_high"]).all()
    gaps = latest.loc[latest["quantity"] == "crawl_size", "expected_at"].diff().dropna()
    assert set(gaps) == {pd.Timedelta(days=28)}
    assert latest["expected_at"].min() == crawls["started_at"].iloc[-1] + pd.Timedelta(days=28)
    windows = latest[latest["quantity"] == "distinct_elements"]
    assert windows["window_crawls"].min() == 1
    assert windows["window_crawls"].max() == N + HORIZON
    overlap = latest[(latest["quantity"] == "overlap") & (latest["window_crawls"] == 2)]
    assert overlap["start_crawl"].tolist() == [crawls["crawl"].iloc[-1]]


def test_last_crawl_is_forecast_from_earlier_crawls(observables, forecast):
    crawls, _, discovery_curve = observables
    last = forecast[forecast["origin_crawl"] == crawls["crawl"].iloc[-2]].set_index("quantity")
    assert set(last["crawls_ahead"]) == {1}
    windows = discovery_curve[discovery_curve["start_crawl"] == crawls["crawl"].iloc[0]]["distinct_elements"]
    observed = windows.diff().iloc[-1]
    # The urn is constant, so the number of new elements has nearly binomial noise.
    assert last.loc["new_elements", "value"] == pytest.approx(observed, abs=4 * observed**0.5)
    assert (last["value_low"] < last["value"]).all()


def test_forecast_from_an_earlier_origin_ignores_later_crawls(observables, forecast):
    crawls, _, discovery_curve = observables
    origin = crawls["crawl"].iloc[-1 - HORIZON]
    early = forecast[forecast["origin_crawl"] == origin]
    assert early["expected_at"].max() == crawls["started_at"].iloc[-1]
    pd.testing.assert_frame_equal(
        early[early["quantity"] == "crawl_size"].reset_index(drop=True),
        forecast_table(crawls.iloc[:-HORIZON], None, discovery_curve)
        .pipe(lambda rows: rows[(rows["quantity"] == "crawl_size") & (rows["origin_crawl"] == origin)])
        .reset_index(drop=True),
    )
    first = early[(early["quantity"] == "distinct_elements") & (early["start_crawl"] == crawls["crawl"].iloc[0])]
    observed = discovery_curve[discovery_curve["start_crawl"] == crawls["crawl"].iloc[0]].set_index("window_crawls")
    observed = observed["distinct_elements"].loc[first["window_crawls"]].to_numpy()
    # The noise of one crawl, the last before the origin, is a few per cent of its new elements.
    np.testing.assert_allclose(first["value"], observed, rtol=0.05)


def test_source_of_pairs_alone_gives_overlaps_only(observables):
    crawls, containment, _ = observables
    assert set(forecast_table(crawls, containment, None)["quantity"]) == {"overlap"}


def test_too_few_crawls_give_a_reason():
    table = forecast_table(*observables_of(5))
    assert table["status"].tolist() == ["too_few_points"]
    assert table["reason"].tolist() == ["A forecast needs 8 crawls; there are 5."]


def latest_sizes(table, crawls):
    rows = table[(table["origin_crawl"] == crawls["crawl"].iloc[-1]) & (table["quantity"] == "crawl_size")]
    return rows.set_index("crawls_ahead")


def test_sizes_follow_the_growth_of_the_selected_model(observables):
    growing = quantities_of("core_shell_growing", growth=(GROWTH, GROWTH - 0.01, GROWTH + 0.01))
    exact = quantities_of("core_shell_growing", growth=(GROWTH, GROWTH, GROWTH))
    found, narrow = (latest_sizes(forecast_table(*observables, quantities=q), observables[0]) for q in (growing, exact))
    steps = np.diff(np.log(found["value"].to_numpy()))
    # The collection did not grow, so its last crawl is below the trend, to which sizes return.
    assert (steps > GROWTH).all()
    assert (np.diff(steps) < 1e-3).all()
    assert steps[-1] < steps[0] < 2 * GROWTH
    width, narrow_width = (np.log(table["value_high"] / table["value_low"]) for table in (found, narrow))
    assert (width > narrow_width).iloc[1:].all()
    assert width[HORIZON] - narrow_width[HORIZON] > 4 * (width[1] - narrow_width[1])


def test_sizes_of_a_model_with_memory_come_from_the_histories(observables):
    withheld = quantities_of("markov_1", growth=(None, None, None))
    without = latest_sizes(forecast_table(*observables, quantities=withheld), observables[0])
    found = latest_sizes(
        forecast_table(*observables, quantities=withheld, histories=histories(N).counts()), observables[0]
    )
    assert not np.array_equal(found["value"], without["value"])
    size = observables[0]["elements"].iloc[-1]
    assert (found["value_low"] < size).all()
    assert (size < found["value_high"]).all()


def test_forecast_has_no_trend_without_reported_growth(observables, forecast):
    withheld = quantities_of("core_shell", growth=(None, None, None))
    pd.testing.assert_frame_equal(forecast_table(*observables, quantities=withheld), forecast)
    level = np.log(observables[0]["elements"].to_numpy(dtype=float).mean())
    # Without a trend, sizes come closer to their mean with every crawl.
    away = abs(np.log(latest_sizes(forecast, observables[0])["value"].to_numpy()) - level)
    assert (np.diff(away) <= 1e-4).all()


def test_list_that_is_all_core_is_forecast_to_stay_the_same():
    counts = CaptureHistoryCounts(np.ones((1, 12), dtype=bool), np.array([5_000]))
    crawls = crawls_table(dated_crawls(np.full(12, 5_000)))
    made = tables_from_histories(crawls, counts, CountingError())
    table = forecast_table(crawls, made["containment"], made["discovery_curve"])
    for quantity, value in {"crawl_size": 5_000, "new_elements": 0, "overlap": 5_000}.items():
        rows = table[table["quantity"] == quantity]
        assert (rows["value"] - value).abs().max() <= 1
        assert ((rows["value_low"] <= value) & (rows["value_high"] >= value)).all()
