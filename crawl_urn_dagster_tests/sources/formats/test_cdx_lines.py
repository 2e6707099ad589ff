"""Test the detection of line formats."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster.sources.formats.cdx_lines import CDXJ, LineFormat, detect_format, parse_legend

LINE = "com,a)/ 20140101000000 http://www.a.com/ text/html 200 K - - 9 9 a.warc.gz"


@pytest.mark.parametrize(
    ("line", "form"),
    [
        (" CDX N b a m s k r M S V g", LineFormat("NbamskrMSVg")),
        ("|CDX|N|b", LineFormat("Nb", "|")),
        (LINE, LineFormat("NbamskrMSVg")),
        (LINE.replace("- - 9 9", "- 9"), LineFormat("NbamskrVg")),
        ("http://a.de 1.2.3.4 20060329081338 text/html 478 a.arc 10002 d2dd", LineFormat("aebmngVk")),
        ("http://a.de/\t2014", LineFormat("ab", "\t")),
        ('com,a)/ 2014 {"url": "http://a.com/"}', CDXJ),
    ],
)
def test_format_of_a_file(line, form):
    assert detect_format([line], None, "index") == form
    assert form.is_line(line) != ("CDX" in line)


def test_configured_legend_applies_to_files_without_one():
    legend = LineFormat("bas")
    assert detect_format(["2014 http://a.com/ 200"], legend, "index") == legend
    assert detect_format([" CDX N b"], legend, "index") == LineFormat("Nb")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "index: is empty"),
        (["one two three four"], "index: found lines such as 'one two three four', expected CDX.* set `legend`"),
        ([" CDX N a m"], "index, line 1: found the legend ' CDX N a m', which lacks b"),
    ],
)
def test_other_files_are_errors(lines, message):
    with pytest.raises(SourceError, match=message):
        detect_format(lines, None, "index")


def test_positions_count_from_1_and_the_first_key_wins():
    form = parse_legend("A b N a m")
    assert (form.position("key"), form.position("stamp"), form.position("status"), form.wide) == (3, 2, None, 5)
    assert form.has("url")
    assert not form.has("warc")
    assert CDXJ.has("warc")


def test_a_line_may_have_delimiters_in_its_mime_only():
    form = LineFormat("NbamskrMSVg")
    assert form.is_line(LINE.replace("text/html", 'text/html; charset="utf 8"'))
    assert not LineFormat("Nb").is_line("com,a)/ 2014 more")


@settings(max_examples=100)
@given(text=st.text(max_size=30))
def test_legends_are_parsed_or_rejected(text):
    try:
        form = parse_legend(text)
    except ValueError:
        return
    assert "b" in form.letters
