"""The sensor that sends alerts."""

import dagster as dg
import pytest

from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.orchestration.alerts.evaluating import tick
from crawl_urn_dagster_tests.pipeline import Pipeline


@pytest.fixture
def tabled(tmp_path):
    """A collection that was never updated."""
    return Pipeline(tables_collection(tmp_path, histories(3), windows=False), tmp_path)


def test_sensor_is_off_without_targets(tabled):
    assert tick(tabled) == "No alert target is configured."
    defs = build_defs([tabled.collection])
    assert defs.resolve_sensor_def("tabled_alerts").default_status == dg.DefaultSensorStatus.STOPPED


def test_target_without_scheme_is_rejected_on_loading(tabled):
    with pytest.raises(ValueError, match="target 2 of 2: not a valid Apprise URL") as raised:
        build_defs([tabled.collection], alerts=["json://example.org/", "s3cret"])
    assert "s3cret" not in str(raised.value)
