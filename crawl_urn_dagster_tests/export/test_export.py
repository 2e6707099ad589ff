"""The exported folder as a whole."""

import pytest

from crawl_urn_dagster.export import export_collection
from crawl_urn_dagster.observables.database import MissingTableError
from crawl_urn_dagster_tests.export.frames import EXPORTED


def test_export_is_reproducible_and_removes_stale_files(file, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "stale.csv").touch()
    export_collection(file, EXPORTED, folder, name="odd", title="Odd")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_missing_table_leaves_the_folder_unchanged(file, folder):
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(MissingTableError, match="no table 'm_array'"):
        export_collection(file, [*EXPORTED, "m_array"], folder, name="odd", title="Odd")
    assert {path.name for path in folder.iterdir()} == before
