"""Print and write the state of single elements: the lists to act on, and a user's own list.

Does not compute the tables; see `orchestration.assets.elements`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping  # noqa: TC003 - fields of named tuples
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click
import pandas as pd

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.estimates.elements.assessment import read_prediction_assessment
from crawl_urn_dagster.estimates.elements.list_summary import (
    USES,
    YIELDS,
    state_calibration,
    state_returns,
    summarise_lists,
)
from crawl_urn_dagster.estimates.elements.lookup import look_up_elements, write_csv
from crawl_urn_dagster.formatting import UNKNOWN, count_noun, format_number, replace_element_noun
from crawl_urn_dagster.observables.database import MissingTableError
from crawl_urn_dagster.observables.keys import elements_in_sample
from crawl_urn_dagster.orchestration.assets.elements import compute_elements
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.sources import PresenceSource
from crawl_urn_dagster.spreadsheets import guard_rows

if TYPE_CHECKING:
    from rich.console import Console

    from crawl_urn_dagster.config.collection import Collection

_TOP = 10
_MOST_STATES = 50
_CHANCES = {
    "p_eligible": "P(eligible)",
    "p_captured_next": "P(next crawl)",
    "p_captured_within_6": "P(within 6 crawls)",
}
_SUMS = {"p_eligible": "eligible", "p_missed": "missed by the last crawl", "p_captured_next": "in the next crawl"}


class ElementOptions(NamedTuple):
    """Options of the command.

    Attributes
    ----------
    own_list
        Text file with one element per line; None: show the lists to act on.
    out
        CSV file to write: the elements of `own_list`, or every element of the collection; None: write none.
    as_of
        Label of the last crawl that is used; None: that of the last update.
    """

    own_list: Path | None = None
    out: Path | None = None
    as_of: str | None = None


class _State(NamedTuple):
    """File of table `elements`, and the other tables of the same crawls by name."""

    path: Path
    frames: Mapping[str, pd.DataFrame]


def show_elements(collection: Collection, home: Path, options: ElementOptions, console: Console) -> None:
    """Print the lists to act on, or the state of the elements of a user's own list.

    Parameters
    ----------
    collection
        Collection that has been updated.
    home
        Home folder.
    options
        Options of the command.
    console
        Receiver of the text.
    """
    if not collection.has_histories:
        raise click.ClickException(
            f"--select: the source of {collection.name} gives counts, expected a source that lists elements"
        )
    files = CollectionHome(folder=str(home), collection=collection.name)
    try:
        if options.as_of is None:
            frames = files.observables.read_all(["element_scores", *USES])
            _show(collection, files, _State(files.elements, frames), options, console)
            return
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "elements.parquet"
            found, _ = compute_elements(collection, files, path, as_of=options.as_of)
            _show(collection, files, _State(path, found.tables), options, console)
    except (MissingTableError, ValueError, OSError) as error:
        raise click.ClickException(f"collection {collection.name}: {error}") from error


def _show(
    collection: Collection, files: CollectionHome, state: _State, options: ElementOptions, console: Console
) -> None:
    """Print and write what the options request."""
    if options.own_list is None:
        _print_lists(collection, state.frames, console)
        if options.out is not None:
            write_csv(state.path, files.names, options.out)
    else:
        table = _read_own_list(collection, state.path, options.own_list)
        _print_own_list(collection, table, state.frames, console)
        if options.out is None:
            _print_states(collection, table, console)
        else:
            with replacing(options.out) as temporary:
                guard_rows(table).to_csv(temporary, index=False)
    if options.out is not None:
        console.print(f"Written: {options.out}")


def _print_lists(collection: Collection, frames: Mapping[str, pd.DataFrame], console: Console) -> None:
    from rich.table import Table

    table = Table(title=f"{collection.name}: lists to act on")
    for title in ("list", "use", "rows", "expected", "of them"):
        justify: Literal["left", "right"] = "right" if title in {"rows", "expected"} else "left"
        table.add_column(title, overflow="fold", justify=justify, no_wrap=title == "list")
    for name, summary in summarise_lists(frames).items():
        cells = (
            [format_number(summary.expected_yield), YIELDS[name]] if summary.reason is None else ["", summary.reason]
        )
        table.add_row(name, USES[name], summary.counted, *cells)
    console.print(table)
    reseed = frames["reseed"].head(_TOP)
    if len(reseed):
        named = Table(title=f"reseed: first {len(reseed)}")
        for title in (collection.noun, "last crawl", "captures", "P(eligible)", "P(captured within 6 crawls)"):
            named.add_column(title, overflow="fold")
        for row in reseed.to_dict("records"):
            chances = (format_number(row[name]) for name in ("p_eligible", "p_captured_within_6"))
            text = row["element"] or f"key {row['key']}"
            named.add_row(text, row["last_crawl"], str(row["captures"]), *chances)
        console.print(named)
        if reseed["element"].isna().all():
            console.print("Texts are not kept. Set keep_elements: true, or look up your own list with --list.")
    _print_assessment(collection, frames["element_scores"], console)


def _print_assessment(collection: Collection, scores: pd.DataFrame, console: Console) -> None:
    """Print how good the predictions are, and what qualifies them."""
    reason = read_prediction_assessment(scores).reason
    sentences = [state_calibration(scores), state_returns(scores), None if reason is None else reason.sentence]
    for sentence in filter(None, sentences):
        console.print(replace_element_noun(f"{collection.name}: {sentence}", collection.noun))


def _read_own_list(collection: Collection, path: Path, own_list: Path) -> pd.DataFrame:
    """Return the rows of the elements of a text file, each once."""
    if isinstance(collection.source, PresenceSource) and not collection.source.has_texts:
        raise ValueError("--list: the source gives hashes of elements, not texts; leave --list out")
    try:
        lines = own_list.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"--list: {own_list}: found bytes that are not UTF-8, expected one element per line"
        ) from error
    elements = list(dict.fromkeys(filter(None, (line.strip() for line in lines))))
    if not elements:
        raise ValueError(f"--list: {own_list}: is empty, expected one element per line")
    table = look_up_elements(path, elements)
    if collection.sample_one_in > 1:
        table.insert(1, "in_sample", elements_in_sample(table["element"].to_numpy(), collection.sample_one_in))
    return table


def _print_states(collection: Collection, table: pd.DataFrame, console: Console) -> None:
    """Print the first elements of a user's list with their states."""
    from rich.table import Table
    from rich.text import Text

    known = [name for name in _CHANCES if table[name].notna().any()]
    shown = Table(title=f"first {_MOST_STATES}" if len(table) > _MOST_STATES else None)
    for title in (collection.noun, "last crawl", "captures", "crawls absent", *(_CHANCES[name] for name in known)):
        shown.add_column(title, overflow="fold")
    for row in table.head(_MOST_STATES).to_dict("records"):
        facts = ("last_crawl", "captures", "absent_crawls")
        cells = [UNKNOWN if pd.isna(row[name]) else str(row[name]) for name in facts]
        chances = (UNKNOWN if pd.isna(row[name]) else format_number(row[name]) for name in known)
        shown.add_row(Text(row["element"]), *cells, *chances)
    console.print(shown)
    if len(table) > _MOST_STATES:
        console.print(f"{len(table) - _MOST_STATES:,} more; write all of them to a CSV file with --out.")


def _print_own_list(
    collection: Collection, table: pd.DataFrame, frames: Mapping[str, pd.DataFrame], console: Console
) -> None:
    """Print how many elements of a user's list are known, and their expected states."""
    noun, known = collection.noun, table["captures"].notna()
    of = table if "in_sample" not in table else table[table["in_sample"]]
    text = f"{collection.name}: {count_noun(len(table), noun)} on the list"
    if len(of) < len(table):
        text += f", {len(of):,} of them in the sample of 1 in {collection.sample_one_in}"
    console.print(f"{text}; {known.sum():,} captured by at least one crawl, {len(of) - known.sum():,} by none.")
    if not known.any() and len(of):
        console.print("Texts must be written as in the source; upper and lower case differ.")
    sums = {words: table[name].sum() for name, words in _SUMS.items() if table[name].notna().any()}
    if sums:
        console.print(
            "Expected: " + "; ".join(f"{format_number(value)} {words}" for words, value in sums.items()) + "."
        )
    _print_assessment(collection, frames["element_scores"], console)
