"""Report sections on goodness of fit: tests, fits, observables compared, and richer models compared.

Does not state the verdict (see `summary`) or make the tests (see `estimates.diagnosis`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.estimates.diagnosis import LEVEL, levels_of_comparisons
from crawl_urn_dagster.estimates.parameter_tables import compare_with_truth
from crawl_urn_dagster.formatting import UNKNOWN, count_noun, format_p_value
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Folded, Section, Table
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_cell, format_estimate, format_estimates
from crawl_urn_dagster.urn import UNREPORTED_STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

_MODELS_TITLE = "Models fitted to the capture histories"
_TRUTH = "Estimates and true values of the simulation"
_FIT = ["projection", "model", "form", "clock"]
_NAMES = list(SYMBOLS)
#: Observables that are compared; the difference of the first two is tested.
_OBSERVABLES = ("containment", "discovery_curve", "joint", "histories")
_CRITERIA = {"aicc": "AICc", "bic": "BIC", "cross_validation": "cross-validation"}
_TESTS = f"""\
The table shows the most extreme comparison of each test:

- `violation`: whether elements return more often after two crawls than after one
- `projections`: parameters from containment (pairs of crawls) minus those from the discovery curve (windows of crawls)
- `core`: elements in every crawl
- `lack_of_fit`: overlaps of pairs, and recaptures (captured in one crawl, next captured in another), at each lag
- `increments`: new elements in each crawl
- `transient_tail`: fall of the share of new elements from the first half of the crawls to the second

