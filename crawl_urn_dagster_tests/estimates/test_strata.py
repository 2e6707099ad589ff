"""Estimates of strata whose parameters are known and differ."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.strata import FEWEST_ELEMENTS, stack, stratum_sizes, stratum_tables
from crawl_urn_dagster.observables.schema import OPERATOR_TERMS, PARAMETERS
from crawl_urn_dagster.observables.tables import crawls_table
from crawl_urn_dagster.urn import CaptureHistoryCounts, CoreShellUrn, CountingError, ReasonCode, simulate
from crawl_urn_dagster_tests.collections_for_tests import avoiding_histories, dated_crawls

N_CRAWLS = 12
URNS = {"com": CoreShellUrn(0.5, 0.9, 0.7), "de": CoreShellUrn(0.2, 0.75, 0.5), "edu": CoreShellUrn(0.35, 0.6, 0.8)}
ESTIMATES = ("kappa", "core_share", "alpha", "coverage")

pytestmark = pytest.mark.slow


def counts_of(urn, elements, seed=5):
    core = round(urn.kappa * elements)
    shell = {"alpha": urn.alpha, "coverage": urn.coverage}
    return simulate(times=np.arange(N_CRAWLS), core=core, shell=elements - core, seed=seed, **shell).counts()


def shrinking():
    """Return the elements of the first crawl: a stratum that no element enters later."""
    counts = counts_of(URNS["com"], 1_000)
    in_first = counts.seen[:, 0]
    return CaptureHistoryCounts(counts.seen[in_first], counts.elements[in_first])


@pytest.fixture(scope="module")
def strata():
    violated = avoiding_histories(N_CRAWLS, urn=500).counts()
    return {name: counts_of(urn, 2_000) for name, urn in URNS.items()} | {
        "few": counts_of(URNS["com"], FEWEST_ELEMENTS),
        "late": violated,
        "shrinking": shrinking(),
    }


@pytest.fixture(scope="module")
def tables(strata):
    crawls = crawls_table(dated_crawls(np.ones(N_CRAWLS, dtype=int)))
    made = stratum_tables(crawls, strata, CountingError(), "crawl")
    return {name: stack(some) for name, some in made.items()}


def test_intervals_of_each_stratum_contain_its_parameters(tables):
    covered = []
    for name, urn in URNS.items():
        headline = read_headline(tables["parameters"], name)
        assert headline.fit_name == "core_shell joint, exact form, per crawl"
        assert headline.status == "ok"
        for parameter in ESTIMATES:
            low, high = headline.intervals[parameter]
            truth = float(getattr(urn, parameter))
            covered.append(low <= truth <= high)
            # Four standard errors, of which an interval is about two on each side.
            assert abs(headline.estimates[parameter] - truth) < high - low
    # In 2 of 100 simulations, fewer than 10 of 12 intervals at 95 % contain their parameter.
    assert sum(covered) >= 10


def test_stratum_with_too_few_elements_reports_no_estimates(tables, strata):
    headline = read_headline(tables["parameters"], "few")
    assert (headline.status, dict(headline.estimates), not headline.is_reported) == ("too_few_points", {}, True)
    sizes = strata["few"].elements @ strata["few"].seen
    assert headline.reason_codes == (ReasonCode.TOO_FEW_ELEMENTS,)
    assert f"elements, {sizes.min()} of them in crawl" in headline.reason
    rows = tables["parameters"].query("stratum == 'few'")
    assert rows[[*ESTIMATES[:2], "residual_rms"]].isna().all(axis=None)


def test_each_stratum_has_a_verdict_and_its_numbers(tables, strata):
    verdicts = tables["stratum_verdicts"].set_index("stratum")
    assert list(verdicts.index) == list(strata)
    assert verdicts.loc["few", ["verdict", "quotable"]].tolist() == ["not_identified", "yes, with a reservation"]
    assert "A crawl has fewer than 30 elements of the stratum." in verdicts.loc["few", "meaning"]
    assert verdicts.loc["few", ["completeness", "kappa"]].isna().all()
    assert verdicts.loc["late", "verdict"] in {"order_matters", "revisit_avoidance"}
    assert np.isnan(verdicts.loc["late", "kappa"])
    for name, urn in URNS.items():
        row = verdicts.loc[name]
        assert row["verdict"] in {"sound", "not_tested_enough"}
        assert row["model"] == "core_shell"
        assert row["kappa_low"] < urn.kappa < row["kappa_high"]


def test_shrinking_stratum_is_reported_with_a_reason(tables, strata):
    headline = read_headline(tables["parameters"], "shrinking")
    sizes = strata["shrinking"].elements @ strata["shrinking"].seen
    assert headline.is_reported
    first, last = f"{sizes[:4].mean():,.0f}", f"{sizes[-4:].mean():,.0f}"
    expected = f"a crawl has {first} of its elements on average over the first 4 crawls and {last} over the last 4"
    assert expected in headline.reason
    assert "The stratum shrinks" in headline.reason
    assert read_headline(tables["parameters"], "com").reason is None


def test_violation_rule_applies_to_each_stratum(tables):
    statuses = tables["parameters"].groupby("stratum")["status"].unique()
    assert statuses["late"].tolist() == ["model_violation"]
    assert "model_violation" not in statuses["com"]


def test_tables_have_contract_columns_and_one_headline_each(tables, strata):
    for table in (PARAMETERS, OPERATOR_TERMS):
        frame = tables[table.name]
        assert tuple(frame.columns) == table.column_names
        assert list(dict.fromkeys(frame["stratum"])) == list(strata)
    selected = tables["parameters"].query("headline and component != 'core'")
    assert selected["stratum"].tolist() == list(strata)
    assert set(tables["parameters"]["clock"]) == {"crawl"}
    key = ["projection", "model", "form", "clock", "stratum", "component"]
    assert not tables["parameters"].duplicated(key).any()


def test_collection_headline_is_not_that_of_a_stratum(tables):
    with pytest.raises(ValueError, match="no headline row"):
        read_headline(tables["parameters"])
    own = tables["parameters"].query("stratum == 'de'").assign(stratum=None)
    assert read_headline(pd.concat([own, tables["parameters"]])) == read_headline(tables["parameters"], "de")


def test_stratum_sizes_count_elements_by_crawl(strata):
    sizes = stratum_sizes(strata).set_index("stratum")
    captured = strata["com"].elements @ strata["com"].seen
    assert sizes.loc["com"].to_dict() == {
        "elements": strata["com"].elements.sum(),
        "in_first": captured[0],
        "in_last": captured[-1],
        "in_all": strata["com"].in_all,
    }
