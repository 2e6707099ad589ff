"""The commands, configurations and code that the README and the user guides show work as printed."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.observables.schema import PARAMETERS
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection

ROOT = Path(__file__).resolve().parents[1]
README, CONFIGURATION, PYTHON, TUTORIAL = (
    (ROOT / page).read_text() for page in ("README.md", "docs/configuration.md", "docs/python.md", "docs/tutorial.md")
)
INSTALL_UI = ".venv/bin/pip install -q -c requirements.lock '.[ui]'"


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def commands(page):
    return [text.splitlines() for text in blocks(page, "sh")]


@pytest.fixture
def run_python(tmp_path, monkeypatch):
    """Run code in the folder of the test, and return what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(code):
        with redirect_stdout(io.StringIO()) as printed:
            exec(code, {"__name__": "__main__"})
        return printed.getvalue()

    return run


def test_every_command_is_tested():
    """`.ci/run` runs the first two blocks as printed; the tests of the command line run the other commands."""
    setup, tests, *others = commands(README)
    assert setup[-1] == ".venv/bin/crawl-urn run"
    assert tests[-1] == ".venv-tests/bin/pytest"
    assert others == [
        [".venv/bin/crawl-urn run --collections collections.yaml"],
        [INSTALL_UI, ".venv/bin/crawl-urn ui --collections collections.yaml"],
    ]
    assert commands(TUTORIAL) == [
        [".venv/bin/crawl-urn run --collections my_collections.yaml --select my_hosts"],
        [INSTALL_UI, ".venv/bin/crawl-urn ui --collections my_collections.yaml"],
    ]
    assert commands(CONFIGURATION) == []
    assert INSTALL_UI.replace("[ui]", "[spark]") in CONFIGURATION


def test_readme_is_short():
    assert len(README.split()) < 900


def test_configuration_lists_every_key():
    rows = re.findall(r"^\| (`.*?) \|", CONFIGURATION, flags=re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(Collection.model_fields)


def test_own_archives_are_configured_as_shown(tmp_path):
    (own_lists,), (large, own_tables) = blocks(README, "yaml"), blocks(CONFIGURATION, "yaml")
    assert blocks(TUTORIAL, "yaml") == [re.sub(r" +#.*", "", own_lists)]
    (tmp_path / "urls").mkdir()
    for name in ("hosts.csv.gz", "urls/a.parquet", "pairs.csv", "windows.csv", "crawls.csv"):
        (tmp_path / name).touch()
    on_spark = re.sub(r"^( *)engine: .*\n *# engine:", r"\1engine:", large, flags=re.MULTILINE)
    shown = [
        (own_lists, "my_hosts", "local"),
        (large, "my_urls", "local"),
        (on_spark, "my_urls", "spark"),
        (own_tables, "my_urls", "local"),
    ]
    for text, name, engine in shown:
        path = tmp_path / "my_collections.yaml"
        path.write_text(text)
        (collection,) = load_collections(path)
        assert (collection.name, collection.engine.type) == (name, engine)


@pytest.mark.slow
def test_api_prints_the_text_shown(run_python, tmp_path, shared_data):
    code, (shown,) = blocks(PYTHON, "python")[0], blocks(PYTHON, "text")
    name = "us_gov_hosts.csv.gz"
    (tmp_path / name).symlink_to(shared_data / "presence" / name)
    assert run_python(code) == shown
    assert (tmp_path / "residuals.png").read_bytes().startswith(b"\x89PNG")


def test_readme_shows_the_api_of_the_python_page():
    """The README's example differs from the tested one of the Python page in its data only."""
    assert blocks(README, "python")[0].split("print")[1] == blocks(PYTHON, "python")[0].split("print")[1]


def test_tutorial_queries_columns_that_exist():
    (query,) = re.findall(r"SELECT (.*) FROM headline", TUTORIAL)
    assert set(query.split(", ")) <= {column.name for column in PARAMETERS.columns}


def test_code_location_loads_as_shown(run_python, tmp_path):
    _, code = blocks(PYTHON, "python")
    pairs = Path(tables_collection(tmp_path, histories(12), windows=False).source.pairs)
    (tmp_path / "my_collections.yaml").write_text(
        "collections:\n"
        f"  - {{name: mine, granularity: url, source: {{type: observable_tables, pairs: {pairs.name}}}}}\n"
    )
    assert int(run_python(f"{code}\nprint(len(list(defs.resolve_all_asset_keys())))\n")) > 0
