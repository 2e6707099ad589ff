"""The ready-made examples that read lists, with a server on loopback and made-up files in place of the real ones."""

import datetime as dt
import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.observables.keys import elements_in_sample
from crawl_urn_dagster.orchestration.assets.estimates import INFERENCE_TABLES
from crawl_urn_dagster.sources import Files, Sample
from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, Pipeline
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, Server, captures_of, labels_of, running
from crawl_urn_dagster_tests.sources.generated_indexes import serve_tree, write_domains, write_host_index, write_index

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ADDRESSES = ("https://data.commoncrawl.org", "https://index.commoncrawl.org")
FIGURES_OF_THE_PAPER = {"homogeneous_fits", "core_shell_fits"}
WANTED = FIGURES_OF_THE_PAPER | {"parameters", "operator_terms", *INFERENCE_TABLES, "headline"}
KAPPA, COVERAGE, ALPHA_PER_CRAWL, URN = 0.4, 0.78, 0.9, 20_000


def load(name, folder, address=None):
    """Collections of an example, with the addresses of another server."""
    text = (EXAMPLES / name).read_text()
    for remote in ADDRESSES if address else ():
        text = text.replace(remote, address)
    (folder / name).write_text(text)
    return load_collections(folder / name)


@pytest.fixture(scope="module")
def module_server():
    with running(Server()) as server:
        yield server


def real_calendar(shared_data):
    """The 51 crawls of 2020 to 2025 as collinfo.json has them."""
    crawls = pd.read_csv(shared_data / "crawls.csv", index_col="id").loc["CC-MAIN-2020-05":"CC-MAIN-2025-51"]
    assert len(crawls) == 51
    return crawls["from"]


@pytest.mark.slow
class TestCommonCrawlDomains:
    """The domains are simulated on the real calendar: the real lists could not be reached when this was written."""

    @pytest.fixture(scope="class")
    def line(self, shared_data, module_server, tmp_path_factory):
        folder = tmp_path_factory.mktemp("domains")
        starts = real_calendar(shared_data)
        years = (pd.to_datetime(starts, format="ISO8601") - pd.Timestamp(starts.iloc[0])).dt.days.to_numpy() / 365.25
        core = round(KAPPA * URN)
        simulated = simulate(
            times=years,
            core=core,
            shell=URN - core,
            alpha=ALPHA_PER_CRAWL ** (50 / years[-1]),
            coverage=COVERAGE,
            seed=11,
        )
        tree = folder / "tree"
        write_domains(
            tree,
            {
                crawl: pd.DataFrame(
                    {"domain": np.char.add(simulated.captured(index).astype(str), ".example").astype(object)}
                )
                for index, crawl in enumerate(starts.index)
            },
        )
        entries = [{"id": crawl, "from": start[:19]} for crawl, start in starts.items()][::-1]
        (tree / "collinfo.json").write_text(json.dumps(entries))
        serve_tree(module_server, tree)
        (collection,) = load("common_crawl_domains.yaml", folder, module_server.url(""))
        line = Pipeline(collection.model_copy(update={"sample_one_in": 1}), folder)
        assert line.run(without=ALL_BUT_OBSERVABLES - WANTED).success, line.outcome.errors
        return line

    def test_truth_is_within_the_intervals(self, line):
        table = line.home.observables.read("parameters")
        headline = read_headline(table)
        shell = table[table["headline"] & (table["component"] == "shell")].iloc[0]
        assert headline.status == "ok"
        for column, truth in (("kappa", KAPPA), ("coverage", COVERAGE), ("alpha", ALPHA_PER_CRAWL)):
            assert shell[f"{column}_low"] <= truth <= shell[f"{column}_high"], column

    def test_the_figures_of_the_paper_are_drawn(self, line):
        assert line.figures() == FIGURES_OF_THE_PAPER
        assert len(line.home.observables.read("crawls")) == 51


