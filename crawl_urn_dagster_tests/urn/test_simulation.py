"""Test the simulators against the expectations of their models, and fits to simulated elements.

A slot of the shell is in both of two crawls with the same element, or not, independently of the other slots:
overlaps and recaptures of the shell are binomial, which gives their standard errors exactly.
"""

import numpy as np
import pytest

from crawl_urn_dagster.urn import RevisitDelayUrn, fit_containment_core_shell, simulate, simulate_revisit_delay
from crawl_urn_dagster.urn.fits.least_squares import mean_by

UNEVEN = np.array([0.0, 0.1, 0.35, 0.4, 1.0, 1.2, 1.25, 2.0, 2.6, 2.7])
VARYING = np.array([0.6, 0.3, 0.5, 0.8, 0.1, 0.4, 0.9, 0.5, 0.2, 0.7])
URNS = {
    "even": {"times": np.arange(10), "core": 0, "shell": 100_000, "alpha": 0.8, "coverage": 0.4},
    "uneven": {"times": UNEVEN, "core": 20_000, "shell": 100_000, "alpha": 0.5, "coverage": VARYING},
    "survival per gap": {
        "times": UNEVEN,
        "core": 500,
        "shell": 50_000,
        "alpha": np.linspace(0.2, 0.9, 9),
        "coverage": 0.55,
    },
}


@pytest.fixture(params=URNS, scope="module")
def simulated(request):
    urn = URNS[request.param]
    return urn, simulate(**urn, seed=2024)


def expected_probabilities(urn):
    """Chance that a slot's element is in both i and j, and that it is in i and next in j."""
    gaps = np.diff(urn["times"])
    alive = np.append(0, np.cumsum(gaps * np.log(urn["alpha"])))
    coverage = np.broadcast_to(urn["coverage"], len(urn["times"]))
    both = np.triu(np.exp(alive[None, :] - alive[:, None]) * np.outer(coverage, coverage), k=1)
    next_seen = both.copy()
    for i, j in np.argwhere(both > 0):
        next_seen[i, j] *= np.prod(1 - coverage[i + 1 : j])
    return both, next_seen


def assert_binomial(counts, trials, probabilities):
    standard_error = np.sqrt(trials * probabilities * (1 - probabilities))
    z = (counts - trials * probabilities) / standard_error
    assert abs(z).max() < 4


def test_simulated_crawl_sizes_are_expected(simulated):
    urn, histories = simulated
    sizes = np.diagonal(histories.counts().intersections())
    assert_binomial(sizes - urn["core"], urn["shell"], np.broadcast_to(urn["coverage"], 10))


def test_simulated_overlaps_and_recaptures_are_expected(simulated):
    urn, histories = simulated
    counts = histories.counts()
    both, next_seen = expected_probabilities(urn)
    upper = np.triu_indices(10, k=1)
    core_next = np.where(upper[1] == upper[0] + 1, urn["core"], 0)
    assert_binomial(counts.intersections()[upper] - urn["core"], urn["shell"], both[upper])
    assert_binomial(counts.recaptures()[upper] - core_next, urn["shell"], next_seen[upper])


def test_captured_elements_and_counts_are_the_same_histories(simulated):
    _, histories = simulated
    counts = histories.counts()
    seen = np.zeros((len(histories.packed), 10), dtype=bool)
    for crawl in range(10):
        seen[histories.captured(crawl), crawl] = True
    distinct, elements = np.unique(seen, axis=0, return_counts=True)
    order = np.lexsort(counts.seen.T[::-1])
    np.testing.assert_array_equal(counts.seen[order], distinct)
    np.testing.assert_array_equal(counts.elements[order], elements)
    assert seen.any(axis=1).all()
    assert seen.sum(axis=0).tolist() == np.diagonal(counts.intersections()).tolist()


def test_core_comes_first_and_is_in_every_crawl():
    histories = simulate(times=np.arange(9), core=5, shell=100, alpha=0.5, coverage=0.5, seed=1)
    for crawl in range(9):
        assert histories.captured(crawl)[:5].tolist() == list(range(5))


