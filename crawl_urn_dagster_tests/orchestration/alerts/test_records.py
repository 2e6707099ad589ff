"""Records of delivered alerts."""

import dagster as dg

from crawl_urn_dagster.orchestration.alerts.records import (
    delivered_targets,
    delivered_targets_by_event,
    record_delivered_targets,
)


def test_targets_are_recorded_per_event(tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        assert delivered_targets(instance, "first") == set()
        record_delivered_targets(instance, "first", {"a", "b"})
        record_delivered_targets(instance, "second", {"c"})
        assert delivered_targets_by_event(instance, {"first", "second", "third"}) == {
            "first": {"a", "b"},
            "second": {"c"},
            "third": set(),
        }
        record_delivered_targets(instance, "first", set())
        assert delivered_targets(instance, "first") == set()
        assert delivered_targets_by_event(instance, set()) == {}
