"""Test that the table of quick benchmarks names what became slower."""

import json

from crawl_urn_dagster_tests.benchmarks.__main__ import RECORDED, is_slower, table


def test_slower_means_slower_in_every_repeat():
    assert is_slower([1.3, 1.4], [1.0, 1.2])
    assert not is_slower([1.1, 1.4], [1.0, 1.2])
    assert not is_slower([1.3], [])


def test_table_has_recorded_ratios_and_names_slower_comparisons():
    recorded = {"reading": [1.0, 1.1, 1.2], "fitting": [0.02, 0.03]}
    *rows, _, last = table({"reading": [1.3, 1.5, 1.4], "fitting": [0.01, 0.025], "new": [2.0]}, recorded)
    assert rows[2:] == [
        "| reading | 1.4 | 1.3 to 1.5 | 1.1 |",
        "| fitting | 0.0175 | 0.01 to 0.025 | 0.025 |",
        "| new | 2 | 2 to 2 | none |",
    ]
    assert last == "Slower than recorded by more than the noise: reading."


def test_recorded_ratios_are_repeated():
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert recorded
    assert all(len(ratios) > 1 and min(ratios) > 0 for ratios in recorded.values())
