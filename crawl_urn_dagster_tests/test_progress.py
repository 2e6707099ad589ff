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
        # More than was expected: nothing is left.
        (500, rf"reading: 1,000 of 500 rows {TIMES}, 0 s left"),
    ],
)
def test_a_line_says_how_much_how_fast_and_what_is_left(total, first):
    lines = lines_of(total, [1000, 1500], every_seconds=0.0)
    assert re.fullmatch(first, lines[0])
    assert re.fullmatch(rf"reading: 2,500 rows {TIMES}", lines[-1])
    assert len(lines) == 3


def test_between_two_lines_there_is_time():
    (only,) = lines_of(10, [1] * 10, every_seconds=1e9)
    assert only.startswith("reading: 10 rows in")


def test_of_nothing_done_no_time_is_said_to_be_left():
    assert re.fullmatch(rf"reading: 0 of 5 rows {TIMES}", lines_of(5, [0], every_seconds=0.0)[0])
