"""The whole line on a real instance and real files, for every kind of source."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.observables.database import MissingTableError
from crawl_urn_dagster_tests.collections_for_tests import (
    COVERAGE,
    KAPPA,
    N_CRAWLS,
    avoiding_histories,
    histories,
    presence_collection,
    tables_collection,
)
from crawl_urn_dagster_tests.line import Line

OBSERVABLE_FIGURES = {"discovery_heat_map", "discovery_curves_by_start", "containment_by_lag"}
PARAMETER_FIGURES = {"fates_of_an_element", "homogeneous_fits", "core_shell_fits"}


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("listed")
    line = Line(presence_collection(folder), folder)
    assert line.run().success, line.outcome.errors
    return line


def test_presence_goes_through_to_every_table(listed):
    for name in (
        *("crawls", "capture_history_counts", "discovery_curve", "containment", "m_array", "first_returns"),
        *("parameters", "operator_terms", "drift", "inputs"),
    ):
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


def test_all_figures_are_made(listed):
    assert listed.figures() == OBSERVABLE_FIGURES | PARAMETER_FIGURES


def test_the_headline_is_near_the_truth_and_plotted_by_the_ui(listed):
    metadata = listed.metadata("headline")
    # One urn of 5,000 elements: the scatter of kappa over seeds at this size is about 0.01.
    assert metadata["kappa"] == pytest.approx(KAPPA, abs=0.04)
    assert metadata["coverage"] == pytest.approx(COVERAGE, abs=0.04)
    assert all(isinstance(metadata[name], float) for name in ("kappa", "core_share", "alpha", "coverage"))
    assert metadata["fit"] == "core_shell containment, exact form, per crawl"


def test_every_asset_of_a_table_says_its_rows(listed):
    for name in ("presence", "crawls", "capture_history_counts", "containment", "parameters", "drift"):
        assert listed.metadata(name)["dagster/row_count"] > 0


def test_figures_carry_a_preview_below_100_kb(listed):
    preview = listed.metadata("discovery_heat_map")["preview"]
    assert preview.startswith("![")
    assert "data:image/png;base64," in preview
    assert len(preview) < 140_000  # base64 of 100 kB


def test_the_page_says_the_headline_and_shows_the_figures(listed):
    page = listed.home.report.read_text()
    assert read_headline(listed.home.observables.read("parameters")).sentence in page
    for name in OBSERVABLE_FIGURES | PARAMETER_FIGURES:
        assert f"(figures/{name}.png)" in page


@pytest.mark.parametrize(
    ("pairs", "windows", "figures"),
    [
        (True, True, OBSERVABLE_FIGURES),
        (True, False, {"containment_by_lag"}),
        (False, True, {"discovery_heat_map", "discovery_curves_by_start"}),
    ],
)
def test_ready_made_observables_enter_where_they_belong(tmp_path, pairs, windows, figures):
    line = Line(tables_collection(tmp_path, pairs=pairs, windows=windows), tmp_path)
    assert line.run().success, line.outcome.errors
    assert line.figures() == figures | PARAMETER_FIGURES
    for name, there in (("containment", pairs), ("discovery_curve", windows), ("first_returns", windows)):
        if there:
            assert len(line.home.observables.read(name)) > 0
        else:
            with pytest.raises(MissingTableError):
                line.home.observables.read(name)
    with pytest.raises(MissingTableError):
        line.home.observables.read("capture_history_counts")
    projection = "containment" if pairs else "discovery_curve"
    headline = read_headline(line.home.observables.read("parameters"))
    assert headline.projection == projection


def test_pairs_and_windows_give_what_the_lists_give(tmp_path, listed):
    line = Line(tables_collection(tmp_path), tmp_path)
    line.run()
    from_lists = listed.home.observables.read("parameters")
    from_tables = line.home.observables.read("parameters")
    np.testing.assert_allclose(from_tables["alpha"], from_lists["alpha"], rtol=1e-9)
    np.testing.assert_allclose(from_tables["residual_rms"], from_lists["residual_rms"], rtol=1e-9)


def test_a_violated_collection_withholds_parameters_and_says_why(tmp_path):
    line = Line(presence_collection(tmp_path, avoiding_histories(), name="avoiding"), tmp_path)
    (line.home.figures).mkdir(parents=True)
    stale = line.home.figures / "core_shell_fits.png"
    stale.write_bytes(b"an earlier month")
    result = line.run()

    assert not result.success  # Dagster's word for it; the outcome tells a finding from an error
    assert line.outcome.errors == ()
    headline_check = next(check for check in line.outcome.failed_checks if check.check == "headline_fit")
    assert headline_check.severity == "ERROR"
    assert "model_violation" in headline_check.description
    assert line.figures() == OBSERVABLE_FIGURES
    assert not stale.exists()
    page = line.home.report.read_text()
    assert "## Why parameters are withheld" in page
    assert "after 2 crawls than after 1" in page
    assert "core_shell_fits.png" not in page
    assert set(line.home.observables.read("parameters")["status"]) == {"model_violation"}
    assert "kappa" not in line.metadata("headline")


def test_what_cannot_be_true_is_on_the_page_and_a_finding(tmp_path):
    collection = tables_collection(tmp_path, histories(12), windows=False)
    pairs = pd.read_csv(collection.source.pairs)
    pairs.loc[3, "intersection"] = 999_999
    pairs.to_csv(collection.source.pairs, index=False)
    line = Line(collection, tmp_path)
    line.run()
    assert line.outcome.errors == ()
    assert "in_range" in {check.check for check in line.outcome.failed_checks}
    page = line.home.report.read_text()
    assert "**Broken: an intersection is between 0 and the smaller crawl.** Rows: 1" in page
    assert "999,999" in page


def test_too_few_crawls_are_a_finding_too(tmp_path):
    line = Line(presence_collection(tmp_path, histories(2), name="two"), tmp_path)
    line.run()
    assert line.outcome.errors == ()
    headline = read_headline(line.home.observables.read("parameters"))
    assert headline.status == "too_few_points"
    assert line.figures() == OBSERVABLE_FIGURES


def test_a_crawl_that_arrives_late_takes_its_place(tmp_path):
    simulated = histories()
    collection = presence_collection(tmp_path, simulated, last_crawl="2020-03-02")
    line = Line(collection, tmp_path)
    line.run()
    assert line.home.observables.read("crawls")["crawl"].tolist() == ["2020-01-06", "2020-02-03", "2020-03-02"]


def test_a_source_that_is_gone_is_an_error_that_names_it(tmp_path):
    collection = presence_collection(tmp_path)
    (tmp_path / "listed.csv.gz").unlink()
    line = Line(collection, tmp_path)
    assert not line.run().success
    (error,) = line.outcome.errors
    assert "listed__read_presence" in error
    assert "listed.csv.gz" in error
