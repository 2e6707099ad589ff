"""Tables of observables, which depend on no model.

Does not compute them; see `observables.tables`, and `sql/observables` for reference definitions in SQL.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, interval, required, with_interval

CAPTURE_HISTORY_COUNTS = Table(
    "capture_history_counts",
    "Number of elements with each capture history; every other observable follows from it.",
    (
        required("history", "BIT", "one bit per crawl, oldest first; 1: the element was captured"),
        Column("stratum", "VARCHAR", "stratum of the elements; null: the collection has no strata"),
        required(
            "elements",
            "BIGINT",
            "distinct elements with this history and stratum (if sampled, the count in the sample divided by the "
            "sampling fraction)",
            "elements",
        ),
        Column(
            "lost",
            "BIGINT",
            "those of them that were not released after their last capture, so no later crawl can capture them; "
            "null: the source has no column of losses",
            "elements",
        ),
    ),
    ("history", "stratum"),
)

DISCOVERY_CURVE = Table(
    "discovery_curve",
    "U(s, T): distinct elements in a window of consecutive crawls. Confidence intervals cover counting error only.",
    (
        required("start_crawl", "VARCHAR", "first crawl of the window"),
        required("end_crawl", "VARCHAR", "last crawl of the window"),
        required("window_crawls", "INTEGER", "crawls in the window, T + 1", "crawls"),
        required(
            "elapsed_years", "DOUBLE", "years from the start of the first to the start of the last crawl", "years"
        ),
        required("distinct_elements", "BIGINT", "distinct elements in the window", "elements"),
        *interval("distinct_elements", "elements"),
        *with_interval("ratio", "distinct_elements divided by the size of the first crawl", "ratio"),
    ),
    ("start_crawl", "end_crawl"),
)

CONTAINMENT = Table(
    "containment",
    "Overlap of each pair of crawls. Confidence intervals cover counting error only; they have zero width if every "
    "element was counted.",
    (
        required("crawl_i", "VARCHAR", "the earlier crawl"),
        required("crawl_j", "VARCHAR", "the later crawl"),
        required("lag_crawls", "INTEGER", "crawls from i to j", "crawls"),
        required("lag_years", "DOUBLE", "years from the start of i to the start of j", "years"),
        required("size_i", "BIGINT", "distinct elements in i", "elements"),
        required("size_j", "BIGINT", "distinct elements in j", "elements"),
        required(
            "intersection",
            "BIGINT",
            "elements in both crawls; estimates from sketches may be negative and are stored unchanged",
            "elements",
        ),
        *with_interval("containment", "intersection divided by size_i", "fraction"),
        *with_interval("containment_reverse", "intersection divided by size_j", "fraction"),
    ),
    ("crawl_i", "crawl_j"),
)

M_ARRAY = Table(
    "m_array",
    "The Cormack-Jolly-Seber m-array: elements by the crawl that captured them and the crawl that captured them next.",
    (
        required("released_crawl", "VARCHAR", "crawl that captured the elements"),
        Column("recaptured_crawl", "VARCHAR", "crawl that captured them next; null: never captured again"),
        required("elements", "BIGINT", "elements released in one crawl and next captured in the other", "elements"),
    ),
    ("released_crawl", "recaptured_crawl"),
)

FIRST_RETURNS = Table(
    "first_returns",
    "Share of a crawl's elements whose next capture is at each lag.",
    (
        required("lag_crawls", "INTEGER", "crawls until the next capture", "crawls"),
        required("fraction", "DOUBLE", "mean over start crawls of the share first recaptured at this lag", "fraction"),
        Column(
            "fraction_se",
            "DOUBLE",
            "standard error of fraction, from blocks of 4 start crawls; null: only one block",
            "fraction",
        ),
        required("n_starts", "INTEGER", "start crawls with a crawl at this lag", "crawls"),
    ),
    ("lag_crawls",),
)
