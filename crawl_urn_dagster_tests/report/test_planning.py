"""The planning section equals the table."""

import re

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.report.planning import planning_section
from crawl_urn_dagster_tests.report.reading import assert_written, columns, number, rows, section

TITLE = "Planning: other coverages and gaps"
COLUMNS = {
    "captured share of the urn": "crawl_size",
    "crawls until 90 % of the shell was captured": "crawls_to_seen",
    "long-run captured share of the shell": "seen_at_last",
    "unique rate": "nu_inf",
    "missed time in the shell, days": "hidden_time",
    "fetches per new element": "cost_per_new",
}


def test_planning_tables_are_the_table_at_each_gap(tables, page):
    planning = tables["planning"]
    days = tables["crawls"]["started_at"].diff().mean() / pd.Timedelta(days=1)
    text = section(page, TITLE)
    least = {}
    for part, gap in zip(text.split("<details>")[1:], (1, 0.5, 2), strict=True):
        plan = planning[planning["gap"] == gap].sort_values("coverage").to_dict("records")
        for row, expected in zip(rows(part, "coverage"), plan, strict=True):
            assert row["coverage"] == f"{expected['coverage']:.2g}" + (" (now)" if expected["current"] else "")
            for title, name in COLUMNS.items():
                scale = days if name == "hidden_time" else 1
                if row[title] == "never":
                    assert np.isinf(columns(expected, name)).all()
                else:
                    assert_written(row[title], scale * np.array(columns(expected, name)))
        least[gap] = min(row["coverage"] for row in plan if np.isfinite(row["crawls_to_seen_high"]))
    use = f"coverage of {least[1]:.2g} at the present gap, {least[0.5]:.2g} at half the gap or {least[2]:.2g} at twice"
    assert f"To capture 90 % of the shell at both ends of the confidence interval, use a {use} the gap." in text


def test_planning_states_largest_crawl_or_needed_coverage(tables, page, content_with):
    planning, size = tables["planning"], tables["crawls"]["elements"].mean()
    now = planning[planning["current"]].iloc[0]
    largest = re.search(
        r"twice the present mean size \((.*) elements\) would exceed the urn of about (.*) elements\. .*has (.*) times",
        section(page, TITLE),
    ).groups()
    expected = [2 * size, size / now["crawl_size"], 1 / now["crawl_size"]]
    assert [number(one) for one in largest] == pytest.approx(expected, rel=0.03)
    content = content_with(planning=planning.assign(crawl_size=0.3, coverage=0.1))
    # 0.3 = κ + (1 - κ) 0.1 gives κ = 2/9, and 0.6 = κ + (1 - κ) c gives c = 0.486.
    blocks = planning_section(content).blocks
    assert any("has a shell coverage of 0.49;" in block for block in blocks if isinstance(block, str))


def test_unidentified_joint_fit_gives_no_plan(tables, content_with):
    planning = tables["planning"].assign(status="not_identified")
    (text,) = planning_section(content_with(planning=planning)).blocks
    assert text == "Not planned: the joint core–shell fit is not identified."


def test_refuted_fit_gives_no_planning_section(tables, content_with):
    parameters = tables["parameters"]
    status = parameters["status"].mask(parameters["headline"], "refuted")
    assert planning_section(content_with(parameters=parameters.assign(status=status))) is None
