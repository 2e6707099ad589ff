"""Test valid locations and the files that they stand for."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from crawl_urn_dagster.sources.transport.locations import (
    Location,
    existing_files,
    is_glob,
    mask_addresses,
    resolve_location,
)

CHECKED = TypeAdapter(Location)


@pytest.mark.parametrize("location", ["a.csv", "/a/b.csv", "lists/*.csv", "https://example.org/a", "HTTP://x/a"])
def test_paths_and_addresses_are_locations(location):
    assert CHECKED.validate_python(location) == location


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("", "at least 1 character"),
        ("ftp://bucket/a", "neither a path nor an address"),
        ("s3:///a", "without a host"),
        ("s3://bucket/a?anonymos=true", "has the setting 'anonymos'; s3:// addresses may have: anonymous, region"),
        ("s3://bucket/a?anonymous=yes", "has anonymous=yes; expected true or false"),
        ("s3://bucket/a?access_key=secret", "'access_key', which may be a secret"),
        ("hf://datasets/a/b/c?anonymous=true", "hf:// addresses may have: none"),
        ("file:///etc/passwd", "neither a path nor an address"),
        ("https:///a.csv", "without a host"),
        ("https://user:secret@example.org/a", "put them in ~/.netrc"),
        ("https://example.org/a?page=2&access_token=secret", "'access_token', which may be a secret"),
        ("https://example.org/a?X-Amz-Signature=secret", "'X-Amz-Signature', which may be a secret"),
    ],
)
def test_other_texts_are_errors(location, expected):
    with pytest.raises(ValidationError, match=expected):
        CHECKED.validate_python(location)


def test_users_and_queries_are_masked():
    text = "found 'https://user:secret@example.org/a?sig=secret', 's3://key:secret@bucket/b' and a?b"
    assert mask_addresses(text) == "found 'https://...@example.org/a?...', 's3://...@bucket/b' and a?b"


def test_relative_paths_are_resolved_against_the_folder():
    assert resolve_location(Path("/conf"), "lists/*.csv") == "/conf/lists/*.csv"
    assert resolve_location(Path("/conf"), "/data/a.csv") == "/data/a.csv"
    assert resolve_location(Path("/conf"), "https://example.org/a") == "https://example.org/a"


def test_glob_gives_its_files_in_order(tmp_path, write):
    paths = [write(name, "x") for name in ("lists/b.csv", "lists/a.csv", "lists/a.txt")]
    (tmp_path / "lists" / "folder.csv").mkdir()
    assert existing_files(f"{tmp_path}/lists//*.csv") == [paths[1], paths[0]]
    assert existing_files(f"{tmp_path}/**/a.*") == [paths[1], paths[2]]


def test_file_whose_name_looks_like_a_glob_is_a_file(write):
    path = write("list[1].csv", "x")
    write("list1.csv", "x")
    assert not is_glob(path)
    assert existing_files(path) == [path]


def test_missing_files_give_an_empty_list(tmp_path):
    assert existing_files(str(tmp_path / "a.csv")) == existing_files(str(tmp_path / "*.csv")) == []
