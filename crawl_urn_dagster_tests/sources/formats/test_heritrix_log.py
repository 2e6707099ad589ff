"""Test the source of crawl logs of Heritrix on lines of every kind."""

import pytest
from pydantic import ValidationError

from crawl_urn_dagster.sources import HeritrixLogSource, SourceError
from crawl_urn_dagster_tests.sources.conftest import labels_of

TAIL = "text/html #025 20110623171208546+922 sha1:7AJUMSDTOMT4FN7MBFGGNJU3Z56MLCMW"
UNFETCHED = "unknown #003 - - http://www.a.com/ -"
LOG = f"""\
2011-06-23T17:12:08.802Z   200      15829 http://www.a.com/ - - {TAIL} http://www.a.com/ -
2011-06-23T17:12:09.591Z   200       1299 http://www.a.com/robots.txt P http://www.a.com/ {TAIL} - -
2011-06-23T17:12:10.000Z     1         56 dns:www.a.com P http://www.a.com/ {TAIL} - -
2011-06-23T17:12:11.000Z   404        500 http://www.a.com/b L http://www.a.com/ {TAIL} http://www.a.com/ 2t
2011-06-23T17:12:12.000Z -9998          - http://www.a.com/private/ L http://www.a.com/ {UNFETCHED}
2011-06-23T17:12:13.000Z    -2          - http://down.a.com/ L http://www.a.com/ {UNFETCHED}
2011-06-23T17:12:14.000Z   304          0 http://www.a.com/c L - {TAIL} http://www.a.com/ warcRevisit:notModified,2t
2011-06-23T17:12:15.000Z   404          9 http://www.a.com/d LE - {TAIL} - duplicate:"1",warcRevisit:digest
2012-01-01T00:00:00.001Z   200          9 http://www.a.com/e LLR - {TAIL} - - {{"warcFilename":"JOB-2.warc.gz"}}
not a line of the log
"""


@pytest.fixture
def outcomes(read, write):
    """Return a function that reads a log: findings, and the elements."""

    def outcomes(text=LOG, **configured):
        source = HeritrixLogSource(path=write("crawl.log", text), **{"crawl_from": "year", **configured})
        listing, captures = read(source)
        return listing.findings, captures

    return outcomes


def test_every_line_has_one_outcome(outcomes):
    findings, captures = outcomes(max_malformed=0.2)
    assert [element for _, element in captures] == [f"com,a)/{path}" for path in ("", "c", "d", "e", "robots.txt")]
    left_out = {name: count for name, count in findings.items() if name.startswith("captures_left_out") and count}
    assert left_out == {
        "captures_left_out_status": 1,
        "captures_left_out_not_fetched": 2,
        "captures_left_out_not_web": 1,
    }
    assert findings["lines_malformed"] == 1
    assert findings["lines"] == 10 == findings["captures"] + sum(left_out.values()) + findings["lines_malformed"]


def test_time_is_the_start_of_the_fetch(outcomes):
    fetched = LOG.splitlines()[0].replace("2011-06-23T", "2013-01-01T")
    assert outcomes(fetched, crawl_from="day")[1] == [("2011-06-23", "com,a)/")]
    no_start = fetched.replace("20110623171208546+922", "-")
    assert outcomes(no_start, crawl_from="day")[1] == [("2013-01-01", "com,a)/")]


def test_revisits_of_originals_that_are_not_present_are_left_out(outcomes):
    captures = outcomes(revisits="original_present", max_malformed=0.2)[1]
    # 304 is the status of the visit, so the original of /c is unknown; the original of /d is 404.
    assert [element for _, element in captures] == [f"com,a)/{path}" for path in ("", "c", "e", "robots.txt")]


def test_statuses_below_100_are_never_present(outcomes):
    findings, captures = outcomes(present=["any"], max_malformed=0.2)
    assert len(captures) == 6
    assert findings["captures_left_out_not_fetched"] == 2


def test_discovery_path_selects_seeds(outcomes):
    findings, captures = outcomes(discovery_path="^-$", max_malformed=0.2)
    assert [element for _, element in captures] == ["com,a)/"]
    assert findings["captures_left_out_discovery_path"] == 5
    with pytest.raises(ValidationError, match="discovery_path"):
        HeritrixLogSource(path="crawl.log", discovery_path="(")


def test_crawl_is_the_name_of_the_warc_of_the_extra_information(outcomes):
    findings, captures = outcomes(crawl_from="warc", warc_pattern="JOB-[0-9]+", max_malformed=0.2)
    assert captures == [("JOB-2", "com,a)/e")]
    assert findings["captures_left_out_no_crawl"] == 4


def test_jobs_of_a_folder_are_crawls(files, write):
    for month in (1, 2, 3):
        write(f"jobs/2011-0{month}/logs/crawl.log", LOG.splitlines()[0] + "\n")
    source = HeritrixLogSource(path=str(files.cache.parent / "jobs" / "*" / "logs" / "crawl.log"))
    from crawl_urn_dagster.sources import Selection

    assert labels_of(source.list_crawls(files, Selection())) == ["2011-01", "2011-02", "2011-03"]


@pytest.mark.parametrize(("text", "found"), [("a b c\n", "'a b c'"), ("", "no lines")])
def test_another_file_is_rejected(outcomes, text, found):
    with pytest.raises(SourceError, match=rf"crawl.log: found .*{found}, expected a crawl.log of Heritrix"):
        outcomes(text)


def test_more_malformed_lines_than_allowed_are_named(outcomes):
    with pytest.raises(SourceError, match=r"1 of 10 lines are malformed.*line 10 .*'not a line of the log'"):
        outcomes()
