"""The simulated source: its calendar, its truth, and what it writes."""

from datetime import date
from itertools import pairwise

import duckdb
import pytest
from pydantic import ValidationError

from crawl_urn_dagster.sources import Selection, SimulatedSource, SourceError, fingerprint

WHOLE = Selection()
SMALL = {"crawls": 12, "elements": 4000}


def captures(parquet):
    with duckdb.connect() as connection:
        rows = connection.execute("SELECT crawl, element FROM read_parquet(?)", [str(parquet)]).fetchall()
    return sorted(rows)


def test_default_is_large_enough_and_like_common_crawl(files, tmp_path):
    source = SimulatedSource()
    presence = source.read_presence(files, WHOLE, tmp_path / "p.parquet")
    with duckdb.connect() as connection:
        statement = "SELECT count(DISTINCT element), count(*), min(element) FROM read_parquet(?)"
        distinct, rows, element = connection.execute(statement, [str(tmp_path / "p.parquet")]).fetchall()[0]
    assert distinct >= 200_000
    assert rows == presence.rows == presence.crawls["elements"].sum()
    assert element.startswith("https://site-")
    gaps = presence.crawls["started_at"].diff().dt.days.dropna()
    assert len(gaps) == 50
    assert gaps.min() >= 21
    assert gaps.max() <= 120
    assert 41 <= gaps.mean() <= 44
    assert gaps.nunique() > 20
    assert set(presence.crawls["dated_by"]) == {"label"}


def test_sizes_are_binomial(files, tmp_path):
    """Every crawl holds the core, and of the shell a binomial number."""
    presence = SimulatedSource(**SMALL, kappa=0.25, coverage=0.6).read_presence(files, WHOLE, tmp_path / "p")
    standard_error = (3000 * 0.6 * 0.4) ** 0.5
    assert (presence.crawls["elements"] - (1000 + 3000 * 0.6)).abs().max() < 4.5 * standard_error


def test_same_parameters_give_the_same(files, tmp_path):
    for name in ("a", "b"):
        SimulatedSource(**SMALL).read_presence(files, WHOLE, tmp_path / name)
    assert captures(tmp_path / "a") == captures(tmp_path / "b")
    SimulatedSource(**SMALL, seed=2).read_presence(files, WHOLE, tmp_path / "c")
    assert captures(tmp_path / "a") != captures(tmp_path / "c")


def test_listing_needs_no_simulation(files):
    source = SimulatedSource(**SMALL)
    listing = source.list_crawls(files, WHOLE)
    assert len(listing.crawls) == 12
    assert listing.crawls[0] == "2020-01-17"
    assert list(listing.crawls) == sorted(listing.crawls)
    (parameters,) = listing.inputs
    assert parameters.location.startswith("simulated:kappa=0.4,alpha=0.75,coverage=0.6,crawls=12,")
    assert not files.cache.exists()
    other = SimulatedSource(**SMALL, seed=2).list_crawls(files, WHOLE)
    assert other.crawls != listing.crawls
    assert fingerprint(other.inputs) != fingerprint(listing.inputs)


def test_selection_takes_captures_of_the_same_simulation(files, tmp_path):
    source = SimulatedSource(**SMALL)
    crawls = source.list_crawls(files, WHOLE).crawls
    source.read_presence(files, WHOLE, tmp_path / "whole")
    part = source.read_presence(files, Selection(crawls[3], crawls[7]), tmp_path / "part")
    assert part.crawls["crawl"].tolist() == list(crawls[3:8])
    assert captures(tmp_path / "part") == [row for row in captures(tmp_path / "whole") if row[0] in crawls[3:8]]
    with pytest.raises(SourceError, match=r"simulated:.*last_crawl '2020-01-18' is not among the crawls"):
        source.list_crawls(files, Selection(last_crawl="2020-01-18"))


def test_truth_is_the_same_urn_on_both_clocks(files):
    source = SimulatedSource(kappa=0.4, alpha=0.75, coverage=0.6)
    truth = source.truth().set_index("clock")
    assert truth.loc["crawl", ["kappa", "alpha", "coverage"]].tolist() == [0.4, 0.75, 0.6]
    # Of N = 1000 elements a crawl holds 400 of the core and 600 · 0.6 of the shell.
    assert truth["core_share"].tolist() == [pytest.approx(400 / 760)] * 2
    crawls = source.list_crawls(files, WHOLE).crawls
    years = (_ordinal(crawls[-1]) - _ordinal(crawls[0])) / 365.25
    # Over the whole calendar both clocks lose the same.
    assert truth.loc["year", "alpha"] ** years == pytest.approx(0.75**50)


def _ordinal(label):
    return date.fromisoformat(label).toordinal()


def test_survival_is_per_year_so_that_gaps_matter(files, tmp_path):
    """Without a core and fully covered, what a crawl shares with the next is the survival over the gap."""
    source = SimulatedSource(kappa=0, coverage=1, crawls=30, elements=20_000)
    source.read_presence(files, WHOLE, tmp_path / "p")
    alpha = source.truth().set_index("clock").loc["year", "alpha"]
    by_crawl = {}
    for crawl, element in captures(tmp_path / "p"):
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
def test_parameters_are_checked(wrong):
    with pytest.raises(ValidationError):
        SimulatedSource(**wrong)
