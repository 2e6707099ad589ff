"""Tables of capture-recapture estimates: open populations, single crawls and simple comparators.

Does not include fits of the urn model; see `fits`.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, estimate, required

CAPTURE_RECAPTURE = Table(
    "capture_recapture",
    "Open-population capture-recapture models, fitted by maximum likelihood given each element's first capture.",
    (
        required(
            "model",
            "VARCHAR",
            "cormack_jolly_seber: one class; two_classes: a mixture; core_and_shell: a mixture with the core as "
            "first class",
        ),
        required("clock", "VARCHAR", "crawl: survival is per crawl; year: survival is per year"),
        required("parameter", "VARCHAR", "alpha: survival; coverage: capture probability; share: of the first class"),
        *estimate("fraction"),
        Column("minus_two_log_likelihood", "DOUBLE", "of the model, without constants", "log-likelihood"),
        Column("aicc", "DOUBLE", "Akaike's information criterion for small samples", "log-likelihood"),
        required(
            "dispersion",
            "DOUBLE",
            "variance inflation factor c-hat of the release-recapture tests, at least 1, by which the variances of "
            "cormack_jolly_seber are multiplied; 1 for mixtures, which model heterogeneity",
            "ratio",
        ),
        Column("qaicc", "DOUBLE", "aicc of the quasi-likelihood, with that dispersion", "log-likelihood"),
        required("sample_size", "BIGINT", "captures in the likelihood", "captures"),
        required("status", "VARCHAR", "as in parameters"),
        Column("reason", "VARCHAR", "why the status is not ok, in words"),
        Column("reason_code", "VARCHAR", "the same reasons as codes, separated by commas"),
    ),
    ("model", "parameter"),
)

PER_CRAWL = Table(
    "per_crawl",
    "Survival, coverage and population of every crawl, from the m-array; one class of elements, without a core.",
    (
        required("crawl", "VARCHAR", "label of the crawl; survival and births are from this crawl to the next"),
        required(
            "quantity", "VARCHAR", "alpha (per unit of the clock), coverage, marked, population or births (elements)"
        ),
        required("estimator", "VARCHAR", "cormack_jolly_seber: maximum likelihood; jolly_seber: closed form"),
        required("clock", "VARCHAR", "crawl or year"),
        *estimate("fraction or elements"),
        required("status", "VARCHAR", "ok, at_bound (no standard error) or not_identified (no estimate)"),
        Column("reason", "VARCHAR", "why the estimate or its standard error is unknown"),
    ),
    ("crawl", "quantity", "estimator"),
)

COMPARATORS = Table(
    "comparators",
    "Closed-population and growth estimators, each with its assumption and its bias in an urn with turnover.",
    (
        required("estimator", "VARCHAR", "name of the estimator"),
        required("target", "VARCHAR", "quantity that it is meant to estimate"),
        required("unit", "VARCHAR", "elements, fraction or exponent"),
        *estimate("column unit"),
        required("assumption", "VARCHAR", "condition under which it estimates its target"),
        required("bias", "VARCHAR", "quantity that it estimates in an urn instead"),
        required("status", "VARCHAR", "ok, at_bound (none or all uncaptured, without an error) or too_few_points"),
        Column("reason", "VARCHAR", "why the estimate or its standard error is unknown"),
    ),
    ("estimator", "target"),
)
