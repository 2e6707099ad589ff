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


#: Modules whose tests mostly wait for other processes.
WAITING = ("test_end_to_end.py", "test_killed_stack.py", "test_ui.py", "test_concurrency.py")


@pytest.hookimpl(trylast=True)  # after tests were deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each of four test processes start with tests that wait: each gets an equal part of the list at first."""
    others = [item for item in items if item.path.name not in WAITING]
    ordered: list[pytest.Item] = []
    for number, name in enumerate(WAITING, 1):
        ordered += [item for item in items if item.path.name == name]
        n_others = max(number * len(items) // len(WAITING) - len(ordered), 0)
        ordered += others[:n_others]
        del others[:n_others]
    items[:] = [*ordered, *others]


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
