"""The column lists of the tables in a collection's DuckDB file, each stated here and nowhere else.

Here: table and column names, DuckDB types and meanings. Not here: statements (they are in `sql/`), how a
table is computed, or anything about Dagster.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column: its name, its DuckDB type, what it means and in which unit."""

    name: str
    type: str
    description: str
    nullable: bool = True


@dataclass(frozen=True)
class Table:
    """One table of the contract."""

    name: str
    description: str
    columns: tuple[Column, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Column names in the order of the table."""
        return tuple(column.name for column in self.columns)


def _required(name: str, type_: str, description: str) -> Column:
    return Column(name, type_, description, nullable=False)


def _with_limits(name: str, description: str) -> tuple[Column, ...]:
    return (
        Column(name, "DOUBLE", description),
        Column(f"{name}_low", "DOUBLE", f"lower 95 % limit of {name}; null: not computed"),
        Column(f"{name}_high", "DOUBLE", f"upper 95 % limit of {name}; null: not computed"),
    )


_FIT_KEY = (
    _required("projection", "VARCHAR", "the observable that was fitted: containment, discovery_curve, discovery_tail"),
    _required("model", "VARCHAR", "homogeneous or core_shell"),
    _required("form", "VARCHAR", "exact, or paper (the containment form as printed, whose kappa is the core share)"),
    _required("clock", "VARCHAR", "crawl: survival is per crawl; year: survival is per year"),
    Column("stratum", "VARCHAR", "the stratum of the elements; null: all elements"),
    _required("component", "VARCHAR", "urn (homogeneous), core or shell"),
    _required("first_crawl", "VARCHAR", "first crawl of the fitted window"),
    _required("last_crawl", "VARCHAR", "last crawl of the fitted window"),
)

CRAWLS = Table(
    "crawls",
    "The calendar: the crawls of the collection in time order.",
    (
        _required("crawl", "VARCHAR", "label of the crawl"),
        _required("crawl_index", "INTEGER", "0-based position in time"),
        _required("started_at", "TIMESTAMP", "start of the crawl, UTC"),
        _required("years", "DOUBLE", "years of 365.25 days since the first crawl"),
        Column("elements", "BIGINT", "distinct elements in the crawl (an estimate where the source is sketched)"),
        _required("dated_by", "VARCHAR", "where the date is from: table, calendar, label, or iso_week (of the label)"),
    ),
)

CAPTURE_HISTORY_COUNTS = Table(
    "capture_history_counts",
    "How many elements have each capture history; every other observable follows from it.",
    (
        _required("history", "BIT", "one bit per crawl, oldest first; 1: the element was captured"),
        _required("elements", "BIGINT", "distinct elements with this history"),
    ),
)

DISCOVERY_CURVE = Table(
    "discovery_curve",
    "U(s, T): distinct elements in the union of a run of consecutive crawls.",
    (
        _required("start_crawl", "VARCHAR", "first crawl of the window"),
        _required("end_crawl", "VARCHAR", "last crawl of the window"),
        _required("window_crawls", "INTEGER", "crawls in the window, T + 1"),
        _required("elapsed_years", "DOUBLE", "years from the start of the first to the start of the last crawl"),
        _required("distinct_elements", "BIGINT", "distinct elements in the union"),
        Column("ratio", "DOUBLE", "distinct_elements over the size of the start crawl"),
    ),
)

CONTAINMENT = Table(
    "containment",
    "Pairwise overlap of crawls.",
    (
        _required("crawl_i", "VARCHAR", "the earlier crawl"),
        _required("crawl_j", "VARCHAR", "the later crawl"),
        _required("lag_crawls", "INTEGER", "crawls from i to j"),
        _required("lag_years", "DOUBLE", "years from the start of i to the start of j"),
        _required("size_i", "BIGINT", "distinct elements in i"),
        _required("size_j", "BIGINT", "distinct elements in j"),
        _required(
            "intersection",
            "BIGINT",
            "elements in both; sketched ones may be negative and are kept as they are",
        ),
        Column("containment", "DOUBLE", "intersection over size_i"),
        Column("containment_reverse", "DOUBLE", "intersection over size_j"),
    ),
)

M_ARRAY = Table(
    "m_array",
    "The Cormack-Jolly-Seber m-array: where elements captured in one crawl are captured next.",
    (
        _required("released_crawl", "VARCHAR", "crawl in which the elements were captured"),
        Column("recaptured_crawl", "VARCHAR", "crawl in which they were captured next; null: never again"),
        _required("elements", "BIGINT", "elements released in the one and next captured in the other"),
    ),
)

FIRST_RETURNS = Table(
    "first_returns",
    "Which fraction of a crawl's elements is next seen after exactly so many crawls.",
    (
        _required("lag_crawls", "INTEGER", "crawls until the next capture"),
        _required("fraction", "DOUBLE", "mean over start crawls of the fraction first seen again at this lag"),
        Column("fraction_se", "DOUBLE", "its standard error, from blocks of 4 start crawls; null: one block"),
        _required("n_starts", "INTEGER", "start crawls that have this lag"),
    ),
)

PARAMETERS = Table(
    "parameters",
    "Fitted urn parameters, one row per component of each fit.",
    (
        *_FIT_KEY,
        *_with_limits("share", "share of the urn's elements that belong to the component"),
        *_with_limits("kappa", "core's share of the urn (form paper: the printed kappa, which is the core share)"),
        *_with_limits("core_share", "core's share of one crawl, mu"),
        *_with_limits("alpha", "survival of the component per unit of the clock"),
        *_with_limits("coverage", "fraction of the living component that one crawl samples"),
        *_with_limits("revisit_coverage", "coverage of elements fetched in the last round"),
        *_with_limits("coverage_sd", "standard deviation of coverage over elements"),
        Column("residual_rms", "DOUBLE", "root mean square residual, in units of the fitted observable"),
        _required("n_points", "INTEGER", "points fitted"),
        _required(
            "status",
            "VARCHAR",
            "model_violation, too_few_points, not_converged, at_bound, not_identified or ok",
        ),
        Column("reason", "VARCHAR", "why the status is not ok, in words"),
        _required("headline", "BOOLEAN", "the fit that speaks for the collection"),
    ),
)

OPERATOR_TERMS = Table(
    "operator_terms",
    "The fitted parameters in an operator's terms.",
    (
        *_FIT_KEY,
        *_with_limits("life_expectancy", "time an element still lives after the present round"),
        *_with_limits("sampled_time", "part of life_expectancy in rounds in which it is sampled"),
        *_with_limits("hidden_time", "part of life_expectancy in rounds in which it is missed"),
        *_with_limits("hiding_time", "mean time an unseen element stays unseen before it is resolved"),
        *_with_limits("nu_inf", "long-run fraction of a crawl never seen before, per crawl"),
        *_with_limits("rho_inf", "long-run fraction of a crawl seen before"),
        _required("unit", "VARCHAR", "unit of the times: crawls or years"),
        _required("status", "VARCHAR", "status of the fit the terms follow from"),
    ),
)

DRIFT = Table(
    "drift",
    "The headline parameters of the last window against those of the window before it.",
    (
        _required("last_crawl", "VARCHAR", "last crawl of the judged window"),
        _required("parameter", "VARCHAR", "kappa, core_share, alpha or coverage"),
        *_with_limits("reference_value", "value in the reference window"),
        *_with_limits("value", "value in the judged window"),
        *_with_limits("difference", "value less reference_value"),
        Column("statistic", "DOUBLE", "what is compared with the threshold: the absolute difference"),
        _required("threshold", "DOUBLE", "the statistic above which the parameter counts as drifted"),
        Column("drifted", "BOOLEAN", "null: could not be judged, see reason"),
        Column("attributed", "BOOLEAN", "whether the change is attributed to this parameter; null: not computed"),
        Column("since_crawl", "VARCHAR", "first crawl of the judged window"),
        Column("reason", "VARCHAR", "why the parameter could not be judged"),
    ),
)

TRUTH = Table(
    "truth",
    "The parameters a simulated collection was made with.",
    (
        _required("clock", "VARCHAR", "crawl (at the mean gap) or year"),
        _required("kappa", "DOUBLE", "core's share of the urn"),
        _required("core_share", "DOUBLE", "core's share of one crawl, mu"),
        _required("alpha", "DOUBLE", "survival of the shell per unit of the clock"),
        _required("coverage", "DOUBLE", "fraction of the living shell that one crawl samples"),
    ),
)

INPUTS = Table(
    "inputs",
    "What the tables were computed from: the source's files as they were read.",
    (
        _required("location", "VARCHAR", "path or address"),
        _required("bytes", "BIGINT", "size"),
        _required("sha256", "VARCHAR", "hash of the content"),
    ),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        CRAWLS,
        CAPTURE_HISTORY_COUNTS,
        DISCOVERY_CURVE,
        CONTAINMENT,
        M_ARRAY,
        FIRST_RETURNS,
        PARAMETERS,
        OPERATOR_TERMS,
        DRIFT,
        TRUTH,
        INPUTS,
    )
}
