"""Test the options in error messages."""

import pytest

from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.sources import SourceError, TooLargeError
from crawl_urn_dagster.sources.errors import AbsentError


def test_options_start_with_the_closest_match():
    assert format_options("windos", ["pairs", "windows"]) == "did you mean 'windows'? expected one of: pairs, windows"
    assert format_options("x", ["pairs", "windows"]) == "expected one of: pairs, windows"


def test_only_the_first_20_options_are_listed():
    assert format_options("x", map(str, range(30))).endswith("18, 19, ... (30 in all)")


@pytest.mark.parametrize("error", [TooLargeError, AbsentError])
def test_every_error_of_a_source_is_a_source_error(error):
    assert issubclass(error, SourceError)
