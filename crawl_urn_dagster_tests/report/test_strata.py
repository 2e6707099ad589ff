"""The section on strata, and the stratum that is covered worst."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.rank_changes import rank_changes_table
from crawl_urn_dagster.estimates.stratum_profile import stratum_profile_table
from crawl_urn_dagster.observables.schema import STRATUM_VERDICTS
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


def test_strata_section_shows_pooled_values_and_moves(tables, content_of_strata):
    profile = stratum_profile_table(content_of_strata.frames["parameters"])
    moves = np.array([[[80, 10, 10], [10, 60, 30], [10, 30, 0]]] * 3)
    changes = rank_changes_table(["1-50", "51-100"], moves, {"1-50": 50, "51-100": 100, "101+": np.inf})
    frames = {**content_of_strata.frames, "stratum_profile": profile, "rank_changes": changes}
    text = render(strata_section(replace(content_of_strata, frames=frames)))
    pooled = profile[profile["parameter"] == "coverage"].set_index("stratum")
    for row in rows(text, "mean_weight"):
        assert_written(row["coverage"], columns(pooled.loc[row["stratum"]], "pooled"))
    assert "The strata differ in c beyond their errors" in text
    assert "The strata do not differ in κ beyond their errors" in text
    assert "The lists end at rank 100." in text
    assert [row["lost"] for row in rows(text, "net_flux")] == ["0.1", "0.3"]


def test_strata_section_states_which_may_be_quoted(content_of_strata):
    verdicts = pd.DataFrame(
        [
            {"stratum": "com", "verdict": "sound", "quotable": "yes", "completeness": 0.8},
            {"stratum": "org", "verdict": "misfit", "quotable": "no"},
        ],
        columns=list(STRATUM_VERDICTS.column_names),
    )
    profile = stratum_profile_table(content_of_strata.frames["parameters"], verdicts=verdicts)
    frames = {**content_of_strata.frames, "stratum_profile": profile, "stratum_verdicts": verdicts}
    content = replace(content_of_strata, frames=frames)
    text = render(strata_section(content))
    shown = {row["stratum"]: row for row in rows(text, "captured share")}
    assert {name: row["verdict"] for name, row in shown.items()} == {"com": "sound", "org": "misfit"}
    assert shown["com"]["completeness"].startswith("80.0 %")
    assert "- Numbers may be quoted: yes. `sound`: com." in text
    assert "- Numbers may be quoted: no. `misfit`: org. Every fitted model departs" in text
    # Both strata have the same fit of the curves, and only the verdict of one allows it to be reported.
    assert profile[profile["stratum"] == "org"]["estimate"].isna().all()
    assert profile[profile["stratum"] == "com"]["estimate"].notna().all()
    assert worst_stratum(content).startswith("com: ")


def test_worst_stratum_has_the_least_captured_share(tables, content_of_strata, content_with):
    assert worst_stratum(content_with()) is None
    sentence = worst_stratum(content_of_strata)
    fit = headline_row(tables)
    captured = fit["kappa"] + (1 - fit["kappa"]) * fit["coverage"] / 2
    assert sentence.startswith("org: one crawl captures ")
    assert number(sentence.split("captures ")[1].split(" %")[0]) == pytest.approx(100 * captured, rel=1e-2)
    assert "it has 25 % of all elements captured so far." in sentence
