"""The full pipeline on a real instance and real files, for every kind of source."""

import json

import numpy as np
import pandas as pd
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.figures import PARAMETER_FIGURES
from crawl_urn_dagster.figures.files import SUFFIXES
from crawl_urn_dagster.observables.database import MissingTableError
from crawl_urn_dagster.observables.keys import element_keys, first_key
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster_tests.collections_for_tests import (
    COVERAGE,
    KAPPA,
    N_CRAWLS,
    avoiding_histories,
    histories,
    lists_collection,
    presence_collection,
    presence_of,
    tables_collection,
    write_list,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, FIGURES, UNCHECKED, Pipeline
from crawl_urn_dagster_tests.report.reading import rows, section

OBSERVABLE_FIGURES = FIGURES - set(PARAMETER_FIGURES)
OBSERVABLES = ("crawls", "capture_history_counts", "discovery_curve", "containment", "m_array", "first_returns")
FITTED = ("parameters", "operator_terms", "drift", "parameter_history", "forecast", "planning")


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("listed")
    pipeline = Pipeline(presence_collection(folder), folder)
    assert pipeline.run().success, pipeline.outcome.errors
    return pipeline


def test_presence_goes_through_to_every_table(listed):
    for name in (*OBSERVABLES, *FITTED, "inputs"):
        assert len(listed.home.observables.read(name)) > 0, name
    assert len(listed.home.observables.read("containment")) == N_CRAWLS * (N_CRAWLS - 1) // 2
    assert len(listed.home.observables.read("discovery_curve")) == N_CRAWLS * (N_CRAWLS + 1) // 2


def test_tables_equal_the_histories_that_were_written(listed):
    counts = histories().counts()
    containment = listed.home.observables.read("containment")
    i, j = np.triu_indices(N_CRAWLS, k=1)
    assert containment["intersection"].tolist() == counts.intersections()[i, j].tolist()
    m_array = listed.home.observables.read("m_array")
    assert m_array["elements"].sum() == np.diagonal(counts.intersections()).sum()
    curve = listed.home.observables.read("discovery_curve")
    assert curve["distinct_elements"].max() == counts.distinct_elements


def test_every_table_is_exported_and_its_key_tells_rows_apart(listed):
    held = set(listed.home.observables.read_present(TABLES))
    assert {path.stem for path in listed.home.export.glob("*.csv")} == held
    for name in held:
        table = pd.read_parquet(listed.home.export / f"{name}.parquet")
        assert len(table) == len(listed.home.observables.read(name))
        assert not table.duplicated(list(TABLES[name].key)).any(), name


def test_the_api_without_dagster_gives_the_same_numbers(listed):
    fit = cu.fit(cu.read_presence(listed.collection.source.path))
    assert {"parameters", "operator_terms", "diagnosis", "containment", "m_array"} <= set(fit.tables)
    for name, table in fit.tables.items():
        held = listed.home.observables.read(name)
        assert len(held) == len(table), name
        for column in TABLES[name].columns:
            ours, theirs = table.get(column.name, pd.Series(index=table.index, dtype=object)), held[column.name]
            assert ours.isna().tolist() == theirs.isna().tolist(), (name, column.name)
            assert ours.dropna().tolist() == theirs.dropna().tolist(), (name, column.name)


def test_all_figures_are_made(listed):
    assert listed.figures() == FIGURES


def test_the_headline_is_near_the_truth_and_plotted_by_the_ui(listed):
    metadata = listed.metadata("headline")
    # One urn of 5,000 elements: the scatter of kappa over seeds at this size is below 0.01.
    assert metadata["kappa"] == pytest.approx(KAPPA, abs=0.04)
    assert metadata["coverage"] == pytest.approx(COVERAGE, abs=0.04)
    for name in ("kappa", "core_share", "alpha", "coverage"):
        assert metadata[f"{name}_low"] < metadata[name] < metadata[f"{name}_high"]
    assert metadata["fit"] == "core_shell joint, exact form, per crawl"


def test_every_asset_of_a_table_says_its_rows(listed):
    for name in ("presence", "crawls", "capture_history_counts", "containment", "parameters", "drift"):
        assert listed.metadata(name)["dagster/row_count"] > 0


def test_figures_carry_a_preview_below_100_kb(listed):
    preview = listed.metadata("discovery_heat_map")["preview"]
    assert preview.startswith("![")
    assert "data:image/png;base64," in preview
    assert len(preview) < 140_000  # base64 of 100 kB


def test_figures_are_files_with_captions(listed):
    metadata = listed.metadata("containment_by_lag")
    for suffix in SUFFIXES:
        assert (listed.home.figures / f"containment_by_lag{suffix}").exists()
        assert metadata[suffix.removeprefix(".")].endswith(suffix)
    beside = json.loads((listed.home.figures / "containment_by_lag.json").read_text(encoding="utf-8"))
    assert (metadata["caption"], metadata["alt"]) == (beside["caption"], beside["alt"])
    assert f"{N_CRAWLS} crawls" in beside["caption"]


def test_the_page_says_the_headline_and_shows_the_figures(listed):
    page = listed.page()
    assert read_headline(listed.home.observables.read("parameters")).sentence in page
    # Of 24 crawls, all are of the reference, so that there is no chart of any since.
    shown = FIGURES - {"control_charts"}
    assert {name for name in FIGURES if f"(figures/{name}.png)" in page} == shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "windows", "figures"),
    [
        (True, False, {"containment_by_lag"}),
        (False, True, {"discovery_heat_map", "discovery_curves_by_start", "forecast_fan"}),
    ],
)
def test_ready_made_observables_enter_where_they_belong(tmp_path, pairs, windows, figures):
    pipeline = Pipeline(tables_collection(tmp_path, pairs=pairs, windows=windows), tmp_path)
    assert pipeline.run(without=FIGURES).success, pipeline.outcome.errors
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
    assert read_headline(parameters).projection == "joint"
    fitted = set(parameters["projection"])
    assert ("containment" in fitted, "discovery_curve" in fitted) == (pairs, windows)


