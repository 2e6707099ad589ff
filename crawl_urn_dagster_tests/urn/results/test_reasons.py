"""Test the reasons of fits: their codes and the sentences that explain them."""

from string import Formatter

import pytest

from crawl_urn_dagster.urn import Reason, ReasonCode
from crawl_urn_dagster.urn.results.reasons import _SENTENCES, at_bound, explain, join_codes, split_codes, too_few

TESTED_CORE = {"in_all": 12_345.6, "expected": 20_000.0, "p_value": 0.0004}
GROWTH = {"first": 900.0, "last": 1_800.0, "crawls": 8, "trend": "grows"}
# One reason of each code, with the values that the code gives, and a piece of its sentence.
REASONS = [
    (
        Reason(ReasonCode.MODEL_VIOLATION, {"explanation": "First returns peak at lag 2."}),
        "First returns peak at lag 2.",
    ),
    (Reason(ReasonCode.NO_COUNTS), "needs two crawls or more"),
    (
        too_few(ReasonCode.TOO_FEW_LAGS, 2, 3),
        "The number of distinct lags and window lengths is 2; 3 parameters need at least 4.",
    ),
    (
        too_few(ReasonCode.TOO_FEW_POINTS, 4, 4),
        "The number of points of the curves is 4; 4 parameters need at least 5.",
    ),
    (too_few(ReasonCode.TOO_FEW_CELLS, 7, 8), "fill 7 cells (first capture, last capture, number of captures); 8 par"),
    (
        Reason(ReasonCode.TOO_FEW_ELEMENTS, {"elements": 1_234, "in_crawl": 56, "crawl": "2024-10", "needed": 5_000}),
        "has 1,234 elements, 56 of them in crawl 2024-10; every crawl needs 5,000.",
    ),
    (Reason(ReasonCode.TOO_FEW_START_CRAWLS, {"needed": 16, "found": 15}), "needs 16 start crawls; there are 15."),
    (Reason(ReasonCode.NO_RECAPTURES), "No element was captured in two crawls."),
    (Reason(ReasonCode.NOT_CONVERGED, {"search": "least-squares"}), "The least-squares search did not converge."),
    (at_bound("kappa", 0, part="shell"), "kappa is at its bound 0: the homogeneous urn suffices."),
    (at_bound("kappa", 1, part="shell"), "kappa is at its bound 1: all elements belong to the core."),
    (at_bound("alpha", 0, part="urn"), "alpha is at its bound 0: no element survives to the next crawl."),
    (at_bound("alpha", 1, part="urn"), "alpha is at its bound 1: no element leaves the urn within the window."),
    (at_bound("coverage", 0, part="shell"), "a crawl captures a vanishing share of the shell."),
    (at_bound("coverage", 1, part="shell"), "coverage is at its bound 1: every crawl captures the whole shell."),
    (at_bound("spread", 1.0), "Parameter spread is at its bound 1."),
    (Reason(ReasonCode.AT_BOUND_WITHOUT_ERROR, {"parameters": "alpha, kappa"}), "no standard error: alpha, kappa."),
    (
        Reason(ReasonCode.UNCHANGED_FIT, {"parameter": "kappa", "fit": "joint", "change": 0.1, "moved": 0.00234}),
        "kappa is not identified by the joint fit: changing it by 0.1 and refitting the other parameters moves no "
        "fitted value by more than 0.0023 crawl sizes.",
    ),
    (
        Reason(ReasonCode.WIDE_INTERVAL, {"parameter": "alpha_2", "low": 0.12345, "high": 0.98765}),
        "alpha_2 is not identified by the capture histories (95 % CI 0.123 to 0.988).",
    ),
    (Reason(ReasonCode.FLAT_LIKELIHOOD, {"parameters": "kappa, alpha"}), "on its own: kappa, alpha."),
    (Reason(ReasonCode.ONE_CLASS_SUFFICES), "Two classes fit no better than one."),
    (Reason(ReasonCode.NOTHING_RECAPTURED), "no element is recaptured, so every coverage fits."),
    (
        Reason(ReasonCode.OUTSIDE_UNIT_INTERVAL, {"alpha": 0.9, "coverage": 1.23456}),
        "The line implies alpha 0.9 and coverage 1.235; an urn has both between 0 and 1.",
    ),
    (Reason(ReasonCode.UNINFORMATIVE_INTERVAL, {"intervals": "κ (0.010 to 0.990)"}), "uninformative: κ (0.010 to 0.9"),
    (Reason(ReasonCode.INTERVAL_ENDS_AT_ESTIMATE, {"parameters": "kappa"}), "the intervals of kappa are extended"),
    (
        Reason(ReasonCode.CORE_NOT_PERMANENT, TESTED_CORE),
        "12,346 elements are in every crawl, 20,000 are expected (p = ",
    ),
    (Reason(ReasonCode.CORE_TOO_SMALL, TESTED_CORE), "More elements are permanent than the fitted core holds: 12,346"),
    (Reason(ReasonCode.REFUTED), "its numbers describe the curves only."),
    (Reason(ReasonCode.STRATUM_CHANGES_SIZE, GROWTH), "The stratum grows: a crawl has 900 of its elements on average"),
]
IDS = [reason.code.value for reason, _ in REASONS]


