"""Eight finished pages are read: their statements agree, and no unreported quantity is stated."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.estimates.assessment.reading import state_assessment
from crawl_urn_dagster.estimates.assessment.result import Assessment
from crawl_urn_dagster.estimates.assessment.verdicts import Quotable
from crawl_urn_dagster.report import report_page, to_html, to_markdown
from crawl_urn_dagster.report.fitted import content_of_fit
from crawl_urn_dagster_tests.collections_for_tests import (
    avoiding_histories,
    histories,
    labels,
    pairs_frame,
    presence_frame,
    windows_frame,
)
from crawl_urn_dagster_tests.report.reading import number, rows, section
from crawl_urn_dagster_tests.sharing import make_once

pytestmark = pytest.mark.slow

N_CRAWLS, URN = 16, 1_500
CHANGED, TRUNCATED = 10, 7
ICONS = {"yes": ("✔", "good"), "yes, with a reservation": ("⚠", "warning"), "no": ("✘", "bad")}
VERDICTS = {
    "sound": "sound",
    "misfit": "misfit",
    "withheld": "no_urn",
    "too_short": "too_short",
    "one_crawl": "too_short",
    "drifted": "not_tested_enough",
    "last_crawl_bad": "not_tested_enough",
    "truncated": "not_tested_enough",
}
#: Statement of a core that is always there; a definition of a core does not count.
_PERMANENT = re.compile(r"permanent core\b|every crawl (?:captures|contains)|always (?:there|eligible)")
_NEGATED = re.compile(r"[Nn]o (?:separate |permanent )?core|needs? a|no permanent core")
_PARAMETER = re.compile(r"[κμαc] (?:=|between) |[\d.]+ %(?: \([^)]*\))? of the (?:eligible|known|shell)")


class Read(NamedTuple):
    """A finished page, and other statements on the same fit."""

    markdown: str
    html: str
    summary: str
    assessment: Assessment
    is_curve_fit_refuted: bool
    tables: dict[str, pd.DataFrame]


def _sources():
    """The crawls of each collection."""
    rng = np.random.default_rng(3)
    names = labels(N_CRAWLS)
    frame = presence_frame(histories(N_CRAWLS, urn=URN))
    is_kept = {
        "drifted": (frame["crawl"] < names[CHANGED]) | (frame["element"].str[1:].astype(int) % 3 != 0),
        "last_crawl_bad": (frame["crawl"] != names[-1]) | (rng.random(len(frame)) < 0.5),
        "truncated": (frame["crawl"] != names[TRUNCATED]) | (rng.random(len(frame)) < 0.03),
    }
    counts = avoiding_histories(N_CRAWLS, urn=URN).counts()
    pairs, windows = counts.intersections(), counts.unions()
    return {
        "sound": cu.read_presence(presence_frame(histories(24, urn=2_000))),
        "misfit": cu.read_presence(_four_crawl_cycle(rng)),
        "withheld": cu.read_counts(pairs=pairs_frame(pairs, N_CRAWLS), windows=windows_frame(windows, N_CRAWLS)),
        "too_short": cu.read_presence(presence_frame(histories(3, urn=URN))),
        "one_crawl": cu.read_presence(presence_frame(histories(1, urn=URN))),
        **{name: cu.read_presence(frame[kept]) for name, kept in is_kept.items()},
    }


def _four_crawl_cycle(rng):
    """Elements that are likely to be captured in two crawls of every four."""
    phase = rng.integers(0, 4, URN)[:, None]
    is_likely = (np.arange(N_CRAWLS) + phase) % 4 < 2
    element, crawl = np.nonzero(rng.random(is_likely.shape) < np.where(is_likely, 0.95, 0.1))
    return pd.DataFrame({"crawl": np.array(labels(N_CRAWLS))[crawl], "element": np.char.add("e", element.astype(str))})


def _read_pages(_):
    found = {}
    for name, crawls in _sources().items():
        fit = cu.fit(crawls, n_resamples=20)
        page = report_page(content_of_fit(crawls, fit.tables, name=name, granularity="other", clock="crawl"))
        tables = {table: fit.tables[table] for table in ("crawls", "quantities", "population")}
        texts = to_markdown(page), to_html(page), fit.summary()
        found[name] = Read(*texts, fit.assessment, fit.headline.is_refuted, tables)
    return found


@pytest.fixture(scope="module")
def pages(tmp_path_factory, worker_id):
    return make_once(tmp_path_factory, worker_id, "eight_pages", _read_pages)[1]


@pytest.fixture(params=VERDICTS)
def read(request, pages):
    return pages[request.param]


def unfolded(text):
    """Return the text outside folded parts."""
    kept, depth = [], 0
    for line in text.splitlines():
        depth += line.startswith("<details>")
        if not depth:
            kept.append(line)
        depth -= line.startswith("</details>")
    return "\n".join(kept)


def sections(page):
    """Return the visible text of each section by title."""
    titles = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
    return {title: unfolded(section(page, title)).strip() for title in titles}


def answers(page):
    return {row["question"]: row["answer"] for row in rows(page, "question")}


def figures(text):
    """Return a value and the ends of its interval, without a per cent sign."""
    return tuple(number(one) for one in re.findall(r"-?[\d,]+(?:\.\d+)?", text.replace("95 %", ""))[:3])


def test_each_collection_is_what_it_is_called(pages):
    assert {name: one.assessment.verdict.name.value for name, one in pages.items()} == VERDICTS
    assert pages["drifted"].assessment.scope_break == labels(N_CRAWLS)[CHANGED]
    assert pages["last_crawl_bad"].assessment.set_aside == (labels(N_CRAWLS)[-1],)
    assert pages["truncated"].assessment.set_aside == (labels(N_CRAWLS)[TRUNCATED],)


def test_verdict_is_the_same_in_word_icon_colour_and_terminal(read):
    verdict = read.assessment.verdict
    icon, colour = ICONS[verdict.quotable.value]
    callout = re.search(r"^> (.) \*\*Numbers may be quoted: ([\w, ]+) \(`(\w+)`\)", read.markdown, flags=re.MULTILINE)
    assert callout.groups() == (icon, verdict.quotable.value, verdict.name.value)
    # The terminal, checks, alerts and metadata state the assessment in these words.
    stated = state_assessment(read.assessment)
    assert stated.startswith(f"Numbers may be quoted: {callout[2]}. Verdict {callout[3]}: ")
    assert re.search(r'class="callout (\w+)"[^>]*><p>(.)', read.html).groups() == (colour, icon)
    assert f"quotable: {callout[2]}\n" in read.summary
    assert f"verdict: {callout[3]}. " in read.summary


def test_every_section_opens_with_an_answer(read):
    for title, text in sections(read.markdown).items():
        first = text.splitlines()[0] if text else ""
        assert re.match(r"[*\w]", first), (title, first)
        assert first.rstrip("*").endswith((".", ":")), (title, first)


def test_numbers_that_are_withheld_are_not_stated(read):
    if read.assessment.verdict.quotable is not Quotable.NO:
        return
    visible = unfolded(read.markdown)
    assert not _PARAMETER.search(visible), _PARAMETER.search(visible)
    assert "No number may be quoted." in visible
    assert not re.search(r"[κμαc] = ", read.summary.split("reading of the curves")[0])
    assert "known eligible" not in unfolded(read.markdown)
    assert state_assessment(read.assessment).endswith("No number may be quoted.")


def test_parameters_of_a_refuted_fit_are_not_stated(read):
    text = sections(read.markdown)["The paper's reading of the curves"]
    if read.is_curve_fit_refuted:
        assert not _PARAMETER.search(text)
        assert not re.search(r"[κμαc] = ", read.summary)


def test_quantities_have_one_value_wherever_they_stand(read):
    quantities = read.tables["quantities"].set_index("quantity")
    quoted = quantities.index[quantities["value"].notna()]
    if not len(quoted):
        return
    table = {row["quantity"]: row["value (95 % CI)"] for row in rows(read.markdown, "value (95 % CI)")}
    answer = answers(read.markdown)["How much is out there, and in one crawl?"]
    share = re.search(r"holds \*\*(.*?)\*\*", answer)[1]
    assert figures(share) == figures(table["crawl completeness"])
    assert figures(answer) == figures(table["known eligible elements"])
    stated = state_assessment(read.assessment)
    for text in (stated, re.sub(r"\s+", " ", read.summary)):
        assert figures(re.search(r"known eligible elements (.*?\))", text)[1]) == figures(
            table["known eligible elements"]
        )
        found = np.array(figures(re.search(r"[Cc]rawl completeness (.*?\))", text)[1]))
        np.testing.assert_allclose(100 * found, figures(table["crawl completeness"]), rtol=1e-9)
    if "core_share" in quoted:
        core = re.search(r"\*\* of them\. (.*?\)) of it is permanent core", answer)[1]
        np.testing.assert_allclose(figures(core), figures(table["μ"]), atol=0.51)


def test_population_names_the_crawl_that_it_describes(read):
    population, names = read.tables["population"], list(read.tables["crawls"]["crawl"])
    answer = answers(read.markdown)["How much is out there, and in one crawl?"]
    if len(population) and population["crawl"].iloc[-1] != names[-1]:
        assert f" at {population['crawl'].iloc[-1]}; " in answer
        assert f"to {population['crawl'].iloc[-1]}. " in sections(read.markdown)["Numbers that may be quoted"]
    else:
        assert " at " not in answer


def test_losses_are_not_split_by_rates_before_a_change_of_scope(pages):
    answer = answers(pages["drifted"].markdown)["What is lost between crawls?"]
    assert answer.endswith("whether they are gone or were missed is not reported.")
    assert " gone, " in answers(pages["sound"].markdown)["What is lost between crawls?"]


def test_losses_add_up(read):
    answer = answers(read.markdown)["What is lost between crawls?"]
    found = re.match(r"([\d,]+) of [\d,]+ .*: at mean-gap rates, ([\d,]+) \(.*?\) gone, ([\d,]+) \(", answer)
    if found:
        missing, gone, missed = map(number, found.groups())
        assert abs(missing - gone - missed) <= 0.02 * missing


def test_core_that_may_not_be_quoted_is_not_described(read):
    if read.assessment.estimate("kappa") is not None:
        assert "permanent core" in unfolded(read.markdown)
        return
    for sentence in re.split(r"(?<=[.;:])\s", unfolded(read.markdown)):
        assert not _PERMANENT.search(sentence) or _NEGATED.search(sentence), sentence


def test_last_crawl_stands_out_on_the_page_as_in_its_table(read, pages):
    answer = answers(read.markdown)["Did the last crawl stand out?"]
    assert answer.startswith("**Yes.**") == (read is pages["last_crawl_bad"])
    latest = sections(read.markdown)["Latest crawl"]
    assert not (answer.startswith("No.") and "outside the interval" in latest)


def test_change_of_scope_has_one_date(pages):
    page = pages["drifted"].markdown
    dates = re.findall(r"scope changed (?:at|with) ([\d-]+)", page)
    assert len(dates) >= 2
    assert set(dates) == {labels(N_CRAWLS)[CHANGED]}
    assert "No change was found" not in page
