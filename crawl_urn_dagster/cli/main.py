"""Define the command line: update the collections, show their elements, or open the UI on the same instance.

Validates the options. Does not run jobs (`cli.running`, `cli.launching`) or print results (`cli.summary`).
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawl_urn_dagster.processes import PROCESSES, start_ahead

if TYPE_CHECKING:
    from rich.console import Console

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.run_results import Outcome

_collections_option = click.option(
    "--collections",
    type=click.Path(path_type=Path),
    envvar="CRAWL_URN_COLLECTIONS",
    help="YAML file of collections. Without it, the demo collection is used.",
)
_home_option = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="CRAWL_URN_HOME",
    default=Path("crawl_urn_home"),
    show_default=True,
    help="Folder for tables, figures, reports and runs.",
)

# The exit status of shells: 128 plus the number of SIGINT.
_INTERRUPTED = 130
# More need more memory, and the steps that use them are a third of a run.
_MOST_PROCESSES = 2
# Modules of the steps that use them.
_MODULES_OF_STEPS = (
    "crawl_urn_dagster.estimates.estimation",
    "crawl_urn_dagster.estimates.parameter_history",
    "crawl_urn_dagster.figures.files",
    "crawl_urn_dagster.figures.observed",
)
# A pipe or a file has no width, and a table of 80 columns would break every word.
_WIDTH_WITHOUT_TERMINAL = 160


@click.group()
@click.version_option(package_name="crawl-urn-dagster")
def main() -> None:
    """Estimate completeness, survival and the core from a series of web crawls."""
    # Users need no warning that Dagster may still change some of its parameters.
    warnings.filterwarnings("ignore", message=".*is currently in beta")


@main.command()
@_collections_option
@_home_option
@click.option("--select", multiple=True, metavar="NAME", help="Run this collection only; may be repeated.")
def run(collections: Path | None, home: Path, select: tuple[str, ...]) -> None:
    """Update collections: read new crawls, fit the model, and write tables, figures and reports.

    The exit status is 1 if an error occurred. It is 0 if all steps finished, even if a check of the data failed.
    """
    home = _set_environment(collections, home)
    os.environ.setdefault(PROCESSES, str(min(_MOST_PROCESSES, os.cpu_count() or 1)))
    console = _console()
    known = _load(collections)
    # A collection that is compared with other archives reads what their runs wrote.
    chosen = sorted(_select(known, select), key=lambda one: one.cross_archive is not None)
    _validate_alert_targets()
    _create_home(home)

    outcomes: dict[str, Outcome] = {}
    try:
        from crawl_urn_dagster.cli.validation import list_sources

        # Modules that import Dagster come later, so errors in the input appear at once.
        listings = list_sources(chosen, home, console)
        start_ahead(*_MODULES_OF_STEPS)

        from crawl_urn_dagster.cli.running import update_collections
        from crawl_urn_dagster.cli.summary import print_pages, print_summary

        try:
            update_collections(listings, outcomes, home, console)
        finally:
            if outcomes:
                print_summary([one for one in chosen if one.name in outcomes], outcomes, home, console)
        print_pages(known, home, console)
    except KeyboardInterrupt:
        from crawl_urn_dagster.cli.running import report_interruption

        report_interruption([one.name for one in chosen], outcomes)
        sys.exit(_INTERRUPTED)
    if any(outcome.errors for outcome in outcomes.values()):
        sys.exit(1)


@main.command()
@_collections_option
@_home_option
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=3000, show_default=True)
def ui(collections: Path | None, home: Path, host: str, port: int) -> None:
    """Open the Dagster UI with all earlier runs."""
    if importlib.util.find_spec("dagster_webserver") is None:
        raise click.ClickException("the UI is not installed; run: pip install 'crawl-urn-dagster[ui]'")
    home = _set_environment(collections, home)
    _load(collections)
    _validate_alert_targets()
    _create_home(home)
    _validate_port(host, port)
    folder = _fail_interrupted_runs(home)

    from crawl_urn_dagster.cli.launching import workspace_file

    os.environ["DAGSTER_HOME"] = str(folder)
    os.environ.setdefault("CRAWL_URN_UI", f"http://{host}:{port}")
    workspace = str(workspace_file(folder))
    # `dagster dev` works without the dg tool; users need no warning that dg supersedes it.
    quiet = ["-W", "ignore:Function `dev_command` is superseded"]
    for ending in (signal.SIGINT, signal.SIGTERM):
        # A shell starts a background job with SIGINT ignored, which Dagster would pass on to its processes.
        signal.signal(ending, signal.SIG_DFL)
    command = [sys.executable, *quiet, "-m", "dagster", "dev", "-w", workspace, "-h", host, "-p", str(port)]
    os.execv(sys.executable, command)  # noqa: S606


@main.command()
@_collections_option
@_home_option
@click.option("--select", metavar="NAME", help="Collection; may be omitted if there is only one.")
@click.option(
    "--list",
    "own_list",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Your own list, one element per line: show the state of its elements.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a CSV file: the elements of --list, or every element of the collection.",
)
@click.option("--as-of", metavar="CRAWL", help="Use only the crawls up to this one, and fit the model to them again.")
def elements(
    *,
    collections: Path | None,
    home: Path,
    select: str | None,
    own_list: Path | None,
    out: Path | None,
    as_of: str | None,
) -> None:
    """Show which elements to seed again, to drop or to expect, and how sure that is."""
    home = _set_environment(collections, home)
    chosen = _select_one(_load(collections), select)

    from crawl_urn_dagster.cli.elements import ElementOptions, show_elements

    show_elements(chosen, home, ElementOptions(own_list, out, as_of), _console())


@main.command()
@_collections_option
@_home_option
@click.option("--select", metavar="NAME", help="Collection; may be omitted if there is only one.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for the sketches.")
@click.option(
    "--lg-k",
    type=click.IntRange(5, 26),
    default=14,
    show_default=True,
    help="Keep 2 to this power of elements per crawl, in 8 bytes each.",
)
def sketch(collections: Path | None, home: Path, select: str | None, out: Path, lg_k: int) -> None:
    """Write a theta sketch of every crawl, which others can analyse without the lists."""
    home = _set_environment(collections, home)
    chosen = _select_one(_load(collections), select)

    from crawl_urn_dagster.cli.sketch import write_sketches

    write_sketches(chosen, home, out, lg_k, _console())


def _select_one(collections: tuple[Collection, ...], name: str | None) -> Collection:
    chosen = _select(collections, () if name is None else (name,))
    if len(chosen) > 1:
        names = ", ".join(one.name for one in chosen)
        raise click.ClickException(f"--select: found none of {len(chosen)} collections, expected one of {names}")
    return chosen[0]


def _console() -> Console:
    """Return the console, wide enough for tables if the output is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_WITHOUT_TERMINAL
    return console


