"""Record the counts that a source published over time, including values that it revised later.

Does not parse source formats (`sources`); the computed tables always use the current publication.
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
    """Add the current publication to table `publications`.

    A count is added if it is new or differs from the last one read. A count that is no longer published is added as
    null.

    Parameters
    ----------
    before
        The table so far, or None.
    published
        ``quantity, start_crawl, end_crawl, window_crawls, distinct_elements, location, sha256``.
    read_at
        Time of reading, UTC without zone.

    Returns
    -------
    The extended table.
    """
    now = published.assign(first_read_at=pd.Timestamp(read_at)).astype({"distinct_elements": "Int64"})
    if before is None:
        return now
    before = before.astype({"distinct_elements": "Int64"})
    last = before.drop_duplicates(_KEY, keep="last")
    last = last[last["distinct_elements"].notna()]
    known, listed = _rows(last, _KEY + _VALUE), _rows(now, _KEY)
    new = now[[row not in known for row in _rows(now, _KEY + _VALUE)]]
    withdrawn = last[[row not in listed for row in _rows(last, _KEY)]]
    withdrawn = withdrawn.assign(start_crawl=None, distinct_elements=None, first_read_at=pd.Timestamp(read_at))
    parts = [part.astype({"distinct_elements": "Int64"}) for part in (before, new, withdrawn) if len(part)]
    return pd.concat(parts, ignore_index=True)


def _rows(frame: pd.DataFrame, columns: list[str]) -> dict[tuple[object, ...], None]:
    """Return the rows of a frame without duplicates, in order."""
    return dict.fromkeys(frame[columns].itertuples(index=False, name=None))


def revisions(publications: pd.DataFrame) -> pd.DataFrame:
    """Find the counts that were published again with another value, the latest first, then the largest change.

    Returns
    -------
    ``quantity, end_crawl, window_crawls, first_read_at, start_before, start_after, before, after, change``. The change
    is relative to ``before``; it is missing if a count was withdrawn or came back.
    """
    groups = publications.groupby(_KEY, sort=False)
    before, start_before = groups["distinct_elements"].shift(), groups["start_crawl"].shift()
    is_revision = groups.cumcount() > 0
    found = publications.loc[is_revision, [*_KEY, "first_read_at"]].assign(
        start_before=start_before[is_revision],
        start_after=publications.loc[is_revision, "start_crawl"],
        before=before[is_revision],
        after=publications.loc[is_revision, "distinct_elements"],
    )
    found["change"] = found["after"].astype(np.float64) / found["before"].astype(np.float64) - 1
    size = found["change"].abs()
    order = found.assign(size=size).sort_values(["first_read_at", "size"], ascending=False, kind="stable").index
    return found.loc[order].reset_index(drop=True)
