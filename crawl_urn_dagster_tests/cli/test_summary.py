"""The results that the command prints, and the files that it names."""

import re

import pytest

from crawl_urn_dagster.figures import PARAMETER_FIGURES
from crawl_urn_dagster.observables.database import ObservablesFile

pytestmark = pytest.mark.slow


def test_failed_check_is_not_an_error(command_run):
    _, result = command_run
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    (finding,) = (line for line in result.stdout.splitlines() if line.startswith("CHECK FAILED "))
    assert finding.startswith("CHECK FAILED avoiding, headline_fit: ")
    assert "A failed check is a finding about the data, not an error, so the exit status stays 0." in result.stdout
    assert any(line.startswith("WARN avoiding, ") for line in result.stdout.splitlines())
    assert "ERROR" not in result.stdout


def test_summary_shows_verdict_numbers_and_paths(command_run):
    folder, result = command_run
    text = " ".join(result.stdout.split())
    assert re.search(r"│ yes, with a reservation │ not_tested_enough │ crawl completeness 0\.\d+ \(", text)
    assert "│ home/fitting/report.html │" in text
    assert "│ no │ no_urn │ │ home/avoiding/report.html │" in text
    assert "fitting: Numbers may be quoted: yes, with a reservation. Verdict not_tested_enough: " in text
    assert "Reading of the curves (core_shell joint, exact form, per crawl): ok." in text
    assert "avoiding: Numbers may be quoted: no. Verdict no_urn: The urn model with constant coverage does not" in text
    assert "Reading of the curves (core_shell joint, exact form, per crawl): model_violation." in text
    assert f"in its folder under {folder / 'home'}" in text
    assert "Comparison of all collections: home/comparison.html" in text
    assert "Dashboard of all collections: home/dashboard.html" in text


def test_named_files_exist(command_run):
    folder, _ = command_run
    for name, is_reported in (("fitting", True), ("avoiding", False)):
        home = folder / "home" / name
        written = {path.stem for path in (home / "figures").glob("*.png")}
        assert written == {path.stem for path in (home / "figures").glob("*.svg")}
        shown = set(re.findall(r"\(figures/(\w+)\.png\)", (home / "report.md").read_text()))
        # The reference period does not end within these crawls, so two figures have nothing to show.
        assert written - shown <= {"control_charts", "parameters_over_time"}
        assert shown <= written
        assert bool(written & set(PARAMETER_FIGURES)) == is_reported
        assert (home / "report.html").exists()
        assert len(ObservablesFile(home / "observables.duckdb").read("parameters")) > 0
    assert not list((folder / "home").rglob("*.partial"))
    assert "| status" in (folder / "home" / "comparison.md").read_text()
