"""The column lists of the tables in a collection's DuckDB file, each stated here and nowhere else.

Here: table and column names, DuckDB types and meanings. Not here: statements (they are in `sql/`), how a
table is computed, or anything about Dagster.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Unit of columns whose type says it; numbers say theirs.
_UNIT_OF_TYPE = {"VARCHAR": "text", "BOOLEAN": "true or false", "BIT": "bit per crawl", "TIMESTAMP": "time (UTC)"}


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name, type
        Its name and DuckDB type.
    description
        What it means.
    unit
        What it is counted or measured in; None: as its type says.
    nullable
        Whether a value may be absent.
    """

    name: str
    type: str
    description: str
    unit: str | None = None
    nullable: bool = True

    def __post_init__(self) -> None:
        if self.unit is None:
            object.__setattr__(self, "unit", _UNIT_OF_TYPE[self.type])


@dataclass(frozen=True)
class Table:
    """One table of the contract.

    Attributes
    ----------
    name, description
        Its name, and what it holds.
    columns
        In order.
    key
        Names of the columns that tell rows apart.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Column names in the order of the table."""
        return tuple(column.name for column in self.columns)


def _required(name: str, type_: str, description: str, unit: str | None = None) -> Column:
    return Column(name, type_, description, unit, nullable=False)


def _with_limits(name: str, description: str, unit: str) -> tuple[Column, ...]:
    return (Column(name, "DOUBLE", description, unit), *_limits(name, unit))


def _limits(name: str, unit: str) -> tuple[Column, ...]:
    return (
        Column(f"{name}_low", "DOUBLE", f"lower 95 % limit of {name}; null: not computed", unit),
        Column(f"{name}_high", "DOUBLE", f"upper 95 % limit of {name}; null: not computed", unit),
    )


def _estimate(unit: str) -> tuple[Column, ...]:
    return (
        Column("estimate", "DOUBLE", "null: unknown, see reason", unit),
        Column("se", "DOUBLE", "standard error; null: unknown, or at a bound, see reason", unit),
        *_limits("estimate", unit),
    )


_FIT_KEY = (
    _required(
        "projection",
        "VARCHAR",
        "what was fitted: joint, containment, discovery_curve, discovery_tail, …, histories, or curves (both curves)",
    ),
    _required("model", "VARCHAR", "homogeneous, core_shell, core_two_shells, beta_shell or revisit_delay"),
    _required("form", "VARCHAR", "exact, or paper (the containment form as printed, whose kappa is the core share)"),
    _required("clock", "VARCHAR", "crawl: survival is per crawl; year: survival is per year"),
    Column("stratum", "VARCHAR", "the stratum of the elements; null: all elements"),
    _required("component", "VARCHAR", "urn (one class), core, shell, shell_1 or shell_2 (the longer-lived is 1)"),
    _required("first_crawl", "VARCHAR", "first crawl of the fitted window"),
    _required("last_crawl", "VARCHAR", "last crawl of the fitted window"),
)

CRAWLS = Table(
    "crawls",
    "The calendar: the crawls of the collection in time order.",
    (
        _required("crawl", "VARCHAR", "label of the crawl"),
        _required("crawl_index", "INTEGER", "0-based position in time", "crawls"),
        _required("started_at", "TIMESTAMP", "start of the crawl, UTC"),
        _required("years", "DOUBLE", "years of 365.25 days since the first crawl", "years"),
        Column(
            "elements",
            "BIGINT",
            "distinct elements in the crawl (an estimate where they are sampled or sketched)",
            "elements",
        ),
        _required(
            "dated_by",
            "VARCHAR",
            "where the date is from: table, calendar, label, iso_week (of the label) or first_capture",
        ),
        Column("content", "VARCHAR", "hash of the keys that were counted; null: the source gives counts only"),
    ),
    ("crawl",),
)

CAPTURE_HISTORY_COUNTS = Table(
    "capture_history_counts",
    "How many elements have each capture history; every other observable follows from it.",
    (
        _required("history", "BIT", "one bit per crawl, oldest first; 1: the element was captured"),
        Column("stratum", "VARCHAR", "the stratum of the elements; null: the collection has none"),
        _required(
            "elements",
            "BIGINT",
            "distinct elements with this history and stratum (a multiple of the sampling factor)",
            "elements",
        ),
    ),
    ("history", "stratum"),
)

