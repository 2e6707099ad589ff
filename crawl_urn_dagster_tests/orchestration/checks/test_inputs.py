"""Checks of the dates of crawls and of revised counts."""

import pandas as pd
import pytest

from crawl_urn_dagster_tests.orchestration.checks.running import assert_broken, set_row

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("table", "change", "check", "severity", "message"),
    [
        (
            "crawls",
            set_row(3, started_at=pd.Timestamp("2020-01-06")),
            "calendar_strictly_increasing",
            "ERROR",
            "2020-03-30",
        ),
        ("crawls", set_row(2, dated_by="iso_week"), "calendar_complete", "WARN", "2020-03-02"),
        (
            "revisions",
            lambda _: pd.DataFrame(
                [("crawls", "2020-02-03", "2020-02-03", 3752, 3000)],
                columns=["observable", "first_crawl", "last_crawl", "count_before", "count_now"],
            ),
            "revised_history",
            "WARN",
            "first_crawl 2020-02-03, last_crawl 2020-02-03, count_before 3752, count_now 3000",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_rule_is_found_and_explained(checked, table, change, check, severity, message):
    assert_broken(checked, table, change, check, severity, message)
