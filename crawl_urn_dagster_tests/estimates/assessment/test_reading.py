"""The assessment is read from its tables and worded."""

import pandas as pd
import pytest

from crawl_urn_dagster.estimates.assessment.reading import (
    ASSUMPTIONS,
    curves_withheld_reason,
    read_assessment,
    state_assessment,
    state_numbers,
    state_quantity,
)
from crawl_urn_dagster.estimates.assessment.result import Assessment, Quantity
from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, state_verdict
from crawl_urn_dagster.estimates.diagnosis import with_verdict
from crawl_urn_dagster.estimates.headline import Headline
from crawl_urn_dagster.observables.schema import DIAGNOSIS
from crawl_urn_dagster.urn import FitKind, Interval, Status
from crawl_urn_dagster_tests.estimates.assessment.test_result import QUANTITIES

TESTS = [
    {"test": "outlying_crawl", "subject": "b", "verdict": "fails"},
    {"test": "outlying_crawl", "subject": "a", "verdict": "fails"},
    {"test": "scope_break", "subject": "d", "verdict": "fails"},
    {"test": "cells", "subject": "core_shell", "verdict": "holds"},
]
VERDICT = state_verdict(VerdictName.UNEVEN_SHELL, "These crawls were set aside: b, a.")
MISFIT = Assessment(state_verdict(VerdictName.MISFIT))


def read_back(assessment):
    diagnosis = with_verdict(pd.DataFrame(columns=list(DIAGNOSIS.column_names)), "crawl", assessment.verdict)
    return read_assessment({**assessment.tables(), "diagnosis": diagnosis})


def headline(status, reason=None):
    return Headline(FitKind("joint", "core_shell", "exact", "crawl"), {"kappa": 0.4}, {}, Status(status), reason)


def test_assessment_reads_back_equal():
    read = read_back(Assessment(VERDICT, "core_two_shells", QUANTITIES, tests=TESTS))
    assert read.verdict == VERDICT
    assert read.model == "core_two_shells"
    assert read.quantities == QUANTITIES
    assert read.set_aside == ("b", "a")
    assert read.scope_break == "d"


def test_assessment_without_numbers_reads_back():
    read = read_back(MISFIT)
    assert read.verdict == MISFIT.verdict
    assert (read.model, read.quantities, read.set_aside, read.scope_break) == (None, {}, (), None)


def test_numbers_state_the_interval_if_the_assumption_holds():
    text = state_numbers(Assessment(VERDICT, "core_two_shells", QUANTITIES))
    assert f"κ 0.44 (0.39 to 0.48), or 0.439 to 0.451 if {ASSUMPTIONS['newborn_coverage']};" in text
    assert "μ between 0.50 and 0.70" in text
    assert text.endswith("survival per crawl not reported")
    assert state_numbers(MISFIT) == "no number may be quoted"


def test_statement_starts_with_the_answer():
    assert state_assessment(MISFIT).startswith("Numbers may be quoted: no. Verdict misfit: Every fitted model ")
    assert state_assessment(MISFIT).endswith("No number may be quoted.")


@pytest.mark.parametrize(
    ("status", "verdict", "reason"),
    [
        ("ok", "sound", None),
        ("at_bound", "not_identified", None),
        ("not_converged", "sound", "not_converged: why"),
        ("refuted", "temporary_absence", "refuted: tests of the collection contradict the fit of the curves"),
        ("ok", "too_short", "too_short: There are too few crawls to test a model"),
    ],
)
def test_curves_are_withheld_by_their_status_or_by_the_verdict(status, verdict, reason):
    assert curves_withheld_reason(headline(status, "why"), state_verdict(VerdictName(verdict))) == reason


def test_interval_over_an_assumption_is_stated_if_a_digit_depends_on_it():
    inner = Interval(27_002, 27_498)
    alike = Quantity(27_200.0, Interval(27_001, 27_499), inner, "newborn_coverage")
    wider = alike._replace(interval=Interval(25_000, 29_000))
    assert state_quantity("population", alike) == "known eligible elements 27,200 (27,000 to 27,500)"
    assert state_quantity("population", wider).endswith(
        "(25,000 to 29,000), or 27,000 to 27,500 if elements are covered in their first crawl as later"
    )
