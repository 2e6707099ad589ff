"""Tables that hold a collection against the counters of the operator.

Does not include other archives of the same web; see `archives`.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, required, with_interval

GROUND_TRUTH = Table(
    "ground_truth",
    "The operator's own counters for the crawls of the collection.",
    (
        required("crawl", "VARCHAR", "label of the crawl"),
        required("quantity", "VARCHAR", "name of the counter"),
        required("value", "DOUBLE", "count", "unit of the counter"),
        Column(
            "role",
            "VARCHAR",
            "population: part of the eligible elements; new: part of the elements that no earlier crawl captured; "
            "null: neither, or another counter of the role is missing for this crawl",
        ),
    ),
    ("crawl", "quantity"),
)

GROUND_TRUTH_COMPARISON = Table(
    "ground_truth_comparison",
    "Estimates next to the operator's counters, for all crawls and by rolling window.",
    (
        required("first_crawl", "VARCHAR", "first crawl of the fitted window, or the only one"),
        required("last_crawl", "VARCHAR", "last crawl of the fitted window, or the only one"),
        required(
            "projection", "VARCHAR", "observable that was fitted; population: the selected model's value for one crawl"
        ),
        required("model", "VARCHAR", "the urn model"),
        required("clock", "VARCHAR", "clock of the fit"),
        required(
            "quantity",
            "VARCHAR",
            "urn_size: eligible elements; coverage: share of them that a crawl captures; new_share: share of a crawl "
            "that no earlier crawl captured",
        ),
        required("unit", "VARCHAR", "elements or fraction"),
        *with_interval("estimate", "value that the fit implies, whatever its status", "column unit"),
        Column("counted", "DOUBLE", "mean of the operator's counter over the window; null: not counted", "column unit"),
        Column("ratio", "DOUBLE", "estimate divided by counted", "ratio"),
        required(
            "verdict",
            "VARCHAR",
            "inside: the interval contains the counter; below or above: where the counter is; no_interval; not_counted",
        ),
        required("status", "VARCHAR", "status of the fit; ok for projection population"),
    ),
    ("first_crawl", "last_crawl", "projection", "model", "clock", "quantity"),
)

COUNTER_CHANGES = Table(
    "counter_changes",
    "Changes of the operator's counters from crawl to crawl that exceed the scatter of earlier changes, except returns "
    "to the level before such a change, and the drift "
    "or outlying crawl found at the same time, which need not be their effect.",
    (
        required("crawl", "VARCHAR", "crawl whose counter differs from that of the previous crawl"),
        required("quantity", "VARCHAR", "counter, or population: sum of the counters of this role"),
        Column("divided_by", "VARCHAR", "counter by which it is divided; null: the count is compared"),
        required("value", "DOUBLE", "count, or count divided by that of divided_by", "unit of the counter"),
        required("previous", "DOUBLE", "the same at the previous crawl", "unit of the counter"),
        required("change", "DOUBLE", "natural logarithm of value divided by previous", "logarithm of a ratio"),
        required("usual", "DOUBLE", "median of the earlier changes", "logarithm of a ratio"),
        required(
            "scatter",
            "DOUBLE",
            "median absolute deviation of the earlier changes, scaled to a standard deviation",
            "logarithm of a ratio",
        ),
        required("statistic", "DOUBLE", "change minus usual, divided by scatter", "standard deviations"),
        required("threshold", "DOUBLE", "absolute statistic above which a counter moved", "standard deviations"),
        Column(
            "found",
            "VARCHAR",
            "rows of drift, last_crawl and adequacy_tests found for this crawl, separated by commas; null: none",
        ),
    ),
    ("crawl", "quantity"),
)
