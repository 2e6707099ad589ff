"""Configuration of engines; see `test_spark` for the counts of Spark."""

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
def test_type_selects_the_engine(settings, engine):
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
def test_invalid_settings_raise(settings, message):
    with pytest.raises(ValidationError, match=message):
        ENGINES.validate_python(settings)


def test_local_engine_writes_state_and_reports_progress(tmp_path):
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
