"""Locate the files of a collection; a Dagster resource.

Defines the layout of the home folder. Does not read or write the files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from crawl_urn_dagster.observables.database import ObservablesFile
    from crawl_urn_dagster.observables.presence import PresenceFolder
    from crawl_urn_dagster.sources.transport.files import Files


class CollectionHome(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Files of one collection under the home folder.

    Parameters
    ----------
    folder
        Home folder of all collections. It also keeps downloads in ``.cache``, which cannot be a collection's name.
    collection
        Name of the collection and of its folder.
    """

    folder: str
    collection: str

    @property
    def path(self) -> Path:
        """Folder of the collection."""
        return Path(self.folder).expanduser().resolve() / self.collection

    @property
    def observables(self) -> ObservablesFile:
        """DuckDB file of the collection."""
        from crawl_urn_dagster.observables.database import ObservablesFile

        return ObservablesFile(self.path / "observables.duckdb")

    @property
    def presence(self) -> PresenceFolder:
        """Presence partitions, one Parquet file per crawl."""
        from crawl_urn_dagster.observables.presence import PresenceFolder

        return PresenceFolder(self.path / "presence")

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

        return Files(self.path.parent / ".cache")
