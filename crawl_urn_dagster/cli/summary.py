"""Print the results of the updates: a table, findings, verdicts with numbers, paths and errors.

Does not run anything; see `cli.running`.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES
from crawl_urn_dagster.orchestration.assets.comparison import write_comparison
from crawl_urn_dagster.orchestration.assets.dashboard import write_dashboard
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.orchestration.run_results import grouped_checks
from crawl_urn_dagster.urn.results.result import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from rich.console import Console

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.run_results import FailedCheck, Outcome

_MAX_NAMES = 3
_COLUMNS = ("collection", "crawls", "elements", "quotable", "verdict", "numbers", "report")
_UNBROKEN = ("collection", "crawls", "elements", "verdict", "report")
# Quantities in the table; the sentences below it state all.
_SHOWN = ("completeness", "population", "kappa")
# A failed check is a finding about the data. Only true errors are printed as errors.
_FINDINGS = {"ERROR": "CHECK FAILED", "WARN": "WARN"}
# Words for fits with a status, the worst status first.
_FITS_WITH: dict[str, str] = {
    Status.MODEL_VIOLATION: "in violation of the urn model",
    Status.TOO_FEW_POINTS: "with too few points",
    Status.NOT_CONVERGED: "not converged",
    Status.AT_BOUND: "with a parameter at its bound",
    Status.NOT_IDENTIFIED: "not identified",
}
_OTHER_FITS = "with a reservation"


def print_summary(chosen: list[Collection], outcomes: dict[str, Outcome], home: Path, console: Console) -> None:
    """Print a row per collection, then findings, verdicts, the location of the results, and errors."""
    rows: list[tuple[str, ...]] = []
    verdicts = []
    for one in chosen:
        if outcomes[one.name].errors:
            rows.append((one.name, "", "", "error", "", "", ""))
        else:
            row, verdict = _results(one, home)
            rows.append(row)
            verdicts.append(verdict)
    print_rows(rows, console)
    for line in findings_worst_first(outcomes):
        print_text(line, console)
    if any(check.severity == "ERROR" for outcome in outcomes.values() for check in outcome.failed_checks):
        print_text("A failed check is a finding about the data, not an error, so the exit status stays 0.", console)
    for verdict in verdicts:
        print_text(verdict, console)
    if verdicts:
        print_text(
            f"The results of each collection are in its folder under {home}: report.html and report.md, figures/ (PNG, "
            "SVG and PDF), observables.duckdb (tables), export/ (the tables as CSV and Parquet).",
            console,
        )
    for name, outcome in outcomes.items():
        for error in outcome.errors:
            click.echo(f"Error: collection {name}: {error}", err=True)


def print_rows(rows: Sequence[tuple[str, ...]], console: Console) -> None:
    """Print a row per collection as a table, or as lines if the console is too narrow to keep paths and words whole."""
    from rich.table import Table

    if _least_width(rows) > console.width:
        for row in rows:
            console.print(row[0])
            for title, cell in zip(_COLUMNS[1:], row[1:], strict=True):
                if cell:
                    print_text(f"  {title}: {cell}", console)
        return
    table = Table()
    for title in _COLUMNS:
        justify: Literal["left", "right"] = "right" if title in {"crawls", "elements"} else "left"
        table.add_column(title, overflow="fold", justify=justify, no_wrap=title in _UNBROKEN)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _least_width(rows: Sequence[tuple[str, ...]]) -> int:
    """Return the characters that a table needs to break lines between words only."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(_COLUMNS)
    widths = [
        max(len(part) for cell in (title, *cells) for part in ([cell] if title in _UNBROKEN else cell.split() or [""]))
        for title, cells in zip(_COLUMNS, columns, strict=True)
    ]
    return sum(widths) + 3 * len(widths) + 1  # a border and two spaces per column


