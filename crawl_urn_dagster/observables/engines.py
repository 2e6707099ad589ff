"""Configure the engine that counts capture histories from presence partitions.

Does not count; see `kept_histories` and `spark`. All later steps are the same for every engine.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts


class EngineMissingError(RuntimeError):
    """A package that an engine needs is not installed; the message states how to install it."""


class LocalEngine(BaseModel):
    """Count on this machine, with histories that are kept from run to run.

    Parameters
    ----------
    threads
        None: one per processor.

    Examples
    --------
    >>> LocalEngine(threads=2).type
    'local'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    type: Literal["local"] = "local"
    threads: int | None = Field(default=None, ge=1)

    def require(self) -> None:
        """Raise an `EngineMissingError` if the engine cannot run here; this engine always can."""

    def count_histories(
        self, partitions: Sequence[Partition], *, state: Path, memory_bytes: int, report: Callable[[str], object]
    ) -> CaptureHistoryCounts:
        """Count the histories of partitions in time order; see `kept_histories.KeptHistories.count`."""
        from crawl_urn_dagster.observables.kept_histories import KeptHistories

        return KeptHistories(state).count(partitions, memory_bytes=memory_bytes, threads=self.threads, report=report)


class SparkEngine(BaseModel):
    """Count on a Spark cluster, all partitions in every run.

    Every worker must see the home folder under the same path.

    Parameters
    ----------
    master
        URL of the cluster: ``spark://host:7077``, ``yarn``, ``k8s://...`` or ``local[2]``.
    settings
        Further Spark settings, such as ``spark.executor.memory``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    type: Literal["spark"] = "spark"
    master: str = Field(min_length=1)
    settings: dict[str, str] = Field(default_factory=dict)

    def require(self) -> None:
        """Raise an `EngineMissingError` if pyspark is not installed."""
        if importlib.util.find_spec("pyspark") is None:
            raise EngineMissingError(
                "engine.type: found 'spark', which needs pyspark: pip install 'crawl-urn-dagster[spark]', or set "
                "engine: {type: local}"
            )

    def count_histories(
        self,
        partitions: Sequence[Partition],
        *,
        state: Path,  # noqa: ARG002 - Spark keeps no state
        memory_bytes: int,  # noqa: ARG002 - the cluster has its own limit
        report: Callable[[str], object],
    ) -> CaptureHistoryCounts:
        """Count the histories of partitions in time order; see `spark.count_histories`."""
        self.require()
        from crawl_urn_dagster.observables.spark import count_histories

        report(f"counting histories of {len(partitions)} crawls on Spark at {self.master}")
        return count_histories(partitions, self.master, self.settings)


#: Configuration of an engine; ``type`` selects the class.
Engine = Annotated[LocalEngine | SparkEngine, Field(discriminator="type")]
