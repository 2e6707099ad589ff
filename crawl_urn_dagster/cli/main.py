"""Command line: run the collections' jobs, open the UI on the same instance.

Here: options, progress and the closing summary. Not here: running (`launch`), what a run found (`outcomes`), or
anything that a job does.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawl_urn_dagster.formatting import count_noun

if TYPE_CHECKING:
    from collections.abc import Iterable

    import dagster as dg
    from rich.console import Console

    from crawl_urn_dagster.cli.launching import CodeLocation
    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.run_results import Outcome
    from crawl_urn_dagster.sources import Listing

_collections_option = click.option(
    "--collections",
    type=click.Path(path_type=Path),
    envvar="CRAWL_URN_COLLECTIONS",
    help="YAML file of collections; without one, the embedded default.",
)
_home_option = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="CRAWL_URN_HOME",
    default=Path("crawl_urn_home"),
    show_default=True,
    help="Folder for tables, figures, reports and runs.",
)


_NAMED = 3
# As shells have it: 128 and the number of SIGINT.
_INTERRUPTED = 130
# A pipe or a file has no width of its own; a table for 80 columns would break every word.
_WIDTH_OF_NO_TERMINAL = 160


@click.group()
@click.version_option(package_name="crawl-urn-dagster")
def main() -> None:
    """Coverage, survival and the persistent core of a longitudinal web crawl."""
    # That Dagster may still change some of its parameters is not the user's concern.
    warnings.filterwarnings("ignore", message=".*is currently in beta")


@main.command()
@_collections_option
@_home_option
@click.option("--select", multiple=True, metavar="NAME", help="Run this collection only; may be repeated.")
def run(collections: Path | None, home: Path, select: tuple[str, ...]) -> None:
    """Bring collections up to date: from their source to tables, parameters, figures and report."""
    from rich.console import Console

    home = _set_environment(collections, home)
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_NO_TERMINAL
    chosen = _choose(_load(collections), select)
    _check_alerts()
    _make_home(home)
    outcomes: dict[str, Outcome] = {}
    try:
        try:
            _run_each(chosen, outcomes, home, console)
        finally:
            if outcomes:
                _summarise([one for one in chosen if one.name in outcomes], outcomes, home, console)
        _compare(_load(collections), home, console)
    except KeyboardInterrupt:
        _say_interrupted([one.name for one in chosen], outcomes)
        sys.exit(_INTERRUPTED)
    if any(outcome.errors for outcome in outcomes.values()):
        sys.exit(1)


@main.command()
@_collections_option
@_home_option
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=3000, show_default=True)
def ui(collections: Path | None, home: Path, host: str, port: int) -> None:
    """Open the Dagster UI on the runs made so far."""
    if importlib.util.find_spec("dagster_webserver") is None:
        raise click.ClickException("the UI is not installed: pip install 'crawl-urn-dagster[ui]'")
    home = _set_environment(collections, home)
    known = _load(collections)
    _check_alerts()
    _make_home(home)

    from crawl_urn_dagster.cli.launching import (
        AlreadyRunningError,
        InstanceError,
        instance_folder,
        open_instance,
        sole_run_of,
        workspace_file,
    )
    from crawl_urn_dagster.orchestration.asset_keys import job_names

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise click.ClickException(f"{host}:{port} cannot be used ({error.strerror}); choose --port") from error

    try:
        folder = instance_folder(home)
        with open_instance(folder) as instance:
            for one in known:
                for job in job_names(one):
                    # A run that was killed would look as if it were under way, and sensors would wait for it.
                    with suppress(AlreadyRunningError), sole_run_of(instance, job):
                        pass
    except InstanceError as error:
        raise click.ClickException(str(error)) from error
    os.environ["DAGSTER_HOME"] = str(folder)
    os.environ.setdefault("CRAWL_URN_UI", f"http://{host}:{port}")
    workspace = str(workspace_file(folder))
    # The command is for plain Dagster, too; that it has a successor is not the user's concern.
    quiet = ["-W", "ignore:Function `dev_command` is superseded"]
    for ending in (signal.SIGINT, signal.SIGTERM):
        # A shell's background job is started with SIGINT ignored, which Dagster would pass on to all it starts.
        signal.signal(ending, signal.SIG_DFL)
    command = [sys.executable, *quiet, "-m", "dagster", "dev", "-w", workspace, "-h", host, "-p", str(port)]
    os.execv(sys.executable, command)  # noqa: S606


def _set_environment(collections: Path | None, home: Path) -> Path:
    """Hand the options to the code location, which reads the environment; return the home folder."""
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


def _check_alerts() -> None:
    from crawl_urn_dagster.definitions import alert_addresses
    from crawl_urn_dagster.orchestration.alerts import wrong_targets

    addresses = alert_addresses()
    wrong = wrong_targets(addresses) if addresses else []
    if wrong:
        raise click.ClickException("CRAWL_URN_ALERTS: " + "; ".join(wrong))


def _make_home(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(
            f"--home: {home} cannot be used ({error.strerror}); give a folder that can be written"
        ) from error


def _choose(collections: tuple[Collection, ...], names: tuple[str, ...]) -> list[Collection]:
    known = [one.name for one in collections]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.ClickException(f"no collection is named {', '.join(unknown)}; there are {', '.join(known)}")
    return [one for one in collections if not names or one.name in names]


def _look_before_running(chosen: list[Collection], home: Path, console: Console) -> dict[str, Listing]:
    """List every source, so that all that is configured wrongly is said before anything runs."""
    from crawl_urn_dagster.orchestration.resources import CollectionHome

    wrong, listings = [], {}
    for one in chosen:
        files = CollectionHome(folder=str(home), collection=one.name).files
        try:
            listing = one.source.list_crawls(files, one.selection)
            one.engine.require()
        except (OSError, ValueError, RuntimeError) as error:
            wrong.append(f"collection {one.name}: {error}")
            continue
        listings[one.name] = listing
        first, last = listing.crawls[0].crawl, listing.crawls[-1].crawl
        console.print(f"{one.name}: {count_noun(len(listing.crawls), 'crawl')}, {first} to {last}")
    if wrong:
        raise click.ClickException("\n".join(wrong))
    return listings


def _run_each(chosen: list[Collection], outcomes: dict[str, Outcome], home: Path, console: Console) -> None:
    """Bring collections up to date one after another, and note the outcome of each.

    Raises
    ------
    KeyboardInterrupt
        When somebody ended it.
    """
    listings = _look_before_running(chosen, home, console)

    from crawl_urn_dagster.cli.launching import (
        AlreadyRunningError,
        CodeLocation,
        InstanceError,
        instance_folder,
        open_instance,
    )

    location = CodeLocation()
    try:
        with open_instance(instance_folder(home)) as instance:
            for one in chosen:
                outcome = _bring_up_to_date(location, instance, one, listings[one.name], console)
                if outcome.interrupted:
                    raise KeyboardInterrupt
                outcomes[one.name] = outcome
    except (AlreadyRunningError, InstanceError) as error:
        raise click.ClickException(str(error)) from error


def _say_interrupted(names: list[str], finished: Iterable[str]) -> None:
    """Say what was not run, in what state everything is, and how to go on."""
    done = list(finished)
    interrupted, *not_begun = names[len(done) :] or ["comparison"]
    said = [f"interrupted: {interrupted}"]
    said += [f"finished: {', '.join(done)}"] if done else []
    said += [f"not begun: {', '.join(not_begun)}"] if not_begun else []
    click.echo(
        f"Error: {'; '.join(said)}. Every file is whole, of this run or the one before. To go on, run the same command "
        "again: crawls that were read are not read again.",
        err=True,
    )


def _bring_up_to_date(
    location: CodeLocation,
    instance: dg.DagsterInstance,
    collection: Collection,
    listing: Listing,
    console: Console,
) -> Outcome:
    """Ingest what is missing, then run the collection's update, unless the ingest failed."""
    from crawl_urn_dagster.cli.launching import sole_run_of
    from crawl_urn_dagster.orchestration.asset_keys import ingest_job_name, update_job_name
    from crawl_urn_dagster.orchestration.partitions import crawl_partitions, find_ingest, withdrawn_crawls
    from crawl_urn_dagster.orchestration.resources import CollectionHome
    from crawl_urn_dagster.orchestration.run_results import Outcome

    outcome = Outcome((), ())
    if collection.has_histories:
        with sole_run_of(instance, ingest_job_name(collection)):
            home = CollectionHome(folder=os.environ["CRAWL_URN_HOME"], collection=collection.name)
            partitions = str(crawl_partitions(collection).name)
            for crawl in withdrawn_crawls(instance, collection, listing):
                instance.delete_dynamic_partition(partitions, crawl)
            found = find_ingest(instance, collection, home, listing)
            if found:
                instance.add_dynamic_partitions(partitions, list(found.new))
            for tags in found.runs if found else ():
                run = location.create_run(instance, ingest_job_name(collection), tags)
                outcome = _execute(location, instance, collection, run, console)
                if outcome.errors:
                    return outcome
    with sole_run_of(instance, update_job_name(collection)):
        run = location.create_run(instance, update_job_name(collection))
        return _execute(location, instance, collection, run, console)


