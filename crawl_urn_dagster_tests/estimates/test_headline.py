from dataclasses import replace

import pytest

from crawl_urn_dagster.estimates.fitting import with_refutation
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.parameter_tables import parameters_table
from crawl_urn_dagster.urn import Interval, Reason, ReasonCode
from crawl_urn_dagster.urn.results.reasons import at_bound
from crawl_urn_dagster_tests.estimates.fit_results import (
    CONTAINMENT,
    CONTAINMENT_HOMOGENEOUS,
    CRAWLS,
    DISCOVERY_HOMOGENEOUS,
    EXPLANATION,
    fit,
)

ENDS = {"kappa": (0.38, 0.42), "core_share": (0.51, 0.54), "alpha": (0.7, 0.8), "coverage": (0.55, 0.65)}
INTERVALS = {name: Interval(*ends) for name, ends in ENDS.items()}


def headline_of(selected, intervals=INTERVALS):
    selected = replace(selected, intervals=intervals)
    return read_headline(parameters_table([selected, DISCOVERY_HOMOGENEOUS], selected.kind, CRAWLS))


def test_words_of_core_and_shell():
    headline = headline_of(CONTAINMENT)
    assert headline.fit_name == "core_shell containment, exact form, per crawl"
    assert headline.numbers == (
        "κ = 0.40 (0.38 to 0.42), μ = 0.526 (0.510 to 0.540), α = 0.75 (0.70 to 0.80), c = 0.60 (0.55 to 0.65)"
    )
    assert headline.sentence == (
        "The core makes up 52.6 % (95 % CI 51.0 % to 54.0 %) of each crawl and 40 % (95 % CI 38 % to 42 %) of the "
        "eligible elements. One crawl captures 60 % (95 % CI 55 % to 65 %) of the shell. "
        "75 % (95 % CI 70 % to 80 %) of the shell is still eligible at the next crawl."
    )


def test_words_on_the_clock_of_years():
    yearly = fit("containment", clock="year")
    assert headline_of(yearly).sentence.endswith("of the shell is still eligible a year later.")


def test_uninformative_interval_hides_the_estimate():
    headline = headline_of(CONTAINMENT, {**INTERVALS, "alpha": Interval(0.02, 0.97)})
    assert "α not identified (0.02 to 0.97)" in headline.numbers
    assert "An unknown share (95 % CI 2 % to 97 %) of the shell is still eligible" in headline.sentence
    assert "75" not in headline.numbers + headline.sentence


def test_missing_intervals_are_stated():
    headline = headline_of(CONTAINMENT, {})
    assert headline.numbers == "κ = 0.400, μ = 0.526, α = 0.750, c = 0.600"
    assert headline.sentence.endswith("No confidence interval could be computed.")


def test_words_of_a_homogeneous_urn_name_no_core():
    shell_only = {name: INTERVALS[name] for name in ("alpha", "coverage")}
    headline = headline_of(CONTAINMENT_HOMOGENEOUS, shell_only)
    assert set(headline.estimates) == set(headline.intervals) == {"alpha", "coverage"}
    assert headline.numbers == "α = 0.75 (0.70 to 0.80), c = 0.60 (0.55 to 0.65)"
    assert headline.sentence == (
        "The urn has no separate core. One crawl captures 60 % (95 % CI 55 % to 65 %) of the eligible elements. "
        "75 % (95 % CI 70 % to 80 %) of them is still eligible at the next crawl."
    )


def test_all_core_reports_no_shell():
    all_core = replace(fit("joint", status="at_bound", kappa=1.0), reasons=(at_bound("kappa", 1, part="shell"),))
    headline = headline_of(all_core)
    assert headline.is_all_core
    assert headline.reason_codes == (ReasonCode.ALL_CORE,)
    assert set(headline.estimates) == {"kappa", "core_share"}
    assert not headline.intervals
    assert "Shell coverage and shell survival are undefined." in headline.sentence
    assert headline.sentence.endswith(
        "Status at_bound: Parameter kappa is at its bound 1: all elements belong to the core."
    )
    assert "%" not in headline.sentence


def test_core_that_is_not_permanent_is_called_longest_lived():
    values = {"in_all": 4_543, "expected": 6_060, "p_value": 1e-8}
    doubted = replace(CONTAINMENT, reasons=(Reason(ReasonCode.CORE_NOT_PERMANENT, values),))
    headline = headline_of(doubted)
    assert not headline.is_core_permanent
    assert headline.sentence.startswith("The longest-lived part makes up 52.6 %")
    assert "The core is not permanent: 4,543 elements are in every crawl, 6,060 are expected" in headline.sentence
    assert headline_of(CONTAINMENT).is_core_permanent


def test_flags_do_not_depend_on_the_wording_of_a_reason():
    """The sentence in the table can be reworded or translated; the code decides."""
    all_core = replace(fit("joint", status="at_bound", kappa=1.0), reasons=(at_bound("kappa", 1, part="shell"),))
    table = parameters_table([all_core], all_core.kind, CRAWLS)
    assert read_headline(table.assign(reason="other words")).is_all_core
    assert not read_headline(table.assign(reason_code=None)).is_all_core


def test_reason_is_part_of_the_sentence():
    headline = headline_of(fit("containment", status="not_identified"))
    assert headline.sentence.endswith(f"Status not_identified: {EXPLANATION}")


def test_unidentified_fit_reports_intervals_only():
    unidentified = fit("containment", status="not_identified")
    headline = headline_of(unidentified, {**INTERVALS, "alpha": Interval(0.02, 0.97)})
    assert not headline.is_identified
    assert headline.numbers == "κ 0.38 to 0.42, μ 0.510 to 0.540, α not identified (0.02 to 0.97), c 0.55 to 0.65"
    assert headline.sentence.startswith("The core makes up 51.0 % to 54.0 % of each crawl")
    assert "The parameters are not identified; only confidence intervals are given." in headline.sentence
    assert headline_of(unidentified, {}).numbers == ", ".join(f"{one} not identified" for one in "κμαc")


@pytest.mark.parametrize("status", ["model_violation", "too_few_points", "not_converged"])
def test_unreported_estimates_are_absent(status):
    headline = headline_of(fit("containment", status=status))
    assert not headline.is_reported
    assert not headline.estimates
    assert not headline.intervals
    assert headline.numbers == "not reported"
    assert headline.sentence.endswith(f"Reason: {EXPLANATION}")
    assert f"({status})" in headline.sentence


def test_level_of_the_intervals_is_stated():
    assert "(80 % CI 38 % to 42 %)" in replace(headline_of(CONTAINMENT), level=0.8).sentence


def test_table_without_headline_raises():
    table = parameters_table([CONTAINMENT], CONTAINMENT.kind, CRAWLS).assign(headline=False)
    with pytest.raises(ValueError, match="no headline row"):
        read_headline(table)


@pytest.mark.parametrize("status", ["ok", "not_identified"])
def test_refuted_headline_claims_nothing(status):
    headline = headline_of(with_refutation(fit("containment", status=status), {"core_shell"}))
    assert headline.is_refuted
    assert headline.sentence.startswith("Fitted to the curves alone, the parameters are κ ")
    assert "Tests of the collection refute this model" in headline.sentence
    assert not headline_of(CONTAINMENT).is_refuted
