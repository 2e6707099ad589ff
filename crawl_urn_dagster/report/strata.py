"""Report section on strata: the selected fit of each, sorted by the share of its elements that one crawl captures.

Does not fit strata; see `estimates.strata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.assessment.verdicts import VERDICTS, Quotable, VerdictName
from crawl_urn_dagster.formatting import format_percent
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Section
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_estimate, format_estimates
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES
from crawl_urn_dagster.urn.curves.conversions import captured_share

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

_CAPTURED = "captured share"
_COMPLETENESS = "completeness"
_MOTION = ("net_flux", "drift", "diffusion")
# Probability below which the report calls a difference between strata real.
_LEVEL = 0.05


def strata_section(content: Content) -> Section | None:
    """Return the selected fit of each stratum, the worst covered first; None if the collection has no strata."""
    if "strata" not in content.frames:
        return None
    rows = _covered(content)
    verdicts = _verdicts(content)
    columns = [
        *content.frames["strata"].columns,
        *verdicts.columns[1:],
        _CAPTURED,
        "projection",
        "model",
        *SYMBOLS,
        "status",
        "reason",
    ]
    note = (
        "The table shows the selected fit of the curves of each stratum, with 95 % confidence intervals. *captured "
        f"share* is the share of the stratum's eligible {content.noun}s that one crawl captures. The tests of the "
        "assessment are applied to each stratum, and a fit that they refute has status `refuted`. An element belongs "
        "to one stratum only, even if its value changes. `elements` counts the elements captured at least once, "
        "`in_first` and `in_last` those of the first and the last crawl, and `in_all` those of every crawl. If "
        "`in_last` differs greatly from `in_first`, the stratum does not keep its size, which contradicts the model."
    )
    shown = format_estimates(rows.merge(verdicts, how="left"), list(SYMBOLS)).assign(
        **{_CAPTURED: [format_estimate(row, "captured", share=True) for row in rows.to_dict("records")]}
    )
    caption = "Verdict and selected fit of each stratum, the worst covered first"
    formatted = [_COMPLETENESS, _CAPTURED, *SYMBOLS]
    table = captioned_table(caption, shown[columns], formatted=formatted, max_rows=30, source="parameters")
    blocks: list[Block] = [note, *_meanings(content), table, *_profile(content), *_rank_changes(content)]
    blocks += content.figures("parameters_by_stratum", "rank_profile")
    return Section("By stratum", blocks, worst_stratum(content))


def _verdicts(content: Content) -> pd.DataFrame:
    """Return the verdict on each stratum and its completeness; only the column of names if no stratum was assessed."""
    table = content.frames.get("stratum_verdicts")
    if table is None:
        return pd.DataFrame({"stratum": pd.Series(dtype=str)})
    rows = table.assign(status=None).to_dict("records")
    completeness = [format_estimate(row, "completeness", share=True) for row in rows]
    return table[["stratum", "verdict"]].assign(**{_COMPLETENESS: completeness})


def _meanings(content: Content) -> list[Block]:
    """Return which strata may be quoted, one item per answer and verdict."""
    table = content.frames.get("stratum_verdicts")
    if table is None:
        return []
    items = [
        f"- Numbers may be quoted: {quotable}. `{verdict}`: {', '.join(escape(name) for name in rows['stratum'])}. "
        f"{VERDICTS[VerdictName(str(verdict))].meaning}"
        for (quotable, verdict), rows in table.groupby(["quotable", "verdict"], sort=False)
    ]
    return [
        "Each stratum has its own verdict, from the tests of the collection. *completeness* is the share of the known "
        "eligible elements that one crawl captures, by the selected model of table `stratum_verdicts`.",
        "\n".join(items),
    ]


def _profile(content: Content) -> list[Block]:
    """Return the partially pooled values of the strata, and whether the strata differ and follow the rank."""
    profile = content.frames.get("stratum_profile")
    if profile is None or profile["pooled"].isna().all():
        return []
    pooled = profile[profile["pooled"].notna()].assign(status=None).to_dict("records")
    shown = pd.DataFrame(
        [(row["stratum"], row["parameter"], format_estimate(row, "pooled")) for row in pooled],
        columns=["stratum", "parameter", "pooled"],
    ).pivot_table(index="stratum", columns="parameter", values="pooled", aggfunc="first", sort=False)
    weights = profile.groupby("stratum", sort=False)["mean_weight"].mean().reindex(shown.index)
    shown = shown.reindex(columns=[name for name in SYMBOLS if name in shown]).assign(mean_weight=weights.to_numpy())
    differences = [
        _difference(row) for row in profile.drop_duplicates("parameter").to_dict("records") if pd.notna(row["p_value"])
    ]
    note = (
        "The next table pools the strata partially: an estimate with a large error moves towards the mean of the "
        "strata, so a small stratum borrows from the others. `mean_weight` is the weight of the mean, averaged over "
        f"the parameters. {' '.join(differences)}"
    )
    formatted = [name for name in SYMBOLS if name in shown]
    caption = "Parameters of each stratum, partially pooled"
    return [
        note,
        captioned_table(caption, shown.reset_index(), formatted=formatted, max_rows=30, source="stratum_profile"),
    ]


def _difference(row: Row) -> str:
    """Return whether the strata differ in a parameter, and whether the parameter follows the rank."""
    symbol = SYMBOLS[row["parameter"]]
    verb = "differ" if row["p_value"] < _LEVEL else "do not differ"
    text = f"The strata {verb} in {symbol} beyond their errors (p = {row['p_value']:.2g})."
    if pd.isna(row["slope"]):
        return text
    follows = "changes" if row["slope_low"] > 0 or row["slope_high"] < 0 else "does not detectably change"
    change = format_estimate({**row, "status": None}, "slope")
    return (
        f"{text} Its log odds change by {change} if the rank is e times as large, so {symbol} {follows} with the rank."
    )


def _rank_changes(content: Content) -> list[Block]:
    """Return how ranks move between crawls, and which losses follow from the end of the list."""
    changes = content.frames.get("rank_changes")
    if changes is None or changes.empty:
        return []
    columns = ["stratum", "elements", "stayed", "to_better", "to_worse", "lost", "entered"]
    shown = changes[columns].assign(
        **{name: [format_estimate(row, name) for row in changes.to_dict("records")] for name in _MOTION},
        lost_by_cut=changes["lost_by_cut"],
    )
    note = (
        "How elements of each rank band move from one crawl to the next. `drift` is the mean change of the natural "
        "logarithm of the rank (positive: worse), `diffusion` half its variance, and `net_flux` what comes minus what "
        f"goes, divided by the elements of the band. {_selected_bands(changes)}"
    )
    caption = "Moves between rank bands from one crawl to the next"
    return [note, captioned_table(caption, shown, formatted=list(_MOTION), max_rows=30, source="rank_changes")]


def _selected_bands(changes: pd.DataFrame) -> str:
    end = changes["list_end"].iloc[0]
    if pd.isna(end):
        return "No rank was found at which the lists end, so no band is selected by it."
    bands = changes[changes["lost_by_cut"] > 0].to_dict("records")
    shares = ", ".join(f"{row['stratum']} {format_percent(100 * row['lost_by_cut'])} %" for row in bands)
    return (
        f"The lists end at rank {end:,}. A rank that passes the end looks like a loss; steady moves would "
        f"explain these shares of the losses: {shares or 'none'}. Survival, coverage and core of a band therefore "
        "describe how ranks move as well as what the crawl captures, and no gradient over ranks is reported."
    )


def worst_stratum(content: Content) -> str | None:
    """Name the stratum of which one crawl captures the least; None without strata or without a number to quote.

    Parameters
    ----------
    content
        Tables of the collection.
    """
    if "strata" not in content.frames or content.withheld_reason is not None:
        return None
    rows = _covered(content)
    rows = rows[rows["captured"].notna() & ~rows["status"].isin(NO_POINT_ESTIMATE_STATUSES)]
    if (verdicts := content.frames.get("stratum_verdicts")) is not None:
        rows = rows[~rows["stratum"].isin(verdicts.loc[verdicts["quotable"] == Quotable.NO.value, "stratum"])]
    if rows.empty:
        return None
    worst, elements = rows.iloc[0].to_dict(), content.frames["strata"]["elements"]
    share = 100 * worst["elements"] / elements.sum()
    return (
        f"{escape(worst['stratum'])}: one crawl captures {format_estimate(worst, 'captured', share=True)} of its "
        f"eligible {content.noun}s; it has {share:.2g} % of all {content.noun}s captured so far."
    )


def _covered(content: Content) -> pd.DataFrame:
    """Return the selected fit of each stratum with the captured share κ + (1 - κ) c, the smallest first.

    Its interval follows from the size of the urn, to which the share is inversely proportional.
    """
    parameters, sizes = content.frames["parameters"], content.frames["strata"]
    is_headline = (
        parameters["headline"].astype(bool) & parameters["stratum"].notna() & (parameters["component"] != "core")
    )
    rows = sizes.merge(parameters[is_headline], on="stratum")
    kappa = rows["kappa"].astype("float64").fillna(0.0).to_numpy(dtype=np.float64)
    coverage = rows["coverage"].to_numpy(dtype=np.float64)
    share = np.asarray(captured_share(np.asarray(kappa, dtype=np.float64), np.asarray(coverage, dtype=np.float64)))
    sizes_of_urn = {end: rows[f"urn_size{end}"].to_numpy(dtype=np.float64) for end in ("", "_low", "_high")}
    captured = {"captured": share}
    for end, opposite in (("_low", "_high"), ("_high", "_low")):
        captured[f"captured{end}"] = share * sizes_of_urn[""] / sizes_of_urn[opposite]
    return rows.assign(**captured).sort_values("captured", kind="stable", ignore_index=True)
