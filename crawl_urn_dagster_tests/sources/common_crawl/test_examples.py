"""Test the examples of Common Crawl's collections, with a server on loopback instead of the network."""

import bz2
import json
import re
from pathlib import Path

import numpy as np
import pytest

from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.observables.publications import revisions
from crawl_urn_dagster.report.data_quality import revised_counts
from crawl_urn_dagster.sources.common_crawl.hyperloglog import relative_error
from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, FIGURES, Pipeline
from crawl_urn_dagster_tests.sources.conftest import serve
from crawl_urn_dagster_tests.sources.generated_sketches import sketch, statistics

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
WEEKS = ("2020-05", "2021-10", "2022-21", "2023-23", "2024-10", "2024-51", "2025-21", "2025-51")
CRAWLS = [f"CC-MAIN-{week}" for week in WEEKS]
COLLINFO = [{"id": crawl, "from": f"{2018 + at}-01-20T10:00:00"} for at, crawl in enumerate(CRAWLS)]


@pytest.fixture(scope="module")
def drawn():
    """Simulated histories at the times of the crawls, and the elements that each crawl captures."""
    urn = simulate(times=np.arange(len(CRAWLS)), core=800, shell=1_200, alpha=0.75, coverage=0.6, seed=3)
    return urn, [urn.captured(crawl) for crawl in range(len(CRAWLS))]


@pytest.fixture
def lines(server, tmp_path):
    """Lines of the collections of an example, by name, with every address on the server."""

    def lines(example):
        text = (EXAMPLES / example).read_text()
        path = tmp_path / example
        path.write_text(re.sub(r"https://[a-z.]+/", server.url("/"), text))
        server.answers["/collinfo.json"] = serve(json.dumps(COLLINFO[::-1]).encode())
        return {one.name: Pipeline(one, tmp_path / one.name) for one in load_collections(path)}

    return lines


def table_of_windows(urn, crawls):
    """Return a table of the distinct elements of the last 1, 2, 3 and 4 crawls."""
    lengths = (1, 2, 3, 4)
    rows = ["crawl," + ",".join(map(str, lengths))]
    for at, crawl in enumerate(crawls):
        cells = []
        for n in lengths:
            within = [urn.captured(CRAWLS.index(label)) for label in crawls[max(at - n + 1, 0) : at + 1]]
            cells.append(str(len(np.unique(np.concatenate(within)))) if at + 1 >= n else "nan")
        rows.append(",".join([crawl, *cells]))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("without", [ALL_BUT_OBSERVABLES, pytest.param(FIGURES, marks=pytest.mark.slow)])
def test_published_tables_and_their_revision(server, lines, drawn, without):
    """When a missing crawl is added, the revised counts are shown and all tables are recomputed."""
    urn, _ = drawn
    tables = "/commoncrawl/cc-crawl-statistics/master/plots/crawlsize/"
    missing = [crawl for crawl in CRAWLS if crawl != CRAWLS[-2]]
    server.answers[f"{tables}domain.csv"] = serve(
        "\n".join(["crawl,domain,host,tld,url", *(f"{crawl},30,40,5,99" for crawl in CRAWLS)]).encode()
    )
    server.answers[f"{tables}url_last_n_crawls.csv"] = serve(table_of_windows(urn, missing).encode())
    line = lines("common_crawl_urls.yaml")["common_crawl_urls"]
    assert line.run(without=ALL_BUT_OBSERVABLES).success, line.outcome.errors
    before = line.tables("publications", "discovery_curve")
    assert revisions(before["publications"]).empty
    assert set(before["publications"]["quantity"]) == {"url", "domain", "host", "tld"}

    server.answers[f"{tables}url_last_n_crawls.csv"] = serve(table_of_windows(urn, CRAWLS).encode(), '"v2"')
    line.run(without=without)
    assert not line.outcome.errors
    after = line.tables("publications", "discovery_curve")
    assert len(after["discovery_curve"]) > len(before["discovery_curve"])
    moved = revisions(after["publications"])
    assert set(moved["end_crawl"]) == {CRAWLS[-1]}
    assert sorted(moved["window_crawls"]) == [2, 3, 4]
    two = moved.set_index("window_crawls").loc[2]
    assert (two["start_before"], two["start_after"]) == (CRAWLS[-3], CRAWLS[-2])
    assert two["after"] == len(np.union1d(urn.captured(len(CRAWLS) - 2), urn.captured(len(CRAWLS) - 1)))
    sentence, table = revised_counts(after["publications"])
    assert sentence.startswith("3 counts were revised since they were first read, 3 of them at the last revision on ")
    assert CRAWLS[-3] in table.text
    if "report" not in without:
        assert sentence in line.page()
        assert table.text in line.page()