DISCOVERY_CURVE = Table(
    "discovery_curve",
    "U(s, T): distinct elements in the union of a run of consecutive crawls; limits are of the counting alone.",
    (
        _required("start_crawl", "VARCHAR", "first crawl of the window"),
        _required("end_crawl", "VARCHAR", "last crawl of the window"),
        _required("window_crawls", "INTEGER", "crawls in the window, T + 1", "crawls"),
        _required(
            "elapsed_years", "DOUBLE", "years from the start of the first to the start of the last crawl", "years"
        ),
        _required("distinct_elements", "BIGINT", "distinct elements in the union", "elements"),
        *_limits("distinct_elements", "elements"),
        *_with_limits("ratio", "distinct_elements over the size of the start crawl", "ratio"),
    ),
    ("start_crawl", "end_crawl"),
)

CONTAINMENT = Table(
    "containment",
    "Pairwise overlap of crawls; limits are of the counting alone: equal to the number where all were counted.",
    (
        _required("crawl_i", "VARCHAR", "the earlier crawl"),
        _required("crawl_j", "VARCHAR", "the later crawl"),
        _required("lag_crawls", "INTEGER", "crawls from i to j", "crawls"),
        _required("lag_years", "DOUBLE", "years from the start of i to the start of j", "years"),
        _required("size_i", "BIGINT", "distinct elements in i", "elements"),
        _required("size_j", "BIGINT", "distinct elements in j", "elements"),
        _required(
            "intersection",
            "BIGINT",
            "elements in both; sketched ones may be negative and are kept as they are",
            "elements",
        ),
        *_with_limits("containment", "intersection over size_i", "fraction"),
        *_with_limits("containment_reverse", "intersection over size_j", "fraction"),
    ),
    ("crawl_i", "crawl_j"),
)

M_ARRAY = Table(
    "m_array",
    "The Cormack-Jolly-Seber m-array: where elements captured in one crawl are captured next.",
    (
        _required("released_crawl", "VARCHAR", "crawl in which the elements were captured"),
        Column("recaptured_crawl", "VARCHAR", "crawl in which they were captured next; null: never again"),
        _required("elements", "BIGINT", "elements released in the one and next captured in the other", "elements"),
    ),
    ("released_crawl", "recaptured_crawl"),
)

FIRST_RETURNS = Table(
    "first_returns",
    "Which fraction of a crawl's elements is next seen after exactly so many crawls.",
    (
        _required("lag_crawls", "INTEGER", "crawls until the next capture", "crawls"),
        _required(
            "fraction", "DOUBLE", "mean over start crawls of the fraction first seen again at this lag", "fraction"
        ),
        Column(
            "fraction_se", "DOUBLE", "its standard error, from blocks of 4 start crawls; null: one block", "fraction"
        ),
        _required("n_starts", "INTEGER", "start crawls that have this lag", "crawls"),
    ),
    ("lag_crawls",),
)

PARAMETERS = Table(
    "parameters",
    "Fitted urn parameters, one row per component of each fit.",
    (
        *_FIT_KEY,
        *_with_limits("share", "share of the urn's elements that belong to the component", "fraction"),
        *_with_limits(
            "kappa", "core's share of the urn (form paper: the printed kappa, which is the core share)", "fraction"
        ),
        *_with_limits("core_share", "core's share of one crawl, mu", "fraction"),
        *_with_limits("alpha", "survival of the component per unit of the clock", "fraction per unit of clock"),
        *_with_limits("coverage", "fraction of the living component that one crawl samples", "fraction"),
        *_with_limits("revisit_coverage", "coverage of elements fetched in the last round", "fraction"),
        *_with_limits(
            "coverage_sd",
            "standard deviation of coverage: joint: over crawls; beta_shell: over the shell's elements",
            "fraction",
        ),
        Column(
            "delay_crawls", "INTEGER", "model revisit_delay: crawls for which a fetched element is avoided", "crawls"
        ),
        Column(
            "residual_rms",
            "DOUBLE",
            "root mean square residual, in units of the fitted observable",
            "unit of the fitted observable",
        ),
        _required("n_points", "INTEGER", "points fitted", "points"),
        _required(
            "status",
            "VARCHAR",
            "model_violation, too_few_points, not_converged, at_bound, not_identified or ok",
        ),
        Column("reason", "VARCHAR", "why the status is not ok, in words"),
        _required("headline", "BOOLEAN", "the fit that speaks for the collection, or for its stratum"),
    ),
    tuple(column.name for column in _FIT_KEY),
)

