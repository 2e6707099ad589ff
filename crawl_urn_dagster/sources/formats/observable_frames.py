"""Build the frames of pairs and of windows that sources of ready-made observables return.

Does not read files; see `observable_tables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

PAIR_COLUMNS = ("crawl_i", "crawl_j", "size_i", "size_j", "intersection")


def windows_frame(
    windows: Mapping[tuple[str, str], int], labels: Sequence[str], selected: Collection[str]
) -> pd.DataFrame:
    """Return the distinct elements of each window whose crawls are all selected.

    Parameters
    ----------
    windows
        Distinct elements by first and last crawl.
    labels
        All crawls of the source, in time order.
    selected
        The crawls that the collection selects, without gaps.

    Returns
    -------
    Columns ``start_crawl, end_crawl, window_crawls, distinct_elements``.
    """
    import pandas as pd

    position = {label: index for index, label in enumerate(labels)}
    rows = [
        (start, end, position[end] - position[start] + 1, union)
        for (start, end), union in windows.items()
        if start in selected and end in selected
    ]
    frame = pd.DataFrame(rows, columns=["start_crawl", "end_crawl", "window_crawls", "distinct_elements"])
    return frame.astype({"window_crawls": "int64", "distinct_elements": "int64"})


def pairs_frame(pairs: Mapping[tuple[str, str], tuple[int, int, int]], selected: Collection[str]) -> pd.DataFrame:
    """Return the sizes and the intersection of each pair of selected crawls, with columns `PAIR_COLUMNS`."""
    import pandas as pd

    rows = [(*crawls, *counts) for crawls, counts in pairs.items() if crawls[0] in selected and crawls[1] in selected]
    return pd.DataFrame(rows, columns=list(PAIR_COLUMNS)).astype(dict.fromkeys(PAIR_COLUMNS[2:], "int64"))
