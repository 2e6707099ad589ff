"""Test the simulated source: its gaps, its true parameters and its captures."""

from collections import Counter
from datetime import date
from itertools import pairwise

import pytest
from pydantic import ValidationError

from crawl_urn_dagster.sources import Selection, SimulatedSource, SourceError, fingerprint
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, labels_of

SMALL = {"crawls": 12, "elements": 4000}


def test_default_has_200_000_elements_and_uneven_gaps(read):
    listing, captures = read(SimulatedSource())
    elements = {element for _, element in captures}
    assert len(elements) >= 200_000
    assert all(element.startswith("https://site-") for element in elements)
    starts = [crawl.started_at for crawl in listing.crawls]
    gaps = [(later - earlier).days for earlier, later in pairwise(starts)]
    assert len(gaps) == 50
    assert min(gaps) >= 21
    assert max(gaps) <= 120
    assert 41 <= sum(gaps) / 50 <= 44
    assert len(set(gaps)) > 20
    assert {crawl.dated_by for crawl in listing.crawls} == {"label"}


def test_sizes_are_binomial_around_the_listed_ones(read):
    """Every crawl captures the core and a binomial number of shell elements."""
    listing, captures = read(SimulatedSource(**SMALL, kappa=0.25, coverage=0.6))
    assert set(listing.captures.values()) == {1000 + 3000 * 0.6}
    assert len(set(captures)) == len(captures)
    sizes = Counter(crawl for crawl, _ in captures)
    standard_error = (3000 * 0.6 * 0.4) ** 0.5
    assert max(abs(sizes[crawl] - expected) for crawl, expected in listing.captures.items()) < 4.5 * standard_error


def test_same_parameters_give_the_same_captures(read):
    (first, captures), (again, captures_again) = read(SimulatedSource(**SMALL)), read(SimulatedSource(**SMALL))
    other, other_captures = read(SimulatedSource(**SMALL, seed=2))
    assert captures == captures_again
    assert captures != other_captures
    assert first.revisions == again.revisions
    assert not set(first.revisions.values()) & set(other.revisions.values())


def test_listing_does_not_simulate(files):
    source = SimulatedSource(**SMALL)
    listing = source.list_crawls(files, ALL_CRAWLS)
    assert len(listing.crawls) == 12
    assert labels_of(listing)[0] == "2020-01-17"
    assert labels_of(listing) == sorted(labels_of(listing))
    (parameters,) = listing.inputs
    assert parameters.location.startswith("simulated:kappa=0.4,alpha=0.75,coverage=0.6,crawls=12,")
    assert not files.cache.exists()
    other = SimulatedSource(**SMALL, seed=2).list_crawls(files, ALL_CRAWLS)
    assert other.crawls != listing.crawls
    assert fingerprint(other.inputs) != fingerprint(listing.inputs)


def test_selection_does_not_change_the_simulation(read, files):
    source = SimulatedSource(**SMALL)
    listing, whole = read(source)
    crawls = labels_of(listing)
    part, captures = read(source, Selection(crawls[3], crawls[7]))
    assert labels_of(part) == crawls[3:8]
    assert captures == [row for row in whole if row[0] in crawls[3:8]]
    with pytest.raises(SourceError, match=r"simulated:.*last_crawl '2020-01-18' is not among the crawls"):
        source.list_crawls(files, Selection(last_crawl="2020-01-18"))


def test_truth_is_consistent_between_clocks(files):
    source = SimulatedSource(kappa=0.4, alpha=0.75, coverage=0.6)
    truth = source.truth().set_index("clock")
    assert truth.loc["crawl", ["kappa", "alpha", "coverage"]].tolist() == [0.4, 0.75, 0.6]
    # Of N = 1000 eligible elements, a crawl captures 400 in the core and 600 · 0.6 in the shell.
    assert truth["core_share"].tolist() == [pytest.approx(400 / 760)] * 2
    crawls = labels_of(source.list_crawls(files, ALL_CRAWLS))
    years = (_ordinal(crawls[-1]) - _ordinal(crawls[0])) / 365.25
    # Both clocks give the same survival from the first to the last crawl.
    assert truth.loc["year", "alpha"] ** years == pytest.approx(0.75**50)


def _ordinal(label):
    return date.fromisoformat(label).toordinal()


def test_survival_depends_on_the_gap(read):
    """Without a core and with full coverage, containment at lag 1 is the survival over the gap."""
    source = SimulatedSource(kappa=0, coverage=1, crawls=30, elements=20_000)
    alpha = source.truth().set_index("clock").loc["year", "alpha"]
    by_crawl = {}
    for crawl, element in read(source)[1]:
        by_crawl.setdefault(crawl, set()).add(element)
    labels = sorted(by_crawl)
    for earlier, later in pairwise(labels):
        expected = alpha ** ((_ordinal(later) - _ordinal(earlier)) / 365.25)
        shared = len(by_crawl[earlier] & by_crawl[later]) / 20_000
        assert abs(shared - expected) < 4.5 * (expected * (1 - expected) / 20_000) ** 0.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"kappa": 1.0},
        {"kappa": -0.1},
        {"alpha": 0.0},
        {"coverage": 0.0},
        {"coverage": 1.1},
        {"crawls": 2},
        {"seed": -1},
    ],
)
def test_wrong_parameters_are_errors(wrong):
    with pytest.raises(ValidationError):
        SimulatedSource(**wrong)
