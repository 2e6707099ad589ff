"""The drift section equals the tables and separates alarms from attributed changes."""

import re

import pandas as pd

from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.drift import drift_section
from crawl_urn_dagster.report.summary import lead
from crawl_urn_dagster_tests.report.reading import N_CRAWLS, assert_written, columns, render, rows, section


def test_drift_section_has_the_values_of_the_table(tables, page):
    drift = tables["drift"].set_index("parameter")
    since = drift.loc["kappa"]
    labels = tables["crawls"]["crawl"].tolist()
    text = section(page, "Drift since the reference period")
    assert f"deviates by more than {since['threshold']:.3g} standard deviations." in text
    assert f"the monitoring period has {N_CRAWLS - 12} crawls so far." in text
    n_value = N_CRAWLS - labels.index(since["value_first_crawl"])
    assert re.search(rf"the last {n_value} crawls?, since {since['value_first_crawl']}", text)
    for row in rows(text, "reference_value"):
        name = re.search(r"\((\w+)\)", row["parameter"])[1]
        for column in ("reference_value", "value", "difference"):
            assert_written(row[column], columns(drift.loc[name], column))
        assert set(row) == {"parameter", "reference_value", "value", "difference"} or drift["drifted"].any()


def urn_rows(tables):
    """Return the rows of table `drift` on the parameters of the urn."""
    return tables["drift"][tables["drift"]["parameter"].isin(SYMBOLS)]


def alarm(tables):
    drifted = urn_rows(tables).assign(
        reason=None,
        drifted=True,
        statistic=[7.25, 7.25, 1.5, 1.5],
        threshold=4.5,
        attributed=[False, False, True, False],
    )
    return drifted.assign(since_crawl=drifted["value_first_crawl"])


def test_alarm_names_its_chart_and_the_attributed_parameter(tables, content_with):
    since = alarm(tables)
    text = render(drift_section(content_with(drift=since)))
    assert f"**Drift: α (alpha) changed** since {since['value_first_crawl'][0]}." in text
    assert "The alarm comes from 1 chart: core (7.25)." in text
    shown = rows(text, "reference_value")
    assert [row["chart average, in standard deviations"] for row in shown] == ["7.25", "7.25", "1.5", "1.5"]
    assert [row["attributed"] for row in shown] == ["no", "no", "yes", "no"]


def test_alarm_of_another_urn_is_not_attributed(tables, content_with):
    another = alarm(tables).assign(attributed=False, note="the crawls since are of another urn")
    content = content_with(drift=another)
    text = render(drift_section(content), lead=lead(content))
    assert "**The urn itself changed**: the crawls since are of another urn." in text
    assert "not attributed to a parameter yet" not in text
    assert f"**A change began with {another['since_crawl'][0]}, but the numbers describe all crawls" in text
    unattributed = render(drift_section(content_with(drift=another.assign(note=None))))
    assert "**An alarm was raised**, but the change is not attributed to a parameter yet." in unattributed


def test_untestable_parameters_have_a_reason_only(tables, content_with):
    untestable = urn_rows(tables).assign(reason="the reference varies too much", drifted=None)
    made = drift_section(content_with(drift=untestable))
    assert made.blocks == []
    assert made.answer == "**The parameters could not be tested for drift**: the reference varies too much."


def test_change_of_scope_and_of_population_are_named(tables, content_with):
    scope = {"parameter": "scope_break", "difference": 0.15, "drifted": True, "attributed": True, "since_crawl": "B"}
    population = {
        "parameter": "population",
        "value": 640.0,
        "reference_value": 800.0,
        "drifted": True,
        "attributed": False,
        "since_crawl": "B",
        "since_first_crawl": "A",
        "since_last_crawl": "C",
    }
    completeness = {"parameter": "completeness", "drifted": False, "attributed": False}
    rows_of_table = pd.DataFrame([scope, population, completeness]).reindex(columns=tables["drift"].columns)
    untestable = urn_rows(tables).assign(reason="refuted", drifted=None)
    content = content_with(drift=pd.concat([untestable, rows_of_table.astype(object)]))
    first = drift_section(content).answer
    assert "**The scope changed with B**: 15 % more than usual left permanently." in first
    assert "**Population left its trend** with B (95 % CI A to C), as the change of scope explains: 640 " in first
    assert "trend of the reference period gives 800." in first
    assert "Completeness follows its trend." in first
    assert first.endswith("**The parameters could not be tested for drift**: refuted.")
    new_rows = content_with(drift=pd.concat([untestable, rows_of_table.iloc[:1].assign(difference=-0.5)]))
    assert "50 % more than usual were new." in drift_section(new_rows).answer
