"""The report of a valid collection, and of one whose counts break a rule."""

import pandas as pd
import pytest

from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    tables_collection,
)
from crawl_urn_dagster_tests.pipeline import FIGURES, Pipeline


def test_page_has_the_headline_and_the_figures(listed):
    page = listed.page()
    assert read_headline(listed.home.observables.read("parameters")).sentence in page
    # All 24 crawls are in the reference period, so control charts are not drawn.
    shown = FIGURES - {"control_charts"}
    assert {name for name in FIGURES if f"(figures/{name}.png)" in page} == shown


@pytest.mark.slow
def test_broken_rule_is_on_the_page_and_a_finding(tmp_path):
    collection = tables_collection(tmp_path, histories(12), windows=False)
    pairs = pd.read_csv(collection.source.pairs)
    pairs.loc[3, "intersection"] = 999_999
    pairs.to_csv(collection.source.pairs, index=False)
    pipeline = Pipeline(collection, tmp_path)
    pipeline.run(without=FIGURES - {"containment_by_lag"})  # the report draws the others
    assert pipeline.outcome.errors == ()
    assert "in_range" in {check.check for check in pipeline.outcome.failed_checks}
    exported = {path.stem for path in pipeline.home.export.glob("*.csv")}
    assert "containment" in exported
    assert "discovery_curve" not in exported
    page = pipeline.page()
    assert "**Violated rule: an intersection is between 0 and the smaller crawl.** 1 row;" in page
    assert "999,999" in page
