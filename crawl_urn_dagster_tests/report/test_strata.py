"""The section on strata, and the stratum that is covered worst."""

import pandas as pd
import pytest

from crawl_urn_dagster.report.strata import strata_section, worst_stratum
from crawl_urn_dagster_tests.report.reading import assert_written, columns, headline_row, number, render, rows

SIZES = pd.DataFrame({"stratum": ["com", "org"], "elements": [30, 10], "in_first": 1, "in_last": 1, "in_all": 1})


@pytest.fixture
def content_of_strata(tables, content_with):
    """The content of a collection of two strata, of which org has half the shell coverage."""
    parameters = tables["parameters"]
    selected = parameters[parameters["headline"]]
    coverage = {f"coverage{end}": selected[f"coverage{end}"] / 2 for end in ("", "_low", "_high")}
    strata = [selected.assign(stratum="com"), selected.assign(stratum="org", **coverage)]
    return content_with(parameters=pd.concat([parameters, *strata]), strata=SIZES)


def test_strata_section_has_the_worst_stratum_first(tables, content_of_strata, content_with):
    assert strata_section(content_with()) is None
    shown = rows(render(strata_section(content_of_strata)), "stratum")
    assert [row["stratum"] for row in shown] == ["org", "com"]
    for row in shown:
        assert_written(row["kappa"], columns(headline_row(tables), "kappa"))


def test_worst_stratum_has_the_least_captured_share(tables, content_of_strata, content_with):
    assert worst_stratum(content_with()) is None
    sentence = worst_stratum(content_of_strata)
    fit = headline_row(tables)
    captured = fit["kappa"] + (1 - fit["kappa"]) * fit["coverage"] / 2
    assert sentence.startswith("org: one crawl captures ")
    assert number(sentence.split("captures ")[1].split(" %")[0]) == pytest.approx(100 * captured, rel=1e-2)
    assert "it has 25 % of all elements captured so far." in sentence
