"""Numbers, intervals and untrusted text as Markdown."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from crawl_urn_dagster.report.markdown import captioned_table, escape, format_cell, format_estimate, state_estimate


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.123456, "0.1235"),
        (1761.4, "1,761"),
        (-0.005205, "-0.005205"),
        (12_000_000, "12,000,000"),
        (np.inf, "∞"),
        (np.nan, "–"),
        (None, "–"),
        (pd.NA, "–"),
        (True, "yes"),
        (pd.Timestamp("2020-01-17 04:00"), "2020-01-17"),
        ("a|b", r"a\|b"),
    ],
)
def test_format_cell_by_type(value, written):
    assert format_cell(value) == written


def test_estimates_are_shown_as_their_status_allows():
    row = {"kappa": 0.4, "kappa_low": 0.3, "kappa_high": 0.5, "status": "ok"}
    assert format_estimate(row, "kappa") == "0.40 (0.30 to 0.50)"
    assert format_estimate(row, "kappa", share=True) == "40 % (30 to 50)"
    unidentified = {**row, "kappa_low": 0.01, "kappa_high": 0.99}
    assert format_estimate(unidentified, "kappa", share=True) == "not identified (1 to 99)"
    assert format_estimate({**row, "kappa_low": np.nan}, "kappa") == "0.4"
    assert format_estimate(unidentified, "kappa") == "not identified (0.01 to 0.99)"
    assert format_estimate({**row, "status": "not_identified"}, "kappa") == "0.30 to 0.50"
    assert format_estimate({**row, "status": "not_identified"}, "kappa", share=True) == "30 to 50 %"
    assert format_estimate({**row, "status": "not_identified", "kappa_low": np.nan}, "kappa") == "not identified"
    assert format_estimate({**row, "status": "model_violation"}, "kappa") == "–"
    assert format_estimate({**row, "kappa": np.nan}, "kappa") == "–"


@pytest.mark.parametrize(
    ("value", "low", "high", "written"),
    [
        (0.75984, 0.75961, 0.76010, "0.7598 (0.7596 to 0.7601)"),
        (0.9998, 0.9997, 0.9999, "0.99980 (0.99970 to 0.99990)"),
        (-0.00004, -0.1, 0.1, "0.000 (-0.100 to 0.100)"),
        (22_788.2, 22_644.4, 22_932.6, "22,790 (22,640 to 22,930)"),
        (8.0e8, 4.15e8, 1.379e9, "800,000,000 (420,000,000 to 1,380,000,000)"),
        (2.56, 0.19, 29.7, "2.6 (0.2 to 29.7)"),
        (0.7186, 0.1573, 0.967, "0.72 (0.16 to 0.97)"),
        (4.0, 4.0, 4.0, "4 (4 to 4)"),
        (4.0, 3.0, np.inf, "4 (3 to ∞)"),
        (np.inf, np.inf, np.inf, "∞ (∞ to ∞)"),
    ],
)
def test_intervals_are_shown_with_distinct_ends(value, low, high, written):
    assert format_estimate({"x": value, "x_low": low, "x_high": high}, "x") == written


@pytest.mark.parametrize(
    ("row", "share", "expected"),
    [
        ((0.4, 0.3, 0.5), True, "40 % of all (95 % CI 30 % to 50 %)"),
        ((0.4, 0.3, 0.5), False, "0.40 of all (95 % CI 0.30 to 0.50)"),
        ((0.4, 0.01, 0.99), True, "an unidentified share of all (95 % CI 1 % to 99 %)"),
        ((0.4, np.nan, np.nan), True, "40.0 % of all"),
    ],
)
def test_state_estimate_names_the_interval(row, share, expected):
    assert state_estimate(dict(zip(("x", "x_low", "x_high"), row, strict=True)), "x", "of all", share=share) == expected


def test_table_counts_rows_left_out():
    frame = pd.DataFrame({"crawl": list("abc")})
    assert captioned_table("", frame, max_rows=2, source="crawls").text.endswith("1 more rows are in table `crawls`.")
    assert "more rows" not in captioned_table("", frame).text


def test_table_leaves_out_an_empty_reason():
    frame = pd.DataFrame({"crawl": list("abc")})
    assert "reason" not in captioned_table("", frame.assign(reason=None)).text
    assert "| at 0" in captioned_table("", frame.assign(reason=["at 0", None, None])).text


@given(st.text(min_size=1))
def test_text_from_data_is_shown_unchanged(text):
    """The rendered table has no elements but its own, and the same characters except unprintable ones."""
    seen = []
    renderer = MarkdownIt("commonmark", {"html": False}).enable("table")
    for token in renderer.parse(f"| a |\n|---|\n| x{escape(text)}x |"):
        for child in token.children or []:
            assert child.type in {"text", "text_special"}, (child.type, text)
            seen.append(child.content)
    shown = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
    assert "".join(seen) == f"ax{shown}x"
