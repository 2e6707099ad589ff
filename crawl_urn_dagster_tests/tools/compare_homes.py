"""Compare the tables of two home folders, value for value.

Run ``python -m crawl_urn_dagster_tests.tools.compare_homes BEFORE AFTER``. Columns of sentences, hashes and times of a
run are not compared; columns that one side lacks are listed. The exit status is 1 if any value differs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Sentences, and what belongs to one run.
NOT_COMPARED = {
    "reason",
    "meaning",
    "note",
    "target",
    "assumption",
    "bias",
    "inputs_sha256",
    "read_at",
    "published_at",
    "noticed_at",
    "found_at",
}


def compare(before: Path, after: Path) -> Iterator[str]:
    """Yield one line per table of one collection, which starts with ``DIFFERS`` if a value differs."""
    with duckdb.connect(str(before), read_only=True) as one, duckdb.connect(str(after), read_only=True) as other:
        names = [
            [row[0] for row in side.execute("select table_name from information_schema.tables order by 1").fetchall()]
            for side in (one, other)
        ]
        for name in sorted(set(names[0]) | set(names[1])):
            if name not in names[0] or name not in names[1]:
                yield f"DIFFERS {name}: in one home only"
                continue
            yield _compare_table(name, *(side.table(name).df() for side in (one, other)))


def _compare_table(name: str, before: pd.DataFrame, after: pd.DataFrame) -> str:
    columns = [column for column in before.columns if column in after.columns and column not in NOT_COMPARED]
    only = sorted(set(before.columns) ^ set(after.columns))
    note = f" (in one only: {', '.join(only)})" if only else ""
    if len(before) != len(after):
        return f"DIFFERS {name}: {len(before)} and {len(after)} rows{note}"
    keys = [column for column in columns if before[column].dtype == object]
    before, after = (side.sort_values(keys or columns, kind="stable", ignore_index=True) for side in (before, after))
    differing, largest = [], 0.0
    for column in columns:
        one, other = before[column], after[column]
        same = ((one == other) | (one.isna() & other.isna())).to_numpy(dtype=bool)
        if not same.all():
            differing.append(column)
            if pd.api.types.is_float_dtype(one):
                apart = (one - other).abs() / one.abs().clip(lower=1e-300)
                largest = max(largest, float(np.nanmax(apart.to_numpy())))
    if differing:
        return f"DIFFERS {name}: {', '.join(differing)}; largest relative difference {largest:.2g}{note}"
    return f"equal {name}: {len(before)} rows, {len(columns)} columns{note}"


def main() -> int:
    """Compare every collection that both homes have."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    given = parser.parse_args()
    status = 0
    for file in sorted(given.after.glob("*/observables.duckdb")):
        before = given.before / file.parent.name / file.name
        print(f"{file.parent.name}:" if before.exists() else f"{file.parent.name}: not in {given.before}")
        for line in compare(before, file) if before.exists() else ():
            print(f"  {line}")
            status |= line.startswith("DIFFERS")
    return status


if __name__ == "__main__":
    sys.exit(main())
