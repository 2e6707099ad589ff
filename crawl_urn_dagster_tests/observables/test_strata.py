"""Assignment of values to strata."""

import numpy as np
import pytest
from pydantic import ValidationError

from crawl_urn_dagster.observables.strata import MAX_STRATA, StratumSettings

BANDS = StratumSettings(column="rank", bands=[50, 200])
VALUES = StratumSettings(column="tld")


def strata_of(settings, values):
    position, strata = settings.encode(np.array(values, dtype=object))
    return [strata[number] for number in position]


@pytest.mark.parametrize(
    ("settings", "values", "strata"),
    [
        (BANDS, ["1", "50", "51", "200", "201", "1e6", None], ["1-50", "1-50", "51-200", "51-200", *["201+"] * 2]),
        (VALUES, ["org", "com", "org", np.nan], ["org", "com", "org"]),
        (VALUES, [None, None], ["unknown"]),
    ],
)
def test_values_are_assigned_to_strata(settings, values, strata):
    assert strata_of(settings, values) == [*strata, "unknown"]


def test_strata_are_in_order():
    assert BANDS.in_order(["201+", "unknown", "51-200", "1-50"]) == ["1-50", "51-200", "201+", "unknown"]
    assert VALUES.in_order(["org", "unknown", "com", "org"]) == ["com", "org", "unknown"]
    with pytest.raises(ValueError, match=r"'tld' has more than 64 values \(0, 1, 10, ...\): give stratum.bands"):
        VALUES.in_order(map(str, range(MAX_STRATA + 1)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bands": [200, 50]}, r"bands \[200, 50\], expected ascending upper limits"),
        ({"bands": [0, 50]}, "ascending upper limits from 1"),
        ({"bands": []}, "at least 1 item"),
        ({"bands": [1.5]}, "valid integer"),
        ({"bands": list(range(1, 70))}, "at most 63 items"),
        ({"take": "best"}, "take: best, which needs bands"),
        ({"bands": [50], "take": "last"}, "'first' or 'best'"),
    ],
)
def test_invalid_settings_raise(settings, message):
    with pytest.raises(ValidationError, match=message):
        StratumSettings(column="rank", **settings)
