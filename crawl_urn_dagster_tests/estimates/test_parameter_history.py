import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.fits import primary_fits
from crawl_urn_dagster.estimates.parameter_history import parameter_history_table
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, histories

N, WINDOW = 10, 8
SETTINGS = {"clock": "crawl", "error": CountingError(), "window_crawls": WINDOW, "step_crawls": 1}


@pytest.fixture(scope="module")
def observables():
    counts = histories(N).counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    made = tables_from_histories(crawls, counts, CountingError())
    return crawls, made["containment"], made["discovery_curve"]


@pytest.fixture(scope="module")
def history(observables):
    return parameter_history_table(*observables, None, **SETTINGS)


def test_every_window_has_every_fit_with_intervals(observables, history):
    labels = observables[0]["crawl"].tolist()
    assert tuple(history.columns) == TABLES["parameter_history"].column_names
    windows = history[["first_crawl", "last_crawl"]].drop_duplicates()
    expected = [(labels[k], labels[k + WINDOW - 1]) for k in range(N - WINDOW + 1)]
    assert list(windows.itertuples(index=False, name=None)) == expected
    kinds = {(*one.name, "crawl") for one in primary_fits({"containment", "discovery_curve"})}
    for _, rows in history.groupby("last_crawl"):
        assert set(rows[["projection", "model", "form", "clock"]].itertuples(index=False, name=None)) == kinds
        assert rows["headline"].sum() in {1, 2}
    shells = history[(history["projection"] == "joint") & (history["component"] == "shell")]
    assert (shells["kappa_low"] < shells["kappa"]).all()
    assert (shells["kappa"] < shells["kappa_high"]).all()


def test_only_windows_with_changed_inputs_are_refitted(observables, history):
    """A residual that no fit gives marks the kept rows."""
    marked = history.assign(residual_rms=-1.0)
    crawls, containment, discovery_curve = observables
    same = parameter_history_table(*observables, marked, **SETTINGS)
    assert (same["residual_rms"] == -1).all()
    pd.testing.assert_frame_equal(same, marked, check_dtype=False)

    last = crawls["crawl"].iloc[-1]
    revised = containment.copy()
    revised["containment"] = revised["containment"].where(revised["crawl_j"] != last, revised["containment"] * 0.99)
    again = parameter_history_table(crawls, revised, discovery_curve, marked, **SETTINGS)
    fitted = again[again["residual_rms"] != -1]
    assert set(fitted["last_crawl"]) == {last}

    years = parameter_history_table(*observables, marked, **{**SETTINGS, "clock": "year", "step_crawls": 2})
    assert (years["residual_rms"] != -1).all()
    assert years["last_crawl"].nunique() == 2


def test_too_few_crawls_make_no_window(observables):
    table = parameter_history_table(*observables, None, **{**SETTINGS, "window_crawls": N + 1})
    assert table.empty
    assert tuple(table.columns) == TABLES["parameter_history"].column_names
