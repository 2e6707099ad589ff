"""The page on the paper's claims has the numbers that its command computes now."""

import re

import pytest

from crawl_urn_dagster_tests.benchmarks import paper

VERDICTS = ("confirmed", "corrected", "refuted", "not testable here", "not a claim")


@pytest.fixture(scope="module")
def numbers():
    return paper.computed()


def test_the_page_has_the_numbers_computed_now(numbers):
    shown = paper.PAGE.read_text().split(paper.START)[1].split(paper.END)[0]
    assert shown.splitlines() == paper.table(numbers).splitlines()


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
