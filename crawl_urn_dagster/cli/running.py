"""Update collections one after another, and print the progress.

Does not start Dagster runs itself (`cli.launching`) or print results (`cli.summary`).
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from dagster import DagsterEventType

from crawl_urn_dagster.cli.launching import (
    AlreadyRunningError,
    CodeLocation,
    InstanceError,
    instance_folder,
    open_instance,
    progress_to,
    sole_run_of,
)
from crawl_urn_dagster.cli.summary import first_names
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.asset_keys import ingest_job_name, update_job_name
from crawl_urn_dagster.orchestration.partitions import crawl_partitions, plan_ingest, withdrawn_crawls
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.orchestration.run_processes import fail_interrupted_runs
from crawl_urn_dagster.orchestration.run_results import Outcome, read_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import dagster as dg
    from rich.console import Console

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.sources import Listing


def update_collections(
    chosen: Sequence[tuple[Collection, Listing]], outcomes: dict[str, Outcome], home: Path, console: Console
) -> None:
    """Update one collection after another, and add the outcome of each to `outcomes`.

    Parameters
    ----------
    chosen
        Collections in order, each with the crawls of its source.
    outcomes
        Receives the outcome of each collection by name.
    home
        Home folder.
    console
        Receiver of the progress.

    Raises
    ------
    KeyboardInterrupt
        If a run was interrupted.
    """
    location = CodeLocation()
    try:
        with open_instance(instance_folder(home)) as instance, _received_interrupts() as was_interrupted:
            for run in fail_interrupted_runs(instance):
                console.print(f"{run.job_name}: run {run.run_id} was interrupted; its process no longer exists")
            for one, listing in chosen:
                outcome = _update(location, instance, one, listing, console)
                if outcome.is_interrupted or was_interrupted():
                    raise KeyboardInterrupt
                outcomes[one.name] = outcome
    except (AlreadyRunningError, InstanceError) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _received_interrupts() -> Iterator[Callable[[], bool]]:
    """Return a function that states whether SIGINT has arrived, also where Dagster has replaced the handler.

    Dagster forgets an interrupt that arrives while it leaves a block in which it delays interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    receiver, sender = socket.socketpair()
    receiver.setblocking(False)
    sender.setblocking(False)
    previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)

    def was_interrupted() -> bool:
        try:
            return signal.SIGINT in receiver.recv(4096)
        except BlockingIOError:
            return False

    try:
        yield was_interrupted
    finally:
        signal.set_wakeup_fd(previous)
        receiver.close()
        sender.close()


def _update(
    location: CodeLocation,
    instance: dg.DagsterInstance,
    collection: Collection,
    listing: Listing,
    console: Console,
) -> Outcome:
    """Ingest missing crawls, then run the update unless the ingest failed."""
    outcome = Outcome()
    if collection.has_histories:
        with sole_run_of(instance, ingest_job_name(collection)):
            home = CollectionHome(folder=os.environ["CRAWL_URN_HOME"], collection=collection.name)
            partitions = str(crawl_partitions(collection).name)
            for crawl in withdrawn_crawls(instance, collection, listing):
                instance.delete_dynamic_partition(partitions, crawl)
            ingest = plan_ingest(instance, collection, home, listing)
            if ingest:
                instance.add_dynamic_partitions(partitions, list(ingest.new_crawls))
            for tags in ingest.run_tags if ingest else ():
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
    """Execute a run, and print a line per finished step and per progress message."""
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
        console.print(f"  skipped: {first_names(names)} (blocked by a failed step or check)")
    return read_outcome(instance, run.run_id)


def report_interruption(names: list[str], finished: Iterable[str]) -> None:
    """Print which collections are not updated, the state of all files, and how to resume."""
    done = list(finished)
    interrupted, *not_started = names[len(done) :] or ["comparison"]
    states = [f"interrupted: {interrupted}"]
    states += [f"finished: {', '.join(done)}"] if done else []
    states += [f"not started: {', '.join(not_started)}"] if not_started else []
    click.echo(
        f"Error: {'; '.join(states)}. All files are complete, from this run or the previous one. Run the same command "
        "again to resume; ingested crawls are not read again.",
        err=True,
    )
