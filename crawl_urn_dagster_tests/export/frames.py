"""Tables with values that are hard to export."""

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.assessment.result import Assessment, Quantity
from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, state_verdict
from crawl_urn_dagster.estimates.diagnosis import with_verdict
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.urn import Interval, Status

SPECIAL_CHARACTERS = 'a,"b"\n% & # _ $ {x} ~ ^ \\ <é>'
EXPORTED = [
    "crawls",
    "capture_history_counts",
    "quantities",
    "adequacy_tests",
    "diagnosis",
    "parameters",
    "operator_terms",
    "revisions",
]
# κ over an assumption, a quantity without an interval, and one that is withheld.
QUANTITIES = {
    "population": Quantity(1402.0, Interval(1390.4, 1415.1)),
    "kappa": Quantity(0.444, Interval(0.394, 0.48), Interval(0.439, 0.451), "newborn_coverage"),
    "core_share": Quantity(None, Interval(0.5, 0.7), status=Status.NOT_IDENTIFIED, reason_code="inconclusive"),
    "core_limit": Quantity(0.02),
    "survival": Quantity(None, status=Status.NOT_IDENTIFIED, reason_code="not_identified"),
}
ASSESSMENT = Assessment(state_verdict(VerdictName.UNEVEN_SHELL), "core_two_shells", QUANTITIES)


def fit(**values):
    """One row with the columns of both parameters and operator terms."""
    return {
        "projection": "joint",
        "model": "core_shell",
        "form": "exact",
        "clock": "crawl",
        "stratum": None,
        "component": "shell",
        "first_crawl": "2024-01",
        "last_crawl": "2024-03",
        "kappa": 0.4,
        "kappa_low": 0.39,
        "kappa_high": 0.41,
        "alpha": 1.0,
        "coverage": 0.00004567,
        "n_points": 3,
        "status": "ok",
        "headline": False,
        "life_expectancy": np.inf,
        "life_expectancy_low": 12.345,
        "life_expectancy_high": np.inf,
        "unit": "crawls",
        **values,
    }


def frame(table, rows):
    return pd.DataFrame(rows).reindex(columns=TABLES[table].column_names)


def exported_frames():
    """Times, histories, infinity, text with separators, and missing values."""
    started_at = pd.to_datetime(["2024-01-01", "2024-02-01 12:34:56", "2024-03-01 00:00:00.123456"], format="ISO8601")
    crawls = {
        "crawl": ["2024-01", "2024-02", "2024-03"],
        "crawl_index": range(3),
        "started_at": started_at,
        "years": [0.0, 0.1, 1 / 3],
        "elements": pd.array([3, None, 2**53 + 1], dtype="Int64"),
        "dated_by": "label",
    }
    histories = {"history": ["100", "011"], "stratum": [SPECIAL_CHARACTERS, None], "elements": [3, 2**53 + 1]}
    fits = [
        fit(headline=True),
        fit(stratum=SPECIAL_CHARACTERS, status="not_identified", reason=SPECIAL_CHARACTERS),
        fit(model="homogeneous", status="model_violation"),
    ]
    return {
        "crawls": pd.DataFrame(crawls),
        "capture_history_counts": pd.DataFrame(histories),
        **{name: table for name, table in ASSESSMENT.tables().items() if name in EXPORTED},
        "diagnosis": with_verdict(frame("diagnosis", []).astype(object), "crawl", ASSESSMENT.verdict),
        "parameters": frame("parameters", fits),
        "operator_terms": frame("operator_terms", fits),
        "revisions": pd.DataFrame(columns=TABLES["revisions"].column_names),
    }
