"""Schema of a collection's DuckDB file: every table and column, defined once.

Does not compute or store tables; see `observables.tables`, `estimates` and `observables.database`.
"""

from crawl_urn_dagster.observables.schema.archives import CROSS_ARCHIVE
from crawl_urn_dagster.observables.schema.assessment import (
    ADEQUACY_TESTS,
    ASSESSMENT_TABLES,
    CANDIDATE_MODELS,
    CLASSES,
    POPULATION,
    QUANTITIES,
)
from crawl_urn_dagster.observables.schema.capture_recapture import CAPTURE_RECAPTURE, COMPARATORS, PER_CRAWL
from crawl_urn_dagster.observables.schema.columns import Column, Table
from crawl_urn_dagster.observables.schema.elements import (
    ELEMENT_CALIBRATION,
    ELEMENT_LISTS,
    ELEMENT_SCORES,
    ELEMENTS,
    LOSSES_BY_GROUP,
)
from crawl_urn_dagster.observables.schema.fits import (
    KAPPA_PROFILE,
    MODEL_COMPARISON,
    OPERATOR_TERMS,
    PARAMETER_HISTORY,
    PARAMETERS,
    REVISIT_REGIMES,
    WINDOW_LENGTHS,
)
from crawl_urn_dagster.observables.schema.goodness_of_fit import DIAGNOSIS
from crawl_urn_dagster.observables.schema.ground_truth import (
    COUNTER_CHANGES,
    GROUND_TRUTH,
    GROUND_TRUTH_COMPARISON,
)
from crawl_urn_dagster.observables.schema.inputs import (
    COMPLETE,
    CRAWLS,
    FINDINGS,
    INPUTS,
    PUBLICATIONS,
    QUARANTINE,
    REVISIONS,
    TRUTH,
)
from crawl_urn_dagster.observables.schema.monitoring import (
    CONTROL_CHART,
    DRIFT,
    EQUAL_BUDGET,
    FORECAST,
    LAST_CRAWL,
    PLANNING,
)
from crawl_urn_dagster.observables.schema.observables import (
    CAPTURE_HISTORY_COUNTS,
    CONTAINMENT,
    DISCOVERY_CURVE,
    FIRST_RETURNS,
    M_ARRAY,
)
from crawl_urn_dagster.observables.schema.strata import RANK_CHANGES, STRATUM_PROFILE, STRATUM_VERDICTS

__all__ = [
    "ADEQUACY_TESTS",
    "ASSESSMENT_TABLES",
    "CANDIDATE_MODELS",
    "CAPTURE_HISTORY_COUNTS",
    "CAPTURE_RECAPTURE",
    "CLASSES",
    "COMPARATORS",
    "COMPLETE",
    "CONTAINMENT",
    "CONTROL_CHART",
    "COUNTER_CHANGES",
    "CRAWLS",
    "CROSS_ARCHIVE",
    "DIAGNOSIS",
    "DISCOVERY_CURVE",
    "DRIFT",
    "ELEMENTS",
    "ELEMENT_CALIBRATION",
    "ELEMENT_LISTS",
    "ELEMENT_SCORES",
    "EQUAL_BUDGET",
    "FILES",
    "FINDINGS",
    "FIRST_RETURNS",
    "FORECAST",
    "GROUND_TRUTH",
    "GROUND_TRUTH_COMPARISON",
    "INPUTS",
    "KAPPA_PROFILE",
    "LAST_CRAWL",
    "LOSSES_BY_GROUP",
    "MODEL_COMPARISON",
    "M_ARRAY",
    "OPERATOR_TERMS",
    "PARAMETERS",
    "PARAMETER_HISTORY",
    "PER_CRAWL",
    "PLANNING",
    "POPULATION",
    "PUBLICATIONS",
    "QUANTITIES",
    "QUARANTINE",
    "RANK_CHANGES",
    "REVISIONS",
    "REVISIT_REGIMES",
    "STRATUM_PROFILE",
    "STRATUM_VERDICTS",
    "SYMBOLS",
    "TABLES",
    "TRUTH",
    "VIEWS",
    "WINDOW_LENGTHS",
    "Column",
    "Table",
]

#: Mathematical symbol of each parameter, by column of `parameters`.
SYMBOLS = {"kappa": "κ", "core_share": "μ", "alpha": "α", "coverage": "c"}

#: Table whose columns a view has, by name of the view.
VIEWS = {"headline": "parameters"}

#: Every table by name, in the order in which tables are exported and documented.
TABLES = {
    table.name: table
    for table in (
        CRAWLS,
        CAPTURE_HISTORY_COUNTS,
        DISCOVERY_CURVE,
        CONTAINMENT,
        M_ARRAY,
        FIRST_RETURNS,
        QUANTITIES,
        CLASSES,
        POPULATION,
        ADEQUACY_TESTS,
        CANDIDATE_MODELS,
        PARAMETERS,
        OPERATOR_TERMS,
        STRATUM_VERDICTS,
        STRATUM_PROFILE,
        RANK_CHANGES,
        PARAMETER_HISTORY,
        WINDOW_LENGTHS,
        DRIFT,
        CONTROL_CHART,
        FORECAST,
        LAST_CRAWL,
        PLANNING,
        EQUAL_BUDGET,
        DIAGNOSIS,
        MODEL_COMPARISON,
        REVISIT_REGIMES,
        KAPPA_PROFILE,
        CAPTURE_RECAPTURE,
        PER_CRAWL,
        COMPARATORS,
        ELEMENT_SCORES,
        ELEMENT_CALIBRATION,
        *ELEMENT_LISTS,
        LOSSES_BY_GROUP,
        CROSS_ARCHIVE,
        GROUND_TRUTH,
        GROUND_TRUTH_COMPARISON,
        COUNTER_CHANGES,
        TRUTH,
        INPUTS,
        QUARANTINE,
        REVISIONS,
        FINDINGS,
        PUBLICATIONS,
        COMPLETE,
    )
}

#: Tables by name that are separate files, because they have a row for every element.
FILES = {ELEMENTS.name: ELEMENTS}
