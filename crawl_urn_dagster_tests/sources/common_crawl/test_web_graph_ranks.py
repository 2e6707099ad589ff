"""Test ranks of a web graph as strata of a collection of domains."""

from pathlib import Path

import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.config.loading import CollectionsError, load_collections
from crawl_urn_dagster.sources import Files, SourceError, StratumColumn, WebGraphRanksSource
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, captures_of, gz, labels_of

RANKS = (
    "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\t#n_hosts\n"
    "1\t3.1e7\t3\t0.01\tcom.example\t12\n2\t2.9e7\t1\t0.02\tuk.co.example\t3\n3\t2.1e7\t2\t0.02\torg.other\t1\n"
)
LIST = "crawl,element\n2024-01,example.com\n2024-01,example.co.uk\n2024-02,example.com\n2024-02,new.example\n"


def source_of(write, ranks=RANKS):
    return WebGraphRanksSource.model_validate(
        {
            "ranks": write("ranks.txt.gz", gz(ranks.encode())),
            "of": {"type": "presence_list", "path": write("list.csv", LIST)},
        }
    )


@pytest.mark.parametrize(("column", "com_rank", "uk_rank"), [("harmonicc_pos", "1", "2"), ("pr_pos", "3", "1")])
def test_captures_have_the_rank_of_their_domain(files, write, column, com_rank, uk_rank):
    source = source_of(write).with_stratum(StratumColumn(column, ranks=True))
    listing = source.list_crawls(files, ALL_CRAWLS)
    found = sorted(
        (crawl, element, stratum if isinstance(stratum, str) else None)
        for crawl, elements, _, strata, _ in source.captures(files, labels_of(listing))
        for element, stratum in zip(elements, strata, strict=True)
    )
    assert found == [
        ("2024-01", "example.co.uk", uk_rank),
        ("2024-01", "example.com", com_rank),
        ("2024-02", "example.com", com_rank),
        ("2024-02", "new.example", None),
    ]


def test_without_stratum_captures_are_unchanged(files, write):
    source = source_of(write)
    assert captures_of(source, files, ["2024-01", "2024-02"]) == captures_of(source.of, files, ["2024-01", "2024-02"])


def test_new_table_revises_every_crawl(tmp_path, write):
    revisions = [
        source_of(write, ranks).list_crawls(Files(tmp_path / "cache"), ALL_CRAWLS).revisions
        for ranks in (RANKS, RANKS.replace("\t12\n", "\t13\n"))
    ]
    assert not set(revisions[0].values()) & set(revisions[1].values())


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (RANKS.replace("\n2\t", "\nsecond\t"), "line 3: has no whole number"),
        (RANKS + "4\t1.0\t4\t0.01\n", "line 5: .*or no host_rev; expected the columns"),
        (RANKS + "4\t1.0\t4\t0.01\t\t1\n", "line 5: .*or no host_rev"),
        (RANKS.replace("#host_rev", "#host"), "has no column 'host_rev'"),
        ("", "has no column 'harmonicc_pos'"),
        (
            "\n<!DOCTYPE html>\n<title>Sign in</title>",
            r"ranks\.txt\.gz: is a web page or XML, it starts with '<!DOCTYPE",
        ),
    ],
)
def test_other_tables_are_errors(files, write, ranks, message):
    source = source_of(write, ranks).with_stratum(StratumColumn("pr_pos", ranks=True))
    with pytest.raises(SourceError, match=message):
        list(source.captures(files, ["2024-01"]))


def test_ranks_of_hosts_are_an_error(files, write):
    hosts = RANKS.replace("com.example\t12", "com.example.www").replace("\t#n_hosts", "")
    source = source_of(write, hosts).with_stratum(StratumColumn("pr_pos", ranks=True))
    with pytest.raises(SourceError, match=r"1 of its first 3 names are hosts .* 'www.example.com', expected domains"):
        list(source.captures(files, ["2024-01"]))


def test_configured_ranks_need_bands(tmp_path, write):
    source_of(write)
    settings = {"type": "web_graph_ranks", "ranks": "ranks.txt.gz", "of": {"type": "presence_list", "path": "list.csv"}}
    collection = Collection.model_validate(
        {
            "name": "domains",
            "granularity": "domain",
            "stratum": {"column": "harmonicc_pos", "bands": [1000, 1_000_000]},
            "source": settings,
        }
    )
    assert collection.source.relative_to(tmp_path).missing_files() == []
    with pytest.raises(ValueError, match="set bands"):
        Collection.model_validate(
            {"name": "d", "granularity": "domain", "stratum": {"column": "pr_pos"}, "source": settings}
        )


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ("{type: presence_list, pth: a}", r"\(a\)\.source\.of\.pth: unknown key; did you mean 'path'"),
        ("{type: presence_list, path: 3}", r"\(a\)\.source\.of\.path: found 3, should be"),
        ("{type: nope}", r"\(a\)\.source\.of\.type: found 'nope'; expected one of"),
    ],
)
def test_errors_name_the_keys_of_the_inner_source(write, of, message):
    path = write(
        "c.yaml",
        f"collections:\n- name: a\n  granularity: domain\n  source: {{type: web_graph_ranks, ranks: x, of: {of}}}\n",
    )
    with pytest.raises(CollectionsError, match=message):
        load_collections(Path(path))