def _execute(
    location: CodeLocation, instance: dg.DagsterInstance, collection: Collection, run: dg.DagsterRun, console: Console
) -> Outcome:
    """Execute a run, a line per finished step and per message of progress."""
    from dagster import DagsterEventType

    from crawl_urn_dagster.cli.launching import progress_to
    from crawl_urn_dagster.orchestration.run_results import read_outcome

    waiting = list(run.step_keys_to_execute or ())
    steps = len(waiting)
    console.print(f"{run.job_name}: run {run.run_id}, {count_noun(steps, 'step')}")
    started = time.monotonic()
    ended = {DagsterEventType.STEP_SUCCESS: "", DagsterEventType.STEP_FAILURE: "  failed"}
    with progress_to(lambda line: console.print(f"         {time.monotonic() - started:6.1f} s    {line}")):
        for event in location.execute(instance, run):
            if event.event_type in ended and event.step_key in waiting:
                waiting.remove(event.step_key)
                step = event.step_key.removeprefix(f"{collection.name}__")
                elapsed = time.monotonic() - started
                console.print(f"  {steps - len(waiting):>3}/{steps}  {elapsed:6.1f} s  {step}{ended[event.event_type]}")
    if waiting:
        names = [step.removeprefix(f"{collection.name}__") for step in waiting]
        console.print(f"  held back: {_first_of(names)}")
    return read_outcome(instance, run.run_id)


