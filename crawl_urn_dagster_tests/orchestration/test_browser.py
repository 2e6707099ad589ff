"""The UI in a browser; skipped without one."""

import shutil
from pathlib import Path

import pytest
import requests

from crawl_urn_dagster.cli import launching
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.command import PATIENT_SECONDS, Ui, configure
from crawl_urn_dagster_tests.pipeline import FIGURES, Pipeline

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(browser):
    """A page that fails the test if one of its scripts fails."""
    errors = []
    page = browser.new_page(viewport={"width": 1700, "height": 1100})
    page.on("pageerror", lambda error: errors.append(error))  # noqa: PLW0108 - a bound built-in takes no attributes
    page.set_default_timeout(1000 * PATIENT_SECONDS)
    yield page
    assert errors == []


@pytest.fixture(scope="module")
def ui(page, tmp_path_factory):
    """The UI of an updated collection."""
    folder = tmp_path_factory.mktemp("browser")
    collection = tables_collection(folder, histories(12), windows=False, owners=["team:crawling"])
    pipeline = Pipeline(collection, folder, on_disk=True)
    assert pipeline.run(without=FIGURES).success, pipeline.outcome.errors
    assert pipeline.materialise("containment_by_lag").success
    shutil.copy(Path(launching.__file__).with_name("dagster.yaml"), pipeline.instance.root_directory)
    one = Ui(folder, configure(folder, collection), DAGSTER_HOME=pipeline.instance.root_directory)
    try:
        loaded = "{ repositoriesOrError { ... on RepositoryConnection { nodes { name } } } }"
        one.wait_until(lambda: one.query(loaded)["repositoriesOrError"].get("nodes"))
        assert requests.get(one.address, timeout=PATIENT_SECONDS).ok
        yield one
    finally:
        one.close()


def test_graph_shows_the_assets(ui, page):
    page.set_viewport_size({"width": 3000, "height": 6000})  # the page has only the visible assets
    page.goto(f"{ui.address}/locations/crawl_urn_dagster/asset-groups/tabled/lineage")
    for name in ("crawls", "containment", "parameters", "report"):
        page.get_by_text(name, exact=True).first.wait_for()


def test_figure_is_shown_on_its_page(ui, page):
    page.goto(f"{ui.address}/assets/tabled/containment_by_lag")
    for text in ("crawling", "figures.py"):
        page.get_by_text(text).first.wait_for()
    page.get_by_text("[Show Markdown]").first.click()
    picture = page.locator("img[src^='data:image/png']").first
    picture.wait_for()
    assert picture.evaluate("image => image.naturalWidth") > 300


def test_table_shows_its_columns_and_first_rows(ui, page):
    page.goto(f"{ui.address}/assets/tabled/containment")
    page.get_by_text("elements in both crawls; estimates from sketches may be negative").first.wait_for()
    page.get_by_text("[Show Markdown]").first.click()
    page.get_by_role("cell", name="2020-01-06").first.wait_for()


def test_check_shows_observed_value_and_threshold(ui, page):
    page.goto(f"{ui.address}/assets/tabled/containment?view=checks&checkDetail=coverage_drop")
    page.get_by_text("The median of the previous").first.wait_for()
    for label in ("observed", "threshold"):
        page.get_by_text(label, exact=True).first.wait_for()


def test_sensor_shows_its_description_and_job(ui, page):
    page.goto(f"{ui.address}/locations/crawl_urn_dagster/sensors/tabled_new_crawl")
    page.get_by_text("Requests the jobs of tabled if its source has a new crawl or a revision.").wait_for()
    page.get_by_text("tabled_update", exact=True).first.wait_for()
