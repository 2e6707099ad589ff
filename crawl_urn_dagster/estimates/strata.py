"""Estimate each stratum with the same fits, tests, intervals and headline as the whole collection.

Does not count by stratum; see `observables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.assessment.assess import assess_stratum
from crawl_urn_dagster.estimates.assessment.result import Assessment, value_columns
from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, state_verdict
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.fitting import fit_primary, with_refutation
from crawl_urn_dagster.estimates.intervals import SEED, with_intervals
from crawl_urn_dagster.estimates.parameter_tables import operator_terms_table, parameters_table
from crawl_urn_dagster.estimates.selection import is_headline_candidate, select_headline
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.schema import STRATUM_VERDICTS
from crawl_urn_dagster.observables.tables import tables_from_histories
from crawl_urn_dagster.urn import FitKind, Reason, ReasonCode
from crawl_urn_dagster.urn.results.result import no_fit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock, CountingError
    from crawl_urn_dagster.urn.data.histories import IntArray
    from crawl_urn_dagster.urn.results.result import AnyFit

#: Smallest number of counted elements of a stratum in each crawl for which the stratum is estimated.
FEWEST_ELEMENTS = 30
# Ratio of mean crawl sizes, first to last third of the crawls, above which a stratum does not have a constant size.
_STEADY = 1.25


def stack(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate tables of one name; the tables with any value in a column decide its type."""
    known = [table.dropna(axis="columns", how="all") for table in tables]
    return pd.concat(known, ignore_index=True).reindex(columns=tables[0].columns)


def stratum_tables(
    crawls: pd.DataFrame,
    strata: Mapping[str, CaptureHistoryCounts],
    error: CountingError,
    clock: Clock,
    own_fits: Collection[str] = (),
) -> dict[str, list[pd.DataFrame]]:
    """Return tables `parameters`, `operator_terms` and `stratum_verdicts`, a frame per stratum.

    The first two have the headline candidates on one clock.

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
    own_fits
        Entry points of the fits of other packages that the collection names.
    """
    tables: dict[str, list[pd.DataFrame]] = {"parameters": [], "operator_terms": [], STRATUM_VERDICTS.name: []}
    for stratum, counts in strata.items():
        fits, assessment = _fit_stratum(crawls, counts, error, clock, own_fits)
        headline = select_headline(fits, clock=clock).kind
        stratum_crawls = crawls.assign(elements=counts.elements @ counts.seen)
        tables["parameters"].append(parameters_table(fits, headline, stratum_crawls, stratum=stratum))
        tables["operator_terms"].append(operator_terms_table(fits, headline, stratum_crawls, stratum))
        row = _verdict_columns(assessment)
        tables[STRATUM_VERDICTS.name].append(
            pd.DataFrame([{"stratum": stratum, **row}], columns=list(STRATUM_VERDICTS.column_names))
        )
    return tables


def stratum_sizes(strata: Mapping[str, CaptureHistoryCounts]) -> pd.DataFrame:
    """Count the elements of each stratum.

    Returns
    -------
    DataFrame
        Columns ``stratum``, ``elements`` (captured at least once), ``in_first`` and ``in_last`` (captured in the first
        and in the last crawl), ``in_all`` (captured in every crawl).
    """
    rows = []
    for stratum, counts in strata.items():
        sizes = counts.elements @ counts.seen
        rows.append((stratum, counts.distinct_elements, int(sizes[0]), int(sizes[-1]), counts.in_all))
    return pd.DataFrame(rows, columns=["stratum", "elements", "in_first", "in_last", "in_all"])


def _fit_stratum(
    crawls: pd.DataFrame,
    counts: CaptureHistoryCounts,
    error: CountingError,
    clock: Clock,
    own_fits: Collection[str],
) -> tuple[list[AnyFit], Assessment]:
    """Return the headline candidates of a stratum, and its assessment, which may refute them."""
    sizes = counts.elements @ counts.seen
    smallest = int(np.argmin(sizes))
    if sizes[smallest] < FEWEST_ELEMENTS * error.one_in:
        values = {
            "elements": counts.distinct_elements,
            "in_crawl": int(sizes[smallest]),
            "crawl": crawls["crawl"].iloc[smallest],
            "needed": FEWEST_ELEMENTS * error.one_in,
        }
        kind = FitKind("joint", "core_shell", "exact", clock)
        finding = f"A crawl has fewer than {count_noun(values['needed'], 'element')} of the stratum."
        verdict = state_verdict(VerdictName.NOT_IDENTIFIED, finding)
        return [no_fit(kind, Reason(ReasonCode.TOO_FEW_ELEMENTS, values))], Assessment(verdict)
    frames = tables_from_histories(crawls, counts, error)
    data = CollectionData(
        crawls.assign(elements=sizes), frames["containment"], frames["discovery_curve"], error, counts, own_fits
    )
    fits = [fit for fit in fit_primary(data, [clock]) if is_headline_candidate(fit, clock)]
    change = _change_of_size(sizes)
    assessment = assess_stratum(data, counts, seed=SEED)
    found = [with_refutation(fit, assessment.refuted) for fit in with_intervals(fits, data).fits]
    return [fit.with_reasons(*change) if fit.is_reported else fit for fit in found], assessment


def _verdict_columns(assessment: Assessment) -> dict[str, Any]:
    """Return the columns of table `stratum_verdicts` but the stratum."""
    verdict, numbers = assessment.verdict, assessment.quantities
    columns: dict[str, Any] = {
        "verdict": verdict.name.value,
        "quotable": verdict.quotable.value,
        "meaning": verdict.meaning,
    }
    for name, one in numbers.items():
        columns |= value_columns(name, one.value, one.interval)
    return columns | {"model": assessment.model}


def _change_of_size(sizes: IntArray) -> tuple[Reason, ...]:
    """Return a reason if a stratum grows or shrinks, so elements enter and leave it differently from an urn's."""
    third = -(-len(sizes) // 3)
    first, last = float(sizes[:third].mean()), float(sizes[-third:].mean())
    if max(first, last) <= _STEADY * min(first, last):
        return ()
    values = {"first": first, "last": last, "crawls": third, "trend": "shrinks" if last < first else "grows"}
    return (Reason(ReasonCode.STRATUM_CHANGES_SIZE, values),)
