"""Report section on strata: the selected fit of each, sorted by the share of its elements that one crawl captures.

Does not fit strata; see `estimates.strata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Section
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_estimate, format_estimates
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES
from crawl_urn_dagster.urn.curves.conversions import captured_share

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.report.content import Content

_CAPTURED = "captured share"


def strata_section(content: Content) -> Section | None:
    """Return the selected fit of each stratum, the worst covered first; None if the collection has no strata."""
    if "strata" not in content.frames:
        return None
    rows = _covered(content)
    columns = [*content.frames["strata"].columns, _CAPTURED, "projection", "model", *SYMBOLS, "status", "reason"]
    note = (
        "The table shows the selected fit of the curves of each stratum, with 95 % confidence intervals. *captured "
        f"share* is the share of the stratum's eligible {content.noun}s that one crawl captures. The tests of the "
        "assessment are applied to each stratum, and a fit that they refute has status `refuted`. An element belongs "
        "to one stratum only, even if its value changes. `elements` counts the elements captured at least once, "
        "`in_first` and `in_last` those of the first and the last crawl, and `in_all` those of every crawl. If "
        "`in_last` differs greatly from `in_first`, the stratum does not keep its size, which contradicts the model."
    )
    shown = format_estimates(rows, list(SYMBOLS)).assign(
        **{_CAPTURED: [format_estimate(row, "captured", share=True) for row in rows.to_dict("records")]}
    )
    caption, formatted = "Selected fit of each stratum, the worst covered first", [_CAPTURED, *SYMBOLS]
    table = captioned_table(caption, shown[columns], formatted=formatted, max_rows=30, source="parameters")
    blocks: list[Block] = [note, table, *content.figures("parameters_by_stratum", "rank_profile")]
    return Section("By stratum", blocks, worst_stratum(content))


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
