"""Whether and where the model fits: tests, fits, observables against each other, other urns, strata.

Here: what supports the headline or speaks against it. Not here: the verdict in words (`opening`), or the tests
themselves (`estimates.diagnosis`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.estimates.diagnosis import LEVEL
from crawl_urn_dagster.estimates.tables import compare_with_truth
from crawl_urn_dagster.formatting import UNKNOWN, count_noun, replace_element_noun
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Folded, Section, unfolded_if
from crawl_urn_dagster.report.markdown import escape, estimate, number, table, with_limits
from crawl_urn_dagster.urn import WITHHELD

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

_FIT = ["projection", "model", "form", "clock"]
_NAMES = list(SYMBOLS)
#: Projections that stand side by side, those whose difference is tested first.
_SIDE_BY_SIDE = ("containment", "discovery_curve", "joint", "histories")


def fit_quality(content: Content) -> Section:
    """Every test with its worst row, and the fits."""
    tests = content.frames["diagnosis"]
    tests = tests[tests["test"] != "collection"]
    failed = tests[tests["verdict"] == "fails"].sort_values("p_value", kind="stable")
    worst_first = tests.sort_values("p_value", kind="stable")
    one_each = worst_first.drop_duplicates("test").sort_index()
    said: list[Block] = [
        "No test speaks against the urn."
        if failed.empty
        else f"{count_noun(len(failed), 'row')} failed; the worst: {_worst(failed.iloc[0], content.noun)}"
    ]
    if (tests["verdict"] == "not_tested").all():
        said = ["Nothing could be tested: see what each row says."]
    blocks: list[Block] = [
        *said,
        "Each test, with its worst row where it has many: violation, whether more return after two crawls than after "
        "one; projections, parameters from containment (pairs of crawls) less those from the discovery curve (runs of "
        "crawls); core, what is in every crawl; lack_of_fit, overlaps of pairs, and recaptures (in one crawl and next "
        "seen in another), at each lag; increments, what is new in each crawl. p_value is the chance of a difference "
        "as large if the urn holds, sampling and changes from crawl to crawl included. A test fails when it is below "
        f"{LEVEL} over its number of rows (of violation: by its own rule). Not tested: the error of a difference is "
        "not known, or the difference of two shares has an interval wider than 0.5, which leaves out hardly anything. "
        "In brackets: 95 % intervals.",
        _tests(one_each, tests, content.noun),
    ]
    others = failed[~failed.index.isin(one_each.index)]
    if len(others):
        blocks.append(
            Folded(f"{len(others)} more rows that fail", [_tests(others, tests, content.noun, where="diagnosis")])
        )
    blocks += content.shown("core_shell_fits", "homogeneous_fits", "residuals_by_lag")
    blocks.append(Folded("Every fit", _fits(content)))
    if "truth" in content.frames:
        blocks.append(_truth(content))
    return Section("Whether the model fits", blocks)


def _worst(row: pd.Series, noun: str) -> str:
    subject, meaning = (escape(replace_element_noun(row[column], noun)) for column in ("subject", "meaning"))
    return f"{escape(row['test'])}, {subject}. {meaning}"


def _tests(rows: pd.DataFrame, of_all: pd.DataFrame, noun: str, where: str | None = None) -> str:
    """Table of some rows of the tests of all."""
    columns = ["test and row", "verdict", "observed", "expected", "difference", "p_value", "fails below", "meaning"]
    by_rule = rows["test"] == "violation"
    n_rows = rows["test"].map(of_all.groupby("test")["p_value"].count())
    # What has no limits was not tested, and is no finding.
    tested = rows.assign(
        difference=rows["difference"].where(rows["difference_low"].notna()),
        expected=[
            f"at most {number(one)}" if most else number(one)
            for one, most in zip(rows["expected"], by_rule, strict=True)
        ],
        verdict=rows["verdict"].str.replace("_", " "),
        meaning=[replace_element_noun(meaning, noun) for meaning in rows["meaning"]],
    )
    tested["test and row"] = [
        f"{test}, {replace_element_noun(subject, noun)}"
        for test, subject in zip(rows["test"], rows["subject"], strict=True)
    ]
    tested["fails below"] = [
        UNKNOWN if rule or not n else f"{LEVEL / n:.2g} ({count_noun(n, 'row')})"
        for rule, n in zip(by_rule, n_rows, strict=True)
    ]
    return table(with_limits(tested, ["difference"])[columns], written=["difference", "expected"], where=where)


def _fits(content: Content) -> list[Block]:
    parameters = content.frames["parameters"]
    rows = parameters[parameters["stratum"].isna() & (parameters["component"] != "core")]
    withheld = rows["status"].isin(WITHHELD)
    shown = with_limits(rows, _NAMES).assign(
        residual_rms=rows["residual_rms"].mask(withheld), model=[_model(row) for row in rows.to_dict("records")]
    )
    columns = [*_FIT, *_NAMES, "residual_rms", "n_points", "status", "reason"]
    return [
        "One row per fit (of two shells, per shell): the observable (joint: all pairs and windows at once; "
        "discovery_tail: a straight line through the end of the discovery curve; discovery_increments: a consistency "
        "check), the urn, and the clock that survival counts in. kappa is the core's share of the urn, core_share "
        "its share of one crawl; alpha and coverage are those of the shell, or of the one urn; residual_rms is by "
        "how much the fit misses the observable. In brackets: 95 % intervals, of the whole sequence of crawls "
        "repeated, and corrected for the bias of the fit, which numbers are not; none at a bound. Under form `paper`, "
        "kappa is the core share. Of a fit that is not ok, believe only what its reason leaves.",
        table(shown[columns], written=_NAMES),
    ]


def _model(row: Row) -> str:
    """Name the model of a fit, with the delay and the crawls of one that is of some of them."""
    if pd.isna(row["delay_crawls"]):
        return str(row["model"])
    delay = count_noun(int(row["delay_crawls"]), "crawl")
    return f"{row['model']} of {delay}, {row['first_crawl']} to {row['last_crawl']}"


def _truth(content: Content) -> Folded:
    rows = compare_with_truth(content.frames["parameters"], content.frames["truth"])
    rows = rows[(rows["clock"] == content.headline.clock) & (rows["form"] == "exact")]
    inside = rows["inside"].astype("boolean").mask(rows["status"].isin(WITHHELD))
    shown = with_limits(rows, ["estimate"]).assign(inside=inside)
    columns = ["projection", "parameter", "truth", "estimate", "inside", "status"]
    titled = shown[columns].rename(columns={"inside": "truth inside interval"})
    return Folded("Estimates against the truth of the simulation", [table(titled, written=["estimate"])])


def cross_source(content: Content) -> Section:
    """Show the same parameters from each observable, and their differences."""
    clock, model = content.headline.clock, content.headline.model
    fits = content.frames["parameters"]
    fits = fits[
        fits["stratum"].isna()
        & (fits["model"] == model)
        & (fits["form"] == "exact")
        & (fits["clock"] == clock)
        & (fits["component"] != "core")
    ].set_index("projection")
    sources = [name for name in _SIDE_BY_SIDE if name in fits.index]
    tests = content.frames["diagnosis"]
    compared = tests[tests["test"] == "projections"].set_index("subject")
    rows = []
    for name in _NAMES:
        row: dict[str, Any] = {"parameter": f"{SYMBOLS[name]} ({name})"}
        row |= {source: estimate(dict(fits.loc[source]), name) for source in sources}
        if name in compared.index and not content.headline.withheld:
            test = dict(compared.loc[name])
            row |= {
                "difference": estimate({**test, "status": None}, "difference"),
                "p_value": number(test["p_value"]),
                "verdict": test["verdict"].replace("_", " "),
            }
        rows.append(row)
    frame = pd.DataFrame(rows).fillna(UNKNOWN)
    frame = frame[(frame[sources] != UNKNOWN).any(axis=1)] if sources else frame.iloc[:0]
    status = ", ".join(f"{name} {one}" for name, one in fits.loc[sources, "status"].items())
    blocks: list[Block] = [
        "Containment of pairs and the discovery curve of windows are two views of the same crawls: if one urn holds, "
        f"they give the same numbers. Here the fits of {escape(model)}, exact form, per {clock}; 95 % intervals in "
        f"brackets. Status: {status}."
    ]
    if frame.empty:
        blocks.append("All are withheld, so that there is nothing to compare.")
    else:
        blocks.append(table(frame, written=list(frame.columns[1:])))
        blocks.append(
            "difference is containment less discovery_curve, against what it would be if one urn held."
            if "difference" in frame
            else "There is no difference to test: the source gives one observable, or no error of the two is known."
        )
        blocks += _open_sources(fits.loc[sources])
    blocks += content.shown("identifiability")
    drawn = content.shown("containment_by_lag", "discovery_curves_by_start", "discovery_heat_map")
    if drawn:
        blocks += unfolded_if(content.headline.withheld, "Figures of the observables", drawn)
    return Section("The observables side by side", blocks)


def _open_sources(fits: pd.DataFrame) -> list[Block]:
    """Why estimates of single observables are not to be read by themselves."""
    known = fits[fits["reason"].notna() & ~fits["status"].isin(WITHHELD)]
    return [
        f"{escape(name)} is {status}: {escape(reason)}"
        for name, status, reason in zip(known.index, known["status"], known["reason"], strict=True)
    ]


def which_urn(content: Content) -> Section:
    """Which urns were compared, and which to prefer."""
    comparison = content.frames["model_comparison"]
    if comparison.empty:
        return Section("Which urn", ["Not compared: there are neither capture histories nor the sizes of all crawls."])
    preferred = comparison[comparison["preferred"].astype(bool)]
    by_each = "; ".join(
        f"{row.criterion} of {row.projection} prefers {row.model}{'' if row.status == 'ok' else f' ({row.status})'}"
        for row in preferred.itertuples()
    )
    model = content.headline.model
    another = f" The headline is another urn, {escape(model)}." if (preferred["model"] != model).any() else ""
    columns = ["projection", "model", "criterion", "n_parameters", "value", "delta", "preferred", "status", "reason"]
    withheld = comparison["status"].isin(WITHHELD)
    shown = comparison.assign(**{name: comparison[name].mask(withheld) for name in ("value", "delta")})
    note = (
        "Lower is better: aicc and bic of the likelihood of capture histories; cross_validation is the mean square "
        "error, in squared crawls, of predicting start crawls that were left out. preferred is the smallest urn that "
        "is as good as the best."
    )
    said = escape(f"{by_each[:1].upper()}{by_each[1:]}.") if by_each else "None is preferred."
    return Section("Which urn", [f"{said}{another}", Folded("Every criterion", [note, table(shown[columns])])])


def strata(content: Content) -> Section | None:
    """Each stratum as a crawl of its own; None where there are none."""
    if "strata" not in content.frames:
        return None
    parameters, sizes = content.frames["parameters"], content.frames["strata"]
    spoken = parameters["headline"].astype(bool) & parameters["stratum"].notna() & (parameters["component"] != "core")
    rows = sizes.merge(with_limits(parameters[spoken], _NAMES), on="stratum")
    columns = [*sizes.columns, "projection", "model", *_NAMES, "status", "reason"]
    note = (
        "Each stratum as a crawl of its own: the fit that speaks for it, chosen as for all elements, with 95 % "
        "intervals. An element is in one stratum only, also when its value changes. elements counts those that were "
        "captured at all, in_first and in_last those of the first and the last crawl, in_all those of every crawl: "
        "where in_last is far from in_first, the stratum is no urn of constant size."
    )
    parts = [note, table(rows[columns], written=_NAMES, at_most=30, where="parameters")]
    return Section("By stratum", [*parts, *content.shown("parameters_by_stratum", "rank_profile")])