def test_more_than_64_crawls_are_counted():
    histories = simulate(times=np.arange(130), core=3, shell=50, alpha=0.9, coverage=0.5, seed=1)
    counts = histories.counts()
    assert counts.n_crawls == 130
    assert counts.elements.sum() == len(histories.packed) == counts.distinct_elements
    assert len(np.unique(counts.seen, axis=0)) == len(counts.seen)
    assert counts.elements[counts.seen.all(axis=1)] == 3


@pytest.mark.parametrize(("alpha", "coverage", "distinct"), [(1, 1, 50), (0, 1, 500), (1, 0, 0), (0.5, 0, 0)])
def test_survival_and_coverage_at_0_or_1_are_simulated(alpha, coverage, distinct):
    histories = simulate(times=np.arange(10), core=0, shell=50, alpha=alpha, coverage=coverage, seed=1)
    assert histories.counts().distinct_elements == distinct
    assert sum(len(histories.captured(crawl)) for crawl in range(10)) == (500 if coverage else 0)


def test_equal_seeds_give_equal_histories():
    urn = {"times": np.arange(5), "core": 0, "shell": 1_000, "alpha": 0.5, "coverage": 0.5}
    first, again, other = (simulate(**urn, seed=seed).packed for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 1.2}, "alpha is 1.2"),
        ({"coverage": [0.5, np.nan, 0.5]}, "coverage is nan"),
        ({"times": [0, 2, 1]}, "expected them in time order"),
        ({"core": -1}, "core is -1 and shell 10"),
    ],
)
def test_arguments_out_of_range_are_refused(change, message):
    urn = {"times": [0, 1, 2], "core": 0, "shell": 10, "alpha": 0.5, "coverage": 0.5}
    with pytest.raises(ValueError, match=message):
        simulate(**{**urn, **change}, seed=1)


@pytest.mark.slow
def test_exact_form_estimates_kappa_and_paper_form_mu():
    kappa, alpha, coverage, elements = 0.4, 0.75, 0.6, 100_000
    core = int(kappa * elements)
    mu = kappa / (kappa + (1 - kappa) * coverage)
    i, j = np.triu_indices(51, k=1)
    found = {"exact": [], "paper": []}
    for seed in range(20):
        histories = simulate(
            times=np.arange(51), core=core, shell=elements - core, alpha=alpha, coverage=coverage, seed=seed
        )
        shared = histories.counts().intersections()
        lag, g, _ = mean_by(j - i, shared[i, j] / np.diagonal(shared)[i])
        for form, kappas in found.items():
            kappas.append(fit_containment_core_shell(lag, g, form=form, clock="crawl").kappa)
    for form, truth in {"exact": kappa, "paper": mu}.items():
        standard_error = np.std(found[form], ddof=1) / np.sqrt(20)
        assert abs(np.mean(found[form]) - truth) < 3 * standard_error
    assert abs(np.mean(found["paper"]) - kappa) > 0.1


@pytest.mark.parametrize(
    "urn",
    [RevisitDelayUrn(0.86, 0.27, 0.03, delay=1), RevisitDelayUrn(0.9, 0.26, 0.02, delay=2)],
    ids=["one crawl", "two crawls"],
)
def test_simulated_revisit_delay_agrees_with_its_urn(urn):
    elements, crawls, start = 300_000, 12, 2
    counts = simulate_revisit_delay(
        delays=np.full(crawls, urn.delay),
        elements=elements,
        alpha=urn.alpha,
        coverage=urn.coverage,
        revisit_coverage=urn.revisit_coverage,
        seed=17,
    ).counts()
    shared, later = counts.intersections(), np.arange(1, 8)
    # Slots of the urn are independent of each other: every count of pairs is binomial.
    share = float(urn.crawl_coverage)
    for observed, p in [
        (np.diagonal(shared)[[0, 5, 11]], np.full(3, share)),
        (shared[start, start + later], share * urn.containment(later)),
        (counts.recaptures()[start, start + later], share * urn.first_returns(later)),
        (np.diff(counts.unions()[start])[start:], share * np.diff(urn.discovery_curve(np.arange(crawls - start)))),
    ]:
        z = (observed - elements * p) / np.sqrt(elements * p * (1 - p))
        assert abs(z).max() < 3