def _summarise(chosen: list[Collection], outcomes: dict[str, Outcome], home: Path, console: Console) -> None:
    """Print the closing table, findings, headlines in words, where everything is, and errors."""
    from rich.table import Table

    from crawl_urn_dagster.estimates.diagnosis import read_verdict
    from crawl_urn_dagster.estimates.headline import read_headline
    from crawl_urn_dagster.observables.tables import count_all_elements
    from crawl_urn_dagster.orchestration.resources import CollectionHome
    from crawl_urn_dagster.orchestration.run_results import grouped_checks

    table = Table()
    for title in ("collection", "crawls", "elements", "headline", "status", "verdict", "report"):
        table.add_column(title, overflow="fold", justify="right" if title in {"crawls", "elements"} else "left")
    sentences = []
    for one in chosen:
        if outcomes[one.name].errors:
            table.add_row(one.name, "", "", "", "error", "", "")
            continue
        files = CollectionHome(folder=str(home), collection=one.name)
        headline = read_headline(files.observables.read("parameters"))
        crawls = files.observables.read("crawls")
        elements = (
            count_all_elements(crawls, files.observables.read("discovery_curve")) if one.has_discovery_curve else None
        )
        verdict = read_verdict(files.observables.read("diagnosis"))
        table.add_row(
            one.name,
            str(len(crawls)),
            "not known" if elements is None else f"{elements:,}",
            headline.numbers,
            headline.status,
            verdict.name,
            _shown_path(files.report.with_suffix(".html")),
        )
        sentences.append(f"{one.name} ({headline.fit_name}): {headline.sentence} {verdict.name}: {verdict.meaning}")
    console.print(table)
    for name, outcome in outcomes.items():
        for (severity, description), checks in grouped_checks(outcome).items():
            console.print(f"{severity} {name}, {_first_of(checks)}: {description}")
    for sentence in sentences:
        console.print(sentence)
    if sentences:
        console.print(
            f"Everything is under {home}, by collection: report.html and report.md, figures/ (PNG, SVG and PDF), "
            "observables.duckdb (tables), export/ (the tables as CSV and Parquet)."
        )
    for name, outcome in outcomes.items():
        for error in outcome.errors:
            click.echo(f"Error: collection {name}: {error}", err=True)


def _compare(collections: tuple[Collection, ...], home: Path, console: Console) -> None:
    """Write the comparison of the configured collections, if there are several, and say where it is."""
    if len(collections) == 1:
        return
    from crawl_urn_dagster.orchestration.assets.comparison import write_comparison
    from crawl_urn_dagster.orchestration.resources import CollectionHome

    homes = [CollectionHome(folder=str(home), collection=one.name) for one in collections]
    written = write_comparison(collections, homes)
    console.print(f"All collections side by side: {_shown_path(Path(written['html'].value))}")


def _first_of(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _shown_path(path: Path) -> str:
    """Path from here when it is below, so that it can be copied; else the whole path."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
