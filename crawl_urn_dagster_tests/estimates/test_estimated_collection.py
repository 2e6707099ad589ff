"""Tables that follow from the fit of a collection."""

from dataclasses import replace

import pandas as pd
import pytest

from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.estimated_collection import EstimatedCollection
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, histories


@pytest.fixture(scope="module")
def fitted():
    counts = histories(8).counts()
    crawls = crawls_table(dated_crawls(counts.elements @ counts.seen))
    observed = {"crawls": crawls} | tables_from_histories(crawls, counts, CountingError())
    data = CollectionData(
        crawls, observed["containment"], observed["discovery_curve"], CountingError(), counts, own_fits=()
    )
    estimation = estimate(data, clock="year")
    return EstimatedCollection(observed | dict(estimation.tables), lambda: counts, "year", CountingError())


def test_windows_that_are_known_are_kept(fitted):
    settings = {"window_crawls": 6, "step_crawls": 1}
    tables = fitted.by_window(**settings)
    history = tables["parameter_history"]
    assert history["inputs_sha256"].nunique() == 3
    marked = history.assign(reason="kept")
    again = replace(fitted, tables={**fitted.tables, **tables, "parameter_history": marked}).by_window(**settings)
    pd.testing.assert_frame_equal(again["parameter_history"], marked)
    pd.testing.assert_frame_equal(again["window_lengths"], tables["window_lengths"])


def test_refuted_curves_give_no_plan(fitted):
    assert (fitted.planning()["planning"]["status"] == "ok").any()
    diagnosis = fitted.tables["diagnosis"].assign(verdict=VerdictName.MISFIT.value)
    refuted = replace(fitted, tables={**fitted.tables, "diagnosis": diagnosis})
    assert not (refuted.planning()["planning"]["status"] == "ok").any()
