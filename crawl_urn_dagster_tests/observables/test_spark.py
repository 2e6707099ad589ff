import shutil
import sys

import numpy as np
import pytest

from crawl_urn_dagster.observables.engines import EngineMissingError, LocalEngine, SparkEngine
from crawl_urn_dagster.observables.presence import PresenceFolder

SETTINGS = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1"}


@pytest.fixture
def spark():
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install -e '.[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not on the path")
    return SparkEngine(type="spark", master="local[2]", settings=SETTINGS)


def partitions_of(folder, crawls, one_in=1):
    rng = np.random.default_rng(crawls)
    elements = np.array([f"https://example.org/{number}" for number in range(3000)], dtype=object)
    captures = [(f"c{number:03}", rng.choice(elements, 900, replace=False), True) for number in range(crawls)]
    return list(PresenceFolder(folder).write(captures, {crawl: "1" for crawl, _, _ in captures}, one_in=one_in))


def count_with(engine, partitions, state):
    counts = engine.count_histories(partitions, state=state, memory_bytes=2**28, report=print)
    histories = ["".join("01"[bit] for bit in row) for row in counts.seen.astype(int)]
    return dict(zip(histories, counts.elements.tolist(), strict=True))


@pytest.mark.slow
def test_spark_counts_equal_local_counts(tmp_path, spark):
    """Uses a sample and more crawls than a signed integer has bits."""
    partitions = partitions_of(tmp_path / "presence", 66, one_in=4)
    found = count_with(spark, partitions, tmp_path / "state")
    assert found == count_with(LocalEngine(), partitions, tmp_path / "state")
    assert sum(found.values()) > 0


@pytest.mark.slow
def test_active_session_is_used_and_not_stopped(tmp_path, spark):
    from pyspark.sql import SparkSession

    with SparkSession.builder.master("local[1]").config(map=SETTINGS).getOrCreate() as session:
        partitions = partitions_of(tmp_path / "presence", 2)
        assert count_with(spark, partitions, tmp_path) == count_with(LocalEngine(), partitions, tmp_path / "state")
        assert session.range(3).count() == 3
        assert session.sparkContext.master == "local[1]"


def test_missing_pyspark_error_states_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    engine = SparkEngine(type="spark", master="local")
    for use in (engine.require, lambda: count_with(engine, partitions_of(tmp_path, 2), tmp_path)):
        with pytest.raises(EngineMissingError, match="needs pyspark: pip install 'crawl-urn-dagster"):
            use()
