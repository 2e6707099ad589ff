"""Fixtures shared by all tests: a browser, and where the real data and the reference values are, if they are there."""

import os
import shutil
from pathlib import Path

# Several test processes: more threads in each only get in each other's way. Before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("CRAWL_URN_PROCESSES", "1")

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, and no time limit on any: a busy machine is not a failure.
settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("suite")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the test that mostly waits, so nobody is left alone with it."""
    items.sort(key=lambda item: item.path.name != "test_end_to_end.py")


@pytest.fixture(scope="module")
def browser():
    """A headless browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not on the path")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=300_000)
        yield browser
        browser.close()


def _folder(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"the shared folder {name}/ is not next to the checkout")
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real crawl data, next to the checkout."""
    return _folder("data")


@pytest.fixture(scope="session")
def shared_reference() -> Path:
    """Independently computed values, next to the checkout."""
    return _folder("reference")


@pytest.fixture(scope="session")
def shared_scenarios() -> Path:
    """The independent simulator of crawled populations, next to the checkout."""
    return _folder("scenarios")


@pytest.fixture(scope="session")
def shared_faults() -> Path:
    """Inputs that were read wrongly once, next to the checkout."""
    return _folder("faults")