OPERATOR_TERMS = Table(
    "operator_terms",
    "The fitted parameters in an operator's terms.",
    (
        *_FIT_KEY,
        *_with_limits("life_expectancy", "time an element still lives after the present round", "column unit"),
        *_with_limits("sampled_time", "part of life_expectancy in rounds in which it is sampled", "column unit"),
        *_with_limits("hidden_time", "part of life_expectancy in rounds in which it is missed", "column unit"),
        *_with_limits("hiding_time", "mean time an unseen element stays unseen before it is resolved", "column unit"),
        *_with_limits("nu_inf", "long-run fraction of a crawl never seen before, per crawl", "fraction"),
        *_with_limits("rho_inf", "long-run fraction of a crawl seen before", "fraction"),
        _required("unit", "VARCHAR", "unit of the times: crawls or years"),
        _required("status", "VARCHAR", "status of the fit the terms follow from"),
    ),
    tuple(column.name for column in _FIT_KEY),
)

PARAMETER_HISTORY = Table(
    "parameter_history",
    "Fits of every rolling window of crawls, on the headline's clock; otherwise as parameters.",
    (
        *PARAMETERS.columns,
        _required(
            "inputs_sha256", "VARCHAR", "hash of what the window was fitted to: it is fitted again when it changes"
        ),
    ),
    tuple(column.name for column in _FIT_KEY),
)

DRIFT = Table(
    "drift",
    "What the last crawls say against a reference run of crawls: whether anything moved, and what it was.",
    (
        _required("last_crawl", "VARCHAR", "last crawl that was judged"),
        _required(
            "parameter",
            "VARCHAR",
            "kappa, core_share, alpha or coverage; where no urn fits also first_returns_1 to 3, revisit_delay (rounds) "
            "and crawl_size (elements)",
        ),
        Column("reference_first_crawl", "VARCHAR", "first crawl of the reference"),
        Column("reference_last_crawl", "VARCHAR", "last crawl of the reference"),
        *_with_limits("reference_value", "value in the reference", "unit of the parameter"),
        *_with_limits("value", "value in the crawls from value_first_crawl on", "unit of the parameter"),
        Column("value_first_crawl", "VARCHAR", "first crawl of value: where a change, if any, most likely began"),
        *_with_limits("difference", "value less reference_value", "unit of the parameter"),
        Column(
            "statistic",
            "DOUBLE",
            "absolute moving average of the parameter's chart; of first returns and sizes: 1 less a change's p-value",
            "standard deviations, or probability",
        ),
        Column("threshold", "DOUBLE", "the statistic above which there is an alarm", "unit of statistic"),
        Column("drifted", "BOOLEAN", "whether any chart gives the alarm; null: could not be judged, see reason"),
        Column("attributed", "BOOLEAN", "whether it is this parameter that moved"),
        Column("since_crawl", "VARCHAR", "crawl with which the change most likely began; null: no alarm"),
        Column("reason", "VARCHAR", "why the parameter could not be judged"),
        Column("note", "VARCHAR", "how the value is to be read, where the urn is another one since"),
    ),
    ("parameter",),
)

CONTROL_CHART = Table(
    "control_chart",
    "What every crawl says by itself of core, survival and coverage, and its moving average with limits.",
    (
        _required("chart", "VARCHAR", "core (kappa), survival (alpha) or coverage, given the reference's fit"),
        _required("crawl", "VARCHAR", "label of the crawl"),
        _required("phase", "VARCHAR", "reference or monitored"),
        Column("value", "DOUBLE", "estimate from the crawl by itself; null: unknown", "fraction"),
        Column("average", "DOUBLE", "exponentially weighted moving average since the reference", "fraction"),
        Column("average_low", "DOUBLE", "lower limit of the average when nothing changes", "fraction"),
        Column("average_high", "DOUBLE", "upper limit of the average when nothing changes", "fraction"),
        Column("statistic", "DOUBLE", "average less its centre in standard deviations", "standard deviations"),
        Column("p_value", "DOUBLE", "chance of so large a statistic on any chart within 24 crawls", "probability"),
        Column("alarm", "BOOLEAN", "whether the average is beyond its limits"),
    ),
    ("chart", "crawl"),
)

