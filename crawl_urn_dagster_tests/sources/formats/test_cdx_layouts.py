"""Test that the layout of an index is decided by its columns: every layout, each with any single line damaged."""

import json
import re
from collections import Counter

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_urn_dagster.sources import CdxSource, InputFile, LocalFile, SourceError
from crawl_urn_dagster.sources.formats.cdx_lines import LAYOUTS, LineFormat, detect_format
from crawl_urn_dagster.sources.formats.parquet_cache import ConversionNotes

WGET = "abamskrMVgu"
WITH_STATUS = [letters for letters in LAYOUTS if "s" in letters]


def capture(number):
    """Return the fields of a capture by letter; every third has status 404."""
    return {
        "N": f"org,example{number})/page",
        "a": f"http://example{number}.org/page",
        "b": f"2014{1 + number % 12:02}26200624",
        "m": ("text/html", "image/png", 'text/html; charset="utf 8"')[number % 3],
        "s": "404" if number % 3 == 1 else "200",
        "k": f"OSSAPWJ23L56IYVRW3GFEAR4MCJMG{number % 1000:03}".replace("0", "A").replace("1", "B").replace("8", "C"),
        "r": "http://example.org/other" if number % 4 == 3 else "-",
        "M": "AF" if number % 5 == 4 else "-",
        "S": str(2000 + number),
        "V": str(334 + 2000 * number),
        "g": "WEEKLY-20140126-00001.warc.gz",
        "e": "192.0.2.1",
        "n": str(3000 + number),
        "u": f"<urn:uuid:00000000-0000-0000-0000-{number:012}>",
        "1": "1234",
        "2": "5678",
        "3": "WEEKLY-20130126-00001.warc.gz",
    }


def lines_of(letters, count, delimiter=" "):
    return [delimiter.join(capture(number)[letter] for letter in letters) for number in range(count)]


def cdxj(count, *, has_prefix=True):
    lines = []
    for number in range(count):
        fields = capture(number)
        values = {"url": fields["a"], "mime": fields["m"], "status": fields["s"], "filename": fields["g"]}
        if not has_prefix:
            values = {"urlkey": fields["N"], "timestamp": fields["b"], **values}
        lines.append((f"{fields['N']} {fields['b']} " if has_prefix else "") + json.dumps(values))
    return lines


def expected(count):
    return [capture(number)["N"] for number in range(count) if capture(number)["s"] == "200"]


def read(folder, lines, **configured):
    """Return the numbers of lines by outcome, with the samples, and the elements of one converted file."""
    path = folder / "2014.cdx"
    path.write_text("\n".join(lines), encoding="utf-8")
    source = CdxSource(path=str(path), crawl_from="year", max_malformed=1.0, **configured)
    local = LocalFile(path, InputFile(str(path), path.stat().st_size, "0" * 64))
    source._write(local, folder / "converted", None, str)
    notes = ConversionNotes.read(folder / "converted")
    elements = pq.read_table(folder / "converted")["element"].to_pylist()
    return {**notes.counts, "malformed": "\n".join(notes.samples)}, elements


def assert_every_line_is_counted(findings):
    left_out = sum(count for name, count in findings.items() if name.startswith("captures_left_out_"))
    accounted = findings["captures"] + left_out + findings["lines_malformed"] + findings.get("lines_header", 0)
    assert accounted == findings["lines"]


@pytest.mark.parametrize("letters", LAYOUTS)
@pytest.mark.parametrize("delimiter", [" ", "\t"])
def test_layouts_are_distinguished(letters, delimiter):
    for count in (1, 3, 100):
        lines = lines_of(letters, count, delimiter)
        assert detect_format(lines, None, "index") == LineFormat(letters, delimiter)


@pytest.mark.parametrize("letters", WITH_STATUS)
def test_status_is_read_from_its_column(tmp_path, letters):
    findings, elements = read(tmp_path, lines_of(letters, 300))
    assert sorted(elements) == sorted(expected(300))
    assert (findings["captures_left_out_status"], findings["lines_malformed"]) == (100, 0)
    assert_every_line_is_counted(findings)


@pytest.mark.parametrize("other", [9, 10, 12])
def test_one_line_of_another_layout_is_malformed(tmp_path, other):
    """A thousand lines of 11 fields keep their layout; one line of 9, 10 or 12 is malformed."""
    lines = lines_of("NbamskrMSVg", 1000)
    words = lines[50].split(" ")
    lines[50] = " ".join(words[: other - 1] + words[-1:]) if other < 11 else f"{lines[50]} 3"
    findings, elements = read(tmp_path, lines)
    assert findings["lines_malformed"] == 1
    assert set(expected(1000)) - set(elements) <= {capture(50)["N"]}


