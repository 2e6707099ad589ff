"""The options of the command line, which are validated before anything runs."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from crawl_urn_dagster_tests.collections_for_tests import histories, presence_collection, tables_collection
from crawl_urn_dagster_tests.command import configure


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one["source"].update(pears="x"), "source.pears"),
        (lambda one: one["source"].update(pairs="gone.csv"), "gone.csv"),
        (lambda one: one.update(first_crawl="2020-01-07"), "2020-01-07"),
        (lambda one: one.update(name="A"), "name"),
    ],
    ids=["wrong key", "missing file", "unknown crawl", "wrong name"],
)
def test_invalid_configuration_is_reported_before_any_run(invoke, tmp_path, change, message):
    collection = tables_collection(tmp_path, histories(12), windows=False)
    path = configure(tmp_path, collection)
    content = yaml.safe_load(path.read_text())
    change(content["collections"][0])
    path.write_text(yaml.safe_dump(content))
    result = invoke("run", "--collections", path, "--home", "home")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert isinstance(result.exception, SystemExit)
    assert not (tmp_path / "home" / ".dagster").exists()
    assert not (tmp_path / "home" / "tabled").exists()


def test_missing_engine_is_reported_before_any_run(invoke, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    collection = presence_collection(tmp_path, histories(3), engine={"type": "spark", "master": "local"})
    result = invoke("run", "--collections", configure(tmp_path, collection), "--home", "home")
    assert result.exit_code == 1
    assert "collection listed: engine.type: found 'spark', which needs pyspark: pip install" in result.stderr
    assert not (tmp_path / "home" / ".dagster").exists()


@pytest.mark.parametrize(
    ("names", "unknown"), [(["dome"], "collection 'dome'"), (["dome", "demos"], "collections 'dome', 'demos'")]
)
def test_unknown_collection_is_rejected_with_the_known_ones(invoke, names, unknown):
    result = invoke("run", *(option for name in names for option in ("--select", name)))
    assert result.exit_code == 1
    assert result.stderr == f"Error: --select: unknown {unknown}. Available collections: demo.\n"


@pytest.mark.parametrize("command", ["run", "ui"])
def test_invalid_alert_target_or_home_is_rejected(invoke, tmp_path, command):
    targets = "json://127.0.0.1/ slackk://a/s3cret/c"
    result = invoke(command, "--home", "home", CRAWL_URN_ALERTS=targets)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: CRAWL_URN_ALERTS, target 2 of 2: not a valid Apprise URL")
    assert "s3cret" not in result.stderr
    assert not (tmp_path / "home").exists()
    result = invoke(command, "--home", "/dev/null")
    assert result.exit_code == 1
    assert result.stderr == "Error: --home: /dev/null cannot be used (File exists); choose a writable folder\n"


@pytest.mark.parametrize("command", ["run", "ui"])
def test_missing_instance_folder_is_rejected(invoke, tmp_path, command):
    result = invoke(command, "--home", "home", DAGSTER_HOME=str(tmp_path / "gone"))
    assert result.exit_code == 1
    message = f"DAGSTER_HOME: no such folder: {tmp_path / 'gone'}; create it or unset DAGSTER_HOME"
    assert result.stderr == f"Error: {message}\n"


def test_missing_column_is_reported_without_importing_dagster(tmp_path):
    collection = presence_collection(tmp_path, histories(3))
    path = configure(tmp_path, collection)
    content = yaml.safe_load(path.read_text())
    content["collections"][0]["source"]["crawl_column"] = "snapshot"
    path.write_text(yaml.safe_dump(content))
    arguments = ["run", "--collections", str(path), "--home", str(tmp_path / "home")]
    code = (
        "import sys\n"
        "from crawl_urn_dagster.cli.main import main\n"
        f"try: main({arguments!r})\n"
        "finally: assert 'dagster' not in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "has no column 'snapshot'" in result.stderr
    assert "AssertionError" not in result.stderr


def test_all_faulty_sources_are_reported(invoke, tmp_path):
    collections = [tables_collection(tmp_path, histories(12), name=name, windows=False) for name in ("first", "second")]
    for one in collections:
        Path(one.source.pairs).write_text("<html>maintenance</html>")
    result = invoke("run", "--collections", configure(tmp_path, *collections), "--home", "home")
    assert result.exit_code == 1
    assert "collection first: " in result.stderr
    assert "collection second: " in result.stderr


def test_ui_rejects_an_occupied_port(invoke):
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        port = occupied.getsockname()[1]
        result = invoke("ui", "--home", "home", "--port", port)
    assert result.exit_code == 1
    message = f"--port: 127.0.0.1:{port} cannot be used (Address already in use); choose another port"
    assert result.stderr == f"Error: {message}\n"
