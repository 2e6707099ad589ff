"""Parsers of archives' indexes on what is nearly right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_urn_dagster_tests.fuzzing.archives import SEEDS, parse
from crawl_urn_dagster_tests.fuzzing.mutations import fuzzed, nearly_right

PIECES = [b"\x00", b"\t", b"\n", b" ", b'"', b"{", b")", b",", b"\\", b"%", b"-1", b"9" * 25, b"\x1f\x8b"]


@pytest.mark.parametrize("target", SEEDS)
def test_seeds_are_right(target, tmp_path):
    assert any(parse(target, seed, tmp_path) is not None for seed in SEEDS[target])


@pytest.mark.parametrize("target", SEEDS)
@fuzzed
@given(data=st.data())
def test_what_is_nearly_right_is_read_or_explained(target, tmp_path, data):
    parse(target, data.draw(nearly_right(SEEDS[target], PIECES)), tmp_path)
