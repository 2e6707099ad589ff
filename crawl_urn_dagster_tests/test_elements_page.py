"""The snippets of docs/elements.md, run on a small collection."""

import re
from pathlib import Path

import dagster as dg
import duckdb
import pandas as pd
import pytest

from crawl_urn_dagster import CrawlUrnHome, element_keys
from crawl_urn_dagster.observables.schema import ELEMENT_LISTS, ELEMENTS

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "elements.md").read_text()
HOSTS = ["a.example", "example.org", "b.example"]


def snippets(language):
    return re.findall(f"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with table `elements` and list `reseed` of a collection of three hosts."""
    monkeypatch.chdir(tmp_path)
    facts = {"first_crawl": "c1", "last_crawl": ["c1", "c2", "c1"], "captures": [1, 2, 1], "absent_crawls": [1, 0, 1]}
    chances = {"p_eligible": [0.9, 1.0, 0.6], "p_captured_within_6": [0.8, 1.0, 0.4]}
    states = pd.DataFrame({"key": element_keys(HOSTS), **facts, **chances})
    resource = CrawlUrnHome(folder=str(tmp_path))
    files = resource.collection("my_hosts")
    files.elements.parent.mkdir(parents=True)
    states.reindex(columns=ELEMENTS.column_names).to_parquet(files.elements)
    listed = states.iloc[[0, 2]].assign(rank=[1, 2], element=[HOSTS[0], HOSTS[2]], score=[0.9, 0.6])
    files.observables.replace({"reseed": listed.reindex(columns=ELEMENT_LISTS[0].column_names)})
    return resource


def test_seed_list_has_the_hosts_that_probably_return(home, tmp_path, monkeypatch):
    monkeypatch.setenv("SEED_LIST", str(tmp_path / "seeds.txt"))
    namespace = {}
    exec(snippets("python")[1], namespace)
    result = dg.materialize([namespace["seed_list"]], resources={"crawl_urn_home": home})
    (event,) = result.asset_materializations_for_node("seed_list")
    assert (tmp_path / "seeds.txt").read_text() == "a.example\n"
    assert event.metadata["expected_returns"].value == pytest.approx(0.8)


@pytest.mark.usefixtures("home")
def test_lookup_and_query_find_the_elements(capsys):
    namespace = {}
    exec(snippets("python")[0], namespace)
    assert namespace["states"]["last_crawl"].tolist()[0] == "c2"
    assert namespace["states"]["p_eligible"].isna().tolist() == [False, True]
    assert "www.example.org" in capsys.readouterr().out
    assert namespace["key"] == namespace["states"]["key"][0]
    rows = duckdb.sql(snippets("sql")[0]).fetchall()
    assert rows == [("c1", 2, 2.0), ("c2", 1, 1.0)]
