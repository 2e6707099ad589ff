import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.forecast import HORIZON, forecast_table, planning_table
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import COVERAGE, dated_crawls, histories

N = 24
PLAN = {"clock": "crawl", "error": CountingError()}


def observables_of(n):
    counts = histories(n).counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    made = tables_from_histories(crawls, counts, CountingError())
    return crawls, made["containment"], made["discovery_curve"]


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


def test_plans_include_the_present_settings(observables):
    table = planning_table(*observables, reported=True, **PLAN)
    assert tuple(table.columns) == TABLES["planning"].column_names
    (now,) = table[table["current"]].to_dict("records")
    assert now["coverage"] == pytest.approx(COVERAGE, abs=0.04)
    assert now["gap"] == 1
    for name in ("crawl_size", "seen_at_last", "nu_inf", "hidden_time", "cost_per_new"):
        assert now[f"{name}_low"] < now[name] < now[f"{name}_high"]
    at_gap = table[table["gap"] == 1].sort_values("coverage")
    assert at_gap["seen_at_last"].is_monotonic_increasing
    assert set(table["gap"]) == {0.5, 1.0, 2.0}


def test_unreported_parameters_give_no_plans(observables):
    assert planning_table(*observables, reported=False, **PLAN).empty
