"""Counts in words."""

import pytest

from crawl_urn_dagster.formatting import counted


@pytest.mark.parametrize(("n", "said"), [(0, "0 steps"), (1, "1 step"), (1326, "1,326 steps")])
def test_one_is_singular(n, said):
    assert counted(n, "step") == said
