"""The estimates of each stratum: the same fits, limits and headline as of the whole collection.

Here: which of a stratum's fits are kept, and when it has too few elements for any. Not here: counts by stratum
(`observables.stratum_counts`), or the fits (`fitting`), their limits (`intervals`) and the choice among them
(`headline`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.fitting import fit_all
from crawl_urn_dagster.estimates.headline import choose_headline, may_speak
from crawl_urn_dagster.estimates.intervals import Fitted, with_doubt, with_limits
from crawl_urn_dagster.estimates.tables import operator_terms_table, parameters_table
from crawl_urn_dagster.observables.tables import tables_from_histories
from crawl_urn_dagster.urn import WITHHELD, no_fit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock, CountingError
    from crawl_urn_dagster.urn.data.histories import IntArray

#: Counted elements of a stratum in each crawl; with fewer, nothing is estimated of it.
FEWEST_ELEMENTS = 30
# Ratio of mean crawl sizes, first to last third of the crawls, beyond which a stratum is no urn of constant size.
_STEADY = 1.25


def stack(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put the rows of some tables of one name below each other; columns are typed by the tables that know any value."""
    known = [table.dropna(axis="columns", how="all") for table in tables]
    return pd.concat(known, ignore_index=True).reindex(columns=tables[0].columns)


def stratum_tables(
    crawls: pd.DataFrame, strata: Mapping[str, CaptureHistoryCounts], error: CountingError, clock: Clock
) -> dict[str, list[pd.DataFrame]]:
    """Tables `parameters` and `operator_terms`, a frame per stratum: the fits on one clock that may speak for it.

    Parameters
    ----------
    crawls
        Table `crawls`.
    strata
        Capture-history counts of each stratum, over the same crawls.
    error
        How elements were counted.
    clock
        Clock of the headline.
    """
    tables: dict[str, list[pd.DataFrame]] = {"parameters": [], "operator_terms": []}
    for stratum, counts in strata.items():
        fitted = _fit_stratum(crawls, counts, error, clock)
        headline = choose_headline([one.fit for one in fitted], clock=clock)
        tables["parameters"].append(parameters_table(fitted, headline, crawls, stratum=stratum))
        tables["operator_terms"].append(operator_terms_table(fitted, headline, crawls, stratum))
    return tables


def stratum_sizes(strata: Mapping[str, CaptureHistoryCounts]) -> pd.DataFrame:
    """Count the elements of each stratum.

    Returns
    -------
    Columns ``stratum``, ``elements`` (captured at least once), ``in_first`` and ``in_last`` (captured in the first and
    in the last crawl), ``in_all`` (captured in every crawl).
    """
    rows = []
    for stratum, counts in strata.items():
        sizes = counts.elements @ counts.seen
        rows.append((stratum, counts.distinct_elements, int(sizes[0]), int(sizes[-1]), counts.in_all))
    return pd.DataFrame(rows, columns=["stratum", "elements", "in_first", "in_last", "in_all"])


def _fit_stratum(
    crawls: pd.DataFrame, counts: CaptureHistoryCounts, error: CountingError, clock: Clock
) -> list[Fitted]:
    sizes = counts.elements @ counts.seen
    smallest = int(np.argmin(sizes))
    if sizes[smallest] < FEWEST_ELEMENTS * error.one_in:
        reason = (
            f"The stratum has {counts.distinct_elements:,} elements, and {sizes[smallest]:,} of them in "
            f"{crawls['crawl'].iloc[smallest]}; every crawl needs {FEWEST_ELEMENTS * error.one_in:,}."
        )
        return [Fitted(no_fit("joint", "core_shell", clock, reason))]
    frames = tables_from_histories(crawls, counts, error)
    observables = frames["containment"], frames["discovery_curve"]
    of_stratum = crawls.assign(elements=sizes)
    fits = [fit for fit in fit_all(of_stratum, *observables, error) if may_speak(fit, clock)]
    fitted = with_limits(fits, of_stratum, *observables, in_all=counts.in_all)
    doubt = _doubt_of_size(sizes)
    return [one._replace(fit=one.fit if one.fit.status in WITHHELD else with_doubt(one.fit, doubt)) for one in fitted]


def _doubt_of_size(sizes: IntArray) -> str:
    """Say that a stratum grows or drains, if so: elements enter it and leave it in other ways than an urn's."""
    third = -(-len(sizes) // 3)
    first, last = sizes[:third].mean(), sizes[-third:].mean()
    if max(first, last) <= _STEADY * min(first, last):
        return ""
    return (
        f"The stratum is no urn of constant size: a crawl has {first:,.0f} of its elements in the mean of the first "
        f"{third} crawls, {last:,.0f} in that of the last; survival, coverage and core are those of a part that "
        f"{'drains' if last < first else 'grows'}."
    )
