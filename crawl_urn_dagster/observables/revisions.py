"""What a source changed of the past: counts that were published before and are others now.

Here: table `revisions`. Not here: what happens then (`checks`), or when crawls are read again (`work`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.observables.schema import REVISIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Finding of the first content that was read: there is no other to compare it with.
FIRST_CONTENT = "earlier_content"
# By table: first crawl, last crawl, count.
_COUNTS = {
    "crawls": ("crawl", "crawl", "elements"),
    "containment": ("crawl_i", "crawl_j", "intersection"),
    "discovery_curve": ("start_crawl", "end_crawl", "distinct_elements"),
}


def revisions_table(before: Mapping[str, pd.DataFrame], now: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Table `revisions`: counts that differ, the largest relative change first, then crawls of other elements.

    Parameters
    ----------
    before, now
        Tables of the contract by name; what is not among both is not compared.
    """
    found = []
    for name in before.keys() & now.keys() & _COUNTS.keys():
        then, since = _counts(before[name], name), _counts(now[name], name)
        both = then.merge(since, on=["first_crawl", "last_crawl"], how="left", suffixes=("_before", "_now"))
        differs = (both["count_before"] != both["count_now"]).fillna(value=True)
        other = both["content_now"].notna() & both["content_before"].notna()
        other &= both["content_before"] != both["content_now"]
        changed = (differs | other) & both["count_before"].notna()
        found.append(both[changed].assign(observable=name))
    if not found:
        return pd.DataFrame(columns=list(REVISIONS.column_names))
    table = pd.concat(found, ignore_index=True)
    change = (table["count_now"].fillna(0) - table["count_before"]).abs() / table["count_before"].clip(lower=1)
    order = change.astype(float).sort_values(ascending=False, kind="stable").index
    return table.loc[order, list(REVISIONS.column_names)].reset_index(drop=True)


def _counts(table: pd.DataFrame, name: str) -> pd.DataFrame:
    first, last, count = _COUNTS[name]
    content = table.get("content")
    return pd.DataFrame(
        {
            "first_crawl": table[first],
            "last_crawl": table[last],
            "count": table[count].astype("Int64"),
            "content": pd.Series(content, index=table.index, dtype=object),
        }
    )
