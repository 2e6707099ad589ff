"""Tables of the assessment: which model may be quoted, what it states, and the tests that decide.

Does not include the fits of curves; see `fits`.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, required, with_interval

#: Tables from which `estimates.assessment.reading` reads an assessment.
ASSESSMENT_TABLES = ("diagnosis", "quantities", "adequacy_tests")

QUANTITIES = Table(
    "quantities",
    "The numbers that may be quoted for the collection: one row per quantity of the selected model.",
    (
        required(
            "quantity",
            "VARCHAR",
            "completeness: share of the known eligible elements that one crawl captures; population: known eligible "
            "elements at the last crawl; growth: relative change of the population per crawl; survival: share of the "
            "population still eligible at the next crawl; gone: share of a crawl that is no longer eligible at the "
            "next crawl; newcomers: elements that an average crawl captures for the first time; really_new: share "
            "of first captures that appeared since the crawl before; kappa and core_share: the permanent core's "
            "fraction of the urn and of a crawl; core_limit: largest core fraction that a collection without a needed "
            "core allows",
        ),
        *with_interval("value", "null: not reported, see reason_code", "unit of the quantity"),
        Column(
            "inner_low",
            "DOUBLE",
            "lower end of the 95 % confidence interval if the assumption holds; value_low is over the assumption",
            "unit of the quantity",
        ),
        Column("inner_high", "DOUBLE", "upper end of the same interval", "unit of the quantity"),
        Column("assumption", "VARCHAR", "code of the untestable assumption over which value_low and value_high range"),
        required("unit", "VARCHAR", "fraction or elements, or one of them per crawl"),
        required("model", "VARCHAR", "model of the value; see table candidate_models"),
        required("status", "VARCHAR", "ok, qualified, refuted, not_identified or too_few_points"),
        Column("reason_code", "VARCHAR", "why the quantity is not reported, as a code"),
    ),
    ("quantity",),
)

CLASSES = Table(
    "classes",
    "Classes of elements of the selected model.",
    (
        required("class", "VARCHAR", "core, shell, shell_1, long_lived, stable, intermittent, …"),
        *with_interval("share_of_crawl", "share of a crawl that belongs to the class", "fraction"),
        *with_interval("share_of_living", "share of the known eligible elements in the class", "fraction"),
        *with_interval("survival", "probability that an element is still eligible at the next crawl", "fraction"),
        *with_interval("mean_life", "mean number of crawls for which an element remains eligible", "crawls"),
        *with_interval("mean_run", "mean number of consecutive crawls that capture an eligible element", "crawls"),
        *with_interval("mean_absence", "mean number of consecutive crawls that miss an eligible element", "crawls"),
        required("model", "VARCHAR", "model of the class"),
    ),
    ("class",),
)

POPULATION = Table(
    "population",
    "Known eligible elements and completeness of every crawl under the selected model.",
    (
        required("crawl", "VARCHAR", "label of the crawl"),
        Column("elements", "BIGINT", "elements that the crawl captured", "elements"),
        *with_interval(
            "population",
            "elements that are alive and were captured at least once so far, also by crawls before the first one, "
            "which the model infers as if the crawler had always run",
            "elements",
        ),
        *with_interval("completeness", "elements divided by population", "fraction"),
        required("model", "VARCHAR", "model of the values"),
    ),
    ("crawl",),
)

CANDIDATE_MODELS = Table(
    "candidate_models",
    "Models that were fitted to the capture histories, and why one of them was selected.",
    (
        required("model", "VARCHAR", "name of the model"),
        required("stage", "INTEGER", "stage of the ladder: later stages are tried if no earlier one fits", "stage"),
        Column("log_likelihood", "DOUBLE", "maximised log-likelihood; comparable within a stage group", "nats"),
        required("n_parameters", "INTEGER", "number of parameters", "parameters"),
        Column("criterion", "DOUBLE", "QAICc of stages 1 to 3, BIC of stage 4, minus the best of them", "nats"),
        Column("variance_inflation", "DOUBLE", "c-hat: chi-square of the cells divided by its degrees", "ratio"),
        Column("misplaced", "DOUBLE", "share of elements in the wrong cell beyond sampling", "fraction"),
        Column("dependence", "DOUBLE", "pooled log odds ratio of capture now and next beyond the model", "log odds"),
        Column("transience", "DOUBLE", "pooled log odds ratio of old and seen again beyond the model", "log odds"),
        Column(
            "adequate",
            "BOOLEAN",
            "whether no test refutes the model by a relevant effect; null: not tested, as another has far more support",
        ),
        required("selected", "BOOLEAN", "whether the assessment quotes this model"),
    ),
    ("model",),
)

ADEQUACY_TESTS = Table(
    "adequacy_tests",
    "Tests that decide whether a number may be quoted, each with its effect size and power.",
    (
        required(
            "test",
            "VARCHAR",
            "dependence, transience, cells, population_trend, scope_break, outlying_crawl, prediction, containment or "
            "core",
        ),
        required("subject", "VARCHAR", "model, or label of the crawl"),
        *with_interval("effect", "size of the departure; 0: none", "unit of the test"),
        Column("se", "DOUBLE", "standard error of the effect", "unit of the test"),
        Column("p_value", "DOUBLE", "probability of a departure at least this large if there is none", "probability"),
        Column("smallest_seen", "DOUBLE", "effect that the test would find with probability 0.8", "unit of the test"),
        Column("relevant", "DOUBLE", "smallest effect that matters for the quoted numbers", "unit of the test"),
        required(
            "verdict",
            "VARCHAR",
            "holds, fails, not_tested, or too_weak (a relevant effect could be missed); of test core also absent: no "
            "permanent core is shown, which refutes no model",
        ),
    ),
    ("test", "subject"),
)
