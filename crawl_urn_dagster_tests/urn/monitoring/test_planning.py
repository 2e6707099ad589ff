"""Plans: against the stepped recurrence and the terms of the urn."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import CoreShellUrn, Urn
from crawl_urn_dagster.urn.monitoring.planning import SEEN_WELL, plan, seen_share

KAPPA, ALPHA, COVERAGE = 0.4, 0.75, 0.6


def stepped(alpha, coverage, n):
    """Return the share of the eligible shell captured after each crawl, by stepping from crawl to crawl."""
    seen, shares = 0.0, []
    for _ in range(n):
        shares.append(seen + coverage * (1 - seen))
        seen = alpha * shares[-1]
    return np.array(shares)


@pytest.mark.parametrize(("alpha", "coverage"), [(0.9, 0.3), (0.97, 0.7), (0.75, 0.95), (1.0, 0.2)])
def test_captured_share_matches_the_stepped_recurrence(alpha, coverage):
    shares = stepped(alpha, coverage, 200)
    found = seen_share(KAPPA, alpha, coverage, np.arange(1, 201))
    np.testing.assert_allclose(found, KAPPA + (1 - KAPPA) * shares, rtol=1e-12)
    planned = plan(KAPPA, alpha, coverage)
    assert planned.seen_at_last == pytest.approx(shares[-1], rel=1e-9)
    reached = np.flatnonzero(shares >= SEEN_WELL)
    assert planned.crawls_to_seen == (reached[0] + 1 if reached.size else np.inf)


def test_other_quantities_are_terms_of_the_urn():
    planned = plan(KAPPA, ALPHA, COVERAGE)
    urn, terms = CoreShellUrn(KAPPA, ALPHA, COVERAGE), Urn(ALPHA, COVERAGE).operator_terms()
    assert planned.crawl_completeness == pytest.approx(KAPPA + (1 - KAPPA) * COVERAGE)
    assert planned.nu_inf == pytest.approx((1 - urn.core_share) * terms.nu_inf)
    assert planned.cost_per_new == pytest.approx(1 / planned.nu_inf)
    assert planned.hidden_time == pytest.approx(terms.hidden_time)


def test_longer_gap_is_a_smaller_survival():
    one, two = plan(KAPPA, ALPHA**2, COVERAGE), plan(KAPPA, ALPHA, COVERAGE, gap=2.0)
    assert two.seen_at_last == pytest.approx(one.seen_at_last)
    assert two.hidden_time == pytest.approx(2 * one.hidden_time)


def test_cost_is_infinite_without_new_elements():
    assert plan(0.0, 1.0, 0.5).cost_per_new == np.inf


@pytest.mark.parametrize(("coverage", "gap"), [(0.0, 1.0), (0.5, 0.0)])
def test_coverage_or_gap_of_zero_is_refused(coverage, gap):
    with pytest.raises(ValueError, match="expected numbers above 0"):
        plan(KAPPA, ALPHA, coverage, gap=gap)