def test_common_crawl_by_rank(module_server, tmp_path):
    crawls = ["CC-MAIN-2020-05", "CC-MAIN-2025-51"]
    tree = tmp_path / "tree"
    write_index(tree, crawls, files=1)
    write_host_index(tree, crawls)
    (tree / "collinfo.json").write_text(json.dumps([{"id": crawl, "from": f"{crawl[8:12]}-01-05"} for crawl in crawls]))
    release = "cc-main-2022-23-sep-nov-jan"
    ranks = tree / f"projects/hyperlinkgraph/{release}/domain/{release}-domain-ranks.txt.gz"
    ranks.parent.mkdir(parents=True)
    rows = [f"{rank}\t1.0\t{rank}\t0.1\tcom.d{rank}\t1\n" for rank in range(1, 200)]
    ranks.write_bytes(
        gzip.compress(
            "".join(["#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\t#n_hosts\n", *rows]).encode()
        )
    )
    serve_tree(module_server, tree)
    hosts, domains = load("common_crawl_ranked_hosts.yaml", tmp_path, module_server.url(""))
    for collection, strata in ((hosts, 10), (domains, 199)):
        files = Files(tmp_path / collection.name)
        listing = collection.source.list_crawls(files, collection.selection)
        assert labels_of(listing) == crawls
        found = {
            value
            for captures in collection.source.captures(files, crawls)
            for value in ([] if captures.strata is None else captures.strata)
            if isinstance(value, str)
        }
        assert len(found) > strata / 2


def archive(n_crawls=8, urn=300):
    core = urn // 3
    return simulate(times=np.arange(n_crawls), core=core, shell=urn - core, alpha=0.8, coverage=0.6, seed=3)


