"""Saved figures."""

import json

from crawl_urn_dagster.figures.files import SUFFIXES
from crawl_urn_dagster_tests.collections_for_tests import (
    N_CRAWLS,
)
from crawl_urn_dagster_tests.pipeline import FIGURES


def test_all_figures_are_saved(listed):
    assert listed.figures() == FIGURES


def test_preview_is_below_100_kb(listed):
    preview = listed.metadata("discovery_heat_map")["preview"]
    assert preview.startswith("![")
    assert "data:image/png;base64," in preview
    assert len(preview) < 140_000  # base64 of 100 kB


def test_figures_have_files_and_captions(listed):
    metadata = listed.metadata("containment_by_lag")
    for suffix in SUFFIXES:
        assert (listed.home.figures / f"containment_by_lag{suffix}").exists()
        assert metadata[suffix.removeprefix(".")].endswith(suffix)
    description = json.loads((listed.home.figures / "containment_by_lag.json").read_text(encoding="utf-8"))
    assert (metadata["caption"], metadata["alt"]) == (description["caption"], description["alt"])
    assert f"{N_CRAWLS} crawls" in description["caption"]
