"""Loading a code location never depends on a remote server, so no source needs a state-backed component."""

import socket

import dagster as dg
import pytest
from dagster.components.testing import create_defs_folder_sandbox

from crawl_urn_dagster import CrawlUrnComponent
from crawl_urn_dagster.sources.registry import SOURCE_TYPES

BASE = "https://crawls.example.org"
#: A configuration of every source type that names as many remote addresses as the type takes.
REMOTE = {
    "simulated": {},
    "presence_list": {"path": f"{BASE}/hosts.csv.gz", "calendar": f"{BASE}/calendar.csv"},
    "cdx": {"path": f"{BASE}/all.cdxj.gz", "calendar": f"{BASE}/calendar.csv", "element": "host"},
    "cdx_api": {"path": f"{BASE}/cdx", "url": "example.org", "element": "host"},
    "warc": {"path": f"{BASE}/all.warc.gz", "calendar": f"{BASE}/calendar.csv", "element": "host"},
    "heritrix_log": {"path": f"{BASE}/crawl.log", "calendar": f"{BASE}/calendar.csv", "element": "host"},
    "theta_sketches": {"path": f"{BASE}/2024-01.theta", "calendar": f"{BASE}/calendar.csv"},
    "common_crawl_index": {"data": BASE, "calendar": f"{BASE}/collinfo.json", "element": "host"},
    "common_crawl_host_index": {"data": BASE, "calendar": f"{BASE}/collinfo.json"},
    "web_graph_ranks": {
        "ranks": f"{BASE}/ranks.txt.gz",
        "of": {"type": "presence_list", "path": f"{BASE}/domains.csv.gz"},
    },
    "observable_tables": {"pairs": f"{BASE}/pairs.csv", "windows": f"{BASE}/windows.csv"},
    "common_crawl_statistics": {"windows": f"{BASE}/windows.csv", "counts": f"{BASE}/counts.csv"},
    "common_crawl_sketches": {"path": BASE + "/{crawl}/part.gz", "calendar": f"{BASE}/collinfo.json"},
    "common_crawl_counts": {"path": BASE + "/{crawl}/{part}.bz2", "calendar": f"{BASE}/collinfo.json", "parts": 2},
}
GRANULARITY = {
    "common_crawl_index": "host",
    "common_crawl_host_index": "host",
    "cdx": "host",
    "cdx_api": "host",
    "warc": "host",
    "heritrix_log": "host",
    "web_graph_ranks": "domain",
    "common_crawl_statistics": "url",
    "common_crawl_sketches": "url",
    "common_crawl_counts": "domain",
}


@pytest.fixture
def attempts(monkeypatch):
    """Attempts to reach a server, each of which fails."""
    made = []

    def refuse(*arguments, **options):
        made.append(arguments)
        raise OSError("the network is blocked")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    return made


@pytest.fixture
def load(tmp_path):
    """Load the component of a source type, and return its definitions."""

    def load_component(kind):
        granularity = GRANULARITY.get(kind, "other")
        collection = {"name": "remote", "granularity": granularity, "source": {"type": kind, **REMOTE[kind]}}
        if kind == "web_graph_ranks":
            collection["stratum"] = {"column": "pr_pos", "bands": [1000]}
        attributes = {"collection": collection, "home": str(tmp_path)}
        content = {"type": "crawl_urn_dagster.CrawlUrnComponent", "attributes": attributes}
        with create_defs_folder_sandbox() as sandbox:
            sandbox.scaffold_component(component_cls=CrawlUrnComponent, defs_yaml_contents=content)
            with sandbox.build_all_defs() as defs:
                dg.Definitions.validate_loadable(defs)
                return defs

    return load_component


@pytest.mark.parametrize("kind", SOURCE_TYPES)
def test_component_loads_without_network(kind, attempts, load):
    load(kind)
    assert attempts == []


def test_sensor_of_a_blocked_source_fails(attempts, load, monkeypatch):
    """The block of the network works."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    defs = load("observable_tables")
    with (
        dg.build_sensor_context(
            instance=dg.DagsterInstance.ephemeral(), definitions=defs, resources=defs.resources
        ) as context,
        pytest.raises(Exception, match="the network is blocked"),
    ):
        defs.resolve_sensor_def("remote_new_crawl").evaluate_tick(context)
    assert attempts
