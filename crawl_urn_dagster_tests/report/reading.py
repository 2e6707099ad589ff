"""Functions that read sections, tables and estimates back from the Markdown of a report."""

import re

import numpy as np

from crawl_urn_dagster.report import Page, to_markdown

N_CRAWLS = 16
TABLES = (
    *("crawls", "quantities", "classes", "population", "adequacy_tests", "candidate_models", "parameters"),
    *("operator_terms", "diagnosis", "model_comparison", "revisit_regimes", "drift"),
    *(
        "forecast",
        "planning",
        "quarantine",
        "revisions",
        "findings",
        "inputs",
        "control_chart",
        "parameter_history",
        "containment",
    ),
    *("discovery_curve", "first_returns", "capture_recapture", "comparators", "equal_budget", "last_crawl"),
    *("window_lengths", "element_scores", "reseed", "likely_gone", "core_members", "newcomers_at_risk"),
    "lost_in_last_crawl",
)
NUMBER = r"-?[\d,]+(?:\.\d+)?"
#: An estimate in a sentence: its value, and its interval in parentheses.
STATED = re.compile(rf"{NUMBER}(?: %)?(?: [\w ]+)? \((?:95 % CI )?{NUMBER}(?: %)? to {NUMBER}(?: %)?\)")
# An estimate with its interval, or an interval alone if the parameters are not identified.
_ESTIMATE = re.compile(
    r"(?:([-\d.,∞]+)(?: %)?(?: [\w ]+)? \((?:95 % CI )?)?([-\d.,∞]+)(?: %)? to ([-\d.,∞]+)(?: %)?\)?"
)


def render(*sections, lead=()):
    """Return sections as Markdown, after some blocks."""
    return to_markdown(Page("", list(lead), list(sections)))


def section(page, title):
    """Return the text below a heading of the second level."""
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text, title=None):
    """Return the rows of the first table, or of the first with a given column, as dicts."""
    tables = re.findall(r"(?:^\|.*\|\n)+", text + "\n", flags=re.MULTILINE)
    for table in tables:
        header, _, *lines = ([cell.strip() for cell in line.strip("|\n").split(" |")] for line in table.splitlines())
        if title is None or title in header:
            return [dict(zip(header, line, strict=True)) for line in lines]
    raise LookupError(f"no table with a column {title!r}")


def columns(row, name):
    """Return an estimate of a table row and the ends of its interval."""
    return tuple(row[f"{name}{end}"] for end in ("", "_low", "_high"))


def headline_row(tables):
    """Return the last row of the headline: the shell, or the urn if the model has no core."""
    parameters = tables["parameters"]
    return parameters[parameters["headline"]].iloc[-1]


def estimate(text):
    """Return an estimate and the ends of its interval; NaN for an estimate that is not given."""
    return tuple(np.nan if one is None else number(one) for one in _ESTIMATE.search(text).groups())


def number(text):
    return float(text.replace(",", "").replace("∞", "inf"))


def assert_written(text, expected, *, share=False):
    """Assert that a text has an expected estimate and interval, to the digits that are shown."""
    expected = np.array(expected, dtype=float) * (100 if share else 1)
    _, low, high = expected
    # The ends differ by at least 4 units of the last digit, and each is rounded by at most half a unit.
    atol = (high - low) / 8 * 1.001 if low < high < np.inf else 0
    written = np.array(estimate(text.replace("never", "∞")))
    expected = np.where(np.isnan(written), np.nan, expected)
    np.testing.assert_allclose(written, expected, rtol=0 if atol else 1e-3, atol=atol)
