"""Print the results of the updates: a table, findings, verdicts with numbers, paths and errors.

Does not run anything; see `cli.running`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES
from crawl_urn_dagster.orchestration.assets.comparison import write_comparison
from crawl_urn_dagster.orchestration.assets.dashboard import write_dashboard
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.orchestration.run_results import grouped_checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.run_results import Outcome

_MAX_NAMES = 3
# Quantities in the table; the sentences below it state all.
_SHOWN = ("completeness", "population", "kappa")
# A failed check is a finding about the data. Only true errors are printed as errors.
_FINDINGS = {"ERROR": "CHECK FAILED", "WARN": "WARN"}


def print_summary(chosen: list[Collection], outcomes: dict[str, Outcome], home: Path, console: Console) -> None:
    """Print a row per collection, then findings, verdicts, the location of the results, and errors."""
    from rich.table import Table

    table = Table()
    for title in ("collection", "crawls", "elements", "quotable", "verdict", "numbers", "report"):
        table.add_column(title, overflow="fold", justify="right" if title in {"crawls", "elements"} else "left")
    verdicts = []
    for one in chosen:
        if outcomes[one.name].errors:
            table.add_row(one.name, "", "", "error", "", "", "")
        else:
            row, verdict = _results(one, home)
            table.add_row(*row)
            verdicts.append(verdict)
    console.print(table)
    for name, outcome in outcomes.items():
        for (severity, description), checks in grouped_checks(outcome).items():
            console.print(f"{_FINDINGS[severity]} {name}, {first_names(checks)}: {description}")
    for verdict in verdicts:
        console.print(verdict)
    if verdicts:
        console.print(
            f"The results of each collection are in its folder under {home}: report.html and report.md, figures/ (PNG, "
            "SVG and PDF), observables.duckdb (tables), export/ (the tables as CSV and Parquet)."
        )
    for name, outcome in outcomes.items():
        for error in outcome.errors:
            click.echo(f"Error: collection {name}: {error}", err=True)


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
