"""The report as a whole: figures, intervals, reports of few crawls, and the written files."""

import re
from datetime import datetime, timezone

import dagster as dg
import pytest
from PIL import Image

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.figures import CATALOGUE, PARAMETER_FIGURES
from crawl_urn_dagster.orchestration.assets.report import report_asset
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.report import Content, Picture, report_page, to_html, to_markdown
from crawl_urn_dagster_tests.collections_for_tests import histories, presence_collection
from crawl_urn_dagster_tests.command import PATIENT_SECONDS
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, FIGURES, Pipeline
from crawl_urn_dagster_tests.report.reading import NUMBER, number, rows, section


@pytest.fixture(scope="module")
def two_crawls(tmp_path_factory):
    """A pipeline of two crawls, too few for any fit."""
    folder = tmp_path_factory.mktemp("two")
    pipeline = Pipeline(presence_collection(folder, histories(2)), folder)
    pipeline.run(without={"export"})
    return pipeline


def test_every_figure_is_shown_once(tables, content_with):
    pictures = {name: Picture(f"figures/{name}.png", b"", name, name) for name in CATALOGUE}
    no_strata = tables["parameters"][["stratum"]].iloc[:0]
    text = to_markdown(report_page(content_with(strata=no_strata, pictures=pictures)))
    # This collection is not held against another archive.
    assert sorted(re.findall(r"\(figures/(\w+)\.png\)", text)) == sorted(
        CATALOGUE.keys() - {"archive_overlap", "ground_truth_by_window"}
    )


def test_estimates_in_tables_have_intervals(page):
    for title in ("Forecast of the next crawls", "Planning: other coverages and gaps", "Quantities for operators"):
        for row in rows(section(page, title)):
            cells = [text for text in row.values() if re.fullmatch(rf"{NUMBER}(?: %)?", text)]
            assert len(cells) <= 2, (title, row)  # the chosen coverage and gap, or the crawl ahead


def test_report_of_two_crawls_states_what_cannot_be_tested(two_crawls):
    page = two_crawls.page()
    drift = section(page, "Drift since the reference period")
    assert "**Whether anything else changed cannot be tested with 2 crawls**; at least 20 are needed." in drift
    assert "No drift" not in drift
    assert "p is the probability" not in drift
    assert "It is not compared with the crawls before it, because there are too few of them." in page
    assert "days apart; one gap does not show a cadence." in page
    first_returns = section(page, "Results without the urn model")
    assert "<details>" not in first_returns
    assert number(rows(first_returns, "lag_crawls")[0]["fraction"]) > 0
    observed = section(page, "Estimates by observable")
    assert "figures/containment_by_lag.png" in observed
    assert "<details>" not in observed
    assert "The source was read for the first time" in page
    assert "Not forecast: " in section(page, "Forecast of the next crawls")
    assert "nan" not in page.lower()


def test_too_few_crawls_are_a_finding_and_not_an_error(two_crawls):
    assert two_crawls.outcome.errors == ()
    assert read_headline(two_crawls.home.observables.read("parameters")).status == "too_few_points"
    assert two_crawls.figures() == FIGURES - set(PARAMETER_FIGURES)


def test_report_asset_writes_both_files_with_figures(two_crawls):
    recorded = two_crawls.metadata("report")
    assert recorded["html"].endswith("report.html")
    assert recorded["md"].endswith("report.md")
    html = two_crawls.home.report.with_suffix(".html").read_text()
    assert html.count("data:image/png;base64,") == two_crawls.page().count("](figures/") > 0
    assert "reading of the curves<a " in html


def test_every_table_has_a_caption_and_a_download(two_crawls):
    html = two_crawls.home.report.with_suffix(".html").read_text()
    assert html.count("<table>") == html.count("<caption>") == html.count('href="data:text/csv') > 5
    shown = two_crawls.home.figures
    links = re.findall(r'href="(figures/[^"]+)"', html)
    assert {shown.parent / link for link in links} >= {
        shown / "containment_by_lag.svg",
        shown / "containment_by_lag.pdf",
    }
    assert all((shown.parent / link).exists() for link in links)


def test_report_states_when_the_source_was_read(two_crawls):
    key = dg.AssetKey([two_crawls.collection.name, "presence"])
    event = two_crawls.instance.get_latest_materialization_event(key)
    read_at = datetime.fromtimestamp(event.timestamp, tz=timezone.utc)
    assert f"Inputs, last read at {read_at:%Y-%m-%d %H:%M} UTC*" in two_crawls.page()


def test_reading_the_same_content_again_keeps_the_findings(two_crawls):
    before = two_crawls.tables("findings")["findings"]
    two_crawls.execute("update", without=ALL_BUT_OBSERVABLES)
    assert two_crawls.tables("findings")["findings"].equals(before)


def test_report_asset_depends_on_no_figure_of_parameters(tmp_path):
    (spec,) = report_asset(demo_collection(), CollectionHome(tmp_path, "demo")).specs
    upstream = {dep.asset_key.path[1] for dep in spec.deps}
    assert not upstream & {name for name, entry in CATALOGUE.items() if entry.has_parameters}
    assert "headline" not in upstream


@pytest.fixture(scope="module")
def html_file(collection_and_tables, tmp_path_factory):
    """The report with every figure, as large as a drawn one."""
    folder = tmp_path_factory.mktemp("page")
    Image.new("RGB", (1080, 600)).save(folder / "figure.png")
    png = (folder / "figure.png").read_bytes()
    pictures = {name: Picture(f"figures/{name}.png", png, name, name) for name in CATALOGUE}
    collection, tables = collection_and_tables
    (folder / "report.html").write_text(to_html(report_page(Content(collection, tables, {}, pictures))))
    return folder / "report.html"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_page_has_no_barriers(html_file, browser, width, scheme):
    """Folded and open, on a desktop and on a phone, in both colour schemes."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # The policy of the page forbids scripts, that of axe too.
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENT_SECONDS)
    page.goto(html_file.as_uri())
    for unfold in (False, True):
        page.evaluate(f"document.querySelectorAll('details').forEach(one => {{ one.open = {str(unfold).lower()}; }})")
        found = axe.run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_browser_shows_the_whole_page(html_file, browser, width):
    """On a desktop and on a phone: nothing is wider than the page, fails to load, or runs."""
    complaints = []
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(1000 * PATIENT_SECONDS)
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(html_file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.locator(".uplot").last.wait_for()
    assert page.locator(".uplot").count() == page.locator(".interactive").count() > 5
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.evaluate("document.querySelectorAll('.replaced').forEach(one => one.classList.add('shown'))")
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 300)")
    narrow = "[...document.querySelectorAll('table')].filter(table => !table.closest('.wide')).length"
    assert page.evaluate(narrow) == 0
    # On a phone a figure scrolls, which keeps its 8-point text readable.
    assert page.evaluate("Math.min(...[...document.images].map(image => image.clientWidth))") > 690
    assert complaints == []
    page.close()
