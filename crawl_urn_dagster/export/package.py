"""Describe the files of an export as a Frictionless Data Package, ``datapackage.json``.

Does not write the files that it describes; see `tables` and `latex`.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from crawl_urn_dagster.export.tables import FORMATS
from crawl_urn_dagster.observables.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawl_urn_dagster.observables.schema import Column, Table

_MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "tex": "application/x-tex"}
# The reference library validates the rows of CSV files. Of Parquet, which has its own types, it checks size and hash.
_KINDS = {"csv": {"profile": "tabular-data-resource"}, "parquet": {"profile": "data-resource", "type": "file"}}
_TYPES = {
    "VARCHAR": "string",
    "BIT": "string",
    "INTEGER": "integer",
    "BIGINT": "integer",
    "DOUBLE": "number",
    "BOOLEAN": "boolean",
    "TIMESTAMP": "datetime",
}


def write_package(folder: Path, tables: Sequence[str], *, name: str, title: str, description: str) -> None:
    """Write ``datapackage.json``, a description of the other files of a folder.

    Parameters
    ----------
    folder
        Folder with ``parameters.tex`` and a file in each of `tables.FORMATS` for every table.
    tables
        Names of the tables, in `observables.schema.TABLES`.
    name, title, description
        Name, title and description of the data package.
    """
    resources = [
        {
            **_resource(folder / f"{table}.{file_format}", TABLES[table].description),
            **_KINDS[file_format],
            "schema": _schema(TABLES[table]),
        }
        for table in tables
        for file_format in FORMATS
    ]
    resources.append(
        _resource(
            folder / "parameters.tex",
            "The numbers that may be quoted, parameters of all fits and operator terms of the headline, as LaTeX.",
        )
    )
    package = {
        "profile": "data-package",
        "name": name,
        "title": title,
        "description": description,
        "resources": resources,
    }
    text = json.dumps(package, indent=1, ensure_ascii=False)
    (folder / "datapackage.json").write_text(f"{text}\n", encoding="utf-8")


def _resource(path: Path, description: str) -> dict[str, Any]:
    content = path.read_bytes()
    return {
        "name": path.name,
        "path": path.name,
        "description": description,
        "format": path.suffix[1:],
        "mediatype": _MEDIA_TYPES[path.suffix[1:]],
        "encoding": "utf-8",
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
    }


def _schema(table: Table) -> dict[str, Any]:
    required = {column.name for column in table.columns if not column.nullable}
    # A primary key must not contain NULL; a unique key may.
    key = {"primaryKey": list(table.key)} if required.issuperset(table.key) else {"uniqueKeys": [list(table.key)]}
    return {"fields": [_field(column) for column in table.columns], "missingValues": [""], **key}


def _field(column: Column) -> dict[str, Any]:
    constraints: dict[str, Any] = {} if column.nullable else {"required": True}
    if column.type == "BIT":
        constraints["pattern"] = "[01]+"
    return {
        "name": column.name,
        "type": _TYPES[column.type],
        "unit": column.unit,
        "description": column.description,
        **({"constraints": constraints} if constraints else {}),
    }
