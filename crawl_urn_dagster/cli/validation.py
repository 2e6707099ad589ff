"""Validate the sources of collections before anything runs.

Does not import Dagster, so an error in the input is reported within a second or two of processor time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.sources import Files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.sources import Listing


def list_sources(chosen: Sequence[Collection], home: Path, console: Console) -> list[tuple[Collection, Listing]]:
    """List every source, and report the errors of all sources together.

    Parameters
    ----------
    chosen
        Collections to update.
    home
        Home folder, which keeps what is downloaded and converted.
    console
        Receives a line on the crawls of each collection.

    Returns
    -------
    list
        The collections, each with the crawls of its source.

    Raises
    ------
    click.ClickException
        If a source cannot be listed, or the engine of its collection is not installed.
    """
    errors, listings = [], []
    for one in chosen:
        try:
            listing = one.source.list_crawls(Files.of_home(home), one.selection)
            one.engine.require()
        except (OSError, ValueError, RuntimeError) as error:
            errors.append(f"collection {one.name}: {error}")
            continue
        listings.append((one, listing))
        first, last = listing.crawls[0].crawl, listing.crawls[-1].crawl
        console.print(f"{one.name}: {count_noun(len(listing.crawls), 'crawl')}, {first} to {last}")
    if errors:
        raise click.ClickException("\n".join(errors))
    return listings
