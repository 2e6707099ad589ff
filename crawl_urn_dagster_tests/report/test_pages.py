"""Pages as Markdown and HTML, and the safety of the HTML."""

import base64
import hashlib
import io
import re
from html import escape as escape_html
from html.parser import HTMLParser
from urllib.parse import unquote

import pandas as pd
import pytest

from crawl_urn_dagster.report import Page, Picture, to_html, to_markdown
from crawl_urn_dagster.report.blocks import Folded, Moments, Section
from crawl_urn_dagster.report.markdown import captioned_table, escape

HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) ![y](http://evil.example/p.png) `$title` | </table>"
ALLOWED_TAGS = (
    "html head meta title style body main h1 h2 h3 nav ol li a section span caption p strong blockquote div table "
    "thead tbody tr th td figure img figcaption details summary"
)
PICTURE = Picture("figures/one.png", b"\x89PNG", f"caption {HOSTILE}", f'alt " {HOSTILE}')


@pytest.fixture(scope="module")
def page():
    return Page(
        f"name {HOSTILE}",
        [f"> **{escape(HOSTILE)}**"],
        [
            Section("One: first", [f"| a |\n|---|\n| {escape(HOSTILE)} |", PICTURE]),
            Section(f"Two {HOSTILE}", [Folded(f"more {HOSTILE}", ["in it", Section("Deep", ["text"])])]),
        ],
    )


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_html_in_data_is_shown_as_text(page):
    elements = Elements(to_html(page)).found
    assert {tag for tag, _ in elements} <= set(ALLOWED_TAGS.split())
    for _, attributes in elements:
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("src", "data:").startswith("data:")
        assert attributes.get("href", "#").startswith(("#", "figures/one.", "data:text/csv;"))


def policy_of(page):
    elements = Elements(to_html(page)).found
    (policy,) = (one["content"] for _, one in elements if one.get("http-equiv") == "Content-Security-Policy")
    return policy


def test_policy_allows_only_the_script_of_charts(page):
    with_charts = page._replace(crawls=Moments(["a"], [0]))
    (script,) = re.findall("<script>(.*?)</script>", to_html(with_charts), flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy_of(with_charts) == f"{policy_of(page)}; script-src 'sha256-{digest}'"


def test_policy_forbids_scripts_and_the_network(page):
    assert policy_of(page) == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    style = re.search("<style>(.*?)</style>", to_html(page), flags=re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_contents_link_to_every_section(page):
    elements = Elements(to_html(page)).found
    targets = [one["href"][1:] for tag, one in elements if tag == "a" and "download" not in one]
    ids = [one["id"] for tag, one in elements if tag == "section"]
    targets, permalinks = targets[: len(ids)], targets[len(ids) :]
    assert targets == permalinks == ids
    assert targets[0] == "one-first"
    assert re.findall(r"^- \[.*\]\(#(.*)\)$", to_markdown(page), flags=re.MULTILINE) == targets


def test_pictures_are_in_the_html_and_linked_in_markdown(page):
    (image,) = (one for tag, one in Elements(to_html(page)).found if tag == "img")
    assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")) == PICTURE.png
    assert image["alt"] == PICTURE.alt
    text = to_markdown(page)
    assert "](figures/one.png)" in text
    assert text.count("(figures/") == 1
    assert "figures" not in to_markdown(Page("t", [PICTURE._replace(path=None)], []))


def test_table_has_its_caption_and_a_link_to_its_rows():
    frame = pd.DataFrame(
        {HOSTILE: [1.23456, None], "text": [HOSTILE, "a, b"], "estimate": ["**40 %** (30 to 50)", "\\<1"]}
    )
    table = captioned_table(f"Caption {HOSTILE}", frame, formatted=["estimate"])
    html = to_html(Page("t", [table, "after"], []))
    assert f"<caption><span>Caption {escape_html(HOSTILE)} <a " in html
    (link,) = (one for tag, one in Elements(html).found if tag == "a")
    assert re.fullmatch(r"caption-[a-z0-9-]+\.csv", link["download"])
    found = pd.read_csv(io.StringIO(unquote(link["href"].partition(",")[2])))
    pd.testing.assert_frame_equal(found, frame.assign(estimate=["40 % (30 to 50)", "<1"]))
    assert f"*Caption {escape(HOSTILE)}*" in to_markdown(Page("t", [table], []))


def test_html_and_markdown_have_the_same_words(page):
    html = re.sub(r"<(style|nav|head)[ >].*?</\1>|<a [^>]*download[^>]*>\w+</a>", "", to_html(page), flags=re.DOTALL)
    from_html = re.findall(r"\w+", re.sub(r"&\w+;|&#x?\w+;", " ", re.sub(r"<[^>]*>", " ", html)))
    text = re.sub(r"^- \[.*\n", "", to_markdown(page), flags=re.MULTILINE)
    markdown = re.sub(r"!\[.*?[^\\]\]\(figures/one.png\)|</?(details|summary)>|&\w+;", " ", text)
    assert re.findall(r"\w+", markdown) == [word for word in from_html if word]
