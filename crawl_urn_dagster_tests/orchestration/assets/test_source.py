"""Assets that read a source into tables, for every kind of source."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.figures import PARAMETER_FIGURES
from crawl_urn_dagster.observables.database import MissingTableError
from crawl_urn_dagster_tests.collections_for_tests import (
    N_CRAWLS,
    histories,
    presence_collection,
    tables_collection,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_FITS, ALL_BUT_OBSERVABLES, FIGURES, Pipeline

OBSERVABLES = ("crawls", "capture_history_counts", "discovery_curve", "containment", "m_array", "first_returns")
FITTED = ("parameters", "operator_terms", "drift", "parameter_history", "forecast", "planning")


def test_lists_give_every_table(listed):
    for name in (*OBSERVABLES, *FITTED, "inputs"):
        assert len(listed.home.observables.read(name)) > 0, name
    assert len(listed.home.observables.read("containment")) == N_CRAWLS * (N_CRAWLS - 1) // 2
    assert len(listed.home.observables.read("discovery_curve")) == N_CRAWLS * (N_CRAWLS + 1) // 2


def test_metadata_state_the_number_of_rows(listed):
    for name in ("presence", "crawls", "capture_history_counts", "containment", "parameters", "drift"):
        assert listed.metadata(name)["dagster/row_count"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "windows", "figures"),
    [
        (True, False, {"containment_by_lag", "overlap_matrix"}),
        (False, True, {"discovery_heat_map", "discovery_curves_by_start", "forecast_fan"}),
    ],
)
def test_counts_give_only_their_observables(tmp_path, pairs, windows, figures):
    collection = tables_collection(tmp_path, histories(12), pairs=pairs, windows=windows)
    pipeline = Pipeline(collection, tmp_path)
    assert pipeline.run(without=FIGURES | {"export"}).success, pipeline.outcome.errors
    update = pipeline.defs.resolve_job_def("tabled_update").asset_layer.selected_asset_keys
    assert {key.path[-1] for key in update} & FIGURES == figures | set(PARAMETER_FIGURES)
    assert all(f"(figures/{name}.png)" in pipeline.page() for name in figures)
    for name, there in (("containment", pairs), ("discovery_curve", windows), ("first_returns", windows)):
        if there:
            assert len(pipeline.home.observables.read(name)) > 0
        else:
            with pytest.raises(MissingTableError):
                pipeline.home.observables.read(name)
    with pytest.raises(MissingTableError):
        pipeline.home.observables.read("capture_history_counts")
    parameters = pipeline.home.observables.read("parameters")
    assert read_headline(parameters).kind.projection == "joint"
    fitted = set(parameters["projection"])
    assert ("containment" in fitted, "discovery_curve" in fitted) == (pairs, windows)


@pytest.mark.slow
def test_pairs_and_windows_equal_the_lists(tmp_path, listed):
    pipeline = Pipeline(tables_collection(tmp_path), tmp_path)
    assert pipeline.run(without=ALL_BUT_FITS).success, pipeline.outcome.errors
    for name in ("crawls", "containment", "discovery_curve", "first_returns"):
        pd.testing.assert_frame_equal(
            pipeline.home.observables.read(name).drop(columns=["dated_by", "content"], errors="ignore"),
            listed.home.observables.read(name).drop(columns=["dated_by", "content"], errors="ignore"),
        )
    same_fits = "model in ('homogeneous', 'core_shell') and projection != 'histories'"
    from_lists = listed.home.observables.read("parameters").query(same_fits)
    from_tables = pipeline.home.observables.read("parameters").query(same_fits)
    np.testing.assert_allclose(from_tables["alpha"], from_lists["alpha"], rtol=1e-9)
    np.testing.assert_allclose(from_tables["residual_rms"], from_lists["residual_rms"], rtol=1e-9)


def test_update_before_any_ingest_states_the_remedy(tmp_path):
    pipeline = Pipeline(presence_collection(tmp_path, histories(3)), tmp_path)
    assert not pipeline.execute("update").success
    (error,) = pipeline.outcome.errors
    assert "listed: found no ingested crawl" in error


def test_crawl_without_partition_is_excluded_and_counted(tmp_path):
    pipeline = Pipeline(presence_collection(tmp_path, histories(4)), tmp_path)
    pipeline.ingest()
    pipeline.home.presence.read("2020-02-03").path.unlink()
    pipeline.execute("update", without=ALL_BUT_OBSERVABLES)
    assert pipeline.home.observables.read("crawls")["crawl"].tolist() == ["2020-01-06", "2020-03-02", "2020-03-30"]
    assert pipeline.metadata("crawls")["not_ingested"] == 1


def test_repeated_rows_of_a_list_are_counted(tmp_path):
    (tmp_path / "hosts.csv").write_text("crawl,element\n2024-01,a.org\n2024-01,a.org\n2024-01,b.org\n2024-02,b.org\n")
    source = {"type": "presence_list", "path": str(tmp_path / "hosts.csv")}
    pipeline = Pipeline(Collection.model_validate({"name": "hosts", "granularity": "host", "source": source}), tmp_path)
    pipeline.ingest()
    pipeline.execute("update", without=ALL_BUT_OBSERVABLES)
    assert pipeline.metadata("crawls")["repeated_captures"] == 1
    assert pipeline.home.observables.read("crawls")["elements"].tolist() == [2, 1]
