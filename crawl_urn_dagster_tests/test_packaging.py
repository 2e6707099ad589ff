"""The wheel and the sdist, the SQL statements, and the import contracts."""

import ast
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STATEMENTS = {path.relative_to(ROOT / "sql").as_posix() for path in (ROOT / "sql").rglob("*.sql")}


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


def test_wheel_contains_the_statements(built, tmp_path):
    wheel, _ = built
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    packaged = "crawl_urn_dagster/sql/"
    assert {name.removeprefix(packaged) for name in names if name.startswith(packaged)} == STATEMENTS
    assert not any(name.startswith(("crawl_urn_dagster_tests", "sql/")) for name in names)
    report = "crawl_urn_dagster/report"
    assert {f"{report}/{name}" for name in ("page.html", "charts.js", "uplot/uplot.js", "uplot/LICENSE")} <= set(names)
    code = (
        "import crawl_urn_dagster\n"
        "from crawl_urn_dagster.sql_loader import load_statement\n"
        "print(crawl_urn_dagster.__file__)\nprint(load_statement('read_captures'))"
    )
    # PYTHONPATH selects the unpacked wheel instead of the checkout.
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    where, statement = result.stdout.split("\n", 1)
    assert where.startswith(str(tmp_path))
    assert statement.strip() == (ROOT / "sql" / "read_captures.sql").read_text().strip()


def test_sdist_contains_the_files_of_build_and_tests(built):
    _, sdist = built
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {f"sql/{name}" for name in STATEMENTS} <= names
    assert {"README.md", "LICENSE", "pyproject.toml", "workspace.yaml", "requirements.lock"} <= names
    assert "crawl_urn_dagster_tests/conftest.py" in names


def test_every_statement_is_used():
    sources = "\n".join(path.read_text() for path in (ROOT / "crawl_urn_dagster").rglob("*.py"))
    unused = [name for name in STATEMENTS if f'"{Path(name).stem}"' not in sources]
    assert unused == []


def test_statement_in_python_is_one_line():
    pattern = re.compile(r"""f?['"]+\s*(SELECT|WITH|INSERT|CREATE|COPY|ATTACH|DESCRIBE)\b""")
    found = [
        f"{path}:{node.lineno}"
        for path in (ROOT / "crawl_urn_dagster").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno != node.lineno
        if pattern.match(ast.unparse(node))
    ]
    assert found == []


def test_import_contracts_hold():
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout
