"""Tables that hold a collection against other archives of the same web.

Does not include estimates from the collection alone; see `assessment` and `fits`.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, required, with_interval

CROSS_ARCHIVE = Table(
    "cross_archive",
    "Overlap with other archives by matched crawls, and what follows for the population and the coverage of each.",
    (
        required("match", "VARCHAR", "label of the reference crawl: of the register, or else of the first list"),
        Column("stratum", "VARCHAR", "stratum of the elements; null: all elements"),
        required("lists", "VARCHAR", "names of the collections of the row, joined by ' + '"),
        required("crawls", "VARCHAR", "labels of their matched crawls, joined by ' + '"),
        required("days_apart", "DOUBLE", "days from the earliest to the latest of these crawls", "days"),
        required(
            "quantity",
            "VARCHAR",
            "elements: on the list; only: on this list and on no other; overlap: on all lists of the row; union: on "
            "any; outside_frame: on the list but not in the register; odds_ratio: of two lists; population: on some "
            "list or on none; coverage: share of the population on the list, or on any list of the row; missing_crawl: "
            "the register has a crawl, the list has none; calendar_gap: crawls that would fit into a long gap of the "
            "list's calendar",
        ),
        required(
            "estimator",
            "VARCHAR",
            "counted; frame: counted in the register; third_list: among elements of other lists; petersen, chapman, "
            "loglinear: if the lists are independent, or as the model has it; bound: lower bound of the population, "
            "upper bound of the coverage; urn: from the collection's own crawls",
        ),
        Column("model", "VARCHAR", "loglinear: dependent lists; bound: chao, or the odds ratio assumed"),
        *with_interval("estimate", "null: not reported, see status", "column unit"),
        Column(
            "sensitivity_low",
            "DOUBLE",
            "lower end over the configured odds ratios, with the sampling error",
            "column unit",
        ),
        Column(
            "sensitivity_high",
            "DOUBLE",
            "upper end over the configured odds ratios, with the sampling error",
            "column unit",
        ),
        Column(
            "survival",
            "DOUBLE",
            "share of the earliest list that is still eligible at the latest crawl, from its fitted survival; the "
            "population of two lists is corrected for it; null: unknown, not corrected",
            "fraction",
        ),
        required("unit", "VARCHAR", "elements, fraction, ratio or crawls"),
        required(
            "status",
            "VARCHAR",
            "ok; dependent: the odds ratio is not near 1; dependence_unknown: nothing shows that it is; one_crawler: "
            "the lists come from one crawler; too_few_points: no common element; differs: the urn's coverage excludes "
            "the counted one; missing: no crawl",
        ),
        Column("reason_code", "VARCHAR", "why the status is not ok, and what qualifies the row, as codes"),
        Column("reason", "VARCHAR", "the same in words"),
    ),
    ("match", "stratum", "lists", "quantity", "estimator"),
)
