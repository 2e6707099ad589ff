"""Forecast, last crawl, drift and plans leave out the crawls that were set aside."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.assessment.reading import refitted_curves_withheld_reason
from crawl_urn_dagster.estimates.assessment.result import Assessment
from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, state_verdict
from crawl_urn_dagster.estimates.drift import drift_tables
from crawl_urn_dagster.estimates.forecast import HORIZON, forecast_table
from crawl_urn_dagster.estimates.headline import Headline
from crawl_urn_dagster.estimates.last_crawl import last_crawl_table
from crawl_urn_dagster.estimates.planning import planning_tables
from crawl_urn_dagster.estimates.set_aside import Observables, crawls_set_aside
from crawl_urn_dagster.figures.forecast import forecast_fan, forecast_fan_caption
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, FitKind, Status
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, histories

N = 16
MIDDLE, LAST = 8, N - 1
NO_POPULATION = pd.DataFrame(columns=list(TABLES["population"].column_names))


def truncated(crawl):
    """Return the observables of a collection that has a list of 1 in 20 elements, and table `adequacy_tests`."""
    counts = histories(N).counts()
    seen = np.repeat(counts.seen, counts.elements, axis=0)
    seen[:, crawl] &= np.random.default_rng(1).random(len(seen)) < 0.05
    seen = seen[seen.any(axis=1)]
    rows, elements = np.unique(seen, axis=0, return_counts=True)
    cut = CaptureHistoryCounts(rows, elements)
    crawls = crawls_table(dated_crawls(np.diagonal(cut.intersections())))
    made = tables_from_histories(crawls, cut, CountingError())
    tests = pd.DataFrame([{"test": "outlying_crawl", "subject": crawls["crawl"].iloc[crawl], "verdict": "fails"}])
    return Observables(crawls, made["containment"], made["discovery_curve"], cut), tests


def forecast_of(observed, tests=None):
    return forecast_table(*observed[:3], histories=observed.histories, tests=tests)


@pytest.fixture(scope="module")
def middle():
    observed, tests = truncated(MIDDLE)
    return observed, tests, forecast_of(observed, tests)


@pytest.fixture(scope="module")
def last():
    observed, tests = truncated(LAST)
    return observed, tests, forecast_of(observed, tests)


def sizes(table):
    latest = table[table["origin_crawl"] == table["origin_crawl"].iloc[-1]]
    return latest[latest["quantity"] == "crawl_size"].set_index("crawls_ahead")


def without_crawl(observed, crawl):
    """Return observables of a collection that never had the crawl."""
    kept = [one for one in range(N) if one != crawl]
    counts = observed.histories.select_crawls(kept)
    crawls = crawls_table(observed.crawls.iloc[kept])
    made = tables_from_histories(crawls, counts, CountingError())
    return Observables(crawls, made["containment"], made["discovery_curve"], counts)


@pytest.mark.parametrize("crawl", [0, MIDDLE, LAST])
def test_observables_without_a_crawl_have_the_other_crawls(crawl):
    observed, tests = truncated(crawl)
    found, expected = observed.without(crawls_set_aside(tests)), without_crawl(observed, crawl)
    for table, wanted in zip(found[1:3], expected[1:3], strict=True):
        pd.testing.assert_frame_equal(table, wanted)
    columns = ["crawl", "years", "elements"]
    pd.testing.assert_frame_equal(found.crawls[columns].reset_index(drop=True), expected.crawls[columns])
    np.testing.assert_array_equal(found.histories.intersections(), expected.histories.intersections())


def test_observables_without_histories_keep_other_rows(middle):
    observed, tests, _ = middle
    found = observed._replace(histories=None, discovery_curve=None).without(crawls_set_aside(tests))
    label = observed.crawls["crawl"].iloc[MIDDLE]
    assert found.discovery_curve is None
    assert len(found.containment) == (N - 1) * (N - 2) / 2
    assert label not in set(found.containment["crawl_i"]) | set(found.containment["crawl_j"])


def test_no_crawl_is_set_aside_without_an_assessment(middle):
    observed, tests, _ = middle
    assert crawls_set_aside(None) == crawls_set_aside(tests.iloc[:0]) == []
    assert observed.without([]) is observed


@pytest.mark.parametrize("crawl", ["middle", "last"])
def test_forecast_equals_the_one_without_the_crawl(crawl, request):
    observed, _, found = request.getfixturevalue(crawl)
    other = without_crawl(observed, {"middle": MIDDLE, "last": LAST}[crawl])
    expected = forecast_of(other)
    pd.testing.assert_frame_equal(found.drop(columns="expected_at"), expected.drop(columns="expected_at"))
    # The next crawl comes after the one that was set aside.
    newest, newest_other = (one.crawls["started_at"].iloc[-1] for one in (observed, other))
    later = found["expected_at"] - expected["expected_at"]
    is_latest = found["origin_crawl"] == found["origin_crawl"].iloc[-1]
    assert (later[is_latest] == newest - newest_other).all()
    assert (later[~is_latest] == pd.Timedelta(0)).all()


def test_forecast_after_a_truncated_crawl_has_the_usual_size(middle, last):
    for observed, _, forecast in (middle, last):
        usual = observed.crawls["elements"].median()
        left_out, included = sizes(forecast).loc[1], sizes(forecast_of(observed)).loc[1]
        assert left_out["value_low"] < usual < left_out["value_high"]
        assert left_out["value_high"] < 1.2 * left_out["value_low"]
        assert included["value_high"] > 2 * included["value_low"] or included["value"] < usual / 2


def test_last_crawl_is_compared_with_the_kept_crawls(middle, last):
    for (observed, tests, forecast), verdict in ((middle, "expected"), (last, "below")):
        table = last_crawl_table(
            *observed[:3],
            forecast=forecast,
            population=NO_POPULATION,
            histories=observed.histories,
            tests=tests,
        ).set_index("quantity")
        assert table.loc[["crawl_size", "overlap"], "verdict"].tolist() == [verdict] * 2
        assert table.loc["survival", "expected_high"] - table.loc["survival", "expected_low"] < 0.1


def test_drift_and_plans_equal_those_without_the_crawl(middle):
    observed, tests, _ = middle
    expected = without_crawl(observed, MIDDLE)
    settings = {"clock": "crawl", "error": CountingError()}
    reference = {"window_crawls": 8, "reference_from": observed.crawls["crawl"].iloc[1], "unreported_reason": None}
    known = {"histories": observed.histories, "tests": tests}
    for made, wanted in (
        (
            drift_tables(*observed[:3], **settings, **reference, **known),
            drift_tables(*expected[:3], **settings, **reference),
        ),
        (
            planning_tables(*observed[:3], **settings, reported=True, **known),
            planning_tables(*expected[:3], **settings, reported=True),
        ),
    ):
        for name, table in wanted.items():
            pd.testing.assert_frame_equal(made[name], table)
    assert not wanted["planning"].empty


def test_curves_of_the_kept_crawls_are_used_if_they_fit():
    headline = Headline(FitKind("joint", "core_shell", "exact", "crawl"), {"kappa": 0.4}, {}, Status.REFUTED, None)
    sound = state_verdict(VerdictName.SOUND)
    assert refitted_curves_withheld_reason(headline, Assessment(sound, "core_shell", set_aside=("a",))) is None
    for other in (
        Assessment(sound, "core_shell"),
        Assessment(sound, "core_two_shells", set_aside=("a",)),
        Assessment(sound, "core_shell", set_aside=("a",), scope_break="b"),
        Assessment(state_verdict(VerdictName.MISFIT), set_aside=("a",)),
    ):
        assert refitted_curves_withheld_reason(headline, other).startswith("refuted")


def test_forecast_figure_skips_the_crawl_that_was_set_aside(middle, last):
    for observed, tests, forecast in (middle, last):
        arguments = forecast, observed.crawls, observed.discovery_curve
        new, _ = forecast_fan(*arguments, title="cut", adequacy_tests=tests).axes
        *fans, points = new.get_lines()
        years = observed.crawls["years"].to_numpy()
        drawn = np.concatenate([fan.get_xdata() for fan in fans])
        assert drawn.max() == pytest.approx(years[-1] + HORIZON * years[-1] / (N - 1), rel=0.05)
        crawl = observed.crawls["crawl"].tolist().index(tests["subject"].iloc[0])
        assert abs(drawn - years[crawl]).min() > 0.5 * years[1]
        assert len(points.get_xdata()) == N - 1
        text, _ = forecast_fan_caption(*arguments, adequacy_tests=tests)
        assert text.startswith("The next crawl, expected on ")
