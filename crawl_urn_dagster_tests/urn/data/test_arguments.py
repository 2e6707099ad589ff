"""Checks of arguments: accepted values and the message about the first invalid one."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.arguments import (
    gaps_between,
    require_fraction,
    require_not_negative,
    require_whole_numbers,
)


def test_valid_arguments_are_accepted():
    assert gaps_between([[0, 1, 1], [2, 2.5, 4]]).tolist() == [[1, 0], [0.5, 1.5]]
    require_fraction("alpha", [0, 0.5, 1])
    assert require_whole_numbers("lag", [1, 2], least=1).tolist() == [1, 2]
    assert require_not_negative("t", [0, 1.5]).tolist() == [0, 1.5]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: gaps_between([0, 2, 1]), "expected them in time order"),
        (lambda: gaps_between([0, np.nan]), "expected them in time order"),
        (lambda: require_fraction("alpha", [0.5, 1.5, -1]), "alpha is 1.5; expected a number from 0 to 1"),
        (lambda: require_fraction("alpha", np.nan), "alpha is nan"),
        (lambda: require_whole_numbers("lag", [2, 0], least=1), "lag is 0.0; expected whole numbers of at least 1"),
        (lambda: require_whole_numbers("lag", [2, 2.5], least=1), "lag is 2.5"),
        (lambda: require_not_negative("t", [1, -2]), "t is -2.0; expected a number of at least 0"),
    ],
)
def test_first_invalid_value_is_named(check, message):
    with pytest.raises(ValueError, match=message):
        check()
