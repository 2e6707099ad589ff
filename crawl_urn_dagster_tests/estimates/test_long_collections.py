"""Rolling windows of long collections."""

from crawl_urn_dagster.urn.data import thinning


def test_rolling_windows_of_long_collections_are_few_and_stay():
    before, after = thinning.window_starts(365, 24, 1), thinning.window_starts(366, 24, 1)
    assert len(before) <= 33
    assert before[-1] == 365 - 24
    assert set(before[:-1]) <= set(after)
    assert thinning.window_starts(100, 24, 1) == list(range(77))
