"""Locate the files of collections, for the steps of this package and as a Dagster resource for other assets.

Defines the layout of the home folder. Does not read or write the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.formatting import format_options

if TYPE_CHECKING:
    from crawl_urn_dagster.observables.database import ObservablesFile
    from crawl_urn_dagster.observables.element_names import ElementNames
    from crawl_urn_dagster.observables.presence import PresenceFolder
    from crawl_urn_dagster.sources.transport.files import Files


#: Key of the resource that locates the files of all collections.
HOME_RESOURCE = "crawl_urn_home"


@dataclass(frozen=True)
class CollectionHome:
    """Files of one collection under the home folder.

    Parameters
    ----------
    folder
        Home folder of all collections. It also keeps downloads, see `Files.of_home`.
    collection
        Name of the collection and of its folder.
    """

    folder: str
    collection: str

    @cached_property
    def path(self) -> Path:
        """Folder of the collection."""
        return Path(self.folder).expanduser().resolve() / self.collection

    @property
    def database(self) -> Path:
        """Path of the DuckDB file of the collection."""
        return self.path / "observables.duckdb"

    @property
    def observables(self) -> ObservablesFile:
        """Tables of the collection."""
        from crawl_urn_dagster.observables.database import ObservablesFile

        return ObservablesFile(self.database)

    @property
    def presence(self) -> PresenceFolder:
        """Presence partitions, one Parquet file per crawl."""
        from crawl_urn_dagster.observables.presence import PresenceFolder

        return PresenceFolder(self.path / "presence")

    @property
    def names(self) -> ElementNames:
        """Texts of the elements, if they are kept."""
        from crawl_urn_dagster.observables.element_names import ElementNames

        return ElementNames(self.path / "presence" / "names")

    @property
    def elements(self) -> Path:
        """File of table `elements`."""
        return self.path / "elements" / "elements.parquet"

    @property
    def histories(self) -> Path:
        """Folder of the kept capture histories."""
        return self.path / "histories"

    @property
    def figures(self) -> Path:
        """Folder of the figures."""
        return self.path / "figures"

    @property
    def report(self) -> Path:
        """Path of the report without the suffix of its two files."""
        return self.path / "report"

    @property
    def export(self) -> Path:
        """Folder of the exported tables."""
        return self.path / "export"

    @property
    def files(self) -> Files:
        """Access to the source's files; downloads are kept under the home folder."""
        from crawl_urn_dagster.sources.transport.files import Files

        return Files.of_home(self.path.parent)


# Home folder of each collection that was built in this process; a code location has one collection of each name.
_FOLDERS: dict[str, str] = {}


class CrawlUrnHome(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Files of every collection of the code location, for other assets: the resource ``crawl_urn_home``.

    The steps of this package do not need it. There is one for all collections, because every job of a code location
    carries every resource.

    Parameters
    ----------
    folder
        Home folder of all collections. None: the folder that each collection was built with.

    Examples
    --------
    >>> CrawlUrnHome(folder="/data").collection("demo").database.name
    'observables.duckdb'
    """

    folder: str | None = None

    def collection(self, name: str) -> CollectionHome:
        """Return the files of one collection.

        Raises
        ------
        LookupError
            If no collection of this name was built.
        """
        if self.folder is None and name not in _FOLDERS:
            raise LookupError(f"unknown collection {name!r}: {format_options(name, _FOLDERS)}")
        return CollectionHome(self.folder or _FOLDERS[name], name)


# `dagster.Definitions.merge` accepts several definitions with one resource only if it is the same object.
_SHARED = CrawlUrnHome()


def add_collection(home: CollectionHome) -> CrawlUrnHome:
    """Add a collection to the resource that all definitions of this process share, and return the resource."""
    _FOLDERS[home.collection] = home.folder
    return _SHARED
