"""Export: the tables of a collection as files that need neither this package nor DuckDB.

Here: the folder as a whole. Not here: tables as files (`tables`), LaTeX (`latex`), their description (`package`), or
when the folder is made (`assets.export`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.atomic import replacing_folder
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.export.latex import parameters_tex
from crawl_urn_dagster.export.package import write_package
from crawl_urn_dagster.export.tables import write_tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawl_urn_dagster.observables.database import ObservablesFile


def export_collection(file: ObservablesFile, tables: Sequence[str], folder: Path, *, name: str, title: str) -> None:
    """Write a folder with some tables, each as CSV and Parquet, the parameters as LaTeX, and what all of it means.

    The folder is replaced as a whole.

    Parameters
    ----------
    file
        DuckDB file of the collection.
    tables
        Names of tables of the contract, `parameters` and `operator_terms` among them.
    folder
        The folder that is made or replaced.
    name, title
        Of the data package.

    Raises
    ------
    MissingTableError
        When a table has not been written yet.
    """
    parameters = file.read("parameters")
    with replacing_folder(folder) as new:
        write_tables(file, tables, new)
        latex = parameters_tex(parameters, file.read("operator_terms"), name=name)
        (new / "parameters.tex").write_text(latex, encoding="utf-8")
        write_package(new, tables, name=name, title=title, description=read_headline(parameters).sentence)
