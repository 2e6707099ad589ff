"""The data quality section shows findings, violated rules and gaps."""

import pandas as pd

from crawl_urn_dagster.observables.quality import IN_CALENDAR, dated_by_week, long_gaps
from crawl_urn_dagster.report.data_quality import data_quality_section
from crawl_urn_dagster.report.summary import lead
from crawl_urn_dagster_tests.report.reading import render, rows


def test_findings_are_shown_and_undated_crawls_violate_no_rule(tables, content_with):
    assert "Findings" not in render(data_quality_section(content_with()))
    found = [("not_ingested", 0, "0"), ("lines", 0, "1200"), ("lines_malformed", 0, "2"), ("malformed", 0, "a <b>")]
    findings = pd.DataFrame(found, columns=["finding", "position", "found"])
    undated = dated_by_week(tables["crawls"].assign(dated_by="iso_week").iloc[:1])
    content = content_with(findings=findings, broken_rules={IN_CALENDAR: undated})
    page = render(data_quality_section(content), lead=lead(content))
    assert "**2 of 1,200 lines are malformed and were skipped.**" in page
    shown = rows(page, "finding")
    assert [row["finding"] for row in shown] == ["lines", "lines malformed", "malformed"]
    assert shown[-1]["found"] == r"a \<b\>"
    assert "**The calendar lacks 1 crawl**" in page
    assert "Violated" not in page
    assert "violate" not in page


def test_first_and_later_reading_differ(tables, content_with):
    first = "The source was read for the first time, so its counts cannot be compared with earlier ones."
    assert first in render(data_quality_section(content_with()))
    later = content_with(findings=tables["findings"].iloc[:0])
    assert "The last update of the source changed no earlier count." in render(data_quality_section(later))


def test_long_gaps_have_room_for_more_crawls(tables, content_with):
    crawls = tables["crawls"]
    assert long_gaps(crawls, 28).empty
    with_gaps = crawls.drop(index=[4, 5, 9])
    found = long_gaps(with_gaps, 28)
    assert found["room_for"].tolist() == [2, 1]
    assert found["after"].tolist() == [crawls["crawl"][3], crawls["crawl"][8]]
    page = render(data_quality_section(content_with(crawls=with_gaps)))
    assert "**At that cadence, 3 more crawls would fit** into 2 gaps." in page
