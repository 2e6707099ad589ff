"""Tables of drift, control charts, forecasts and planning.

Does not include the fits that they build on; see `fits`.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, required, with_interval

DRIFT = Table(
    "drift",
    "Comparison of the latest crawls with the reference period: whether a parameter changed, and which one.",
    (
        required("last_crawl", "VARCHAR", "last crawl that was tested"),
        required(
            "parameter",
            "VARCHAR",
            "kappa, core_share, alpha or coverage; if the urn model does not fit, also first_returns_1 to 3, "
            "revisit_delay (crawls) and crawl_size (elements); completeness and population (elements) of the selected "
            "model; scope_break if the assessment found one",
        ),
        Column("reference_first_crawl", "VARCHAR", "first crawl of the reference period"),
        Column("reference_last_crawl", "VARCHAR", "last crawl of the reference period"),
        *with_interval(
            "reference_value",
            "value in the reference period; for completeness and population its trend, continued to the last crawl",
            "unit of the parameter",
        ),
        *with_interval("value", "value in the crawls from value_first_crawl on", "unit of the parameter"),
        Column("value_first_crawl", "VARCHAR", "first crawl of value: most likely start of a change, if there is one"),
        *with_interval("difference", "value minus reference_value", "unit of the parameter"),
        Column(
            "statistic",
            "DOUBLE",
            "absolute moving average of the parameter's chart; for first returns and sizes: 1 minus the p-value of a "
            "change",
            "standard deviations, or probability",
        ),
        Column("threshold", "DOUBLE", "value of statistic above which an alarm is raised", "unit of statistic"),
        Column("drifted", "BOOLEAN", "whether any chart raises an alarm; null: could not be tested, see reason"),
        Column("attributed", "BOOLEAN", "whether the change is attributed to this parameter"),
        Column("since_crawl", "VARCHAR", "crawl with which the change most likely began; null: no alarm"),
        Column("since_first_crawl", "VARCHAR", "first crawl of the 95 % confidence interval of since_crawl"),
        Column("since_last_crawl", "VARCHAR", "last crawl of the same interval"),
        Column("reason", "VARCHAR", "why the parameter could not be tested"),
        Column("note", "VARCHAR", "how to interpret the row, or the value if the urn differs since then"),
    ),
    ("parameter",),
)

CONTROL_CHART = Table(
    "control_chart",
    "Estimates from each crawl alone, and their moving averages with control limits: core, survival and coverage given "
    "the reference period, and completeness and population about their trend.",
    (
        required(
            "chart",
            "VARCHAR",
            "core (kappa), survival (alpha) or coverage, given the reference period's fit; completeness or population "
            "(elements) of the selected model",
        ),
        required("crawl", "VARCHAR", "label of the crawl"),
        required("phase", "VARCHAR", "reference or monitored"),
        Column("value", "DOUBLE", "estimate from this crawl alone; null: unknown", "fraction"),
        Column("average", "DOUBLE", "exponentially weighted moving average since the reference period", "fraction"),
        Column("average_low", "DOUBLE", "lower control limit of the average when nothing changes", "fraction"),
        Column("average_high", "DOUBLE", "upper control limit of the average when nothing changes", "fraction"),
        Column("statistic", "DOUBLE", "average minus its centre, in standard deviations", "standard deviations"),
        Column(
            "p_value",
            "DOUBLE",
            "probability of a statistic at least this large on any chart within 24 crawls",
            "probability",
        ),
        Column("alarm", "BOOLEAN", "whether the average is outside its control limits"),
    ),
    ("chart", "crawl"),
)

FORECAST = Table(
    "forecast",
    "Forecasts of the next crawls. For comparison, the forecast made 12 crawls ago and the last crawl's own forecast.",
    (
        required("origin_crawl", "VARCHAR", "last crawl that the forecast uses"),
        required(
            "quantity",
            "VARCHAR",
            "crawl_size; new_elements and returning_elements of a future crawl, and new_share, the share of it that is "
            "new; distinct_elements of a window; overlap of a future crawl with start_crawl",
        ),
        required(
            "crawls_ahead", "INTEGER", "crawls from origin_crawl to the future crawl, without those set aside", "crawls"
        ),
        required(
            "expected_at",
            "TIMESTAMP",
            "start of the future crawl at the mean gap of the last 12 crawls, after the newest crawl",
        ),
        Column("start_crawl", "VARCHAR", "first crawl that counts; null: none, or itself a future crawl"),
        Column(
            "window_crawls", "INTEGER", "crawls from the first that counts to the future one, both included", "crawls"
        ),
        Column("value", "DOUBLE", "elements, or a fraction; null: see reason", "elements or fraction"),
        Column("value_low", "DOUBLE", "lower end of the 95 % prediction interval", "elements or fraction"),
        Column("value_high", "DOUBLE", "upper end of the 95 % prediction interval", "elements or fraction"),
        required("status", "VARCHAR", "ok or too_few_points"),
        Column("reason", "VARCHAR", "why the status is not ok"),
    ),
    ("origin_crawl", "quantity", "crawls_ahead", "start_crawl", "window_crawls"),
)

LAST_CRAWL = Table(
    "last_crawl",
    "The newest crawl compared with what the crawls before it let expect. It does not need a reference period.",
    (
        required("crawl", "VARCHAR", "the newest crawl"),
        required(
            "quantity",
            "VARCHAR",
            "crawl_size; new_share: share of it that is new; overlap with the previous crawl; coverage: crawl "
            "completeness; survival: share of the crawl two before that a later crawl captured",
        ),
        required("unit", "VARCHAR", "elements or fraction"),
        Column("value", "DOUBLE", "observed value", "column unit"),
        Column("expected", "DOUBLE", "forecast, or mean of the earlier crawls on the logit scale", "column unit"),
        Column("expected_low", "DOUBLE", "lower end of the 95 % prediction interval", "column unit"),
        Column("expected_high", "DOUBLE", "upper end of the 95 % prediction interval", "column unit"),
        Column(
            "factor",
            "DOUBLE",
            "value, or odds of a fraction, divided by that of the nearest end of the interval; 1: inside",
            "ratio",
        ),
        required(
            "verdict",
            "VARCHAR",
            "expected; below or above: outside the interval by a factor above 1.05; not_tested: not observed, or "
            "too few earlier crawls",
        ),
    ),
    ("crawl", "quantity"),
)

PLANNING = Table(
    "planning",
    "Effects of other coverages and gaps under the headline's urn; empty if parameters are not reported.",
    (
        required(
            "coverage", "DOUBLE", "shell coverage: share of the eligible shell that one crawl captures", "fraction"
        ),
        required("gap", "DOUBLE", "time between crawls, in units of the clock", "units of clock"),
        required("current", "BOOLEAN", "whether these are the present coverage and gap"),
        required("clock", "VARCHAR", "crawl or year"),
        *with_interval(
            "crawl_size",
            "crawl completeness: share of the eligible elements that one crawl captures",
            "fraction of the urn",
        ),
        *with_interval(
            "crawls_to_seen", "crawls until 90 % of the eligible shell has been captured; infinite: never", "crawls"
        ),
        *with_interval("seen_at_last", "long-run share of the eligible shell that has been captured", "fraction"),
        *with_interval("nu_inf", "long-run share of a crawl never captured before", "fraction"),
        *with_interval(
            "hidden_time",
            "missed time: time that a shell element remains eligible without being captured, in units of the clock",
            "units of clock",
        ),
        *with_interval(
            "cost_per_new", "elements fetched per element never captured before", "elements per new element"
        ),
        required("status", "VARCHAR", "status of the fit from which the row follows"),
    ),
    ("coverage", "gap"),
)

EQUAL_BUDGET = Table(
    "equal_budget",
    "Plans that fetch as many elements a year as now: more often and fewer each time, or the reverse; empty if "
    "`planning` is.",
    (
        required("gap", "DOUBLE", "time between crawls, in units of the clock", "units of clock"),
        required("cadence", "DOUBLE", "gap relative to the present mean gap", "ratio"),
        required("current", "BOOLEAN", "whether this is the present gap"),
        required("clock", "VARCHAR", "crawl or year"),
        Column(
            "coverage",
            "DOUBLE",
            "shell coverage that keeps the number of fetches a year; null: crawls of this budget would not contain the "
            "core, or would exceed the urn",
            "fraction",
        ),
        Column("crawl_size", "DOUBLE", "share of the eligible elements that one crawl captures", "fraction of the urn"),
        *with_interval(
            "new_per_time",
            "elements captured for the first time per unit of the clock, relative to the size of the urn",
            "fraction of the urn per unit of clock",
        ),
        *with_interval("new_change", "relative change of new_per_time from the present plan", "fraction"),
        required("status", "VARCHAR", "status of the fit from which the row follows"),
    ),
    ("gap",),
)
