"""The page on the paper's claims has the numbers that its command computes now."""

import re

import pandas as pd
import pytest

from crawl_urn_dagster.figures import CATALOGUE
from crawl_urn_dagster_tests.benchmarks import paper

VERDICTS = ("confirmed", "corrected", "refuted", "not testable here", "not a claim")


@pytest.fixture(scope="module")
def numbers():
    return paper.computed()


def test_the_page_has_the_numbers_computed_now(numbers):
    shown = paper.PAGE.read_text().split(paper.START)[1].split(paper.END)[0]
    assert shown.splitlines() == paper.table(numbers).splitlines()


def test_the_map_of_the_figures_has_the_numbers_computed_now(numbers):
    shown = paper.PAGE.read_text().split(paper.MAP_START)[1].split(paper.MAP_END)[0]
    assert shown == paper.figure_map(numbers)
    named = {one for drawn in paper.DRAWN_BY.values() for one in re.findall(r"`(\w+)`", drawn)}
    assert named <= {*CATALOGUE, "dashboard"}
    assert [row.split(":")[0] for row in shown.splitlines()[2:]] == [
        f"| Fig. {number}" for number in ("1", "2", "2a", "2b", "3", "4", "4", "5a", "5b")
    ]


def test_the_map_is_drawn_with_every_printed_number():
    figure = paper.draw_map()
    (shares, sizes), (legend,) = figure.axes, figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["printed", "here, with its interval or range"]
    printed = [line.get_xdata()[0] for line in shares.lines if line.get_marker() == "D"]
    assert printed == [0.51, 0.62, 0.06, 0.78, 0.4, 0.4]
    assert [2, 3] in [list(line.get_xdata()) for line in sizes.lines]


def test_petersen_on_the_federal_lists_is_as_shown(shared_data):
    pairs = pd.read_csv(shared_data / "two_lists" / "gsa_petersen_vs_registry.csv")
    chapman = (pairs["n_a"] + 1) * (pairs["n_b"] + 1) / (pairs["both"] + 1) - 1
    ratio = chapman / pairs["truth_N"]
    low, middle, high = ratio.min(), ratio.median(), ratio.max()
    shown = f"{len(pairs)} pairs of lists is {low:.2f} to {high:.2f} of the truth, median {middle:.2f}"
    assert shown in paper.PAGE.read_text()


def test_every_computed_number_is_part_of_a_claim(numbers):
    assert set(numbers) <= {here for _, _, here, *_ in paper.CLAIMS}
    assert len(paper.CLAIMS) >= 40


@pytest.mark.parametrize("claim", paper.CLAIMS, ids=lambda claim: re.sub(r"\W+", "_", claim[0])[:40])
def test_every_claim_has_a_verdict_and_what_a_test_would_take(claim):
    assert claim[-1].startswith(VERDICTS)
    if claim[-1].startswith("not testable here"):
        assert len(claim[-1]) > len("not testable here")


def test_excerpts_are_the_published_rows(shared_data):
    for name, published in (
        ("url_last_n_crawls_2020_2025.csv", "common_crawl_statistics/url_last_n_crawls.csv"),
        ("crawldb_status_2020_2025.csv", "crawldb/crawldb_status_2019-51_2026-34.csv"),
    ):
        rows = (shared_data / published).read_text().splitlines()
        assert set((paper.EXCERPTS / name).read_text().splitlines()) <= set(rows)
