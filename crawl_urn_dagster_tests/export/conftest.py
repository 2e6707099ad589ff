"""One exported collection, shared by the tests of the export."""

import pytest

from crawl_urn_dagster.export import export_collection
from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster_tests.export.frames import EXPORTED, exported_frames


@pytest.fixture(scope="package")
def file(tmp_path_factory):
    file = ObservablesFile(tmp_path_factory.mktemp("exported") / "observables.duckdb")
    file.replace(exported_frames())
    return file


@pytest.fixture(scope="package")
def folder(file):
    folder = file.path.parent / "export"
    export_collection(file, EXPORTED, folder, name="odd", title="Odd")
    return folder
