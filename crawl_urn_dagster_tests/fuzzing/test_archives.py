"""Test the parsers of web-archive indexes on mutated files."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_urn_dagster_tests.fuzzing import layouts
from crawl_urn_dagster_tests.fuzzing.archives import SEEDS, parse
from crawl_urn_dagster_tests.fuzzing.mutations import fuzzed, mutated

PIECES = [b"\x00", b"\t", b"\n", b" ", b'"', b"{", b")", b",", b"\\", b"%", b"-1", b"9" * 25, b"\x1f\x8b"]


@pytest.mark.parametrize("target", SEEDS)
def test_a_seed_is_parsed(target, tmp_path):
    assert any(parse(target, seed, tmp_path) is not None for seed in SEEDS[target])


@pytest.mark.parametrize("target", SEEDS)
@fuzzed
@given(data=st.data())
def test_mutated_files_are_parsed_or_rejected(target, tmp_path, data):
    parse(target, data.draw(mutated(SEEDS[target], PIECES)), tmp_path)


def test_every_line_of_damaged_indexes_and_logs_has_one_outcome(tmp_path):
    """The first inputs of the longer search of `layouts`."""
    draw = random.Random(20261129)
    inputs = [layouts.make_input(draw) for _ in range(300)]
    read = [
        layouts.check(text.encode("utf-8", "surrogateescape"), tmp_path / "data", is_log=is_log, rules=layouts.RULES[0])
        for is_log, text in inputs
    ]
    assert 0.6 < sum(read) / len(read) < 0.95
