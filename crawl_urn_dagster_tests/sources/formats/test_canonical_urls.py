"""Test canonical keys, hosts and registered domains of URLs."""

import pyarrow as pa
import pytest

from crawl_urn_dagster.sources.formats.canonical_urls import (
    MAX_URL_CHARACTERS,
    canonical_host,
    canonical_key,
    map_distinct,
    private_domain,
    registered_domain,
)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.Archive.org:80/About/?b=2&a=1#top", "org,archive)/about?a=1&b=2"),
        ("https://news.example.co.uk/", "uk,co,example,news)/"),
        ("http://192.0.2.1/", "1,2,0,192)/"),
        ("", None),
        ("http://" + "x" * MAX_URL_CHARACTERS, None),
    ],
)
def test_key_of_a_url(url, key):
    assert canonical_key(url) == key


def test_keys_equal_those_of_a_real_index(shared_data):
    """The key made from the URL is the archive's own key in every line."""
    import pandas as pd

    path = shared_data / "cdx" / "openwayback_test-cdx.txt"
    rows = pd.read_csv(path, sep=" ", header=None, usecols=[0, 2]).drop_duplicates()
    assert (rows[2].map(canonical_key) == rows[0]).all()


@pytest.mark.parametrize(
    ("site", "host"),
    [
        ("org,archive)", "archive.org"),
        ("com,example:8080)", "example.com"),
        ("http://www.archive.org:80", "archive.org"),
        ("https://bücher.de", "xn--bcher-kva.de"),
        ("com,Example,WWW)", "example.com"),
        ("com,example,www2:80)", "example.com"),
        ("com,example,)", "example.com"),
        ("de,bücher,www)", "xn--bcher-kva.de"),
        ("de,b%C3%BCcher)", "xn--bcher-kva.de"),
        ("com,%E4%B8)", "%e4%b8.com"),
        ("", None),
    ],
)
def test_host_of_a_key_or_url(site, host):
    assert canonical_host(site) == host


@pytest.mark.parametrize(
    ("host", "domain"),
    [("news.example.co.uk", "example.co.uk"), ("a.github.io", "github.io"), ("co.uk", None), ("192.0.2.1", None)],
)
def test_domain_is_registered_under_an_icann_suffix(host, domain):
    assert registered_domain(host) == domain


@pytest.mark.parametrize(
    ("host", "domain"),
    [("b.a.github.io", "a.github.io"), ("news.example.co.uk", "example.co.uk"), ("github.io", None), ("1.2.3.4", None)],
)
def test_private_domain_is_under_any_public_suffix(host, domain):
    assert private_domain(host) == domain


def test_a_function_is_applied_once_to_each_distinct_text():
    calls = []
    mapped = map_distinct(
        pa.array(["a", None, "b", "a"]), lambda text: calls.append(text) or (text if text == "a" else None)
    )
    assert mapped.to_pylist() == ["a", None, None, "a"]
    assert calls == ["a", "b"]
