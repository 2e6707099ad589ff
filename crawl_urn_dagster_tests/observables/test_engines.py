"""Engines as they are configured; what Spark counts is in `test_spark`."""

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from crawl_urn_dagster.observables.engines import Engine, LocalEngine, SparkEngine
from crawl_urn_dagster.observables.presence import PresenceFolder

ENGINES = TypeAdapter(Engine)


@pytest.mark.parametrize(
    ("settings", "engine"),
    [
        ({"type": "local"}, LocalEngine()),
        ({"type": "local", "threads": 2}, LocalEngine(threads=2)),
        (
            {"type": "spark", "master": "yarn", "settings": {"spark.executor.memory": "8g"}},
            SparkEngine(type="spark", master="yarn", settings={"spark.executor.memory": "8g"}),
        ),
    ],
)
def test_the_type_says_which_engine(settings, engine):
    assert ENGINES.validate_python(settings) == engine


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"type": "dask"}, "'local', 'spark'"),
        ({"type": "local", "threads": 0}, "greater than or equal to 1"),
        ({"type": "local", "master": "yarn"}, "Extra inputs"),
        ({"type": "spark"}, "master\n  Field required"),
        ({"type": "spark", "master": ""}, "at least 1 character"),
        ({"type": "spark", "master": "yarn", "settings": {"spark.executor.cores": 2}}, "valid string"),
    ],
)
def test_what_an_engine_does_not_have_is_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        ENGINES.validate_python(settings)


def test_the_local_engine_keeps_its_state_where_it_is_told_and_reports(tmp_path):
    texts = np.array([f"e{number}" for number in range(30)], dtype=object)
    captures = [("a", texts[:20], True), ("b", texts[10:], True)]
    partitions = list(PresenceFolder(tmp_path / "presence").write(captures, {"a": "1", "b": "1"}))
    lines = []
    counts = LocalEngine(threads=1).count_histories(
        partitions, state=tmp_path / "state", memory_bytes=2**20, report=lines.append
    )
    assert counts.intersections().tolist() == [[20, 10], [10, 20]]
    assert (tmp_path / "state" / "manifest.json").exists()
    assert "40 rows" in lines[-1]