def print_text(text: str, console: Console) -> None:
    """Print a text; on a terminal, break lines between words only, because a broken path cannot be copied."""
    if console.is_terminal:
        text = "\n".join(
            textwrap.wrap(
                *(text, max(console.width, 20)),
                subsequent_indent="    " if text.startswith(" ") else "  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    console.print(text)


def findings_worst_first(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the failed checks of all collections as texts: errors, then warnings, those of fits last.

    Fits that are not selected share one text, because no quoted number is theirs.
    """
    found = []
    for name, outcome in outcomes.items():
        fits = {one.check for one in outcome.failed_checks if one.asset.endswith("parameters")}
        others = [one for one in outcome.failed_checks if one.metadata.get("selected") is False]
        rest = replace(outcome, failed_checks=tuple(one for one in outcome.failed_checks if one not in others))
        for (severity, text), checks in grouped_checks(rest).items():
            line = f"{_FINDINGS[severity]} {name}, {first_names(checks)}: {text}"
            found.append(((severity != "ERROR", fits.issuperset(checks)), line))
        if others:
            found.append(((True, True), f"WARN {name}, {_state_other_fits(others)}"))
    return [line for _, line in sorted(found, key=lambda ranked: ranked[0])]


def _state_other_fits(checks: Sequence[FailedCheck]) -> str:
    """State how many fits that are not selected have which status, the worst first, and where the reasons are."""
    counts = Counter(_FITS_WITH.get(str(one.metadata["observed"]), _OTHER_FITS) for one in checks)
    parts = [f"{counts[words]} {words}" for words in (*_FITS_WITH.values(), _OTHER_FITS) if counts[words]]
    return (
        f"{count_noun(len(checks), 'fit')} not selected: {', '.join(parts)}. No quoted number is from these fits; see "
        "columns status and reason of table parameters."
    )


def _results(collection: Collection, home: Path) -> tuple[tuple[str, ...], str]:
    """Return the row of the table and the sentences on the verdict."""
    from crawl_urn_dagster.estimates.assessment.reading import read_assessment, state_assessment
    from crawl_urn_dagster.estimates.assessment.result import format_quantity
    from crawl_urn_dagster.estimates.headline import read_headline
    from crawl_urn_dagster.estimates.last_crawl import state_last_crawl
    from crawl_urn_dagster.observables.tables import count_all_elements

    files = CollectionHome(folder=str(home), collection=collection.name)
    tables = files.observables
    crawls, headline = tables.read("crawls"), read_headline(tables.read("parameters"))
    assessment = read_assessment(tables.read_all(ASSESSMENT_TABLES))
    elements = count_all_elements(crawls, tables.read("discovery_curve")) if collection.has_discovery_curve else None
    row = (
        collection.name,
        str(len(crawls)),
        "not known" if elements is None else f"{elements:,}",
        assessment.verdict.quotable.value,
        assessment.verdict.name,
        ", ".join(format_quantity(*one) for one in assessment.quantities.items() if one[0] in _SHOWN),
        _shown_path(files.report.with_suffix(".html")),
    )
    unexpected = state_last_crawl(tables.read("last_crawl"))
    last_crawl = "" if unexpected is None else f"{unexpected} "
    return (
        row,
        f"{collection.name}: {last_crawl}{state_assessment(assessment)} Reading of the curves ({headline.fit_name}): "
        f"{headline.status}.",
    )


def print_pages(collections: Sequence[Collection], home: Path, console: Console) -> None:
    """Write the pages of all configured collections if there are several, and print their paths."""
    if len(collections) == 1:
        return
    homes = [CollectionHome(folder=str(home), collection=one.name) for one in collections]
    for title, write in (("Comparison", write_comparison), ("Dashboard", write_dashboard)):
        path = Path(write(collections, homes)["html"].value)
        console.print(f"{title} of all collections: {_shown_path(path)}")


def first_names(names: list[str]) -> str:
    """Return the first names, and the number of further ones."""
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"{', '.join(names[:_MAX_NAMES])}{more}"


def _shown_path(path: Path) -> str:
    """Return the path relative to the working folder if it is inside, which is shorter to copy."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
