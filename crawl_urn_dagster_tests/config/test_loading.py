"""Loading a configuration file, and its error messages."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.config.loading import MAX_CONFIGURATION_BYTES, CollectionsError, load_collections
from crawl_urn_dagster.config.settings import DriftSettings
from crawl_urn_dagster.observables.engines import LocalEngine, SparkEngine
from crawl_urn_dagster.observables.strata import StratumSettings
from crawl_urn_dagster.sources import (
    CommonCrawlStatisticsSource,
    Files,
    ObservableTablesSource,
    PresenceListSource,
    Selection,
    SimulatedSource,
)
from crawl_urn_dagster.urn import CountingError

EXAMPLE = """
collections:
  - name: demo
    granularity: url
    source: {type: simulated}
    drift: {step_crawls: 9}
  - name: hosts
    granularity: host
    source: {type: presence_list, path: hosts.csv.gz, crawl_column: snapshot, element_column: element}
  - name: common_crawl_urls
    granularity: url
    first_crawl: CC-MAIN-2020-05
    last_crawl: CC-MAIN-2025-51
    clock: year
    source:
      {type: common_crawl_statistics, windows: https://example.org/w, calendar: crawls.csv, relative_error: 0.008}
  - name: edu_urls
    granularity: url
    drift: {window_crawls: 10, step_crawls: 2, reference_from: 2014-01}
    source: {type: observable_tables, pairs: pairs.csv, windows: windows.csv, calendar: crawls.csv}
  - name: gaw
    granularity: url
    first_crawl: 2013-12
    last_crawl: 2018-12-01
    source:
      type: observable_tables
      pairs: lists/pairs.csv
      columns: {size_i: unique_urls_i, started_i: start_i}
  - name: large
    granularity: url
    sample_one_in: 64
    memory_gb: 0.5
    engine: {type: spark, master: yarn, settings: {spark.executor.memory: 8g}}
    source: {type: simulated}
"""


@pytest.fixture
def load(tmp_path):
    """Write a configuration next to its data files, and load it."""
    for name in ("hosts.csv.gz", "crawls.csv", "pairs.csv", "windows.csv", "lists/pairs.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def load(text):
        path = tmp_path / "collections.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_collections(path)

    return load


def one(source="{type: simulated}", **more):
    """Configuration of one collection as YAML."""
    lines = {"name": "a", "granularity": "url", "source": source, **more}
    return "collections:\n  - " + "\n    ".join(f"{key}: {value}" for key, value in lines.items())


class TestLoading:
    def test_each_type_gives_its_source_class(self, load):
        collections = load(EXAMPLE)
        assert [type(collection.source) for collection in collections] == [
            SimulatedSource,
            PresenceListSource,
            CommonCrawlStatisticsSource,
            ObservableTablesSource,
            ObservableTablesSource,
            SimulatedSource,
        ]
        assert [collection.name for collection in collections] == [
            "demo",
            "hosts",
            "common_crawl_urls",
            "edu_urls",
            "gaw",
            "large",
        ]

    def test_relative_paths_start_at_the_folder_of_the_file(self, load, tmp_path):
        _, hosts, urls, _, gaw, _ = load(EXAMPLE)
        assert hosts.source.path == str(tmp_path / "hosts.csv.gz")
        assert urls.source.windows == "https://example.org/w"
        assert urls.source.calendar == str(tmp_path / "crawls.csv")
        assert gaw.source.pairs == str(tmp_path / "lists" / "pairs.csv")

    def test_unquoted_dates_become_labels(self, load):
        assert load(EXAMPLE)[4].selection == Selection("2013-12", "2018-12-01")

    def test_defaults_and_settings(self, load):
        demo, _, urls, edu, _, large = load(EXAMPLE)
        assert (demo.clock, demo.selection) == ("crawl", Selection(None, None))
        assert urls.drift == DriftSettings(window_crawls=24, step_crawls=1, reference_from=None)
        assert (urls.clock, urls.source.relative_error, demo.source.relative_error) == ("year", 0.008, 0.0)
        assert edu.drift == DriftSettings(window_crawls=10, step_crawls=2, reference_from="2014-01")
        assert (demo.engine, demo.sample_one_in, demo.memory_bytes) == (LocalEngine(), 1, 4 * 2**30)
        spark = SparkEngine(type="spark", master="yarn", settings={"spark.executor.memory": "8g"})
        assert (large.engine, large.sample_one_in, large.memory_bytes) == (spark, 64, 2**29)

    def test_counting_error_combines_source_and_sample(self, load):
        assert [collection.counting_error for collection in load(EXAMPLE)] == [
            *(CountingError(), CountingError(), CountingError(relative=0.008)),
            *(CountingError(), CountingError(), CountingError(one_in=64)),
        ]

    def test_available_observables_follow_from_the_source(self, load):
        has = [
            (collection.has_histories, collection.has_containment, collection.has_discovery_curve)
            for collection in load(EXAMPLE)
        ]
        assert has == [
            (True, True, True),
            (True, True, True),
            (False, False, True),
            (False, True, True),
            (False, True, False),
            (True, True, True),
        ]

    def test_demo_collection_needs_no_file(self, load):
        assert demo_collection() == load(EXAMPLE)[0]
        assert demo_collection().source.missing_files() == []

    def test_loading_imports_no_heavy_library(self, load, tmp_path):
        load(EXAMPLE)
        script = (
            "import sys, pathlib\n"
            "from crawl_urn_dagster.config.loading import load_collections\n"
            "load_collections(pathlib.Path(sys.argv[1]))\n"
            "heavy = {'numpy', 'scipy', 'pandas', 'duckdb', 'requests', 'matplotlib', 'dagster'}\n"
            "print(*heavy & set(sys.modules))\n"
        )
        command = [sys.executable, "-c", script, str(tmp_path / "collections.yaml")]
        assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "\n"


RANKED = "ranks: r, of: {type: presence_list, path: p}"
INVALID = [
    (
        EXAMPLE.replace("windows: windows", "windos: windows"),
        r"collections\[3\] \(edu_urls\)\.source\.windos: "
        r"unknown key; did you mean 'windows'\? expected one of: .*pairs",
    ),
    (one(granularty="url"), r"collections\[0\] \(a\)\.granularty: unknown key; did you mean 'granularity'"),
    (
        one(drift="{window: 6}"),
        r"\(a\)\.drift\.window: unknown key; .*expected one of: window_crawls, step_crawls, reference_from",
    ),
    (one(containment_drop=0.3, coverage_drop=0.4), r"\(a\)\.coverage_drop: unknown key"),
    ("collection: []", r"collection: unknown key; did you mean 'collections'"),
    (
        one("{type: presence_lists, path: p}"),
        r"\.source\.type: found 'presence_lists'; did you mean 'presence_list'\? expected",
    ),
    (one("{path: p}"), r"\(a\)\.source\.type: is missing; expected one of: simulated"),
    (one("hosts.csv"), r"\(a\)\.source: found 'hosts.csv', should be"),
    (one("{type: presence_list}"), r"\(a\)\.source\.path: is missing"),
    (one("{type: simulated, kappa: 1.5}"), r"\(a\)\.source\.kappa: found 1\.5, should be less than 1"),
    (one("{type: simulated, kappa: '0.5'}"), r"\(a\)\.source\.kappa: found '0\.5', should be a valid number"),
    (one("{type: simulated, crawls: true}"), r"\(a\)\.source\.crawls: found True, should be a valid integer"),
    (
        one("{type: presence_list, path: 5}"),
        r"\(a\)\.source\.path: found 5, should be a valid string; put it",
    ),
    (
        one("{type: presence_list, path: 'ftp://b/a'}"),
        r"\.source\.path: 'ftp://b/a' is neither a path nor an address",
    ),
    (one("{type: observable_tables}"), r"\(a\)\.source: .*neither pairs nor windows"),
    (one("{type: observable_tables, pairs: p, columns: {sizes_i: n}}"), r"source\.columns: .*'size_i'"),
    (one(first_crawl="20131201000000"), r"\(a\)\.first_crawl: found 20131201000000, .* put it in quotes"),
    (one(first_crawl="2013-12-01 10:00:00"), r"\(a\)\.first_crawl: found datetime.*put it in quotes"),
    (one(first_crawl="[2013]"), r"\(a\)\.first_crawl: found \[2013\], should be a valid string"),
    (one(granularity="urls"), r"\(a\)\.granularity: found 'urls', should be 'url', 'host'"),
    (one(name="Edu-Urls"), r"collections\[0\] \(Edu-Urls\)\.name: found 'Edu-Urls', .*pattern"),
    (one(name="5"), r"collections\[0\]\.name: found 5, should be a valid string"),
    (
        one(engine="{type: sparc, master: m}"),
        r"\(a\)\.engine\.type: found 'sparc'; did you mean 'spark'\? .*: local, spark",
    ),
    (one(engine="{threads: 2}"), r"\(a\)\.engine\.type: is missing; expected one of: local, spark"),
    (one(engine="{type: local, thread: 2}"), r"\(a\)\.engine\.thread: unknown key; did you mean 'threads'"),
    (one(engine="{type: spark}"), r"\(a\)\.engine\.master: is missing"),
    (one(engine="spark"), r"\(a\)\.engine: found 'spark', should be"),
    (one(sample_one_in=0), r"\(a\)\.sample_one_in: found 0, should be greater than or equal to 1"),
    (one(sample_one_in=2**20 + 1), r"\(a\)\.sample_one_in: found 1048577, should be less than or equal to 1048576"),
    (one(sample_one_in=1.5), r"\(a\)\.sample_one_in: found 1\.5, should be a valid integer"),
    (one(memory_gb=0.01), r"\(a\)\.memory_gb: found 0\.01, should be greater than or equal to 0\.0625"),
    (
        one("{type: observable_tables, pairs: pairs.csv}", memory_gb=1, sample_one_in=2),
        r"\(a\): .* has memory_gb and sample_one_in, but its source gives counts, not elements: remove them",
    ),
    (
        one("{type: simulated}", stratum="{column: rank}"),
        r"\(a\)\.source: .*has no column 'rank' to take a stratum from; leave stratum out",
    ),
    (
        one("{type: observable_tables, pairs: pairs.csv}", stratum="{column: rank}"),
        r"\(a\): .* has stratum, but its source gives counts",
    ),
    (
        one("{type: presence_list, path: p}", stratum="{column: r}", engine="{type: spark, master: m}"),
        r"\(a\): .* has stratum and engine\.type spark, which does not count strata: set engine",
    ),
    *(
        (
            one(f"{{type: {source}}}", granularity=asked),
            rf"\(a\): .* has granularity {asked}, .* set granularity: {given}",
        )
        for source, asked, given in [
            ("common_crawl_counts", "host", "domain"),
            ("common_crawl_counts, counted: host", "domain", "host"),
            ("common_crawl_counts, counted: tld", "domain", "other"),
            ("common_crawl_counts, counted: surt_domain", "domain", "host"),
            ("common_crawl_sketches", "host", "url"),
            ("common_crawl_sketches, counted: digest", "url", "other"),
            ("common_crawl_statistics", "domain", "url"),
        ]
    ),
    (
        one(f"{{type: web_graph_ranks, {RANKED}}}", granularity="domain"),
        r"\(a\)\.source: .* has no stratum: add one next to source, such as stratum: \{column: harmonicc_pos",
    ),
    (
        one(f"{{type: web_graph_ranks, {RANKED}}}", granularity="host", stratum="{column: pr_pos, bands: [9]}"),
        r"\(a\): .* has granularity host, .* set granularity: domain",
    ),
    (
        one("{type: web_graph_ranks, ranks: r, of: {type: cdx, path: p}}", granularity="domain"),
        r"\(a\)\.source\.of: .* gives elements of granularity url, but the table ranks domains",
    ),
    (
        one("{type: common_crawl_counts, path: '{crawl}.bz2'}", granularity="domain"),
        r"\(a\)\.source: .* has 10 parts but no \{part\} in path: every part is the same file; set parts: 1",
    ),
    (one(stratum="{bands: [5]}"), r"\(a\)\.stratum\.column: is missing"),
    (one(stratum="{column: r, band: [5]}"), r"\(a\)\.stratum\.band: unknown key; did you mean 'bands'"),
    (one(stratum="{column: r, bands: [5, 5]}"), r"\(a\)\.stratum: .*bands \[5, 5\], expected ascending"),
    (one(stratum="{column: r, bands: [5.5]}"), r"\(a\)\.stratum\.bands\[0\]: found 5\.5, should be a valid integer"),
    (one(stratum="{column: r, take: last}"), r"\(a\)\.stratum\.take: found 'last', should be 'first' or 'best'"),
    (one(drift="{window_crawls: 4}"), r"\.drift\.window_crawls: found 4, .* equal to 5"),
    (one(drift="{step_crawls: 0}"), r"\.drift\.step_crawls: found 0, .* equal to 1"),
    ("collections: []", r"collections: found \[\], .*at least 1 item"),
    ("collections: {}", r"collections: found \{\}, should be a valid list"),
    ("collections: [5]", r"collections\[0\]: found 5, should be"),
    ("", r"found None, expected the key 'collections' and a list"),
    ("- a", r"found \['a'\], expected the key 'collections'"),
    ("collections: [\n", r"collections\.yaml, line 2: not valid YAML"),
    ("collections:\n\t- a", r"line 2: not valid YAML: found character '\\t'"),
    ("a: 1\nb: 2\na: 3", r"collections\.yaml, line 3: not valid YAML: the key 'a' occurs twice"),
    (one(source="{type: simulated, seed: 1, seed: 2}"), r"line 4: not valid YAML: the key 'seed' occurs twice"),
    ("a: !!python/object/apply:os.system ['true']", r"line 1: not valid YAML: could not determine a constructor"),
    (one(first_crawl="2013-13-01"), r"not valid YAML: month must be in 1\.\.12"),
    ("[" * 50_000, r"not valid YAML"),
    (b"\xff\xfe\xfa", r"not valid YAML"),
    ("#" * (MAX_CONFIGURATION_BYTES + 1), r"larger than 1,048,576 bytes"),
    (one("{type: presence_list, path: gone.csv}"), r"\[0\] \(a\)\.source: no such file: .*/gone\.csv;"),
    (one("{type: presence_list, path: 'gone/*.csv'}"), r"\(a\)\.source: no such file: .*/gone/\*\.csv;"),
    (EXAMPLE.replace("name: gaw", "name: hosts"), r"\[4\]\.name: found 'hosts', as in collections\[1\]"),
]


@pytest.mark.parametrize(("text", "message"), INVALID)
def test_error_names_file_key_found_and_expected(load, text, message):
    with pytest.raises(CollectionsError, match=message) as caught:
        load(text)
    assert all("/collections.yaml" in line for line in str(caught.value).splitlines())


def test_all_errors_are_reported_together(load):
    text = EXAMPLE.replace("granularity: host", "granularity: hosts").replace("window_crawls: 10", "window_crawls: x")
    with pytest.raises(CollectionsError) as caught:
        load(text)
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert all("collections.yaml: collections[" in line for line in lines)


def test_source_reads_the_stratum_column(load):
    columns = "element_column: element}"
    text = EXAMPLE.replace(columns, f"{columns}\n    stratum: {{column: rank, bands: [50, 200]}}")
    (hosts,) = [one for one in load(text) if one.name == "hosts"]
    assert hosts.stratum == StratumSettings(column="rank", bands=[50, 200], take="first")
    path = Path(hosts.source.path)
    path.write_bytes(gzip.compress(b"snapshot,element,rank\n2024-01,a,51\n"))
    captures = list(hosts.source.captures(Files(path.parent / "cache"), ["2024-01"]))
    assert captures[0].strata.tolist() == ["51"]


@pytest.mark.parametrize("key", ["containment_drop", "coverage_drop"])
def test_containment_drop_accepts_its_former_key(load, key):
    (collection,) = load(one(**{key: 0.3}))
    assert collection.containment_drop == 0.3
    assert collection.model_dump(exclude_unset=True)["containment_drop"] == 0.3


def test_unreadable_file_is_reported(tmp_path):
    with pytest.raises(
        CollectionsError, match=r"none\.yaml: cannot be read: No such file or directory; check the path"
    ):
        load_collections(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "automation: {refresh_cron: monthly}",
            "automation.refresh_cron: 'monthly' is not a cron schedule; expected five",
        ),
        (
            "automation: {refresh_cron: 0 6 31 2 *}",
            "automation.refresh_cron: '0 6 31 2 *' never fires; expected a day of the month from 1 to 29",
        ),
        ("automation: {refresh_cron: '0 6 31 4,Jun,9-11/2 *'}", "'0 6 31 4,Jun,9-11/2 *' never fires; expected"),
        ("automation: {refresh_cron: 0 6 */0 * *}", "automation.refresh_cron: '0 6 */0 * *' is not a cron schedule"),
        ("automation: {time_zone: Europe/Atlantis}", "automation.time_zone: 'Europe/Atlantis' is not a time zone"),
        ("automation: {attempts: 0}", "automation.attempts: found 0"),
        ("automation: {every: 5}", "automation.every: unknown key"),
        ("containment_drop: 1.5", "containment_drop: found 1.5"),
        ("coverage_drop: 1.5", "coverage_drop: found 1.5"),
        ("owners: [somebody]", "owners[0]: found 'somebody'"),
    ],
)
def test_invalid_setting_is_named_with_its_key(load, setting, message):
    with pytest.raises(CollectionsError, match=re.escape(message)):
        load(f"collections:\n  - name: a\n    granularity: url\n    source: {{type: simulated}}\n    {setting}\n")


ARCHIVES = """
collections:
  - name: mine
    granularity: host
    source: {type: simulated}
    cross_archive: {lists: LISTS}
  - name: theirs
    granularity: host
    source: {type: simulated}
  - name: urls
    granularity: url
    source: {type: simulated}
"""


def test_archives_are_configured_by_name_or_as_a_register(tmp_path):
    path = tmp_path / "collections.yaml"
    path.write_text(ARCHIVES.replace("LISTS", "[{collection: theirs, frame: true}], match: date within 2.5 days"))
    settings = load_collections(path)[0].cross_archive
    assert (settings.days, settings.frame, settings.odds_ratios) == (2.5, "theirs", [1.0, 10.0])
    assert settings.including("mine").names == ["mine", "theirs"]


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ("[theirs, theirs]", "two crawls of one crawler are not two lists"),
        ("[mine]", "cross_archive without another collection"),
        ("[absent]", "no collection is named 'absent'; expected one of mine, theirs, urls"),
        ("[urls]", "collection urls must have granularity host, not url"),
        ("[theirs], match: within 3 days", "expected 'date within n days'"),
        ("[theirs], odds_ratios: [3, 1]", "expected two ascending numbers above 0"),
        ("[{collection: theirs, frame: true}, {collection: mine, frame: true}]", "more than one list with frame"),
        ("[theirs], macth: date within 3 days", "macth: unknown key"),
    ],
)
def test_invalid_archives_are_explained(tmp_path, lists, message):
    path = tmp_path / "collections.yaml"
    path.write_text(ARCHIVES.replace("LISTS", lists))
    with pytest.raises(CollectionsError, match=re.escape(message)):
        load_collections(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{type: counter_table, path: absent.csv}", "(demo).ground_truth: no such file"),
        ("{type: counters}", "(demo).ground_truth.type: found 'counters'; did you mean 'counter_table'?"),
        ("{type: counter_table, path: counters.csv, populaton: []}", "(demo).ground_truth.populaton: unknown key; did"),
        ("{type: counter_table}", "(demo).ground_truth.path: is missing"),
    ],
)
def test_invalid_counters_are_explained(tmp_path, settings, message):
    path = tmp_path / "collections.yaml"
    text = f"collections: [{{name: demo, granularity: url, source: {{type: simulated}}, ground_truth: {settings}}}]"
    path.write_text(text)
    with pytest.raises(CollectionsError, match=re.escape(message)):
        load_collections(path)
    (tmp_path / "counters.csv").write_text("")
    path.write_text(text.replace(settings, "{type: counter_table, path: counters.csv}"))
    assert load_collections(path)[0].ground_truth.path == str(tmp_path / "counters.csv")
