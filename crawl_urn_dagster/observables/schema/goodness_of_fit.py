"""Table of the tests of whether the urn model fits a collection.

Does not include the fits that are tested; see `fits`.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, required, with_interval

DIAGNOSIS = Table(
    "diagnosis",
    "Goodness of fit: what was compared, with which result, and what to do about it.",
    (
        required("clock", "VARCHAR", "clock of the fits that were tested"),
        required(
            "test",
            "VARCHAR",
            "violation: observables rise from lag 1 to 2, which the model excludes; projections: containment against "
            "discovery curve; core: elements in every crawl; lack_of_fit: mean standardised residual by lag; "
            "increments: new share of each crawl; transient_tail: fall of the new share from the first half of the "
            "crawls to the second; collection: the overall verdict",
        ),
        required("subject", "VARCHAR", "the rule, parameter, kind and lag, or crawl that the row tests"),
        Column(
            "observed",
            "DOUBLE",
            "value in the collection; test projections: the estimate from containment",
            "unit of the subject",
        ),
        Column(
            "expected",
            "DOUBLE",
            "value under the model; test projections: the estimate from the discovery curve",
            "unit of the subject",
        ),
        *with_interval("difference", "observed minus expected", "unit of the subject"),
        Column(
            "p_value",
            "DOUBLE",
            "probability of a difference at least this large if the model fits; null: not tested",
            "probability",
        ),
        required(
            "verdict",
            "VARCHAR",
            "holds, fails or not_tested (also a difference of shares whose confidence interval is wider than 0.5); of "
            "test collection: sound, not_identified, misfit, uneven_shell, core_not_permanent, too_short, not_fitted "
            "or no_urn",
        ),
        required("meaning", "VARCHAR", "interpretation and, if the row fails, what to do"),
    ),
    ("test", "subject"),
)