FORECAST = Table(
    "forecast",
    "What the next crawls will bring, and what was said of the last ones 12 crawls ago and of the last before it came.",
    (
        _required("origin_crawl", "VARCHAR", "last crawl that the forecast knows of"),
        _required(
            "quantity",
            "VARCHAR",
            "crawl_size; new_elements and returning_elements of a coming crawl; distinct_elements of a window; overlap "
            "of a coming crawl with start_crawl",
        ),
        _required("crawls_ahead", "INTEGER", "crawls from origin_crawl to the coming crawl", "crawls"),
        _required("expected_at", "TIMESTAMP", "when the coming crawl would start at the mean gap of the last 12"),
        Column("start_crawl", "VARCHAR", "first crawl that counts; null: none, or one that is to come itself"),
        Column(
            "window_crawls", "INTEGER", "crawls from the first that counts to the coming one, both included", "crawls"
        ),
        Column("value", "DOUBLE", "elements; null: see reason", "elements"),
        Column("value_low", "DOUBLE", "lower 95 % prediction limit", "elements"),
        Column("value_high", "DOUBLE", "upper 95 % prediction limit", "elements"),
        _required("status", "VARCHAR", "ok or too_few_points"),
        Column("reason", "VARCHAR", "why the status is not ok"),
    ),
    ("origin_crawl", "quantity", "crawls_ahead", "start_crawl", "window_crawls"),
)

PLANNING = Table(
    "planning",
    "What other coverages and cadences would bring under the headline's urn; no row where parameters are withheld.",
    (
        _required("coverage", "DOUBLE", "fraction of the living shell that one crawl samples", "fraction"),
        _required("gap", "DOUBLE", "time between crawls, in units of the clock", "units of clock"),
        _required("current", "BOOLEAN", "coverage and gap are as they are now"),
        _required("clock", "VARCHAR", "crawl or year"),
        *_with_limits("crawl_size", "part of the urn that one crawl holds", "fraction of the urn"),
        *_with_limits("crawls_to_seen", "crawls until 90 % of the living shell was seen; infinite: never", "crawls"),
        *_with_limits("seen_at_last", "part of the living shell that has been seen in the long run", "fraction"),
        *_with_limits("nu_inf", "long-run fraction of a crawl never seen before", "fraction"),
        *_with_limits(
            "hidden_time", "time an element of the shell still lives unsampled, in units of the clock", "units of clock"
        ),
        *_with_limits(
            "cost_per_new", "elements fetched for each that was never seen before", "elements per new element"
        ),
        _required("status", "VARCHAR", "status of the fit it follows from"),
    ),
    ("coverage", "gap"),
)

DIAGNOSIS = Table(
    "diagnosis",
    "Whether one urn holds for the collection: what was tested, what came out, and what to do about it.",
    (
        _required("clock", "VARCHAR", "clock of the fits that were tested"),
        _required(
            "test",
            "VARCHAR",
            "violation: observables rise from lag 1 to 2, as no urn's do; projections: containment against discovery "
            "curve; core: elements in every crawl; lack_of_fit: mean standardised residual by lag; increments: new "
            "fraction of each crawl; collection: the verdict on the whole",
        ),
        _required("subject", "VARCHAR", "the rule, parameter, kind and lag, or crawl that the row is about"),
        Column(
            "observed",
            "DOUBLE",
            "what the collection shows; of projections: the estimate from containment",
            "unit of the subject",
        ),
        Column(
            "expected",
            "DOUBLE",
            "what it is compared with; of projections: the estimate from the discovery curve",
            "unit of the subject",
        ),
        *_with_limits("difference", "observed less expected", "unit of the subject"),
        Column(
            "p_value",
            "DOUBLE",
            "chance of a difference at least as large if the urn holds; null: not tested",
            "probability",
        ),
        _required(
            "verdict",
            "VARCHAR",
            "holds, fails or not_tested (also a difference of shares with limits more than 0.5 apart); of test "
            "collection: sound, not_identified, misfit, uneven_shell, "
            "core_not_permanent, too_short, not_fitted or no_urn",
        ),
        _required("meaning", "VARCHAR", "what it means and, where something fails, what to do"),
    ),
    ("test", "subject"),
)

