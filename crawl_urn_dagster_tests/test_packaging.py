"""What is shipped: wheel and sdist carry the statements; the layers hold; the README's commands are the tested ones."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STATEMENTS = {path.name for path in (ROOT / "sql").glob("*.sql")}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist, built by the backend that pip would use."""
    folder = tmp_path_factory.mktemp("dist")
    code = (
        "import sys\nfrom hatchling import build\n"
        "print(build.build_wheel(sys.argv[1]))\nprint(build.build_sdist(sys.argv[1]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    wheel, sdist = result.stdout.split()
    return folder / wheel, folder / sdist


def test_the_wheel_carries_the_statements_inside_the_package(built, tmp_path):
    wheel, _ = built
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    assert {Path(name).name for name in names if name.startswith("crawl_urn_dagster/sql/")} == STATEMENTS
    assert not any(name.startswith(("crawl_urn_dagster_tests", "sql/")) for name in names)
    code = (
        "import crawl_urn_dagster\n"
        "from crawl_urn_dagster.sql_loader import load_statement\n"
        "print(crawl_urn_dagster.__file__)\nprint(load_statement('read_table'))"
    )
    # -P and PYTHONPATH: from the unpacked wheel, not from the checkout.
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    where, statement = result.stdout.splitlines()[:2]
    assert where.startswith(str(tmp_path))
    assert statement == (ROOT / "sql" / "read_table.sql").read_text().strip()


def test_the_sdist_carries_what_a_build_and_the_tests_need(built):
    _, sdist = built
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {f"sql/{name}" for name in STATEMENTS} <= names
    assert {"README.md", "LICENSE", "pyproject.toml", "workspace.yaml", "requirements.lock"} <= names
    assert "crawl_urn_dagster_tests/conftest.py" in names


def test_every_statement_is_used():
    sources = "\n".join(path.read_text() for path in (ROOT / "crawl_urn_dagster").rglob("*.py"))
    unused = [name for name in STATEMENTS if f'"{name.removesuffix(".sql")}"' not in sources]
    assert unused == []


def test_no_statement_is_written_in_python():
    pattern = re.compile(r"\b(SELECT .* FROM|INSERT INTO|CREATE (OR REPLACE )?TABLE|COPY \()", re.IGNORECASE)
    found = [str(path) for path in (ROOT / "crawl_urn_dagster").rglob("*.py") if pattern.search(path.read_text())]
    assert found == []


def test_arrows_point_one_way():
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout
