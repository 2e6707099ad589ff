"""The exported tables."""

import pandas as pd

from crawl_urn_dagster.observables.schema import TABLES


def test_all_tables_are_exported_with_unique_keys(listed):
    held = set(listed.home.observables.read_present(TABLES)) - {"complete"}
    assert {path.stem for path in listed.home.export.glob("*.csv")} == held
    for name in held:
        table = pd.read_parquet(listed.home.export / f"{name}.parquet")
        assert len(table) == len(listed.home.observables.read(name))
        assert not table.duplicated(list(TABLES[name].key)).any(), name