MODEL_COMPARISON = Table(
    "model_comparison",
    "Urns fitted to the same data, and the one to prefer: of those that are as good as the best, the smallest.",
    (
        _required("projection", "VARCHAR", "what was fitted: histories, curves, containment or discovery_curve"),
        _required("model", "VARCHAR", "the urn"),
        _required("clock", "VARCHAR", "clock of the fits"),
        _required("n_parameters", "INTEGER", "free parameters", "parameters"),
        _required(
            "criterion",
            "VARCHAR",
            "aicc or bic of the likelihood of histories; cross_validation: mean square error, in squared crawls, of "
            "predicting start crawls that were left out",
        ),
        Column("value", "DOUBLE", "value of the criterion, lower is better; null: see reason", "unit of the criterion"),
        Column("delta", "DOUBLE", "value less the lowest of the same criterion", "unit of the criterion"),
        _required("at_bound", "BOOLEAN", "whether a parameter is on its bound"),
        _required("identified", "BOOLEAN", "whether the data leave no parameter open"),
        _required("status", "VARCHAR", "status of the fit"),
        Column("reason", "VARCHAR", "why the status is not ok, or there is no value"),
        _required("preferred", "BOOLEAN", "true of one row of each criterion"),
    ),
    ("projection", "model", "criterion"),
)

REVISIT_REGIMES = Table(
    "revisit_regimes",
    "Runs of start crawls over which first returns do not change, as the data have it, and the revisit delay of each.",
    (
        _required("first_crawl", "VARCHAR", "first start crawl of the run"),
        _required("last_crawl", "VARCHAR", "last start crawl of the run"),
        _required(
            "delay_crawls", "INTEGER", "one fewer than the lag at which most elements return; 0: no delay", "crawls"
        ),
        _required("lag_crawls", "INTEGER", "crawls until the next capture", "crawls"),
        *_with_limits("fraction", "mean fraction of a crawl first seen again at this lag", "fraction"),
        Column(
            "p_value",
            "DOUBLE",
            "of the change that parts the run from the one before; null: the first run",
            "probability",
        ),
    ),
    ("first_crawl", "lag_crawls"),
)

KAPPA_PROFILE = Table(
    "kappa_profile",
    "The best fit at each kappa: how far the observables, apart and together, tell it.",
    (
        _required("projection", "VARCHAR", "joint, or containment or discovery_curve alone"),
        _required("clock", "VARCHAR", "clock of the fits"),
        _required("kappa", "DOUBLE", "core's share of the urn that was held", "fraction"),
        Column(
            "core_share",
            "DOUBLE",
            "core's share of one crawl, mu, under it; null: the core is larger than a crawl",
            "fraction",
        ),
        _required("alpha", "DOUBLE", "best survival of the shell under it", "fraction per unit of clock"),
        _required("coverage", "DOUBLE", "best coverage of the shell under it, mean over the crawls", "fraction"),
        _required(
            "residual_rms",
            "DOUBLE",
            "root mean square residual over the mean size of a crawl",
            "fraction of the mean crawl size",
        ),
        _required(
            "standardised_rms",
            "DOUBLE",
            "root mean square of the residuals over their standard deviations",
            "standard deviations",
        ),
    ),
    ("projection", "kappa"),
)

CAPTURE_RECAPTURE = Table(
    "capture_recapture",
    "Open-population models of capture-recapture by maximum likelihood, given what each element was first captured in.",
    (
        _required(
            "model",
            "VARCHAR",
            "cormack_jolly_seber: one class; two_classes: a mixture; core_and_shell: a mixture whose first is the core",
        ),
        _required("clock", "VARCHAR", "crawl: survival is per crawl; year: survival is per year"),
        _required("parameter", "VARCHAR", "alpha: survival; coverage: capture probability; share: of the first class"),
        *_estimate("fraction"),
        Column("minus_two_log_likelihood", "DOUBLE", "of the model, without constants", "log-likelihood"),
        Column("aicc", "DOUBLE", "Akaike's criterion for small samples", "log-likelihood"),
        _required("sample_size", "BIGINT", "captures that the likelihood is of", "captures"),
        _required("status", "VARCHAR", "as in parameters"),
        Column("reason", "VARCHAR", "why the status is not ok"),
    ),
    ("model", "parameter"),
)

PER_CRAWL = Table(
    "per_crawl",
    "Survival, coverage and population of every crawl, from the m-array; one class of elements, no core.",
    (
        _required("crawl", "VARCHAR", "label of the crawl; survival and births are from it to the next"),
        _required(
            "quantity",
            "VARCHAR",
            "alpha (per unit of the clock), coverage, marked, population or births (elements)",
        ),
        _required("estimator", "VARCHAR", "cormack_jolly_seber: maximum likelihood; jolly_seber: closed form"),
        _required("clock", "VARCHAR", "crawl or year"),
        *_estimate("fraction or elements"),
        _required("status", "VARCHAR", "ok, at_bound (no standard error), or not_identified (no estimate)"),
        Column("reason", "VARCHAR", "why the estimate or its standard error is unknown"),
    ),
    ("crawl", "quantity", "estimator"),
)