def test_every_code_has_a_sentence_and_a_case():
    assert set(_SENTENCES) == set(ReasonCode) == {reason.code for reason, _ in REASONS}


@pytest.mark.parametrize(("reason", "sentence"), REASONS, ids=IDS)
def test_reason_is_explained_with_its_values(reason, sentence):
    text = explain([reason])
    assert sentence in text
    assert text.endswith(".")
    assert "{" not in text


@pytest.mark.parametrize(("reason", "sentence"), REASONS, ids=IDS)
def test_reason_without_a_value_of_its_sentence_raises(reason, sentence):
    names = {name for _, name, _, _ in Formatter().parse(_SENTENCES[reason.code]) if name}
    assert names <= set(reason.values)
    for name in names:
        with pytest.raises(KeyError, match=name):
            explain([Reason(reason.code, {key: value for key, value in reason.values.items() if key != name})])


def test_reasons_are_joined_to_sentences_in_order():
    reasons = [at_bound("kappa", 0, part="shell"), Reason(ReasonCode.NO_RECAPTURES)]
    assert explain(reasons) == " ".join(explain([reason]) for reason in reasons)
    assert explain([]) is None


@pytest.mark.parametrize(
    ("name", "bound", "code"),
    [
        ("kappa", 0.0, ReasonCode.NO_CORE_NEEDED),
        ("kappa", 1.0, ReasonCode.ALL_CORE),
        ("alpha", 0.0, ReasonCode.NO_SURVIVAL),
        ("alpha", 1.0, ReasonCode.NO_LOSSES),
        ("coverage", 0.0, ReasonCode.VANISHING_COVERAGE),
        ("coverage", 1.0, ReasonCode.FULL_COVERAGE),
    ],
)
def test_bound_of_a_part_has_its_own_code(name, bound, code):
    assert at_bound(name, bound, part="shell").code is code
    assert at_bound(name, bound) == Reason(ReasonCode.AT_BOUND, {"parameter": name, "bound": bound})


def test_full_coverage_names_the_crawl_that_captures_all():
    reason = at_bound("coverage", 1, part="urn", crawl="the largest crawl")
    assert explain([reason]).endswith("the largest crawl captures the whole urn.")


def test_codes_split_to_what_was_joined():
    codes = tuple(ReasonCode)
    joined = join_codes([Reason(code) for code in codes])
    assert joined == ",".join(code.value for code in codes)
    assert split_codes(joined) == codes
    assert all(type(code) is ReasonCode for code in split_codes(joined))


@pytest.mark.parametrize("missing", [None, float("nan"), ""])
def test_missing_codes_split_to_none(missing):
    assert join_codes([]) is None
    assert split_codes(missing) == ()


@pytest.mark.parametrize("codes", ["wide", "at_bound,wide", "at_bound, wide_interval"])
def test_unknown_code_is_refused(codes):
    with pytest.raises(ValueError, match="is not a valid ReasonCode"):
        split_codes(codes)


@pytest.mark.parametrize("code", ReasonCode)
def test_code_compares_and_hashes_like_its_text(code):
    assert code == code.value == str(code)
    assert {code: 1}[code.value] == {code.value: 1}[code] == 1
