"""Look elements up in table `elements` by their texts, or write the table with texts as CSV.

Does not compute the table; see `tables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.observables.keys import element_keys
from crawl_urn_dagster.spreadsheets import guarded_sql
from crawl_urn_dagster.sql_loader import quote_literal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawl_urn_dagster.observables.element_names import ElementNames


def look_up_elements(file: str | Path, elements: Sequence[str]) -> pd.DataFrame:
    """Return the rows of table `elements` that belong to texts.

    Texts are compared by their 64-bit keys, so the collection need not keep the texts of its elements. They must be
    written as in the source: upper and lower case differ.

    Parameters
    ----------
    file
        Parquet file of table `elements`, such as ``crawl_urn_home/my_hosts/elements/elements.parquet``.
    elements
        Texts.

    Returns
    -------
    DataFrame
        One row for each text, in the same order: the text as column ``element``, and the columns of table `elements`.
        All but ``element`` and ``key`` are null if no crawl captured the element.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     pd.DataFrame({"key": element_keys(["a.org"]), "captures": [3]}).to_parquet(file.name)
    ...     look_up_elements(file.name, ["b.org", "a.org"])[["element", "captures"]]
      element  captures
    0   b.org      <NA>
    1   a.org         3
    """
    texts = np.array(list(elements), dtype=object)
    wanted = pd.DataFrame({"position": np.arange(len(texts)), "element": texts, "key": element_keys(texts)})
    with duckdb.connect() as connection:
        connection.register("wanted", wanted)
        connection.read_parquet(str(file)).create_view("elements")
        query = "SELECT * FROM wanted LEFT JOIN elements USING (key) ORDER BY position"
        found: pd.DataFrame = connection.execute(query).df()
    counts = found.columns.intersection(["captures", "absent_crawls"])
    return found.drop(columns="position").astype(dict.fromkeys(counts, "Int32"))


def write_csv(file: Path, names: ElementNames, out: Path) -> None:
    """Write table `elements` as CSV, sorted by key, with the texts as first column; empty if they are not kept.

    Texts that a spreadsheet would compute have an apostrophe before them.

    Parameters
    ----------
    file
        Parquet file of table `elements`.
    names
        Texts of the elements.
    out
        CSV file to write.
    """
    kept = sorted(names.folder.glob("*.parquet"))
    with replacing(out) as temporary, duckdb.connect(config={"temp_directory": str(out.parent)}) as connection:
        connection.read_parquet(str(file)).create_view("elements")
        query = "SELECT NULL AS element, * FROM elements ORDER BY key"
        if kept:
            texts = connection.read_parquet([str(path) for path in kept], filename=True)
            texts = texts.select(
                f"key, {guarded_sql('element')} AS element, parse_filename(filename, true) AS last_crawl"
            )
            texts.create_view("texts")
            query = (
                "SELECT element, elements.* FROM elements LEFT JOIN texts USING (key, last_crawl) ORDER BY elements.key"
            )
        connection.execute(f"COPY ({query}) TO {quote_literal(str(temporary))} (HEADER)")
