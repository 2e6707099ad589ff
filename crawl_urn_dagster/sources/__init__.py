"""Sources of raw data: each says which crawls it has, and gives presence lists or ready-made observables.

Here: the public names. Not here: what is counted from presence (`observables`), or anything about Dagster.
"""

from typing import Annotated

from pydantic import Field

from crawl_urn_dagster.sources.base import (
    Listing,
    ObservableTables,
    Presence,
    PresenceSource,
    Selection,
    SourceConfig,
    TablesSource,
)
from crawl_urn_dagster.sources.files import Files, LocalFile
from crawl_urn_dagster.sources.inputs import InputFile, SourceError, fingerprint
from crawl_urn_dagster.sources.observable_tables import ObservableTablesSource
from crawl_urn_dagster.sources.presence_list import PresenceListSource
from crawl_urn_dagster.sources.published_windows import PublishedWindowsSource
from crawl_urn_dagster.sources.simulated import SimulatedSource

#: Configuration of any source; ``type`` says which.
Source = Annotated[
    SimulatedSource | PresenceListSource | PublishedWindowsSource | ObservableTablesSource,
    Field(discriminator="type"),
]

__all__ = [
    "Files",
    "InputFile",
    "Listing",
    "LocalFile",
    "ObservableTables",
    "ObservableTablesSource",
    "Presence",
    "PresenceListSource",
    "PresenceSource",
    "PublishedWindowsSource",
    "Selection",
    "SimulatedSource",
    "Source",
    "SourceConfig",
    "SourceError",
    "TablesSource",
    "fingerprint",
]
