"""Building blocks of a page."""

from crawl_urn_dagster.report.blocks import Folded, fold_unless


def test_fold_unless_hides_blocks_only_if_the_condition_fails():
    assert fold_unless(True, "More", ["text"]) == ["text"]
    assert fold_unless(False, "More", ["text"]) == [Folded("More", ["text"])]
