"""Numbers, intervals, shares, counts and units as plain text."""

import math

import numpy as np
import pytest

from crawl_urn_dagster.formatting import (
    count_noun,
    format_interval,
    format_number,
    format_percent,
    format_share,
    interval_decimals,
    replace_element_noun,
)


@pytest.mark.parametrize(("n", "expected"), [(0, "0 pairs"), (1, "1 pair"), (1326, "1,326 pairs")])
def test_count_noun_uses_singular_for_one_only(n, expected):
    assert count_noun(n, "pair") == expected


def test_replace_element_noun_adapts_article_and_case():
    text = "Elements return; an element's history, 3 elements, elementary."
    assert replace_element_noun(text, "URL") == "URLs return; a URL's history, 3 URLs, elementary."
    assert replace_element_noun(text, "host").startswith("Hosts return; a host's history")
    assert replace_element_noun(text, "element") == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.123456, "0.1235"), (1761.4, "1,761"), (-0.005205, "-0.005205"), (-np.inf, "-∞"), (np.nan, "–"), (0.0, "0")],
)
def test_format_number_keeps_four_significant_digits(value, expected):
    assert format_number(value) == expected


@pytest.mark.parametrize(
    ("share", "expected"), [(0.526, "52.6"), (0, "0.0"), (1, "100.0"), (0.99996, "99.996"), (0.0001, "0.01")]
)
def test_format_percent_distinguishes_0_and_100(share, expected):
    assert format_percent(100 * share) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.4, "0.400"),
        (0.52632, "0.526"),
        (0, "0.000"),
        (1, "1.000"),
        (0.9996, "0.9996"),
        (0.00002, "0.00002"),
        (1 - 1e-9, "1.000000"),
        (-0.0001, "-0.0001"),
        (1.2361, "1.236"),
    ],
)
def test_format_share_distinguishes_0_and_1(value, expected):
    assert format_share(value) == expected


@pytest.mark.parametrize(
    ("value", "low", "high", "decimals"),
    [
        (0.4, 0.3, 0.5, 2),
        (8.0e8, 4.15e8, 1.379e9, -7),
        (0.0, -0.1, 0.1, 2),
        (4.0, 4.0, 4.0, None),
        (4, 3, np.inf, None),
        (0.4, 0.39, 0.41, 3),
        (0.4, 0.2, 0.6, 2),
        (0.04, 0.2, 0.6, 2),
        (0.0, 0.0, 0.4, 1),
        (4_000.0, 1_000.0, 9_000.0, -2),
        (0.4, 0.4, 0.4, None),
        (0.4, 0.1, math.nan, None),
        (math.inf, 0.1, 0.4, None),
    ],
)
def test_interval_decimals_follow_interval_width(value, low, high, decimals):
    assert interval_decimals(value, low, high) == decimals


def test_format_interval_writes_no_negative_zero():
    assert format_interval(-0.00004, -0.1, 0.1) == ("0.000", "-0.100", "0.100")


def test_format_interval_falls_back_without_width():
    assert format_interval(0.4, 0.4, 0.4, format_share) == ("0.400", "0.400", "0.400")
