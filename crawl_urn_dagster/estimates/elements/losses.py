"""Group the elements that the last crawl was expected to capture, and find groups that lost more than others.

Does not decide what was expected; see `lists`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pandas as pd

from crawl_urn_dagster.estimates.elements.lists import EXPECTED
from crawl_urn_dagster.observables.element_names import stem_expression
from crawl_urn_dagster.observables.schema import LOSSES_BY_GROUP
from crawl_urn_dagster.sql_loader import load_statement
from crawl_urn_dagster.urn.elements.losses import concentration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawl_urn_dagster.observables.element_names import ElementNames
    from crawl_urn_dagster.observables.presence import Partition

# Groups that are shown: those with the most losses.
_MOST_GROUPS = 1000


def losses_by_group(
    elements: Path, partitions: Sequence[Partition], names: ElementNames, granularity: str, scratch: Path
) -> pd.DataFrame:
    """Return table `losses_by_group`.

    Parameters
    ----------
    elements
        File of table `elements`.
    partitions
        Partitions of the crawls, for the strata.
    names
        Texts of the elements, if they are kept.
    granularity
        Kind of the elements, for their stems.
    scratch
        Existing folder for temporary files.
    """
    with duckdb.connect(config={"temp_directory": str(scratch)}) as connection:
        table = connection.read_parquet(str(elements))
        table.filter(f"p_expected >= {EXPECTED}").create_view("expected")
        counts = [
            *(_count(connection, "stratum", one.crawl, one.path, "stratum") for one in partitions if one.stratum),
            *(
                _count(connection, "stem", one.crawl, names.path(one.crawl), stem)
                for one in partitions
                if (stem := stem_expression(granularity, "element")) and names.path(one.crawl).exists()
            ),
        ]
    found = pd.concat(counts) if counts else pd.DataFrame(columns=["group_by", "group", "expected", "lost"])
    is_stratum = found["group_by"] == "stratum"
    labels = {(one.crawl, code): label for one in partitions for code, label in enumerate(one.strata)}
    if is_stratum.any():
        rows = found.loc[is_stratum, ["crawl", "group"]].itertuples(index=False)
        found.loc[is_stratum, "group"] = [labels[crawl, int(code)] for crawl, code in rows]
    totals = found.groupby(["group_by", "group"], sort=False)[["expected", "lost"]].sum().reset_index()
    tested = [_tested(group) for _, group in totals.groupby("group_by", sort=False)]
    columns = list(LOSSES_BY_GROUP.column_names)
    return pd.concat(tested, ignore_index=True)[columns] if tested else pd.DataFrame(columns=columns)


def _count(connection: duckdb.DuckDBPyConnection, by: str, crawl: str, path: Path, group: str) -> pd.DataFrame:
    """Count expected and lost elements by group, of the elements last captured by a crawl."""
    found = connection.read_parquet(str(path)).select("key", duckdb.SQLExpression(f"{group} AS label"))
    found.create_view("grouped")
    return connection.execute(load_statement("count_losses"), {"by": by, "crawl": crawl}).df()


def _tested(totals: pd.DataFrame) -> pd.DataFrame:
    expected, lost = totals["expected"].to_numpy(dtype="int64"), totals["lost"].to_numpy(dtype="int64")
    found = concentration(expected, lost)
    table = totals.assign(
        expected=expected,
        lost=lost,
        share_of_expected=expected / max(expected.sum(), 1),
        share_of_lost=lost / max(lost.sum(), 1),
        p_value=found.p_value,
        concentrated=found.is_concentrated,
    )
    table = table[lost > 0].sort_values(["lost", "group"], ascending=[False, True])
    return table.head(_MOST_GROUPS)
