"""Tables of single elements: their state, how well it is predicted, and lists to act on.

Table `elements` is a Parquet file, because it has a row for every element; the others are in the DuckDB file.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, required

_FACTS = (
    required("first_crawl", "VARCHAR", "first crawl that captured the element"),
    required("last_crawl", "VARCHAR", "last crawl that captured the element"),
    required("captures", "INTEGER", "crawls that captured the element", "crawls"),
    required("absent_crawls", "INTEGER", "crawls since last_crawl, none of which captured the element", "crawls"),
)


def _probabilities(type_: str) -> tuple[Column, ...]:
    return (
        Column("p_core", type_, "P(in the permanent core); null: the model has no core", "probability"),
        Column("p_eligible", type_, "P(still eligible at the last crawl)", "probability"),
        Column("p_missed", type_, "P(available to the last crawl, but not captured by it)", "probability"),
        Column("p_dormant", type_, "P(eligible, but temporarily absent, at the last crawl)", "probability"),
        Column("p_captured_next", type_, "P(captured by the next crawl)", "probability"),
        Column("p_captured_within_6", type_, "P(captured by at least one of the next 6 crawls)", "probability"),
        Column("expected_captures", type_, "expected captures by the next 12 crawls", "crawls"),
        Column(
            "p_expected",
            type_,
            "P(captured by the last crawl), predicted from the crawls before it; null: not captured before it",
            "probability",
        ),
    )


ELEMENTS = Table(
    "elements",
    "State of every element that was ever captured: a Parquet file sorted by key. Probabilities are null if they are "
    "not reported; see table element_scores.",
    (required("key", "BIGINT", "64-bit hash of the element's text", "hash"), *_FACTS, *_probabilities("FLOAT")),
    ("key",),
)

ELEMENT_SCORES = Table(
    "element_scores",
    "How well captures of single elements are predicted in held-out crawls, by the model and by three simple rules.",
    (
        required(
            "predictor",
            "VARCHAR",
            "model; last_time: share recaptured of elements that the last crawl captured, and of others; "
            "share_of_crawls: share of the crawls that captured it; bg_bb: beta-geometric/beta-Bernoulli model",
        ),
        required("crawls_ahead", "INTEGER", "crawls from the last one that was used to the predicted one", "crawls"),
        required("predictions", "BIGINT", "elements times predicted crawls", "predictions"),
        Column("brier", "DOUBLE", "mean squared difference of probability and outcome", "squared probability"),
        Column("log_loss", "DOUBLE", "mean of minus the logarithm of the probability of the outcome", "nats"),
        Column(
            "calibration_error",
            "DOUBLE",
            "mean absolute difference of predicted and observed share over ten bins, weighted by predictions",
            "fraction",
        ),
        Column(
            "missed",
            "BIGINT",
            "of the model: elements captured so far, but missed by the last crawl that was used",
            "elements",
        ),
        Column("returned", "BIGINT", "those of them that a held-out crawl captured, up to crawls_ahead", "elements"),
        Column("returned_expected", "DOUBLE", "predicted number of returned elements", "elements"),
        Column("return_error", "DOUBLE", "calibration error of the predicted returns", "fraction"),
        Column(
            "return_error_high",
            "DOUBLE",
            "upper end of its one-sided 97.5 % confidence interval; above 0.08, states of elements are not reported",
            "fraction",
        ),
        required("model", "VARCHAR", "model that gives the probabilities of elements; none: no model was fitted"),
        required(
            "status",
            "VARCHAR",
            "whether probabilities of elements are reported: ok, qualified, not_identified (captures only), refuted or "
            "too_few_points",
        ),
        Column("reason_code", "VARCHAR", "why probabilities are not reported or qualified, as a code"),
    ),
    ("predictor", "crawls_ahead"),
)

ELEMENT_CALIBRATION = Table(
    "element_calibration",
    "Reliability of the model's predictions in held-out crawls: predicted and observed shares by bin.",
    (
        required("crawls_ahead", "INTEGER", "crawls from the last one that was used to the predicted one", "crawls"),
        required("bin_low", "DOUBLE", "lowest predicted probability of the bin", "probability"),
        required("bin_high", "DOUBLE", "probability at which the next bin starts", "probability"),
        required("predictions", "BIGINT", "elements times predicted crawls in the bin", "predictions"),
        required("predicted", "DOUBLE", "mean predicted probability", "probability"),
        required("observed", "DOUBLE", "share that was captured", "fraction"),
    ),
    ("crawls_ahead", "bin_low"),
)

_LIST_COLUMNS = (
    required("rank", "INTEGER", "position in the list, from 1", "rank"),
    required("key", "BIGINT", "64-bit hash of the element's text", "hash"),
    Column("element", "VARCHAR", "text of the element; null: keep_elements is off"),
    Column("stratum", "VARCHAR", "stratum in the last crawl that captured the element; null: no strata"),
    *_FACTS,
    Column("score", "DOUBLE", "probability by which the list is ordered", "probability"),
    Column("expected_yield", "DOUBLE", "expected number of hits in the rows up to this one: sum of score", "elements"),
    Column(
        "qualifying",
        "BIGINT",
        "elements that qualify for the list; more than its rows if elements.list_rows ends it, equal in every row",
        "elements",
    ),
    *_probabilities("DOUBLE"),
)


def _list(name: str, description: str) -> Table:
    return Table(name, description, _LIST_COLUMNS, ("rank",))


ELEMENT_LISTS = (
    _list(
        "reseed",
        "Elements to fetch again: missed by the last crawls and probably still eligible. score: p_eligible.",
    ),
    _list(
        "likely_gone",
        "Elements to drop from the seeds: absent, and eligible with a probability below 0.05. score: 1 - p_eligible.",
    ),
    _list("core_members", "Elements of the permanent core, if the model has one. score: p_core."),
    _list(
        "newcomers_at_risk",
        "Elements first captured by the last three crawls that are probably eligible, and that the next crawl probably "
        "does not capture. score: p_eligible - p_captured_next.",
    ),
    _list(
        "lost_in_last_crawl",
        "Elements that the last crawl was expected to capture with a probability of at least 0.9, and did not. score: "
        "p_expected.",
    ),
)

LOSSES_BY_GROUP = Table(
    "losses_by_group",
    "Whether unexpected losses of the last crawl are concentrated in a stratum or a stem, such as a domain or a "
    "registrar.",
    (
        required(
            "group_by",
            "VARCHAR",
            "stratum or stem (of a URL its host, of a host its last two labels, of a domain "
            "its top-level domain; stems need keep_elements)",
        ),
        required("group", "VARCHAR", "stratum, or stem"),
        required(
            "expected", "BIGINT", "elements expected in the last crawl with a probability of at least 0.9", "elements"
        ),
        required("lost", "BIGINT", "those of them that the crawl did not capture", "elements"),
        required("share_of_expected", "DOUBLE", "share of all expected elements", "fraction"),
        required("share_of_lost", "DOUBLE", "share of all lost elements", "fraction"),
        required(
            "p_value",
            "DOUBLE",
            "hypergeometric probability of at least as many losses, corrected for the number of groups (Holm)",
            "probability",
        ),
        required(
            "concentrated",
            "BOOLEAN",
            "whether the group accounts for more of the loss than chance allows: p_value below 0.01, 5 or more losses, "
            "and a share of the losses at least 0.1 above its share of the expected elements",
        ),
    ),
    ("group_by", "group"),
)
