"""Test the parsers of Common Crawl's files on mutated and on valid files."""

import bz2
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_urn_dagster.sources import InputFile, LocalFile
from crawl_urn_dagster.sources.common_crawl.count_files import read_items
from crawl_urn_dagster_tests.fuzzing.common_crawl import SEEDS, parse
from crawl_urn_dagster_tests.fuzzing.mutations import fuzzed, mutated

PIECES = [b"\x00", b"\t", b"\n", b",", b'"', b"[", b"{", b"\\", b"nan", b"1e999", b"-1", b"9" * 25, b"\x1f\x8b"]


@pytest.mark.parametrize("target", SEEDS)
def test_a_seed_is_parsed(target, tmp_path):
    assert any(parse(target, seed, tmp_path) is not None for seed in SEEDS[target])


@pytest.mark.parametrize("target", SEEDS)
@fuzzed
@given(data=st.data())
def test_mutated_files_are_parsed_or_rejected(target, tmp_path, data):
    parse(target, data.draw(mutated(SEEDS[target], PIECES)), tmp_path)


@fuzzed
@given(
    items=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=20), ascii_only=st.booleans()
)
def test_items_survive_a_round_trip(tmp_path, items, ascii_only):
    lines = [f"{json.dumps([3, item, 56], ensure_ascii=ascii_only)}\t{at + 1}\n" for at, item in enumerate(items)]
    path = tmp_path / "part.bz2"
    path.write_bytes(bz2.compress("".join(lines).encode(), 1))
    read = [item for block, _ in read_items(LocalFile(path, InputFile("part", 1, "")), "domain") for item in block]
    assert read == items
