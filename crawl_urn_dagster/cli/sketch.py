"""Write theta sketches of the crawls of a collection, and the configuration that reads them.

Does not read sketches; see `sources.formats.theta_sketches`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import yaml

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.progress import Progress
from crawl_urn_dagster.sources import Files, PresenceSource, SourceError
from crawl_urn_dagster.sources.formats.theta_sketches import ENDING, ThetaWriter, file_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.sources.calendar import DatedCrawl


def write_sketches(collection: Collection, home: Path, folder: Path, lg_k: int, console: Console) -> None:
    """Sketch every crawl of a collection in one pass over its source.

    Parameters
    ----------
    collection
        The collection.
    home
        Folder with the cache of downloads and converted files.
    folder
        Receives a sketch per crawl, the calendar ``crawls.csv`` and the configuration ``collections.yaml``.
    lg_k
        Base-2 logarithm of the number of elements per sketch.
    console
        Receives progress and the result.

    Raises
    ------
    ClickException
        If the source has no texts of elements, or cannot be read.
    """
    source = collection.source
    if not isinstance(source, PresenceSource) or not source.has_texts:
        raise click.ClickException(f"{collection.name}: its source has no texts of elements, so it cannot be sketched")
    try:
        files = Files(home / ".cache", report=console.print)
        listing = source.list_crawls(files, collection.selection)
        crawls = [crawl.crawl for crawl in listing.crawls]
        writers = {crawl: ThetaWriter(lg_k) for crawl in crawls}
        total = sum(listing.captures.values()) if listing.captures else None
        progress = Progress("sketching captures", total, console.print)
        size = 0
        for crawl, elements, complete, *_ in source.captures(files, crawls):
            if complete is None:
                del writers[crawl]
                continue
            writers[crawl].add(elements)
            progress.advance(len(elements))
            if complete:
                data = writers[crawl].compact()
                size += len(data)
                with replacing(folder / file_name(crawl)) as target:
                    target.write_bytes(data)
        progress.finish()
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    one_in = max(writer.one_in for writer in writers.values())
    _write_configuration(collection, [crawl for crawl in listing.crawls if crawl.crawl in writers], folder, one_in)
    console.print(
        f"{folder}: {count_noun(len(writers), 'sketch', 'sketches')} of {size:,} bytes in all, which have all elements "
        f"of a sample of one in {one_in}. Analyse them: crawl-urn run --collections {folder / 'collections.yaml'}"
    )


def _write_configuration(collection: Collection, crawls: Sequence[DatedCrawl], folder: Path, one_in: int) -> None:
    """Write the calendar of the crawls and the configuration of the sketched collection."""
    with replacing(folder / "crawls.csv") as target:
        rows = "".join(f"{crawl.crawl},{crawl.started_at.isoformat()}\n" for crawl in crawls)
        target.write_text(f"id,from\n{rows}", encoding="utf-8")
    settings = {
        "name": f"{collection.name}_sketched",
        "granularity": collection.granularity,
        "sample_one_in": one_in,
        "source": {"type": "theta_sketches", "path": f"*{ENDING}", "calendar": "crawls.csv"},
    }
    with replacing(folder / "collections.yaml") as target:
        target.write_text(yaml.safe_dump({"collections": [settings]}, sort_keys=False), encoding="utf-8")
