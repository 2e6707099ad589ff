"""Checks of the fits, the headline and the agreement of both curves."""

import pandas as pd
import pytest

from crawl_urn_dagster.orchestration.checks.fits import _fit_is_ok
from crawl_urn_dagster_tests.orchestration.checks.running import assert_broken

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("table", "change", "check", "severity", "message"),
    [
        ("quantities", lambda table: table.iloc[:0], "headline_fit", "WARN", "No number may be quoted."),
        *(
            (
                "diagnosis",
                lambda table, verdict=verdict: table.assign(
                    verdict=table["verdict"].mask(table["test"] == "collection", verdict)
                ),
                "numbers_may_be_quoted",
                "WARN",
                message,
            )
            for verdict, message in (
                ("uneven_shell", "Quote no number without this reservation."),
                ("misfit", "Quote no number of this collection."),
            )
        ),
        (
            "parameters",
            lambda table: table.assign(status="at_bound", reason="alpha is at its bound 1."),
            "containment_homogeneous_exact_per_year",
            "WARN",
            "at_bound: alpha is at its bound 1.",
        ),
        (
            "diagnosis",
            lambda table: table.assign(
                verdict=table["verdict"].where(table["test"] != "projections", "fails"),
                p_value=table["p_value"].where(table["subject"] != "alpha", 1e-9),
                observed=table["observed"].where(table["subject"] != "alpha", 0.987),
            ),
            "projections_agree",
            "WARN",
            "alpha is 0.987 in the containment fit and 0.7",
        ),
        *(
            (
                "parameters",
                lambda table, status=status: table.assign(
                    status=status, reason="for a test", reason_code="core_not_permanent"
                ),
                "joint_core_shell_exact_per_crawl",
                "WARN",
                message,
            )
            for status, message in (
                ("model_violation", "model_violation: for a test. No numbers of this fit are reported."),
                ("refuted", "its numbers describe the curves only. Draw no conclusion from its numbers."),
                ("at_bound", "at_bound: for a test. Use its numbers with this reservation."),
                (
                    "not_identified",
                    "not_identified: for a test. Only confidence intervals of this fit are reported.",
                ),
                ("ok", "ok with reservation: for a test. Use its numbers with this reservation."),
            )
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_rule_is_found_and_explained(checked, table, change, check, severity, message):
    assert_broken(checked, table, change, check, severity, message)


def test_only_the_headline_check_blocks(checked):
    specs = [spec for checks in checked.defs.asset_checks for spec in checks.check_specs]
    blocking = {spec.key.name for spec in specs if spec.blocking}
    assert blocking == {"headline_fit"}


@pytest.mark.parametrize("is_selected", [True, False])
def test_refuted_fit_is_a_finding_only_if_it_is_selected(is_selected):
    row = {"status": "refuted", "reason": "for a test", "reason_code": "refuted", "residual_rms": 0.1}
    result = _fit_is_ok(pd.Series({**row, "headline": is_selected}))
    assert result.passed is not is_selected
    assert result.metadata["observed"].value == "refuted"
