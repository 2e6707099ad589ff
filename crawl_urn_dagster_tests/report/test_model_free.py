"""The results without the urn model equal the tables."""

import pytest

from crawl_urn_dagster.report.model_free import model_free_section, other_estimators_section
from crawl_urn_dagster_tests.report.reading import assert_written, columns, number, render, rows, section


def test_first_returns_are_the_table(tables, page):
    shown = rows(section(page, "Results without the urn model"), "lag_crawls")
    for row, expected in zip(shown, tables["first_returns"].to_dict("records"), strict=False):
        assert int(row["lag_crawls"]) == expected["lag_crawls"]
        assert number(row["fraction"]) == pytest.approx(expected["fraction"], rel=1e-3)


def test_revisit_delay_has_its_periods_and_fits(tables, content_with):
    regimes = tables["revisit_regimes"].assign(delay_crawls=1)
    text = render(model_free_section(content_with(revisit_regimes=regimes)))
    assert "**The crawler avoids recent fetches.**" in text
    for row, expected in zip(rows(text, "p_value"), regimes.to_dict("records"), strict=True):
        assert_written(row["fraction"], columns(expected, "fraction"))
    assert "avoids" not in render(model_free_section(content_with()))


def test_other_estimators_are_the_tables(tables, content_with):
    text = render(other_estimators_section(content_with()))
    models = [row["model"] for row in rows(text, "model")]
    assert models == tables["capture_recapture"]["model"].tolist()
    estimators = [row["estimator"] for row in rows(text, "estimator")]
    assert estimators == tables["comparators"]["estimator"].tolist()
