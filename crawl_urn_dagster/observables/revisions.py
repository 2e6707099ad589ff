"""Find the counts of the past that a source has changed: table `revisions`.

Does not decide what follows from a revision; see `orchestration.checks` and `orchestration.change_detection`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.observables.schema import REVISIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Finding that records the first content read, with which nothing can be compared.
FIRST_CONTENT = "earlier_content"
# By table: columns of the first crawl, the last crawl and the count.
_COUNTS = {
    "crawls": ("crawl", "crawl", "elements"),
    "containment": ("crawl_i", "crawl_j", "intersection"),
    "discovery_curve": ("start_crawl", "end_crawl", "distinct_elements"),
}


def revisions_table(before: Mapping[str, pd.DataFrame], now: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return table `revisions`: changed counts, the largest relative change first, then crawls with other elements.

    Parameters
    ----------
    before, now
        Tables by name; only tables in both are compared.
    """
    found = []
    for name in before.keys() & now.keys() & _COUNTS.keys():
        old, new = _counts(before[name], name), _counts(now[name], name)
        both = old.merge(new, on=["first_crawl", "last_crawl"], how="left", suffixes=("_before", "_now"))
        count_differs = (both["count_before"] != both["count_now"]).fillna(value=True)
        content_differs = both["content_now"].notna() & both["content_before"].notna()
        content_differs &= both["content_before"] != both["content_now"]
        changed = (count_differs | content_differs) & both["count_before"].notna()
        found.append(both[changed].assign(observable=name))
    if not found:
        return pd.DataFrame(columns=list(REVISIONS.column_names))
    table = pd.concat(found, ignore_index=True)
    change = (table["count_now"].fillna(0) - table["count_before"]).abs() / table["count_before"].clip(lower=1)
    order = change.astype(float).sort_values(ascending=False, kind="stable").index
    return table.loc[order, list(REVISIONS.column_names)].reset_index(drop=True)


def _counts(table: pd.DataFrame, name: str) -> pd.DataFrame:
    first, last, count = _COUNTS[name]
    return pd.DataFrame(
        {
            "first_crawl": table[first],
            "last_crawl": table[last],
            "count": table[count].astype("Int64"),
            "content": pd.Series(table.get("content"), index=table.index, dtype=object),
        }
    )
