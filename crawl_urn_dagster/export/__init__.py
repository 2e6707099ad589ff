"""Export the tables of a collection as files that need neither this package nor DuckDB.

Does not decide when to export; see `orchestration.assets.export`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.atomic import replacing_folder
from crawl_urn_dagster.estimates.assessment.reading import read_assessment, state_assessment
from crawl_urn_dagster.export.latex import parameters_tex
from crawl_urn_dagster.export.package import write_package
from crawl_urn_dagster.export.tables import write_tables
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawl_urn_dagster.observables.database import ObservablesFile

__all__ = ["export_collection"]


def export_collection(file: ObservablesFile, tables: Sequence[str], folder: Path, *, name: str, title: str) -> None:
    """Write tables as CSV and Parquet, quantities and parameters as LaTeX, and a description of the files.

    The folder is replaced as a whole.

    Parameters
    ----------
    file
        DuckDB file of the collection.
    tables
        Names of tables in `observables.schema.TABLES`.
    folder
        Folder to create or replace.
    name, title
        Name and title of the data package.

    Raises
    ------
    MissingTableError
        If a table has not been written yet.
    """
    read = file.read_all([*ASSESSMENT_TABLES, "parameters", "operator_terms"])
    assessment = read_assessment(read)
    with replacing_folder(folder) as new:
        write_tables(file, tables, new)
        latex = parameters_tex(assessment, read["parameters"], read["operator_terms"], name=name)
        (new / "parameters.tex").write_text(latex, encoding="utf-8")
        write_package(new, tables, name=name, title=title, description=state_assessment(assessment))