`p_value` is the probability of a difference at least this large if the model fits, including sampling and
crawl-to-crawl variation. A comparison fails if its p-value is below {LEVEL} divided by the number of comparisons of its
test; `increments` and `transient_tail` have half of that each, and `violation` has its own rule. A comparison is not
tested if the error of its difference is unknown, or if the difference of two shares has a confidence interval wider
than 0.5, which excludes almost nothing. Intervals are 95 % confidence intervals."""
_ADEQUACY = (
    "These tests decide whether a model may be quoted; without capture histories, those of the curves below decide "
    "too. A test fails if its effect is both larger than an effect that matters and not explained by sampling. "
    "*Smallest effect seen* is the effect that the test finds with probability 0.8: above the *relevant effect*, the "
    "test is too weak. Effects of `dependence` and `transience` are log odds ratios, of `population_trend` the growth "
    "over all crawls on the log scale, of `cells` the share of elements in the wrong cell."
)
_MODELS = (
    "The simplest adequate model is selected. Later stages are tried only if no model of the earlier ones is adequate. "
    "`criterion` is relative to the best model; `variance_inflation` multiplies the variances."
)
_FITS = (
    "One row per fit, or per shell if there are two. `projection` is the observable: `joint` uses all pairs and "
    "windows at once, `discovery_tail` is a straight line through the end of the discovery curve, and "
    "`discovery_increments` is a consistency check. `clock` is the unit of survival. `kappa` is the core fraction of "
    "the urn, `core_share` the core share of a crawl; `alpha` and `coverage` describe the shell, or the urn if the "
    "model has no core. `residual_rms` is the root mean square residual in units of the observable. The 95 % "
    "confidence intervals repeat the whole sequence of crawls and are corrected for the bias of the fit; the estimates "
    "are not. An estimate at a bound has no interval. With form `paper`, `kappa` is the core share. If a status is not "
    "ok, rely only on what its reason allows; tests of the collection contradict a fit of status `refuted`."
)


def fit_section(content: Content) -> Section:
    """Return the tests of the histories, every test of the curves with its most extreme comparison, and all fits."""
    tests = content.frames["diagnosis"]
    tests = tests[tests["test"] != "collection"]
    failed = tests[tests["verdict"] == "fails"].sort_values("p_value", kind="stable")
    extremes = tests.sort_values("p_value", kind="stable").drop_duplicates("test").sort_index()
    blocks: list[Block] = [
        *_adequacy(content),
        content.adapt(_TESTS),
        _tests_table(content, extremes, tests),
    ]
    others = failed[~failed.index.isin(extremes.index)]
    if len(others):
        table = _tests_table(content, others, tests, source="diagnosis")
        blocks.append(Folded(f"{len(others)} more failed comparisons", [table]))
    blocks += content.figures("core_shell_fits", "homogeneous_fits", "residuals_by_lag")
    blocks.append(Folded("All fits", [_FITS, _fits_table(content)]))
    if "truth" in content.frames:
        blocks.append(Folded(_TRUTH, [_truth_table(content)]))
    answer = f"{_adequacy_result(content)} {_comparisons(tests)} {_result(content, tests, failed)}"
    return Section("Goodness of fit", blocks, answer)


def _adequacy_result(content: Content) -> str:
    """State how many tests of the histories failed, and how many could not see a departure that matters."""
    verdicts = content.frames["adequacy_tests"]["verdict"]
    if verdicts.empty:
        return "The verdict rests on the tests of the curves alone."
    failed, untested, weak = (int((verdicts == verdict).sum()) for verdict in ("fails", "not_tested", "too_weak"))
    rest = f"; {weak} could have missed a departure that matters" if weak else ""
    rest += f"; {untested} could not be tested" if untested else ""
    return f"Histories: {failed} of {count_noun(len(verdicts) - untested, 'test')} failed{rest}."


def _adequacy(content: Content) -> list[Block]:
    """Return the tests that decide on the verdict, and the models that were fitted; empty without histories."""
    tests, models = content.frames["adequacy_tests"], content.frames["candidate_models"]
    if tests.empty:
        return []
    shown = format_estimates(tests, ["effect"]).assign(verdict=tests["verdict"].str.replace("_", " "))
    columns = ["test", "subject", "effect", "smallest_seen", "relevant", "p_value", "verdict"]
    names = {"smallest_seen": "smallest effect seen", "relevant": "relevant effect"}
    table = captioned_table("Tests of the histories", shown[columns].rename(columns=names), formatted=["effect"])
    folded = Folded(_MODELS_TITLE, [_MODELS, captioned_table(_MODELS_TITLE, models)])
    return [_ADEQUACY, table, *([folded] if len(models) else [])]


def _comparisons(tests: pd.DataFrame) -> str:
    """State how many comparisons of the curves failed."""
    untested, failed = (int((tests["verdict"] == verdict).sum()) for verdict in ("not_tested", "fails"))
    if untested == len(tests):
        return "The curves could not be tested."
    rest = f"; {untested} could not be tested" if untested else ""
    return f"Curves: {failed} of {count_noun(len(tests) - untested, 'comparison')} failed{rest}."


def _result(content: Content, tests: pd.DataFrame, failed: pd.DataFrame) -> str:
    if (tests["verdict"] == "not_tested").all():
        return "Column *meaning* gives the reasons."
    if failed.empty:
        return "No comparison contradicts the fit of the curves."
    row = failed.iloc[0]
    subject, meaning = (content.escape(row[column]) for column in ("subject", "meaning"))
    return f"Most clearly: {escape(row['test'])}, {subject}. {meaning}"


def _tests_table(content: Content, rows: pd.DataFrame, tests: pd.DataFrame, source: str | None = None) -> Table:
    """Return a table of some comparisons; `tests` has all, whose number determines the level of each."""
    has_rule = rows["test"] == "violation"
    n_rows = rows["test"].map(tests.groupby("test")["p_value"].count())
    levels = rows["test"].map(levels_of_comparisons(tests).groupby(tests["test"]).first())
    expected = [
        f"at most {format_cell(value)}" if rule else format_cell(value)
        for value, rule in zip(rows["expected"], has_rule, strict=True)
    ]
    shown = rows.assign(
        # A difference without an interval was not tested.
        difference=rows["difference"].where(rows["difference_low"].notna()),
        expected=expected,
        verdict=rows["verdict"].str.replace("_", " "),
        meaning=rows["meaning"].map(content.adapt),
    )
    shown["comparison"] = rows["test"] + ", " + rows["subject"].map(content.adapt)
    shown["fails below"] = [
        UNKNOWN if rule or not n else f"{level:.2g} ({count_noun(n, 'comparison')})"
        for rule, level, n in zip(has_rule, levels, n_rows, strict=True)
    ]
    columns = ["comparison", "verdict", "observed", "expected", "difference", "p_value", "fails below", "meaning"]
    shown = format_estimates(shown, ["difference"])[columns]
    caption = "Comparisons of the curves with the fit"
    return captioned_table(caption, shown, formatted=["difference", "expected"], source=source)


def _fits_table(content: Content) -> Table:
    parameters = content.frames["parameters"]
    rows = parameters[parameters["stratum"].isna() & (parameters["component"] != "core")]
    shown = format_estimates(rows, _NAMES).assign(
        residual_rms=rows["residual_rms"].mask(rows["status"].isin(UNREPORTED_STATUSES)),
        model=[_model(row) for row in rows.to_dict("records")],
    )
    columns = [*_FIT, *_NAMES, "residual_rms", "n_points", "status", "reason"]
    return captioned_table("All fits, with 95 % confidence intervals", shown[columns], formatted=_NAMES)


def _model(row: Row) -> str:
    """Return the model of a fit; a revisit-delay model with its delay and crawls."""
    if pd.isna(row["delay_crawls"]):
        return str(row["model"])
    delay = count_noun(int(row["delay_crawls"]), "crawl")
    return f"{row['model']} of {delay}, {row['first_crawl']} to {row['last_crawl']}"


def _truth_table(content: Content) -> Table:
    rows = compare_with_truth(content.frames["parameters"], content.frames["truth"])
    rows = rows[(rows["clock"] == content.headline.kind.clock) & (rows["form"] == "exact")]
    covered = rows["inside"].astype("boolean").mask(rows["status"].isin(UNREPORTED_STATUSES))
    shown = format_estimates(rows, ["estimate"]).assign(**{"covered by interval": covered})
    columns = ["projection", "parameter", "truth", "estimate", "covered by interval", "status"]
    return captioned_table(_TRUTH, shown[columns], formatted=["estimate"])


def observables_section(content: Content) -> Section:
    """Return the same parameters estimated from each observable, and their differences."""
    clock, model = content.headline.kind.clock, content.headline.kind.model
    fits = content.frames["parameters"]
    is_compared = (
        fits["stratum"].isna()
        & (fits["model"] == model)
        & (fits["form"] == "exact")
        & (fits["clock"] == clock)
        & (fits["component"] != "core")
    )
    fits = fits[is_compared].set_index("projection")
    fits = fits.loc[[name for name in _OBSERVABLES if name in fits.index]]
    frame = _observables_frame(content, fits)
    status = ", ".join(f"{name} {status}" for name, status in fits["status"].items())
    blocks: list[Block] = [
        "Containment (pairs of crawls) and the discovery curve (windows of crawls) are two views of the same crawls. "
        f"If the model fits, both give the same parameters. The table shows the fits of {escape(model)}, exact form, "
        f"per {clock}, with 95 % confidence intervals. Status: {status}."
    ]
    if frame.empty:
        blocks.append("No estimates are reported, so there is nothing to compare.")
    else:
        blocks.append(captioned_table("Estimates by observable", frame, formatted=list(frame.columns[1:])))
        blocks.append(
            "`difference` is the containment estimate minus the discovery-curve estimate, compared with its expected "
            "value if the model fits."
            if "difference" in frame
            else "No difference can be tested: the source provides one observable, or the errors are unknown."
        )
        with_reason = fits[fits["reason"].notna() & ~fits["status"].isin(UNREPORTED_STATUSES)]
        blocks += [f"{escape(row.Index)} is {row.status}: {escape(row.reason)}" for row in with_reason.itertuples()]
    blocks += content.figures("identifiability")
    drawn = content.figures("containment_by_lag", "overlap_matrix", "discovery_curves_by_start", "discovery_heat_map")
    blocks, title, agreement = [*blocks, *drawn], "Estimates by observable", _agreement(content)
    return Section(title, [agreement, *blocks]) if frame.empty else Section(title, blocks, agreement)


def _agreement(content: Content) -> str:
    """State whether containment and discovery curve give the same parameters."""
    tests = content.frames["diagnosis"]
    tests = tests[(tests["test"] == "projections") & (tests["verdict"] != "not_tested")]
    if tests.empty:
        return "Whether containment and discovery curve give the same parameters could not be tested."
    differing = [SYMBOLS.get(name, name) for name in tests.loc[tests["verdict"] == "fails", "subject"]]
    if differing:
        return f"**Containment and discovery curve differ in {', '.join(map(escape, differing))}.**"
    return f"Containment and discovery curve agree in {count_noun(len(tests), 'tested parameter')}."


def _observables_frame(content: Content, fits: pd.DataFrame) -> pd.DataFrame:
    """Return one row per parameter that an observable estimates, and one column per observable."""
    tests = content.frames["diagnosis"]
    tests = tests[tests["test"] == "projections"].set_index("subject")
    rows = []
    for name in _NAMES:
        estimates = {str(projection): format_estimate(dict(fit), name) for projection, fit in fits.iterrows()}
        if set(estimates.values()) <= {UNKNOWN}:
            continue
        row: dict[str, Any] = {"parameter": f"{SYMBOLS[name]} ({name})", **estimates}
        if name in tests.index and content.headline.is_reported:
            test = dict(tests.loc[name])
            row |= {
                "difference": format_estimate({**test, "status": None}, "difference"),
                "p_value": format_p_value(float(test["p_value"])),
                "verdict": test["verdict"].replace("_", " "),
            }
        rows.append(row)
    return pd.DataFrame(rows).fillna(UNKNOWN)


def model_comparison_section(content: Content) -> Section:
    """Return which models were compared, and which is preferred."""
    comparison, title = content.frames["model_comparison"], "Model comparison"
    if comparison.empty:
        reason = "the source provides neither capture histories nor the sizes of all crawls"
        return Section(title, [f"No models were compared: {reason}."])
    preferred = comparison[comparison["preferred"].astype(bool)]
    sentence = escape(_preferences(preferred.to_dict("records")))
    model = content.headline.kind.model
    if (preferred["model"] != model).any():
        sentence += f" The selected fit uses another model, {escape(model)}."
    is_unreported = comparison["status"].isin(UNREPORTED_STATUSES)
    shown = comparison.assign(**{name: comparison[name].mask(is_unreported) for name in ("value", "delta")})
    columns = ["projection", "model", "criterion", "n_parameters", "value", "delta", "preferred", "status", "reason"]
    note = (
        "Lower is better. `aicc` and `bic` are information criteria of the likelihood of capture histories; "
        "`cross_validation` is the mean square error, in squared crawls, of predicting start crawls that were left "
        "out. `preferred` marks the smallest model that is as good as the best."
    )
    return Section(
        title, [sentence, Folded("All criteria", [note, captioned_table("Criteria of all models", shown[columns])])]
    )


def _preferences(preferred: Iterable[Row]) -> str:
    parts = []
    for row in preferred:
        status = "" if row["status"] == "ok" else f" ({row['status']})"
        parts.append(f"{_CRITERIA[row['criterion']]} of {row['projection']} prefers {row['model']}{status}")
    preferences = "; ".join(parts)
    return f"{preferences[:1].upper()}{preferences[1:]}." if preferences else "No model is preferred."