def test_sketches_of_urls_and_contents(server, lines, drawn):
    urn, captured = drawn
    keys = np.random.default_rng(4).integers(0, 2**64, len(urn.packed), dtype=np.uint64)
    for crawl, elements in zip(CRAWLS, captured, strict=True):
        content = statistics(crawl, sketch(keys[elements]), digests=sketch(keys[elements[1::2]]))
        server.answers[f"/crawl-analysis/{crawl}/stats/part-00000.gz"] = serve(content)
    found = lines("common_crawl_urls.yaml")
    line, contents = found["common_crawl_url_sketches"], found["common_crawl_contents"]
    assert line.run(without=ALL_BUT_OBSERVABLES).success, line.outcome.errors
    tables = line.tables("containment", "discovery_curve")
    assert len(tables["containment"]) == len(CRAWLS) * (len(CRAWLS) - 1) // 2
    whole = tables["discovery_curve"].set_index(["start_crawl", "end_crawl"]).loc[(CRAWLS[0], CRAWLS[-1])]
    true = len(np.unique(np.concatenate(captured)))
    assert whole["distinct_elements"] == pytest.approx(true, rel=4 * relative_error(14))
    assert whole["distinct_elements_low"] < whole["distinct_elements"] < whole["distinct_elements_high"]
    assert (tables["containment"]["containment_low"] < tables["containment"]["containment_high"]).all()
    read = contents.collection.source.read_tables(line.home.files, contents.collection.selection)
    halves = [len(elements) // 2 for elements in captured]
    assert read.crawls["elements"].to_numpy(dtype=float) == pytest.approx(halves, rel=4 * relative_error(14))


def test_hosts_from_count_files(server, lines, drawn):
    """Every part of every crawl is read, and a sample keeps the same hosts in every crawl."""
    _, captured = drawn
    for number, (crawl, elements) in enumerate(zip(CRAWLS, captured, strict=True)):
        for part in range(10):
            rows = [f'[2, "www.{one}.example", {number}]\t{one % 7 + 1}\n' for one in elements if one % 10 == part]
            server.answers[f"/crawl-analysis/{crawl}/count/part-{part:05d}.bz2"] = serve(
                bz2.compress("".join(rows).encode())
            )
    line = lines("common_crawl_counts.yaml")["common_crawl_hosts"]
    assert line.collection.sample_one_in == 16
    line.configure(line.collection.model_copy(update={"sample_one_in": 1}))
    assert line.run(without=ALL_BUT_OBSERVABLES).success, line.outcome.errors
    tables = line.tables("crawls", "containment", "discovery_curve")
    assert tables["crawls"]["elements"].tolist() == [len(elements) for elements in captured]
    pairs = tables["containment"].set_index(["crawl_i", "crawl_j"])["intersection"]
    assert pairs[CRAWLS[0], CRAWLS[-1]] == len(np.intersect1d(captured[0], captured[-1]))
    assert tables["discovery_curve"]["distinct_elements"].max() == len(np.unique(np.concatenate(captured)))
