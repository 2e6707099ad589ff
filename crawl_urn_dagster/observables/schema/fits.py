"""Tables of fitted urn parameters, of the terms derived from them, and of the richer models compared with them.

Does not include tests of the fits (`diagnostics`) or their changes over time (`monitoring`).
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import FIT_KEY, Column, Table, required, with_interval

URN_SIZE = with_interval(
    "urn_size",
    "size of the urn, N: mean size of the fitted crawls divided by the share of the urn that one crawl captures",
    "elements",
)

PARAMETERS = Table(
    "parameters",
    "Fitted urn parameters, one row per component of each fit.",
    (
        *FIT_KEY,
        *with_interval("share", "share of the urn's elements that belong to the component", "fraction"),
        *with_interval(
            "kappa", "core fraction of the urn (form paper: the printed kappa, which is the core share)", "fraction"
        ),
        *with_interval("core_share", "core share of a crawl, mu", "fraction"),
        *with_interval("alpha", "survival of the component per unit of the clock", "fraction per unit of clock"),
        *with_interval("coverage", "share of the eligible component that one crawl captures", "fraction"),
        *with_interval("revisit_coverage", "coverage of the elements that the previous crawl fetched", "fraction"),
        *with_interval(
            "coverage_sd",
            "standard deviation of coverage: joint: over crawls; beta_shell: over the shell's elements",
            "fraction",
        ),
        *URN_SIZE,
        Column(
            "delay_crawls",
            "INTEGER",
            "model revisit_delay: crawls during which the crawler skips a fetched element",
            "crawls",
        ),
        Column(
            "residual_rms",
            "DOUBLE",
            "root mean square residual, in units of the fitted observable",
            "unit of the fitted observable",
        ),
        required("n_points", "INTEGER", "points fitted", "points"),
        required("status", "VARCHAR", "model_violation, too_few_points, not_converged, at_bound, not_identified or ok"),
        Column("reason", "VARCHAR", "why the status is not ok, in words"),
        Column("reason_code", "VARCHAR", "the same reasons as codes, separated by commas"),
        required("headline", "BOOLEAN", "whether this is the selected fit of the collection, or of its stratum"),
    ),
    tuple(column.name for column in FIT_KEY),
)

OPERATOR_TERMS = Table(
    "operator_terms",
    "Quantities for crawl operators that follow from the fitted parameters.",
    (
        *FIT_KEY,
        *with_interval(
            "life_expectancy",
            "residual lifetime: time that an element remains eligible after this crawl",
            "column unit",
        ),
        *with_interval(
            "sampled_time", "captured time: part of life_expectancy in crawls that capture it", "column unit"
        ),
        *with_interval("hidden_time", "missed time: part of life_expectancy in crawls that miss it", "column unit"),
        *with_interval("half_life", "time after which half of the elements are no longer eligible", "column unit"),
        *with_interval(
            "hiding_time",
            "time to resolution: mean time that an uncaptured element waits until it is captured or replaced",
            "column unit",
        ),
        *with_interval("nu_inf", "long-run share of a crawl never captured before, per crawl", "fraction"),
        *with_interval("rho_inf", "long-run share of a crawl captured before", "fraction"),
        *URN_SIZE,
        required("unit", "VARCHAR", "unit of the times: crawls or years"),
        required("status", "VARCHAR", "status of the fit from which the terms follow"),
    ),
    tuple(column.name for column in FIT_KEY),
)

PARAMETER_HISTORY = Table(
    "parameter_history",
    "Fits of every rolling window of crawls on the headline's clock; otherwise like parameters.",
    (
        *PARAMETERS.columns,
        required("inputs_sha256", "VARCHAR", "hash of the window's data; the window is refitted when the hash changes"),
    ),
    tuple(column.name for column in FIT_KEY),
)

WINDOW_LENGTHS = Table(
    "window_lengths",
    "Fits of the first 8, 13, 20, 26, 39 and of all crawls, per crawl: how kappa of the paper's reading depends on the "
    "length of the window, next to the stable share of the selected model with memory.",
    (
        required("first_crawl", "VARCHAR", "first crawl of the window, that of the collection"),
        required("last_crawl", "VARCHAR", "last crawl of the window"),
        required("window_crawls", "INTEGER", "crawls in the window", "crawls"),
        *with_interval("kappa", "core fraction of the urn, by the joint core-shell fit", "fraction"),
        *with_interval("core_share", "core share of a crawl, mu, by the same fit", "fraction"),
        required("status", "VARCHAR", "status of the joint core-shell fit, before the tests of the collection"),
        *with_interval(
            "stable_share",
            "share of a crawl that belongs to the most stable class of the selected model, refitted to the window; "
            "null: no model with memory was selected",
            "fraction",
        ),
        required("inputs_sha256", "VARCHAR", "hash of the window's data; the window is refitted when the hash changes"),
    ),
    ("window_crawls",),
)

KAPPA_PROFILE = Table(
    "kappa_profile",
    "The best fit at each fixed kappa, for the observables separately and jointly; it shows how well they identify it.",
    (
        required("projection", "VARCHAR", "joint, or containment or discovery_curve alone"),
        required("clock", "VARCHAR", "clock of the fits"),
        required("kappa", "DOUBLE", "fixed core fraction of the urn", "fraction"),
        Column(
            "core_share",
            "DOUBLE",
            "core share of a crawl, mu, at this kappa; null: the core is larger than a crawl",
            "fraction",
        ),
        required("alpha", "DOUBLE", "best survival of the shell at this kappa", "fraction per unit of clock"),
        required("coverage", "DOUBLE", "best shell coverage at this kappa, mean over the crawls", "fraction"),
        required(
            "residual_rms",
            "DOUBLE",
            "root mean square residual divided by the mean crawl size",
            "fraction of the mean crawl size",
        ),
        required(
            "standardised_rms",
            "DOUBLE",
            "root mean square of the residuals divided by their standard deviations",
            "standard deviations",
        ),
    ),
    ("projection", "kappa"),
)

MODEL_COMPARISON = Table(
    "model_comparison",
    "Urn models fitted to the same data. The preferred model is the smallest of those as good as the best.",
    (
        required("projection", "VARCHAR", "data that were fitted: histories, curves, containment or discovery_curve"),
        required("model", "VARCHAR", "the urn model"),
        required("clock", "VARCHAR", "clock of the fits"),
        required("n_parameters", "INTEGER", "free parameters", "parameters"),
        required(
            "criterion",
            "VARCHAR",
            "aicc or bic of the likelihood of histories; cross_validation: mean square error, in squared crawls, of "
            "predicting start crawls that were left out",
        ),
        Column("value", "DOUBLE", "value of the criterion, lower is better; null: see reason", "unit of the criterion"),
        Column("delta", "DOUBLE", "value minus the lowest value of the same criterion", "unit of the criterion"),
        required("at_bound", "BOOLEAN", "whether a parameter is at its bound"),
        required("identified", "BOOLEAN", "whether the data identify every parameter"),
        required("status", "VARCHAR", "status of the fit"),
        Column("reason", "VARCHAR", "why the status is not ok, or why value is null"),
        Column("reason_code", "VARCHAR", "the same reasons as codes, separated by commas"),
        required("preferred", "BOOLEAN", "true for one row of each criterion"),
    ),
    ("projection", "model", "criterion"),
)

REVISIT_REGIMES = Table(
    "revisit_regimes",
    "Periods of start crawls within which first returns do not change, estimated from the data, with their revisit "
    "delays.",
    (
        required("first_crawl", "VARCHAR", "first start crawl of the period"),
        required("last_crawl", "VARCHAR", "last start crawl of the period"),
        required(
            "delay_crawls", "INTEGER", "one fewer than the lag at which most elements return; 0: no delay", "crawls"
        ),
        required("lag_crawls", "INTEGER", "crawls until the next capture", "crawls"),
        *with_interval("fraction", "mean share of a crawl first recaptured at this lag", "fraction"),
        Column(
            "p_value",
            "DOUBLE",
            "p-value of the change between the previous period and this one; null: first period",
            "probability",
        ),
    ),
    ("first_crawl", "lag_crawls"),
)
