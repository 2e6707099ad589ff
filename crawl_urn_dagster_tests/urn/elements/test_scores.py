"""Test the scores of predicted probabilities."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.elements.scores import N_BINS, score


def test_scores_of_a_constant_prediction():
    found = score(np.array([0.25, 0.25]), np.array([True, False]), np.array([1, 3]))
    assert found.brier == pytest.approx(0.25 * 0.75)
    assert found.log_loss == pytest.approx(-(0.25 * np.log(0.25) + 0.75 * np.log(0.75)))
    assert found.reliability.calibration_error == pytest.approx(0)


def test_prediction_of_one_is_in_the_last_bin():
    found = score(np.array([1.0, 0.0]), np.array([True, True]), np.array([5, 1]))
    assert found.reliability.elements.tolist() == [1, *[0] * (N_BINS - 2), 5]
    assert found.reliability.calibration_error == pytest.approx(1 / 6)
    assert np.isfinite(found.log_loss)


def test_unknown_predictions_are_left_out():
    found = score(np.array([np.nan, 0.5]), np.array([True, True]), np.array([100, 1]))
    assert found.reliability.elements.sum() == 1


def test_no_prediction_has_no_calibration_error():
    assert np.isnan(score(np.empty(0), np.empty(0, bool), np.empty(0, int)).reliability.calibration_error)
