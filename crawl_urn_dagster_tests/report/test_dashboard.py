"""The dashboard shows what may be quoted of each collection, and how it developed."""

import base64
import re
from xml.etree import ElementTree

import pytest

from crawl_urn_dagster.report import to_html, to_markdown
from crawl_urn_dagster.report.comparison import Compared
from crawl_urn_dagster.report.dashboard import DASHBOARD_TABLES, dashboard_page
from crawl_urn_dagster.report.sparklines import SVG_DATA, sparkline
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.report.reading import assert_written, columns, rows, section


@pytest.fixture
def listed(tmp_path, tables):
    """A function that returns a collection with some tables replaced."""
    collection = tables_collection(tmp_path, histories(3), name="sound")
    frames = {name: tables[name] for name in DASHBOARD_TABLES}
    return lambda **replaced: Compared(collection, {**frames, **replaced}, "sound/report.html")


def row_of(page, title):
    """Return the row of the only collection in a section."""
    (row,) = rows(section(to_markdown(page), title))
    return row


def test_state_has_the_verdict_and_the_quoted_numbers(listed, tables):
    row = row_of(dashboard_page([listed()]), "State")
    assert row["collection"] == "[sound](sound/report.html)"
    assert row["numbers may be quoted"] == "✔ yes (sound)"
    assert row["last crawl"].startswith(tables["crawls"]["crawl"].iloc[-1])
    quantities = tables["quantities"].set_index("quantity")
    assert_written(row["crawl completeness"], columns(quantities.loc["completeness"], "value"), share=True)


def test_unexpected_last_crawl_is_named(listed, tables):
    last = tables["last_crawl"]
    assert row_of(dashboard_page([listed()]), "State")["stood out"] == "no"
    below = last.assign(verdict=["below", *["expected"] * (len(last) - 1)])
    assert row_of(dashboard_page([listed(last_crawl=below)]), "State")["stood out"] == "**yes**: crawl size"
    untested = last.assign(verdict="not_tested")
    assert row_of(dashboard_page([listed(last_crawl=untested)]), "State")["stood out"] == "not tested"


def test_history_has_a_curve_of_each_parameter(listed, tables):
    html = to_html(dashboard_page([listed()]))
    curves = dict(re.findall(rf'<img src="{re.escape(SVG_DATA)}([^"]+)" alt="([^"]+)"', html))
    names = [alt.partition(" from ")[0] for alt in curves.values()]
    assert names[:2] == ["crawl completeness", "known eligible elements"]
    assert f" in {len(tables['population'])} crawls" in next(iter(curves.values()))
    for code in curves:
        drawn = ElementTree.fromstring(base64.b64decode(code))
        assert {one.tag.rpartition("}")[2] for one in drawn} <= {"path", "circle"}
    assert SVG_DATA not in to_markdown(dashboard_page([listed()]))


def test_withheld_parameters_have_no_curve(listed, tables):
    parameters = tables["parameters"]
    refuted = parameters.assign(status=parameters["status"].mask(parameters["headline"], "refuted"))
    row = row_of(dashboard_page([listed(parameters=refuted)]), "History")
    assert [row[symbol] for symbol in ("κ", "μ", "α", "c")] == ["–"] * 4
    assert row["crawl completeness"] != "–"


def test_collections_that_have_not_run_are_named(tmp_path):
    absent = Compared(tables_collection(tmp_path, histories(3), name="absent"), {})
    page = dashboard_page([absent], comparison="comparison.html")
    assert page.sections == []
    assert page.lead == ["1 collection.", "Not run yet: absent.", "[Comparison of the collections](comparison.html)"]


def test_sparkline_of_a_constant_is_level():
    nan = float("nan")
    image = sparkline([2.0, nan, 2.0], [nan] * 3, [nan] * 3, alt="level [x]")
    assert image.startswith(r"![level \[x\]](")
    svg = base64.b64decode(image.partition(SVG_DATA)[2].rstrip(")")).decode()
    assert re.findall(r"[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)\"", svg) == [("15.0", "15.0")]
    assert sparkline([1.0, nan], [nan] * 2, [nan] * 2, alt="") == ""
