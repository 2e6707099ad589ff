"""Test which crawl a file belongs to by the names of its path."""

import pytest

from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster.sources.formats.crawl_in_path import crawl_in_path, label_of_file


def label(pattern, path, *others, **settings):
    return crawl_in_path(pattern, path, [path, *others], **settings)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("lay/*/*.cdxj", "lay/2024-01/part-0.cdxj", "2024-01"),
        ("lay/**/*.cdxj", "lay/2024-01/a/part-0.cdxj", "2024-01"),
        ("lay/*/*.cdxj", "lay/part-0/2024-01.cdxj", "2024-01"),
        ("lay/*/*.cdxj.gz", "lay/2024-01/WEEKLY-20240105-00001.cdxj.gz", "2024-01"),
        ("lay/*/*.cdxj", "lay/crawl-2024-01/part-0.cdxj", "2024-01"),
        ("lay/*/*.cdxj", "lay/CC-MAIN-2024-10/part-0.cdxj", "CC-MAIN-2024-10"),
        ("lay/*/*/*.cdxj", "lay/2024/01/part-0.cdxj", "2024-01"),
        ("lay/*/*/*.cdxj", "lay/year=2024/month=01/part-0.cdxj", "2024-01"),
        ("lay/*/*.cdxj", "lay/2024/01.cdxj", "2024-01"),
        ("lay/*/*.cdxj", "lay/2024/13.cdxj", "2024"),
        ("lay/*/part-*.parquet", "lay/crawl=spring%202024/part-0.parquet", "spring 2024"),
        ("lay/*/part-0.cdxj", "lay/spring/part-0.cdxj", "spring"),
        ("lay/*.cdxj", "lay/spring.cdxj", "spring"),
        ("s3://b/lay/*/*.cdxj?anonymous=true", "s3://b/lay/2024-01/part-0.cdxj?anonymous=true", "2024-01"),
        ("s3://b/lay", "s3://b/lay/2024-01.cdxj", "2024-01"),
        ("lay/*/*.cdxj", "lay/spring/part-0.cdxj", None),
        ("lay/2024-01.cdxj", "lay/2024-01.cdxj", None),
    ],
)
def test_nearest_name_that_dates_a_file_is_its_crawl(pattern, path, expected):
    assert label(pattern, path) == expected


def test_labels_of_the_calendar_date_a_file():
    assert label("lay/*/*.cdxj", "lay/spring/part-0.cdxj", known={"spring"}) == "spring"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("lay/2024-01/2024-01-15.cdxj", "'2024-01-15' or '2024-01'"),
        ("lay/from-2024-01/to-2024-02.cdxj", "'2024-02' or '2024-01'"),
    ],
)
def test_two_dates_are_an_error_that_states_both(path, found):
    with pytest.raises(
        SourceError, match=rf"{path}: its crawl can be {found} by its names; write the path with one \*"
    ):
        label("lay/*/*.cdxj", path)


def test_undated_names_in_folders_are_an_error_that_states_both():
    with pytest.raises(SourceError, match="its crawl can be 'part-0' or 'spring' by its names"):
        label_of_file("lay/*/*.cdxj", "lay/spring/part-0.cdxj", None)


def test_date_in_the_name_of_a_list_is_its_crawl():
    settings = {"is_dated_by_name": True}
    assert label("top/*.csv", "top/top-1m-2024-01-05.csv", **settings) == "2024-01-05"
    assert label("top/top-1m-*.csv.zip", "top/top-1m-2024-01-05.csv.zip", **settings) == "2024-01-05"
    assert label("top/*.csv", "top/20240105-0.csv", "top/20240105-1.csv", **settings) == "20240105"
    with pytest.raises(SourceError, match="both have the date 2024-01 in their names, so both would be crawl 2024-01"):
        label("top/*.csv", "top/hosts-2024-01.csv", "top/urls-2024-01.csv", **settings)
