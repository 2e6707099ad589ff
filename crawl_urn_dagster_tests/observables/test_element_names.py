"""Test the texts that are kept with the keys."""

import duckdb
import numpy as np
import pytest

from crawl_urn_dagster.observables.element_names import ElementNames, stem_expression
from crawl_urn_dagster.observables.keys import element_keys, in_sample
from crawl_urn_dagster.observables.presence import PresenceFolder, read_keys

TEXTS = np.array(["a.org", "b.org", "a.org", "ü.example", "it's.net"], dtype=object)


@pytest.fixture
def names(tmp_path):
    return ElementNames(tmp_path / "presence" / "names")


def write(names, one_in=1, revision="1", crawls=("x", "y")):
    captures = [("x", TEXTS[:3], False), ("y", TEXTS[3:], True), ("x", TEXTS[3:4], True)]
    folder = PresenceFolder(names.folder.parent)
    list(folder.write(captures, dict.fromkeys(crawls, revision), one_in=one_in, names=names))
    return folder


def test_every_key_has_its_text_in_the_order_of_the_keys(names):
    folder = write(names)
    found = duckdb.sql(f"FROM '{names.path('x')}'").df()
    assert found["key"].tolist() == read_keys(folder.read("x"), -(2**63), 2**63 - 1).tolist()
    assert set(found["element"]) == {"a.org", "b.org", "ü.example"}
    assert (element_keys(found["element"].to_numpy()) == found["key"]).all()


def test_sample_keeps_the_texts_of_its_keys_only(names):
    write(names, one_in=2)
    expected = {text for text in TEXTS[:4] if in_sample(element_keys([text]), 2)[0]}
    assert set(duckdb.sql(f"FROM '{names.path('x')}'").df()["element"]) == expected


def test_names_are_found_by_crawl(names):
    write(names)
    keys = element_keys(["it's.net", "a.org", "absent.org"])
    assert names.names_of(keys, ["y", "x", "z"]).tolist() == ["it's.net", "a.org", None]


def test_changed_revision_and_sample_are_missing(names):
    write(names, revision="it's")
    assert names.missing({"x": "it's", "y": "it's", "z": "1"}, 1) == ["z"]
    assert names.missing({"x": "2"}, 1) == ["x"]
    assert names.missing({"x": "it's"}, 2) == ["x"]
    names.remove()
    assert names.missing({"x": "it's"}, 1) == ["x"]


def test_crawl_without_captures_has_an_empty_file(names):
    write(names, crawls=("x", "y", "z"))
    assert duckdb.sql(f"FROM '{names.path('z')}'").df().empty
    assert names.missing({"z": "1"}, 1) == []


@pytest.mark.parametrize(
    ("granularity", "text", "stem"),
    [
        ("url", "https://user@www.a.org:8080/p?q", "www.a.org"),
        ("url", "www.a.org/p", "www.a.org"),
        ("host", "x.y.a.gov", "a.gov"),
        ("host", "localhost", "localhost"),
        ("domain", "a.co.uk", "uk"),
    ],
)
def test_stem_is_what_elements_share(granularity, text, stem):
    expression = stem_expression(granularity, "element")
    query = f"SELECT {expression} FROM (SELECT $text AS element)"
    assert duckdb.execute(query, {"text": text}).fetchall() == [(stem,)]
    assert stem_expression("other", "element") is None
