"""Updates by the command: progress, errors, interruption, and the arrival of a crawl."""

import re
import signal

import pytest

from crawl_urn_dagster.cli.running import _received_interrupts
from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster_tests.cli.conftest import N_CRAWLS
from crawl_urn_dagster_tests.collections_for_tests import histories, labels, presence_collection, tables_collection
from crawl_urn_dagster_tests.command import FAST, PATIENT_SECONDS, configure, start

pytestmark = pytest.mark.slow


def test_progress_is_printed_per_step(command_run):
    _, result = command_run
    lines = result.stdout.splitlines()
    assert f"fitting: {N_CRAWLS} crawls, 2020-01-06 to {labels(N_CRAWLS)[-1]}" in lines
    started = next(number for number, line in enumerate(lines) if line.startswith("fitting_ingest: run "))
    started_line, read, crawl, captures, ended, update = lines[started : started + 6]
    assert read.endswith(f"1 of {N_CRAWLS} crawls to read")
    assert crawl.endswith("2020-09-14: 768 elements, 1 of 1")
    assert "reading captures: 768 rows in" in captures
    assert started_line.endswith(", 1 step")
    assert ended.startswith("    1/1 ")
    assert ended.endswith("  ingest")
    assert update.startswith("fitting_update: run ")
    totals = [found[1] for line in lines if (found := re.search(r"_update: run .*, (\d+) steps", line))]
    assert len(set(totals)) == 2  # counts have fewer tables than lists
    steps = [line for line in lines if any(f"/{total} " in line for total in totals)]
    (skipped,) = (line for line in lines if "skipped: " in line)
    assert skipped.strip() == "skipped: parameter_figures (blocked by a failed step or check)"
    assert len(steps) == sum(map(int, totals)) - 1
    assert any(line.endswith("headline_checks  failed") for line in steps)


def test_only_the_new_crawl_is_ingested(command_run):
    folder, _ = command_run
    tables = ObservablesFile(folder / "home" / "fitting" / "observables.duckdb")
    assert tables.read("crawls")["crawl"].tolist() == labels(N_CRAWLS)


def test_error_does_not_stop_other_collections(invoke, tmp_path):
    lists = presence_collection(tmp_path, histories(2), name="lists")
    tables, sound = (
        tables_collection(tmp_path, histories(2), name=name, windows=False) for name in ("tables", "sound")
    )
    home = tmp_path / "home"
    home.mkdir()
    for broken in ("lists", "tables"):
        (home / broken).write_text("a file where the collection's folder should be")
    configuration = configure(tmp_path, lists, tables, sound)
    result = invoke("run", "--collections", configuration, "--home", home)
    assert result.exit_code == 1
    for broken, step in (("lists", "ingest"), ("tables", "read_tables")):
        assert f"Error: collection {broken}: {broken}__{step}: " in result.stderr
        assert str(home / broken) in result.stderr
    assert "lists_update: run" not in result.stdout  # because the ingest failed
    assert (home / "sound" / "report.html").exists()


def test_second_command_is_refused_and_interrupt_stops_all(invoke, tmp_path):
    collections = [tables_collection(tmp_path, histories(6), name=name, windows=False) for name in ("first", "second")]
    arguments = ("run", "--collections", configure(tmp_path, *collections), "--home", "home")
    running = start(*arguments, cwd=tmp_path, **FAST)
    running.send_signal(signal.SIGSTOP)  # It must not finish its first collection before the interrupt.
    refused = invoke(*arguments)
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGCONT)
    assert refused.exit_code == 1
    assert (
        refused.stderr == "Error: another crawl-urn process is running first_update; wait for it to finish or stop it\n"
    )
    output, errors = running.communicate(timeout=PATIENT_SECONDS)
    assert running.returncode == 130
    assert errors.startswith("Error: interrupted: first; not started: second. All files are complete")
    assert len(errors.splitlines()) == 1
    assert "second: run" not in output


def test_interrupt_is_noticed_where_its_handler_is_replaced():
    """Dagster delays interrupts by its own handler, and forgets those that arrive while it ends the delay."""
    previous = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with _received_interrupts() as was_interrupted:
            assert not was_interrupted()
            signal.raise_signal(signal.SIGINT)
            assert was_interrupted()
            assert not was_interrupted()
    finally:
        signal.signal(signal.SIGINT, previous)