@pytest.mark.slow
def test_pairs_and_windows_give_what_the_lists_give(tmp_path, listed):
    pipeline = Pipeline(tables_collection(tmp_path), tmp_path)
    assert pipeline.run(without=UNCHECKED).success, pipeline.outcome.errors
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


@pytest.mark.slow
def test_a_violated_collection_withholds_parameters_and_says_why(tmp_path):
    pipeline = Pipeline(presence_collection(tmp_path, avoiding_histories(12), name="avoiding"), tmp_path)
    (pipeline.home.figures).mkdir(parents=True)
    stale = [pipeline.home.figures / f"core_shell_fits{suffix}" for suffix in SUFFIXES]
    for path in stale:
        path.write_bytes(b"an earlier month")
    result = pipeline.run()

    assert not result.success  # Dagster's word for it; the outcome tells a finding from an error
    assert pipeline.outcome.errors == ()
    headline_check = next(check for check in pipeline.outcome.failed_checks if check.check == "headline_fit")
    assert headline_check.severity == "ERROR"
    assert "model_violation" in headline_check.description
    assert pipeline.figures() == OBSERVABLE_FIGURES
    assert not any(path.exists() for path in stale)
    page = pipeline.page()
    assert "Parameters are not reported. Reason: " in page
    assert "after 2 crawls than after 1" in page
    assert "core_shell_fits.png" not in page
    assert "**No estimates reported** (`no_urn`)" in page
    assert "Not reported (model_violation)" in section(page, "Quantities for operators")
    assert "## Planning: other coverages and gaps" not in page
    assert "The crawler avoids recent fetches." in section(page, "Results without the urn model")
    for fit in rows(section(page, "Goodness of fit"), "residual_rms"):
        numbers = {name: fit[name] for name in ("kappa", "core_share", "alpha", "coverage", "residual_rms")}
        assert fit["model"].startswith("revisit_delay") == (fit["status"] != "model_violation")
        assert fit["status"] != "model_violation" or set(numbers.values()) == {"–"}
    of_urns = pipeline.home.observables.read("parameters").query("model != 'revisit_delay'")
    assert set(of_urns["status"]) == {"model_violation"}
    assert "kappa" not in pipeline.metadata("headline")


@pytest.mark.slow
def test_what_cannot_be_true_is_on_the_page_and_a_finding(tmp_path):
    collection = tables_collection(tmp_path, histories(12), windows=False)
    pairs = pd.read_csv(collection.source.pairs)
    pairs.loc[3, "intersection"] = 999_999
    pairs.to_csv(collection.source.pairs, index=False)
    pipeline = Pipeline(collection, tmp_path)
    pipeline.run(without=FIGURES)
    assert pipeline.outcome.errors == ()
    assert "in_range" in {check.check for check in pipeline.outcome.failed_checks}
    exported = {path.stem for path in pipeline.home.export.glob("*.csv")}
    assert "containment" in exported
    assert "discovery_curve" not in exported
    page = pipeline.page()
    assert "**Violated rule: an intersection is between 0 and the smaller crawl.** 1 row;" in page
    assert "999,999" in page


def test_only_the_selected_crawls_are_ingested(tmp_path):
    pipeline = Pipeline(presence_collection(tmp_path, last_crawl="2020-03-02"), tmp_path)
    pipeline.run(without=ALL_BUT_OBSERVABLES)
    selected = ["2020-01-06", "2020-02-03", "2020-03-02"]
    assert pipeline.home.observables.read("crawls")["crawl"].tolist() == selected
    assert sorted(path.stem for path in pipeline.home.presence.folder.glob("*.parquet")) == selected


