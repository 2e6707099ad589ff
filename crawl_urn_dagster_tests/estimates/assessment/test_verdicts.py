"""Every verdict has a wording, an answer and a status that agree."""

import pytest

from crawl_urn_dagster.estimates.assessment.verdicts import VERDICTS, Quotable, VerdictName, state_verdict
from crawl_urn_dagster.urn import Status


def test_every_verdict_has_a_wording():
    assert set(VERDICTS) == set(VerdictName)


@pytest.mark.parametrize("name", list(VerdictName))
def test_answer_and_status_do_not_contradict(name):
    verdict = state_verdict(name)
    allowed = {
        Quotable.YES: {Status.OK},
        Quotable.WITH_RESERVATION: {Status.QUALIFIED, Status.NOT_IDENTIFIED},
        Quotable.NO: {Status.REFUTED, Status.MODEL_VIOLATION, Status.NOT_CONVERGED, Status.TOO_FEW_POINTS},
    }
    assert verdict.status in allowed[verdict.quotable]


def test_findings_follow_the_meaning():
    plain = state_verdict(VerdictName.MISFIT)
    stated = state_verdict(VerdictName.MISFIT, "", "Crawl a was set aside.")
    assert stated.meaning == f"{plain.meaning} Crawl a was set aside."
