"""Convert captures to rows of crawl and element, and note the outcome of lines.

Does not read lines; see `cdx_batches`.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl_urn_dagster.sources.calendar import check_label
from crawl_urn_dagster.sources.formats import canonical_urls
from crawl_urn_dagster.sources.formats.canonical_urls import map_distinct
from crawl_urn_dagster.sources.formats.cdx_fields import PROBLEMS, Outcome

if TYPE_CHECKING:
    from crawl_urn_dagster.sources.formats.archive_captures import CapturesSource
    from crawl_urn_dagster.sources.formats.cdx_batches import Batch
    from crawl_urn_dagster.sources.formats.parquet_cache import ConversionNotes

# A bin is labelled by its first day, to the precision that names the bin.
_LABEL_CHARACTERS = {"day": 10, "week": 10, "month": 7, "quarter": 7, "year": 4}
_SITE = r"^(?P<site>(?:(?i:https?)://)?[^/?#]+)"
_SAMPLE_CHARACTERS = 200
_NEVER = 10**14


class CaptureTables:
    """Convert present captures to rows ``crawl, element, stratum``."""

    def __init__(self, source: CapturesSource, label: str) -> None:
        self._source = source
        self._label = label

    def convert(self, captures: pa.Table, notes: ConversionNotes) -> pa.Table:
        """Return the captures that have a crawl and an element, and note what is left out and when crawls start."""
        table = pa.table(
            {
                "crawl": self._crawls(captures),
                "element": self._elements(captures),
                "stratum": pa.nulls(len(captures), pa.string()),
            }
        )
        notes.counts["captures_left_out_no_crawl"] += table["crawl"].null_count
        notes.counts["captures_left_out_no_element"] += table["element"].null_count
        stamps = captures["stamp"]
        if table["crawl"].null_count or table["element"].null_count:
            has_both = pc.and_(pc.is_valid(table["crawl"]), pc.is_valid(table["element"]))
            table, stamps = table.filter(has_both), stamps.filter(has_both)
        notes.counts["captures"] += len(table)
        _note_starts(table["crawl"], stamps, notes)
        return table

    def _crawls(self, captures: pa.Table) -> pa.DictionaryArray:
        if self._source.crawl_from == "file":
            return _labelled(np.zeros(len(captures), dtype=np.int32), [self._label])
        if self._source.warc_pattern:
            warcs = _array(captures["warc"].dictionary_encode())
            labels = [self._label_of_warc(name) for name in warcs.dictionary.to_pylist()]
            return _labelled(warcs.indices.fill_null(len(labels)).to_numpy(), [*labels, None])
        days, day_of_capture = np.unique(captures["stamp"].to_numpy() // 10**6, return_inverse=True)
        return _labelled(day_of_capture, [_label_of_bin(day, self._source.crawl_from) for day in days.tolist()])

    def _label_of_warc(self, name: str) -> str | None:
        match = re.search(self._source.warc_pattern or "", name)
        if match is None or not match[match.re.groups]:
            return None
        return check_label(match[match.re.groups], f"{self._source.path}, WARC {name[:80]}")

    def _elements(self, captures: pa.Table) -> pa.Array | pa.ChunkedArray:
        if self._source.element == "url_as_written":
            return captures["url"]
        if self._source.element == "url" and not captures["key"].null_count:
            return captures["key"]
        keys, urls = _array(captures["key"]), _array(captures["url"])
        if self._source.element == "url":
            return pc.coalesce(keys, map_distinct(_without(urls, keys), canonical_urls.canonical_key))
        sites = pc.list_element(pc.split_pattern(pc.fill_null(keys, ""), ")", max_splits=1), 0)
        hosts = map_distinct(sites, lambda site: site and canonical_urls.canonical_host(f"{site})"))
        if keys.null_count:
            sites = pc.struct_field(pc.extract_regex(_without(urls, keys), _SITE), "site")
            url_hosts = map_distinct(sites, canonical_urls.canonical_host)
            hosts = pc.if_else(pc.is_valid(keys), hosts, url_hosts)
        domain = {"domain": canonical_urls.registered_domain, "private_domain": canonical_urls.private_domain}
        function = domain.get(self._source.element)
        return hosts if function is None else map_distinct(hosts, function)


def _array(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def _without(urls: pa.Array, keys: pa.Array) -> pa.Array:
    """Return the URLs of captures without a key; the others are null."""
    return pc.if_else(pc.is_null(keys), urls, None)


def _labelled(codes: npt.NDArray[np.integer[Any]], labels: list[str | None]) -> pa.DictionaryArray:
    """Return the labels of codes, which are positions of labels; several codes may have one label, or None."""
    distinct = list(dict.fromkeys(label for label in labels if label is not None))
    position = {label: number for number, label in enumerate(distinct)}
    numbers = np.array([-1 if label is None else position[label] for label in labels], dtype=np.int32)[codes]
    return pa.DictionaryArray.from_arrays(pa.array(numbers, mask=numbers < 0), pa.array(distinct, pa.string()))


def _label_of_bin(day: int, unit: str) -> str:
    """Return the first day of the bin of a day such as 20240131, to the precision that names the bin."""
    first = date(day // 10**4, day // 100 % 100, day % 100)
    if unit == "week":
        first -= timedelta(days=first.weekday())
    elif unit == "quarter":
        first = first.replace(month=(first.month - 1) // 3 * 3 + 1)
    return first.isoformat()[: _LABEL_CHARACTERS[unit]]


def note_outcomes(batch: Batch, notes: ConversionNotes) -> None:
    """Count lines without a capture and captures that are not present, by reason; keep samples of malformed lines."""
    notes.counts["lines"] += batch.outcomes.total()
    notes.counts["lines_malformed"] += 0  # The count is reported even if it is 0.
    for outcome, count in batch.outcomes.items():
        if outcome in PROBLEMS:
            notes.counts["lines_malformed"] += count
        elif outcome is Outcome.HEADER:
            notes.counts["lines_header"] += count
        elif outcome is not None:
            notes.counts[f"captures_left_out_{outcome.value}"] += count
    for number, line, outcome in batch.malformed:
        notes.samples.append(f"line {number} {PROBLEMS[outcome]}: {line[:_SAMPLE_CHARACTERS]!r}")


def _note_starts(crawls: pa.ChunkedArray, stamps: pa.ChunkedArray, notes: ConversionNotes) -> None:
    """Note the time of the first capture of each crawl."""
    labelled = _array(crawls)
    first = np.full(len(labelled.dictionary), _NEVER)
    np.minimum.at(first, labelled.indices.to_numpy(), stamps.to_numpy())
    for crawl, stamp in zip(labelled.dictionary.to_pylist(), first.tolist(), strict=True):
        if stamp < _NEVER:
            start = datetime.strptime(str(stamp), "%Y%m%d%H%M%S").isoformat()  # noqa: DTZ007 - UTC
            notes.started[crawl] = min(start, notes.started.get(crawl, start))
