"""Test the command that writes theta sketches: their collection gives the counts of the lists."""

import numpy as np
import pytest

from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.observables.keys import first_key
from crawl_urn_dagster.sources import Files, Sample, Selection

pytest.importorskip("datasketches")
CONFIGURATION = """\
collections:
  - name: lists
    granularity: host
    source: {type: presence_list, path: lists.csv}
"""


@pytest.fixture
def lists(tmp_path):
    (tmp_path / "collections.yaml").write_text(CONFIGURATION)
    rows = [f"2024-0{crawl},e{number}" for crawl in (1, 2, 3) for number in range(100 * crawl, 100 * crawl + 2000)]
    (tmp_path / "lists.csv").write_text("\n".join(["crawl,element", *rows, *rows[:50]]) + "\n")
    return tmp_path / "collections.yaml"


def test_sketches_are_a_collection_of_their_own(invoke, lists, tmp_path):
    out = tmp_path / "sketches"
    result = invoke("sketch", "--collections", lists, "--home", tmp_path / "home", "--out", out, "--lg-k", 9)
    assert result.exit_code == 0, result.output
    assert "3 sketches of" in result.output
    (collection,) = load_collections(out / "collections.yaml")
    one_in = collection.sample_one_in
    assert 4 <= one_in <= 5
    assert all(path.stat().st_size <= 24 + 8 * 2**9 for path in out.glob("*.theta"))
    source = collection.source.with_sample(Sample(one_in, lambda elements: np.ones(len(elements), bool)))
    files = Files(tmp_path / "cache")
    crawls = [crawl.crawl for crawl in source.list_crawls(files, Selection()).crawls]
    assert crawls == ["2024-01", "2024-02", "2024-03"]
    keys = [one.elements[one.elements < first_key(1, one_in)] for one in source.captures(files, crawls)]
    assert np.array([len(one) for one in keys]) * one_in == pytest.approx(2000, rel=0.2)
    assert len(np.intersect1d(keys[0], keys[1])) * one_in == pytest.approx(1900, rel=0.2)


def test_a_source_of_counts_or_hashes_is_refused(invoke, lists, tmp_path):
    out = tmp_path / "sketches"
    invoke("sketch", "--collections", lists, "--home", tmp_path / "home", "--out", out)
    again = invoke("sketch", "--collections", out / "collections.yaml", "--home", tmp_path / "home", "--out", out)
    assert again.exit_code == 1
    assert "lists_sketched: its source has no texts of elements" in again.output
    kept = (out / "collections.yaml").read_text().replace("sample_one_in: 1", "sample_one_in: 1\n  keep_elements: true")
    (out / "collections.yaml").write_text(kept)
    refused = invoke("sketch", "--collections", out / "collections.yaml", "--home", tmp_path / "home", "--out", out)
    assert "has keep_elements, but its source gives hashes of elements" in refused.output
