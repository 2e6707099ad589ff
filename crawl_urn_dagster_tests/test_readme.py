"""What the README shows works as printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from crawl_urn_dagster.config.collection import load_collections
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)


def blocks(language):
    return [text for kind, text in BLOCKS if kind == language]


def test_every_command_is_one_that_is_tested():
    """The first two blocks are run by .ci/run as they stand; the others by the tests of the command line."""
    setup, tests, *others = blocks("sh")
    assert setup.splitlines()[-1] == ".venv/bin/crawl-urn run"
    assert tests.splitlines()[-1] == ".venv-tests/bin/pytest"
    assert [line for text in others for line in text.splitlines()] == [
        ".venv/bin/crawl-urn run --collections my_collections.yaml",
        ".venv/bin/pip install -q -c requirements.lock '.[ui]'",
        ".venv/bin/crawl-urn ui",
        'CRAWL_URN_ALERTS="slack://tokenA/tokenB/tokenC/#crawls mailto://user:pass@example.org" .venv/bin/crawl-urn ui',
    ]


def test_the_users_own_archives_are_configured_as_shown(tmp_path):
    own_lists, large, own_tables, _ = blocks("yaml")
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


def test_the_real_collections_are_configured_as_shown(tmp_path, shared_data):
    files = {path.name: path for path in shared_data.rglob("*") if path.is_file()}
    text = blocks("yaml")[-1]
    for name in re.findall(r"[\w-]+\.(?:csv\.gz|csv|json)", text):
        if not (tmp_path / name).exists():
            (tmp_path / name).symlink_to(files[name])
    (tmp_path / "collections.yaml").write_text(text)
    names = [collection.name for collection in load_collections(tmp_path / "collections.yaml")]
    assert names == ["common_crawl_urls", "us_gov_hosts", "edu_urls", "edu_urls_2013_2016", "gaw"]


@pytest.mark.slow
def test_the_api_prints_what_is_shown(tmp_path, shared_data):
    code, (shown,) = blocks("python")[0], blocks("text")
    name = "us_gov_hosts.csv.gz"
    (tmp_path / name).symlink_to(shared_data / "presence" / name)
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert result.stdout == shown
    assert (tmp_path / "residuals.png").read_bytes().startswith(b"\x89PNG")


def test_a_code_location_is_made_as_shown(tmp_path):
    _, code = blocks("python")
    pairs = Path(tables_collection(tmp_path, histories(12), windows=False).source.pairs)
    (tmp_path / "my_collections.yaml").write_text(
        "collections:\n"
        f"  - {{name: mine, granularity: url, source: {{type: observable_tables, pairs: {pairs.name}}}}}\n"
    )
    printing = code + "\nprint(len(list(defs.resolve_all_asset_keys())))\n"
    result = subprocess.run([sys.executable, "-c", printing], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert int(result.stdout) > 0
