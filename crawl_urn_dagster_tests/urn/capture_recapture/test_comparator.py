"""Descriptions of the comparators."""

import pytest

from crawl_urn_dagster.urn.capture_recapture.comparator import _DESCRIPTIONS, comparator


@pytest.mark.parametrize("estimator", _DESCRIPTIONS)
def test_result_has_the_description_of_its_estimator(estimator):
    found = comparator(estimator, 3, 1, 2, 4, reason="Because.")
    assert (found.name, found.estimate, found.se, found.low, found.high) == (estimator, 3, 1, 2, 4)
    assert (found.target, found.unit, found.assumption, found.bias) == _DESCRIPTIONS[estimator]
    assert found.reason == "Because."


def test_result_can_have_another_name():
    assert comparator("heaps", 1, 0, 0, 0, name="heaps_first_half").name == "heaps_first_half"
