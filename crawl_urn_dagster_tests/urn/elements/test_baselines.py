"""Test the simple rules that predict captures of single elements."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.elements import baselines
from crawl_urn_dagster.urn.elements.baselines import bg_bb, last_time, share_of_crawls

# Donors of 1995 in the six years after: repeat donations, year of the last one, donors (Fader, Hardie and Shang 2010).
# fmt: off
DONORS = np.array([
    (6, 6, 1203), (5, 6, 728), (4, 6, 512), (3, 6, 357), (2, 6, 234), (1, 6, 129), (5, 5, 335), (4, 5, 284),
    (3, 5, 225), (2, 5, 173), (1, 5, 119), (4, 4, 240), (3, 4, 181), (2, 4, 155), (1, 4, 78), (3, 3, 322),
    (2, 3, 255), (1, 3, 129), (2, 2, 613), (1, 2, 277), (1, 1, 1091), (0, 0, 3464),
])
# fmt: on


def donors() -> CaptureHistoryCounts:
    seen = np.zeros((len(DONORS), 7), dtype=bool)
    for row, (donations, last, _) in enumerate(DONORS):
        seen[row, [0, *range(1, donations), last][: donations + 1]] = True
        seen[row, last] = True
    return CaptureHistoryCounts(seen, DONORS[:, 2])


def test_bg_bb_reproduces_the_published_likelihood(monkeypatch):
    """The maximum is published as -33,225.6 at (1.204, 0.750, 0.657, 2.783)."""
    found = []
    search = baselines.minimize
    monkeypatch.setattr(
        baselines, "minimize", lambda *args, **options: found.append(search(*args, **options)) or found[0]
    )
    counts = donors()
    bg_bb(counts, [1])
    assert -found[0].fun * counts.elements.sum() == pytest.approx(-33225.6, abs=0.06)
    np.testing.assert_allclose(np.exp(found[0].x), [1.204, 0.750, 0.657, 2.783], rtol=0.02)


def test_bg_bb_reproduces_the_published_forecasts():
    """The paper expects 3.75 donations in five years from who gave every year, and 0.07 from who gave only once."""
    forecast = bg_bb(donors(), [1, 2, 3, 4, 5]).sum(axis=0)
    rows = DONORS[:, :2].tolist()
    np.testing.assert_allclose(forecast[[rows.index([6, 6]), rows.index([0, 0])]], [3.75, 0.07], atol=0.005)


def test_last_time_gives_two_probabilities():
    counts = CaptureHistoryCounts(np.array([[1, 1, 1], [1, 1, 0], [0, 1, 0]], dtype=bool), np.array([60, 39, 1]))
    # Known and captured: 99 + 100 times, followed by 99 + 60 captures.
    np.testing.assert_allclose(last_time(counts, [1]), [[159.5 / 200, 0.5, 0.5]])


def test_share_of_crawls_is_inside_0_and_1():
    counts = CaptureHistoryCounts(np.array([[1, 1, 1], [0, 0, 1]], dtype=bool), np.array([1, 1]))
    np.testing.assert_allclose(share_of_crawls(counts, [1]), [[3.5 / 4, 1.5 / 4]])
