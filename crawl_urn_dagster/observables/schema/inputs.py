"""Tables of the crawls and of what their source published, and the mark of complete tables.

Does not include observables computed from the crawls; see `observables`.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, required

CRAWLS = Table(
    "crawls",
    "The crawls of the collection in time order.",
    (
        required("crawl", "VARCHAR", "label of the crawl"),
        required("crawl_index", "INTEGER", "0-based position in time", "crawls"),
        required("started_at", "TIMESTAMP", "start of the crawl, UTC"),
        required("years", "DOUBLE", "years of 365.25 days since the first crawl", "years"),
        Column(
            "elements",
            "BIGINT",
            "distinct elements in the crawl (an estimate if they are sampled or sketched)",
            "elements",
        ),
        required(
            "dated_by",
            "VARCHAR",
            "origin of the date: table, calendar, label, iso_week (of the label) or first_capture",
        ),
        Column(
            "content", "VARCHAR", "revision: hash of the keys that were counted; null: the source gives counts only"
        ),
    ),
    ("crawl",),
)

INPUTS = Table(
    "inputs",
    "Files of the source from which the tables were computed, as they were read.",
    (
        required("location", "VARCHAR", "path or URL"),
        required("bytes", "BIGINT", "size", "bytes"),
        required("sha256", "VARCHAR", "hash of the file"),
    ),
    ("location",),
)

FINDINGS = Table(
    "findings",
    "Observations made while the source was read: lines by outcome, samples of unreadable text, and crawls that are "
    "listed but left out.",
    (
        required("finding", "VARCHAR", "kind of finding"),
        required("position", "INTEGER", "position among findings of the same kind, from 0", "texts"),
        required("found", "VARCHAR", "a count, or a text from the source"),
    ),
    ("finding", "position"),
)

QUARANTINE = Table(
    "quarantine",
    "Crawls that are set aside because a file cannot be read; no other table includes them.",
    (
        required("crawl", "VARCHAR", "label of the crawl"),
        Column("started_at", "TIMESTAMP", "start of the crawl, UTC; null: neither label nor calendar states it"),
        required("location", "VARCHAR", "path or URL of the file"),
        required("kind", "VARCHAR", "damaged: its content is not as expected; unreachable: it cannot be fetched"),
        required("reason", "VARCHAR", "the error"),
    ),
    ("crawl",),
)

REVISIONS = Table(
    "revisions",
    "Changes to the past when the source's fingerprint last changed: counts that differ from before, and crawls with "
    "the same number of elements but different elements.",
    (
        required("observable", "VARCHAR", "table of the count: crawls, containment or discovery_curve"),
        required("first_crawl", "VARCHAR", "the crawl, or the first crawl of the pair or window"),
        required("last_crawl", "VARCHAR", "the crawl, or the last crawl of the pair or window"),
        required("count_before", "BIGINT", "previous elements, intersection or distinct_elements", "elements"),
        Column("count_now", "BIGINT", "current value of the same count; null: no longer published", "elements"),
    ),
    ("observable", "first_crawl", "last_crawl"),
)

PUBLICATIONS = Table(
    "publications",
    "Publication history of a source that revises its counts: one row for every count that was new or had changed.",
    (
        required("quantity", "VARCHAR", "counted quantity: url, or a column of the source's table of counts"),
        Column("start_crawl", "VARCHAR", "first crawl of the window, as published then; null: withdrawn"),
        required("end_crawl", "VARCHAR", "last crawl of the window"),
        required("window_crawls", "INTEGER", "crawls in the window", "crawls"),
        Column("distinct_elements", "BIGINT", "the count; null: withdrawn", "what quantity counts"),
        required("location", "VARCHAR", "path or URL of the table that it was read from"),
        required("sha256", "VARCHAR", "hash of that table; if withdrawn, of the last table with the count"),
        required("first_read_at", "TIMESTAMP", "time when it was first read, UTC"),
    ),
    ("quantity", "end_crawl", "window_crawls", "start_crawl", "location", "sha256"),
)

COMPLETE = Table(
    "complete",
    "One row while all tables belong to the same crawls. The first change of a table removes it, in the same "
    "transaction, and the end of an update writes it again.",
    (
        required("last_crawl", "VARCHAR", "latest crawl of the tables"),
        required("crawls", "INTEGER", "number of crawls of the tables", "crawls"),
        required("run_id", "VARCHAR", "Dagster run that completed the tables"),
        required("completed_at", "TIMESTAMP", "end of the update, UTC"),
    ),
    ("last_crawl",),
)

TRUTH = Table(
    "truth",
    "The true parameters of a simulated collection.",
    (
        required("clock", "VARCHAR", "crawl (at the mean gap) or year"),
        required("kappa", "DOUBLE", "core fraction of the urn", "fraction"),
        required("core_share", "DOUBLE", "core share of a crawl, mu", "fraction"),
        required("alpha", "DOUBLE", "survival of the shell per unit of the clock", "fraction per unit of clock"),
        required(
            "coverage", "DOUBLE", "shell coverage: share of the eligible shell that one crawl captures", "fraction"
        ),
    ),
    ("clock",),
)
