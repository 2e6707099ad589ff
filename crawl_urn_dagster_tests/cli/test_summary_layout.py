"""The layout of the printed results: words and paths stay whole, and findings are ordered."""

import io

import pytest
from rich.console import Console

from crawl_urn_dagster.cli.summary import findings_worst_first, print_rows, print_text
from crawl_urn_dagster.orchestration.run_results import FailedCheck, Outcome

PATH = "/home/someone/archives/crawl_urn_home/hosts-of-the-national-library/report.html"
ROW = ("hosts", "51", "214,318", "yes", "not_tested_enough", "crawl completeness 0.829 (0.823 to 0.835)", PATH)


def printed(write, what, *, width, is_terminal=True):
    console = Console(
        file=io.StringIO(), width=width, force_terminal=is_terminal, color_system=None, highlight=False, soft_wrap=True
    )
    write(what, console)
    return console.file.getvalue()


def test_narrow_console_shows_lines_with_whole_paths():
    text = printed(print_rows, [ROW, ("broken", "", "", "error", "", "", "")], width=80)
    assert f"  report: {PATH}\n" in text.replace("report:\n    ", "report: ")
    assert "  verdict: not_tested_enough\n" in text
    assert "broken\n  quotable: error\n" in text
    assert [line for line in text.splitlines() if len(line) > 80 and PATH not in line] == []


@pytest.mark.parametrize("width", [180, 300])
def test_wide_console_shows_a_table_with_whole_paths(width):
    text = printed(print_rows, [ROW], width=width, is_terminal=False)
    assert f"│ {PATH} │" in text
    assert "│ not_tested_enough │" in text


def test_terminal_breaks_lines_between_words():
    sentence = f"WARN hosts, checks: one-sided {'w' * 70} and the report is at {PATH} for you to read at leisure."
    text = printed(print_text, sentence, width=80)
    assert text.split() == sentence.split()
    assert max(map(len, text.splitlines())) <= max(80, len(PATH) + 2)
    assert printed(print_text, sentence, width=80, is_terminal=False) == f"{sentence}\n"


def test_fits_that_are_not_selected_share_one_line():
    statuses = ["not_identified", "ok with reservation", "not_converged", "not_identified", "a status of an own fit"]
    fits = [
        FailedCheck("hosts/parameters", f"fit_{k}", "WARN", f"why {k}", {"observed": status, "selected": False})
        for k, status in enumerate(statuses)
    ]
    selected = FailedCheck(
        "hosts/parameters", "joint", "WARN", "at a bound", {"observed": "at_bound", "selected": True}
    )
    assert findings_worst_first({"hosts": Outcome(failed_checks=(*fits, selected))}) == [
        "WARN hosts, joint: at a bound",
        "WARN hosts, 5 fits not selected: 1 not converged, 2 not identified, 2 with a reservation. No quoted "
        "number is from these fits; see columns status and reason of table parameters.",
    ]


def test_findings_are_listed_worst_first():
    fit = FailedCheck("hosts/parameters", "discovery_curve_per_crawl", "WARN", "not identified")
    drift = FailedCheck("hosts/drift", "coverage_is_stable", "WARN", "coverage changed")
    blocked = FailedCheck("urls/headline", "headline_fit", "ERROR", "no numbers")
    outcomes = {"hosts": Outcome(failed_checks=(fit, drift)), "urls": Outcome(failed_checks=(blocked,))}
    assert findings_worst_first(outcomes) == [
        "CHECK FAILED urls, headline_fit: no numbers",
        "WARN hosts, coverage_is_stable: coverage changed",
        "WARN hosts, discovery_curve_per_crawl: not identified",
    ]