def ordered(tables):
    """The tables, histories in an order that does not depend on how they were counted."""
    counts = tables["capture_history_counts"].sort_values("history", ignore_index=True)
    return {**tables, "capture_history_counts": counts}


@pytest.mark.slow
def test_a_collection_grown_crawl_by_crawl_equals_one_built_at_once(tmp_path):
    """Crawls arrive late, one is revised and one is taken out again; nothing is left of how it came about."""
    crawls = presence_of(histories(12, urn=1_000, kappa=0.05, coverage=0.3))
    collection = lists_collection(tmp_path, memory_gb=0.0625)
    grown, labels = Pipeline(collection, tmp_path / "grown"), list(crawls)

    def arrive(*positions):
        for position in positions:
            write_list(tmp_path, labels[position], crawls[labels[position]])
        assert grown.run(without=ALL_BUT_OBSERVABLES).success, grown.outcome.errors
        return (grown.home.histories / "manifest.json").read_bytes()

    write_list(tmp_path, "2019-01", ["a mistake"])
    write_list(tmp_path, labels[9], crawls[labels[0]])
    base = arrive(*range(2, 9))
    assert arrive(11) == base  # looked up
    (tmp_path / "lists" / "2019-01.csv").unlink()
    assert arrive(0, 9) != base  # written anew
    arrive(1, 10)
    at_once = Pipeline(collection, tmp_path / "at_once")
    for pipeline in (grown, at_once):
        pipeline.run(without=FIGURES)
        assert pipeline.outcome.errors == ()

    names = (*OBSERVABLES, *FITTED, "inputs")
    expected = ordered(at_once.tables(*names))
    for name, table in ordered(grown.tables(*names)).items():
        pd.testing.assert_frame_equal(table, expected[name], check_exact=True, obj=name)
    assert len(expected["crawls"]) == 12
    arrived = [pipeline.instance.get_dynamic_partitions("split_crawls") for pipeline in (grown, at_once)]
    assert arrived[0] != arrived[1] == labels


def test_a_sample_is_of_the_same_elements_in_every_crawl(tmp_path):
    simulated = histories(6, urn=1_000)
    pipeline = Pipeline(presence_collection(tmp_path, simulated, sample_one_in=4), tmp_path)
    pipeline.run(without=ALL_BUT_OBSERVABLES)
    kept = {
        crawl: {text for text, key in zip(texts, element_keys(texts), strict=True) if key < first_key(1, 4)}
        for crawl, texts in presence_of(simulated).items()
    }
    assert pipeline.home.observables.read("crawls")["elements"].tolist() == [4 * len(some) for some in kept.values()]
    pairs = pipeline.home.observables.read("containment")
    assert pairs["intersection"].tolist() == [
        4 * len(kept[pair.crawl_i] & kept[pair.crawl_j]) for pair in pairs.itertuples()
    ]
    assert (pairs["containment_low"] < pairs["containment"]).all()
    assert (pairs["containment"] < pairs["containment_high"]).all()


def test_a_source_that_is_gone_is_an_error_that_names_it(tmp_path):
    collection = presence_collection(tmp_path)
    (tmp_path / "listed.csv.gz").unlink()
    pipeline = Pipeline(collection, tmp_path)
    pipeline.add_partitions(["2020-01-06"])
    one = {"dagster/asset_partition_range_start": "2020-01-06", "dagster/asset_partition_range_end": "2020-01-06"}
    for job, tags, step in (("ingest", one, "listed__ingest"), ("update", {}, "listed__crawls")):
        assert not pipeline.execute(job, tags).success
        (error,) = pipeline.outcome.errors
        assert step in error
        assert "listed.csv.gz" in error


def test_an_update_before_any_ingest_says_what_to_do(tmp_path):
    pipeline = Pipeline(presence_collection(tmp_path, histories(3)), tmp_path)
    assert not pipeline.execute("update").success
    (error,) = pipeline.outcome.errors
    assert "no crawl of listed is ingested: materialise presence first" in error


def test_what_is_listed_and_not_ingested_is_left_out_and_counted(tmp_path):
    pipeline = Pipeline(presence_collection(tmp_path, histories(4)), tmp_path)
    pipeline.ingest()
    pipeline.home.presence.read("2020-02-03").path.unlink()
    pipeline.execute("update", without=ALL_BUT_OBSERVABLES)
    assert pipeline.home.observables.read("crawls")["crawl"].tolist() == ["2020-01-06", "2020-03-02", "2020-03-30"]
    assert pipeline.metadata("crawls")["not_ingested"] == 1
