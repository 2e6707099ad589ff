"""Lines of progress."""

import re

import pytest

from crawl_urn_dagster.progress import Progress

TIMES = r"in [\d,.]+ s, [\d,]+ rows/s"


def lines_of(total, advances, **options):
    lines = []
    progress = Progress("reading", total, lines.append, **options)
    for rows in advances:
        progress.advance(rows)
    progress.finish()
    return lines


@pytest.mark.parametrize(
    ("total", "first"),
    [
        (3000, rf"reading: 1,000 of 3,000 rows {TIMES}, [\d,]+ s left"),
        (None, rf"reading: 1,000 rows {TIMES}"),
        # More units than expected, so none are left.
        (500, rf"reading: 1,000 of 500 rows {TIMES}, 0 s left"),
    ],
)
def test_line_states_amount_rate_and_time_left(total, first):
    lines = lines_of(total, [1000, 1500], every_seconds=0.0)
    assert re.fullmatch(first, lines[0])
    assert re.fullmatch(rf"reading: 2,500 rows {TIMES}", lines[-1])
    assert len(lines) == 3


def test_lines_are_apart_by_the_given_time():
    (only,) = lines_of(10, [1] * 10, every_seconds=1e9)
    assert only.startswith("reading: 10 rows in")


def test_line_before_the_first_unit_states_no_time_left():
    assert re.fullmatch(rf"reading: 0 of 5 rows {TIMES}", lines_of(5, [0], every_seconds=0.0)[0])