COMPARATORS = Table(
    "comparators",
    "Closed-population and growth estimators, each with what it assumes and how it fails in an urn that turns over.",
    (
        _required("estimator", "VARCHAR", "name of the estimator"),
        _required("target", "VARCHAR", "what it is meant to estimate"),
        _required("unit", "VARCHAR", "elements, fraction or exponent"),
        *_estimate("column unit"),
        _required("assumption", "VARCHAR", "what has to hold for the estimate to be of its target"),
        _required("bias", "VARCHAR", "what it estimates in an urn instead"),
        _required("status", "VARCHAR", "ok, at_bound (none or all unseen, without an error) or too_few_points"),
        Column("reason", "VARCHAR", "why the estimate or its standard error is unknown"),
    ),
    ("estimator", "target"),
)

TRUTH = Table(
    "truth",
    "The parameters a simulated collection was made with.",
    (
        _required("clock", "VARCHAR", "crawl (at the mean gap) or year"),
        _required("kappa", "DOUBLE", "core's share of the urn", "fraction"),
        _required("core_share", "DOUBLE", "core's share of one crawl, mu", "fraction"),
        _required("alpha", "DOUBLE", "survival of the shell per unit of the clock", "fraction per unit of clock"),
        _required("coverage", "DOUBLE", "fraction of the living shell that one crawl samples", "fraction"),
    ),
    ("clock",),
)

INPUTS = Table(
    "inputs",
    "What the tables were computed from: the source's files as they were read.",
    (
        _required("location", "VARCHAR", "path or address"),
        _required("bytes", "BIGINT", "size", "bytes"),
        _required("sha256", "VARCHAR", "hash of the content"),
    ),
    ("location",),
)

REVISIONS = Table(
    "revisions",
    "What the source changed of the past when its content last changed: counts that are others than before, and crawls "
    "of as many elements that are not all the same.",
    (
        _required("observable", "VARCHAR", "the table: crawls, containment or discovery_curve"),
        _required("first_crawl", "VARCHAR", "the crawl, or the first of two or of a window"),
        _required("last_crawl", "VARCHAR", "the crawl, or the last of two or of a window"),
        _required("count_before", "BIGINT", "elements, intersection or distinct_elements as it was", "elements"),
        Column("count_now", "BIGINT", "the same now; null: not published any more", "elements"),
    ),
    ("observable", "first_crawl", "last_crawl"),
)

FINDINGS = Table(
    "findings",
    "What was noticed while the source was read: lines by what became of them, samples of what could not be read, "
    "crawls that are listed and left out.",
    (
        _required("finding", "VARCHAR", "what was noticed"),
        _required("position", "INTEGER", "of several of a kind, from 0", "texts"),
        _required("found", "VARCHAR", "how many, or a text from the source"),
    ),
    ("finding", "position"),
)

PUBLICATIONS = Table(
    "publications",
    "What a source that revises its counts published when: a row for every count that was new or another than before.",
    (
        _required("quantity", "VARCHAR", "what was counted: url, or a column of the source's table of counts"),
        Column("start_crawl", "VARCHAR", "first crawl of the window, as it was then; null: withdrawn"),
        _required("end_crawl", "VARCHAR", "last crawl of the window"),
        _required("window_crawls", "INTEGER", "crawls in the window", "crawls"),
        Column("distinct_elements", "BIGINT", "the count; null: withdrawn", "what quantity counts"),
        _required("location", "VARCHAR", "path or address of the table it was read from"),
        _required("sha256", "VARCHAR", "hash of that table's content; of the last with the count, where withdrawn"),
        _required("first_read_at", "TIMESTAMP", "when it was first read, UTC"),
    ),
    ("quantity", "end_crawl", "window_crawls", "start_crawl", "location", "sha256"),
)

#: How the parameters are written, by column of `parameters`.
SYMBOLS = {"kappa": "κ", "core_share": "μ", "alpha": "α", "coverage": "c"}

#: Every table above, by name.
TABLES = {table.name: table for table in list(globals().values()) if isinstance(table, Table)}
