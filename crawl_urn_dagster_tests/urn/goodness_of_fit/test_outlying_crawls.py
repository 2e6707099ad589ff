"""Crawls to set aside: truncated crawls are named, and crawls with noisy coverage are not."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster.urn.goodness_of_fit.outlying_crawls import find_outlying_crawls
from crawl_urn_dagster_tests.urn.goodness_of_fit.populations import EMPTY, as_counts, group, presence, truncated


def core_and_shell(n_crawls, rng, logit_sd=0.3, core=600):
    """Return presences with logistic normal noise of shell coverage."""
    odds = np.exp(np.log(0.7 / 0.3) + logit_sd * rng.standard_normal(n_crawls))
    classes = [group("core", core, 1, 1, n_crawls), group("shell", 1_400, 0.9, odds / (1 + odds), n_crawls)]
    return presence(classes, rng)


# Without a core, a coverage of 0.8 · 0.7 is within the noise of coverage.
@pytest.mark.parametrize(
    ("core", "kept"), [(600, 0.0), (600, 0.04), (600, 0.5), (600, 0.8), (0, 0.0), (0, 0.04), (0, 0.4)]
)
def test_a_truncated_crawl_is_named(core, kept):
    rng = np.random.default_rng(1)
    found = find_outlying_crawls(as_counts(truncated(core_and_shell(24, rng, core=core), 15, kept, rng)))
    assert found.is_tested
    assert found.crawls == (15,)


def absent_in_runs(n_crawls, rng, classes=((1.0, 0.97, 0.95, 0.3),), elements=800, logit_sd=0.0, growth=0.0):
    """Return presences without a core: classes of share, survival, and capture after a capture and after a miss."""
    effort, presences = np.exp(logit_sd * rng.standard_normal(n_crawls)), []
    for share, survival, after_capture, after_miss in classes:
        alive = last = np.zeros(0, dtype=bool)
        seen = np.zeros((0, n_crawls), dtype=bool)
        for crawl in range(n_crawls):
            alive = alive & (rng.random(alive.size) < survival)
            born = max(int(share * elements * (1 + growth) ** crawl) - alive.sum(), 0)
            alive, seen = np.append(alive, np.ones(born, dtype=bool)), np.pad(seen, ((0, born), (0, 0)))
            last = np.append(last, rng.random(born) < after_miss / (1 - after_capture + after_miss))
            odds = np.where(last, after_capture / (1 - after_capture), after_miss / (1 - after_miss)) * effort[crawl]
            last = rng.random(last.size) < odds / (1 + odds)
            seen[:, crawl] = alive & last
        presences.append(seen)
    return np.concatenate(presences)


STABLE_AND_INTERMITTENT = ((0.6, 0.99, 0.97, 0.3), (0.4, 0.96, 0.75, 0.1))


@pytest.mark.parametrize("kept", [0.04, 0.2, 0.5])
@pytest.mark.parametrize("crawl", [0, 13, 25], ids=["first", "middle", "last"])
def test_truncated_crawl_is_named_without_a_core(crawl, kept):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        classes = (STABLE_AND_INTERMITTENT, ((1.0, 0.97, 0.95, 0.3),))[seed % 2]
        seen = absent_in_runs(26, rng, classes, logit_sd=0.3 * (seed // 2))
        assert find_outlying_crawls(as_counts(truncated(seen, crawl, kept, rng))).crawls == (crawl,)


@pytest.mark.parametrize("crawl", [0, 23], ids=["first", "last"])
@pytest.mark.parametrize("kept", [0.04, 0.3, 0.5])
def test_truncated_edge_is_named_with_a_core(crawl, kept):
    rng = np.random.default_rng(7)
    assert find_outlying_crawls(as_counts(truncated(core_and_shell(24, rng), crawl, kept, rng))).crawls == (crawl,)


@pytest.mark.parametrize("growth", [0.0, 0.02, 0.1, -0.03])
def test_noise_and_growth_without_a_core_name_no_crawl(growth):
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        seen = absent_in_runs((8, 12, 26)[seed % 3], rng, STABLE_AND_INTERMITTENT, 600, 0.3, growth)
        assert find_outlying_crawls(as_counts(seen)).crawls == ()


def test_a_few_elements_hide_no_truncated_crawl():
    rng = np.random.default_rng(8)
    seen = absent_in_runs(40, rng, elements=150)
    assert find_outlying_crawls(as_counts(truncated(seen, 39, 0.05, rng))).crawls == (39,)


def test_two_truncated_crawls_are_named_one_at_a_time():
    rng = np.random.default_rng(2)
    seen = core_and_shell(24, rng)
    for crawl, kept in ((4, 0.3), (16, 0.1)):
        seen = truncated(seen, crawl, kept, rng)
    assert find_outlying_crawls(as_counts(seen)).crawls == (16, 4)


def test_more_outliers_than_one_in_eight_are_left():
    rng = np.random.default_rng(3)
    seen = core_and_shell(15, rng)
    for crawl in (3, 9):
        seen = truncated(seen, crawl, 0.5, rng)
    assert find_outlying_crawls(as_counts(seen)).crawls == ()


def test_noise_of_coverage_names_no_crawl():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        assert find_outlying_crawls(as_counts(core_and_shell(16, rng, core=600 * (seed % 2)))).crawls == ()


def test_shares_count_the_missed_elements():
    seen = np.ones((3, 8), dtype=bool)
    seen[1, 3], seen[2, [3, 6]] = False, False
    found = find_outlying_crawls(CaptureHistoryCounts(seen, np.array([60, 20, 20])))
    # Crawl 3 is set aside first, then crawl 6 is compared without it.
    assert found.crawls == (3,)
    assert found.missed_of_ubiquitous[3] == pytest.approx(20 / 80)
    assert found.missed_between[3] == pytest.approx(40 / 100)
    assert found.missed_of_ubiquitous[6] == pytest.approx(20 / 100)
    assert np.isnan(found.missed_between[[0, 7]]).all()


@pytest.mark.parametrize("n_crawls", [1, 2, 3, 4, 7])
def test_short_collections_are_not_tested(n_crawls):
    found = find_outlying_crawls(CaptureHistoryCounts(np.ones((1, n_crawls), dtype=bool), np.array([100])))
    assert not found.is_tested
    assert found.crawls == ()
    assert found.missed_between.shape == (n_crawls,)


def test_few_elements_are_not_tested():
    for counts in (EMPTY, CaptureHistoryCounts(np.ones((1, 12), dtype=bool), np.array([1]))):
        found = find_outlying_crawls(counts)
        assert not found.is_tested
        assert found.crawls == ()


def test_random_lists_do_not_raise():
    rng = np.random.default_rng(4)
    for _ in range(200):
        shape = rng.integers(0, 60), rng.integers(1, 40)
        find_outlying_crawls(as_counts(rng.random(shape) < rng.random()))