def test_longer_lines_under_a_shorter_legend(tmp_path):
    """OutbackCDX writes 14 columns, also under a legend of 11; other longer lines are an error."""
    legend = " CDX N b a m s k r M S V g"
    findings, elements = read(tmp_path, [legend, *lines_of("NbamskrMSVg123", 30)])
    assert sorted(elements) == sorted(expected(30))
    assert (findings["lines_header"], findings["lines_malformed"]) == (1, 0)
    with pytest.raises(SourceError, match=r"its legend ' CDX N b a m s k r M S V g' has 11 fields.* have 13; correct"):
        read(tmp_path, [legend, *lines_of("NbamskrMSVgkk", 30)])


def test_two_layouts_that_fit_equally_ask_for_a_legend(tmp_path):
    lines = lines_of("NbamskrMSVg", 8)[::2] + lines_of("NbamskrVg", 8)[1::2]
    message = "4 of the first 8 lines are N b a m s k r M S V g, and as many are N b a m s k r V g; set `legend`"
    with pytest.raises(SourceError, match=re.escape(message)):
        read(tmp_path, lines)
    findings, _ = read(tmp_path, lines, legend="N b a m s k r M S V g")
    assert findings["lines_malformed"] == 4


@pytest.mark.parametrize("legend", [" CDX N b a m s k r M V g", " CDX N"])
def test_a_legend_of_other_fields_in_the_middle_is_an_error(tmp_path, legend):
    lines = [" CDX N b a m s k r V g", *lines_of("NbamskrVg", 3), legend]
    with pytest.raises(SourceError, match=f"2014.cdx, line 5: the legend '{legend}' follows lines of"):
        read(tmp_path, lines)


@pytest.mark.parametrize(
    ("mime", "is_capture"),
    [("- html>", True), ("text/html; charset=utf 8", True), ("not a mime", False), ("text/html 200", False)],
)
def test_a_mime_with_spaces_never_becomes_a_status(tmp_path, mime, is_capture):
    line = " ".join({**capture(3), "m": mime}[letter] for letter in "NbamskrMSVg")
    findings, elements = read(tmp_path, [*lines_of("NbamskrMSVg", 3), line])
    assert (capture(3)["N"] in elements, findings["lines_malformed"]) == (is_capture, int(not is_capture))


def test_invalid_status_is_malformed(tmp_path):
    line = " ".join({**capture(3), "s": "html>"}[letter] for letter in "NbamskrMSVg")
    findings, _ = read(tmp_path, [*lines_of("NbamskrMSVg", 3), line])
    assert "line 4 has a status that is neither three digits nor -" in findings["malformed"]


def damaged(draw, line):
    """Draw a line with one field lost, doubled, split or cut, or the line cut: every status keeps its meaning."""
    delimiter = "\t" if "\t" in line else " "
    words = line.split(delimiter)
    at = draw(st.integers(0, len(words) - 1))
    kind = draw(st.sampled_from(["lose", "double", "split", "cut", "end", "empty", "break"]))
    word = words[at]
    cut = draw(st.integers(0, len(word)))
    changed = {
        "lose": words[:at] + words[at + 1 :],
        "double": words[: at + 1] + words[at:],
        "split": [*words[:at], word[:cut], word[cut:], *words[at + 1 :]],
        "cut": words[:at],
        "end": [*words[:at], word[:cut]],
        "empty": [*words[:at], "", *words[at + 1 :]],
        "break": [*words[:at], f"{word[:cut]}\n{word[cut:]}", *words[at + 1 :]],
    }[kind]
    return delimiter.join(changed)


FILES = {
    **{letters: lambda count, letters=letters: lines_of(letters, count) for letters in WITH_STATUS},
    "11 under a legend": lambda count: [" CDX N b a m s k r M S V g", *lines_of("NbamskrMSVg", count)],
    "14 under 11 letters": lambda count: [" CDX N b a m s k r M S V g", *lines_of("NbamskrMSVg123", count)],
    "tabs": lambda count: lines_of("NbamskrMSVg", count, "\t"),
    "CDXJ": cdxj,
    "lines of JSON": lambda count: cdxj(count, has_prefix=False),
}


@settings(max_examples=200)
@given(data=st.data(), name=st.sampled_from(sorted(FILES)), count=st.integers(1, 12))
def test_one_damaged_line_changes_no_other_capture(tmp_path, data, name, count):
    """The captures of all other lines are right, or the error names the file; every line is counted once."""
    lines = FILES[name](count)
    number = data.draw(st.integers(0, len(lines) - 1))
    damage = damaged(data.draw, lines[number])
    try:
        findings, elements = read(tmp_path, [*lines[:number], damage, *lines[number + 1 :]])
    except SourceError as error:
        assert "2014.cdx" in str(error)  # noqa: PT017 - an error is one of two right results
        return
    assert_every_line_is_counted(findings)
    is_legend = "CDX" in lines[number]
    capture_number = number - ("CDX" in lines[0])
    others = Counter(expected(count))
    if not is_legend and capture_number % 3 != 1:
        others[capture(capture_number)["N"]] -= 1
    found = Counter(elements)
    assert not others - found
    assert (found - others).total() <= 1 + damage.count("\n")
