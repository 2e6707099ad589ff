"""Reading a report back from its Markdown, for tests.

Here: sections, tables, and numbers with their limits, as they have to be written.
"""

import re

import numpy as np

# A number, its unit, and its limits, as `markdown.estimate` writes them; limits alone where it is not identified.
ESTIMATE = re.compile(r"(?:([-\d.,∞]+)(?: %)? \()?([-\d.,∞]+) to ([-\d.,∞]+)\)?")


def section(page, title):
    """Text under a heading of the second level."""
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text, title=None):
    """Rows of the first table of a text, or of the first that has a column, as dicts."""
    tables = re.findall(r"(?:^\|.*\|\n)+", text + "\n", flags=re.MULTILINE)
    for table in tables:
        header, _, *lines = ([cell.strip() for cell in line.strip("|\n").split(" |")] for line in table.splitlines())
        if title is None or title in header:
            return [dict(zip(header, line, strict=True)) for line in lines]
    raise LookupError(f"no table with a column {title!r}")


def estimate(text):
    """Value and limits of a number, in percent if it is written so; NaN for a value that is not written."""
    return tuple(np.nan if one is None else number(one) for one in ESTIMATE.search(text).groups())


def number(text):
    return float(text.replace(",", "").replace("∞", "inf"))


def assert_written(text, expected, *, share=False):
    """The number and limits of a text are those expected, to the digits that are shown."""
    expected = np.array(expected, dtype=float) * (100 if share else 1)
    _, low, high = expected
    # Limits are at least 4 units of the last digit apart, and rounded by half of one.
    atol = (high - low) / 8 * 1.001 if low < high < np.inf else 0
    written = np.array(estimate(text.replace("never", "∞")))
    expected = np.where(np.isnan(written), np.nan, expected)
    np.testing.assert_allclose(written, expected, rtol=0 if atol else 1e-3, atol=atol)
