"""What a source published when: counts that it revises are kept beside the new ones.

Here: adding what is published now to what was before, and what moved. Not here: formats (`sources`), or the tables
that are computed, which are always of what is published now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from datetime import datetime

_KEY = ["quantity", "end_crawl", "window_crawls"]
_VALUE = ["start_crawl", "distinct_elements"]


def record_publication(before: pd.DataFrame | None, published: pd.DataFrame, read_at: datetime) -> pd.DataFrame:
    """Table `publications` with what is published now.

    A count is added when it is new or is not what it was when last read; one that is not published any more is added
    as null.

    Parameters
    ----------
    before
        The table so far, or None.
    published
        ``quantity, start_crawl, end_crawl, window_crawls, distinct_elements, location, sha256``.
    read_at
        When that was read, UTC without zone.
    """
    now = published.assign(first_read_at=pd.Timestamp(read_at)).astype({"distinct_elements": "Int64"})
    if before is None:
        return now
    before = before.astype({"distinct_elements": "Int64"})
    last = before.drop_duplicates(_KEY, keep="last")
    last = last[last["distinct_elements"].notna()]
    same, still = _rows(last, _KEY + _VALUE), _rows(now, _KEY)
    new = now[[row not in same for row in _rows(now, _KEY + _VALUE)]]
    gone = last[[row not in still for row in _rows(last, _KEY)]]
    withdrawn = gone.assign(start_crawl=None, distinct_elements=None, first_read_at=pd.Timestamp(read_at))
    parts = [part.astype({"distinct_elements": "Int64"}) for part in (before, new, withdrawn) if len(part)]
    return pd.concat(parts, ignore_index=True)


def _rows(frame: pd.DataFrame, columns: list[str]) -> dict[tuple[object, ...], None]:
    """Rows of a frame that has each once, in their order."""
    return dict.fromkeys(frame[columns].itertuples(index=False, name=None))


def revisions(publications: pd.DataFrame) -> pd.DataFrame:
    """Find what was published anew, the latest first, then the largest change.

    Returns
    -------
    ``quantity, end_crawl, window_crawls, first_read_at, start_before, start_after, before, after, change``; change is
    relative to before, and missing where a count was withdrawn or came back.
    """
    groups = publications.groupby(_KEY, sort=False)
    before, start_before = groups["distinct_elements"].shift(), groups["start_crawl"].shift()
    revised = groups.cumcount() > 0
    found = publications.loc[revised, [*_KEY, "first_read_at"]].assign(
        start_before=start_before[revised],
        start_after=publications.loc[revised, "start_crawl"],
        before=before[revised],
        after=publications.loc[revised, "distinct_elements"],
    )
    found["change"] = found["after"].astype(np.float64) / found["before"].astype(np.float64) - 1
    size = found["change"].abs()
    order = found.assign(size=size).sort_values(["first_read_at", "size"], ascending=False, kind="stable").index
    return found.loc[order].reset_index(drop=True)