def _set_environment(collections: Path | None, home: Path) -> Path:
    """Pass the options to the code location, which reads the environment; return the home folder."""
    home = home.expanduser().resolve()
    os.environ["CRAWL_URN_HOME"] = str(home)
    if collections is not None:
        os.environ["CRAWL_URN_COLLECTIONS"] = str(collections.expanduser().resolve())
    return home


def _load(collections: Path | None) -> tuple[Collection, ...]:
    from crawl_urn_dagster.config.collection import demo_collection
    from crawl_urn_dagster.config.loading import CollectionsError, load_collections

    if collections is None:
        return (demo_collection(),)
    try:
        return load_collections(collections.expanduser().resolve())
    except CollectionsError as error:
        raise click.ClickException(str(error)) from error


def _select(collections: tuple[Collection, ...], names: tuple[str, ...]) -> list[Collection]:
    available = [one.name for one in collections]
    unknown = [repr(name) for name in names if name not in available]
    if unknown:
        noun = "collection" if len(unknown) == 1 else "collections"
        raise click.ClickException(
            f"--select: unknown {noun} {', '.join(unknown)}. Available collections: {', '.join(available)}."
        )
    return [one for one in collections if not names or one.name in names]


def _validate_alert_targets() -> None:
    if not os.environ.get("CRAWL_URN_ALERTS"):
        return

    from crawl_urn_dagster.definitions import alert_targets
    from crawl_urn_dagster.orchestration.alerts.delivery import invalid_targets

    invalid = invalid_targets(alert_targets())
    if invalid:
        raise click.ClickException("; ".join(f"CRAWL_URN_ALERTS, {error}" for error in invalid))


def _create_home(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(
            f"--home: {home} cannot be used ({error.strerror}); choose a writable folder"
        ) from error


def _validate_port(host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise click.ClickException(
                f"--port: {host}:{port} cannot be used ({error.strerror}); choose another port"
            ) from error


def _fail_interrupted_runs(home: Path) -> Path:
    """Fail runs whose process no longer exists, because sensors would wait for them; return the instance's folder."""
    from crawl_urn_dagster.cli.launching import InstanceError, instance_folder, open_instance
    from crawl_urn_dagster.orchestration.run_processes import fail_interrupted_runs

    try:
        folder = instance_folder(home)
        with open_instance(folder) as instance:
            fail_interrupted_runs(instance)
    except InstanceError as error:
        raise click.ClickException(str(error)) from error
    return folder
