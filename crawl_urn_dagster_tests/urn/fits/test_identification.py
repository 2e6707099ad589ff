"""Test the rules that give a search its status and name a parameter that is not identified."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import Reason, ReasonCode, Status
from crawl_urn_dagster.urn.fits.identification import (
    FITTED_MOVE,
    Alternative,
    explain_non_identification,
    search_status,
)
from crawl_urn_dagster.urn.optimise.bounded_least_squares import PARAMETER_MOVE
from crawl_urn_dagster.urn.results.reasons import at_bound
from crawl_urn_dagster_tests.urn.fits.fitted_curves import assert_unchanged

BOUND = at_bound("alpha", 1, part="shell")
UNIDENTIFIED = Reason(ReasonCode.FLAT_LIKELIHOOD, {"parameters": "kappa"})
FITTED = np.linspace(0.9, 0.3, 5)


@pytest.mark.parametrize(
    ("bounds", "unidentified", "status"),
    [
        ([], [], Status.OK),
        ([], [UNIDENTIFIED], Status.NOT_IDENTIFIED),
        ([BOUND], [], Status.AT_BOUND),
        ([BOUND], [UNIDENTIFIED], Status.AT_BOUND),
    ],
)
def test_converged_search_has_all_its_reasons(bounds, unidentified, status):
    found, reasons = search_status(bounds, unidentified, converged=True)
    assert found is status
    assert reasons == (*bounds, *unidentified)


@pytest.mark.parametrize("search", ["least-squares", "maximum-likelihood"])
def test_search_that_did_not_converge_has_no_other_reason(search):
    status, reasons = search_status([BOUND], [UNIDENTIFIED], converged=False, search=search)
    assert status is Status.NOT_CONVERGED
    assert reasons == (Reason(ReasonCode.NOT_CONVERGED, {"search": search}),)


def moved(by, name="kappa", point=2):
    other = FITTED.copy()
    other[point] += by
    return Alternative(name, other)


@pytest.mark.parametrize("by", [0.0, 0.5 * FITTED_MOVE, -0.99 * FITTED_MOVE])
def test_parameter_that_hardly_moves_points_is_not_identified(by):
    (reason,) = explain_non_identification("joint", FITTED, [moved(by)], residual_rms=0.0)
    assert reason.code is ReasonCode.UNCHANGED_FIT
    assert reason.values == {
        "parameter": "kappa",
        "fit": "joint",
        "change": PARAMETER_MOVE,
        "moved": pytest.approx(abs(by), abs=1e-12),
    }


@pytest.mark.parametrize("by", [1.01 * FITTED_MOVE, -0.5])
def test_parameter_that_moves_one_point_is_identified(by):
    assert explain_non_identification("joint", FITTED, [moved(by)], residual_rms=0.0) == ()


def test_move_smaller_than_residuals_does_not_identify():
    (reason,) = explain_non_identification("joint", FITTED, [moved(0.04)], residual_rms=0.05)
    assert reason.values["moved"] == pytest.approx(0.04)
    assert explain_non_identification("joint", FITTED, [moved(0.04)], residual_rms=0.03) == ()


def test_first_unidentified_parameter_is_named_alone():
    others = [moved(0.5, "kappa"), moved(0.008, "coverage"), moved(0.001, "alpha")]
    (reason,) = explain_non_identification("containment", FITTED, iter(others), residual_rms=0.0)
    assert_unchanged(reason, parameter="coverage", fit="containment")


def test_search_ends_at_first_unidentified_parameter():
    def alternatives():
        yield moved(0.001, "kappa")
        raise AssertionError

    (reason,) = explain_non_identification("containment", FITTED, alternatives(), residual_rms=0.0)
    assert reason.values["parameter"] == "kappa"


def test_fit_without_alternatives_is_identified():
    assert explain_non_identification("joint", FITTED, [], residual_rms=1.0) == ()