def test_the_german_academic_web(tmp_path):
    simulated = archive(14)
    starts = [dt.date(2012, 10, 9), dt.date(2013, 2, 11)]
    starts += [dt.date(2013 + (half + 1) // 2, 12 if half % 2 == 0 else 6, 4) for half in range(12)]
    (tmp_path / "gaw").mkdir()
    for crawl, start in enumerate(starts):
        lines = "".join(
            f"http://www.uni-{number % 9}.de/{number} {start:%Y%m%d}101500\n" for number in simulated.captured(crawl)
        )
        lines += "http://no-time.de/\n" if crawl == 13 else ""
        (tmp_path / "gaw" / f"{start:%Y-%m}.txt.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
    (collection,) = load("german_academic_web.yaml", tmp_path)
    line = Pipeline(collection, tmp_path)
    assert line.run(without=ALL_BUT_OBSERVABLES).success, line.outcome.errors
    containment = line.home.observables.read("containment")
    counts = simulated.counts().intersections()
    i, j = np.triu_indices(12, k=1)
    assert containment["intersection"].tolist() == counts[i + 2, j + 2].tolist()
    assert line.metadata("crawls")["lines_malformed"] == 1
    findings = line.home.observables.read("findings").set_index("finding")["found"]
    assert findings["lines_malformed"] == "1"
    assert findings["malformed"].endswith("'http://no-time.de/'")


def test_a_web_archive_without_index(tmp_path):
    pytest.importorskip("fastwarc")
    tail = "- text/html #025 20240105171208546+922 sha1:7AJUMSDTOMT4FN7MBFGGNJU3Z56MLCMW - -"
    (tmp_path / "warcs").mkdir()
    for month in (1, 2, 4):
        answers = "".join(
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2024-{month:02}-05T00:00:00Z\r\n"
            f"WARC-Target-URI: http://site{site}.com/\r\nContent-Length: 19\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\r\n\r\n"
            for site in (month, month + 1)
        )
        (tmp_path / "warcs" / f"{month}.warc").write_text(answers, newline="")
        (tmp_path / "jobs" / f"2024-0{month}" / "logs").mkdir(parents=True)
        (tmp_path / "jobs" / f"2024-0{month}" / "logs" / "crawl.log").write_text(
            f"2024-01-05T17:12:08.802Z   200  9 http://site{month}.com/ - {tail}\n"
            f"2024-01-05T17:12:09.802Z   200  9 http://site{month}.com/a.png LE {tail}\n"
        )
    files = Files(tmp_path / "cache")
    found = {}
    for collection in load("web_archive_without_index.yaml", tmp_path):
        listing = collection.source.list_crawls(files, ALL_CRAWLS)
        found[collection.name] = captures_of(collection.source, files, labels_of(listing))
    assert found["warc_hosts_by_quarter"] == [
        *[("2024-01", f"site{site}.com") for site in (1, 2, 2, 3)],
        *[("2024-04", f"site{site}.com") for site in (4, 5)],
    ]
    assert found["log_urls_by_job"] == [(f"2024-0{month}", f"com,site{month})/") for month in (1, 2, 4)]


def test_theta_sketches(tmp_path):
    datasketches = pytest.importorskip("datasketches")
    (tmp_path / "sketches").mkdir()
    for month in (1, 2, 3):
        sketch = datasketches.update_theta_sketch(lg_k=9)
        for number in range(500 * month, 500 * month + 2000):
            sketch.update(f"site{number}.com")
        (tmp_path / "sketches" / f"job {month}.theta").write_bytes(sketch.compact().serialize())
    rows = "".join(f"job {month},2024-0{month}-01\n" for month in (1, 2, 3))
    (tmp_path / "sketches" / "crawls.csv").write_text(f"id,from\n{rows}")
    (collection,) = load("theta_sketches.yaml", tmp_path)
    one_in = collection.sample_one_in
    source = collection.source.with_sample(Sample(one_in, lambda elements: elements_in_sample(elements, one_in)))
    files = Files(tmp_path / "cache")
    crawls = labels_of(source.list_crawls(files, ALL_CRAWLS))
    assert crawls == ["job 1", "job 2", "job 3"]
    captures = [elements[elements_in_sample(elements, one_in)] for _, elements, *_ in source.captures(files, crawls)]
    assert one_in * np.array([len(one) for one in captures]) == pytest.approx(2000, rel=0.25)
    for i, j in ((0, 1), (1, 2), (0, 2)):
        assert one_in * len(np.intersect1d(captures[i], captures[j])) == pytest.approx(2000 - 500 * (j - i), rel=0.25)


def test_a_web_archive(tmp_path):
    simulated = archive()
    (tmp_path / "indexes").mkdir()
    sets = []
    for crawl in range(8):
        start = dt.date(2023, 1 + crawl, 2)
        captured = simulated.captured(crawl)
        sets.append({f"com,site{number})/" for number in captured})
        warc = f"ARCHIVE-WEEKLY-{start:%Y%m%d}-00001.warc.gz"
        lines = "".join(
            f"com,site{number})/ {start:%Y%m%d}101500 http://www.site{number}.com/ text/html 200 K - - 9 9 {warc}\n"
            for number in captured
        )
        (tmp_path / "indexes" / f"{crawl}.cdx.gz").write_bytes(
            gzip.compress((" CDX N b a m s k r M S V g\n" + lines).encode())
        )
    collections = {collection.name: collection.source for collection in load("web_archive.yaml", tmp_path)}
    files = Files(tmp_path / "cache")
    found = {}
    for name, source in collections.items():
        listing = source.list_crawls(files, ALL_CRAWLS)
        found[name] = (labels_of(listing), captures_of(source, files, labels_of(listing)))
    labels, captures = found["archive_urls_by_job"]
    assert labels == [f"ARCHIVE-WEEKLY-2023{month:02}02" for month in range(1, 9)]
    assert captures == sorted((label, key) for label, keys in zip(labels, sets, strict=True) for key in keys)
    assert found["archive_hosts_by_month"][0] == [f"2023-{month:02}" for month in range(1, 9)]
    assert len(found["archive_hosts_by_month"][1]) == len(captures)
    assert found["archive_domains_by_quarter"][0] == ["2023-01", "2023-04", "2023-07"]
