"""The report of valid, violated and short collections."""

import pandas as pd
import pytest

from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.figures import PARAMETER_FIGURES
from crawl_urn_dagster.figures.files import SUFFIXES
from crawl_urn_dagster_tests.collections_for_tests import (
    avoiding_histories,
    histories,
    presence_collection,
    tables_collection,
)
from crawl_urn_dagster_tests.pipeline import FIGURES, Pipeline
from crawl_urn_dagster_tests.report.reading import rows, section

OBSERVABLE_FIGURES = FIGURES - set(PARAMETER_FIGURES)


def test_page_has_the_headline_and_the_figures(listed):
    page = listed.page()
    assert read_headline(listed.home.observables.read("parameters")).sentence in page
    # All 24 crawls are in the reference period, so control charts are not drawn.
    shown = FIGURES - {"control_charts"}
    assert {name for name in FIGURES if f"(figures/{name}.png)" in page} == shown


@pytest.mark.slow
def test_violated_collection_reports_no_estimates(tmp_path):
    pipeline = Pipeline(presence_collection(tmp_path, avoiding_histories(12), name="avoiding"), tmp_path)
    (pipeline.home.figures).mkdir(parents=True)
    stale = [pipeline.home.figures / f"core_shell_fits{suffix}" for suffix in SUFFIXES]
    for path in stale:
        path.write_bytes(b"of an earlier update")
    result = pipeline.run()

    assert not result.success  # to Dagster; the outcome separates findings from errors
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
    urn_fits = pipeline.home.observables.read("parameters").query("model != 'revisit_delay'")
    assert set(urn_fits["status"]) == {"model_violation"}
    assert "kappa" not in pipeline.metadata("headline")


@pytest.mark.slow
def test_broken_rule_is_on_the_page_and_a_finding(tmp_path):
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
