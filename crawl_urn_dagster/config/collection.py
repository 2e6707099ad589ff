"""Define a collection: its source, its elements, and the settings of its analysis.

Does not read configuration files (`config.loading`) or define the settings of each source (`sources`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from crawl_urn_dagster.config.cross_archive import CrossArchiveSettings, other_lists
from crawl_urn_dagster.config.settings import AutomationSettings, CrawlLabel, DriftSettings, ElementSettings
from crawl_urn_dagster.entry_points import check_entry_point
from crawl_urn_dagster.observables.engines import Engine, LocalEngine
from crawl_urn_dagster.observables.strata import StratumSettings  # noqa: TC001 - pydantic reads the annotation
from crawl_urn_dagster.sources import (
    Counters,
    PresenceSource,
    Selection,
    SimulatedSource,
    Source,
    StratumColumn,
    TablesSource,
    WebGraphRanksSource,
)
from crawl_urn_dagster.sources.interface import Quarantine, select_by_type
from crawl_urn_dagster.sources.registry import is_own_type, own_source_schemas, validate_own_source

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import ValidationInfo
    from typing_extensions import Self

    from crawl_urn_dagster.urn import CountingError

    _AnySource = PresenceSource | TablesSource
else:
    # The sources that a file can configure; `Collection._accept_source_object` lets a user's own class pass.
    _AnySource = Source

#: Settings that need a source of elements; a source of counts must not have them.
PRESENCE_SETTINGS = frozenset(
    {"sample_one_in", "engine", "memory_gb", "stratum", "cross_archive", "elements", "keep_elements", "quarantine"}
)
_NOUNS = {"url": "URL", "host": "host", "domain": "domain", "other": "element"}


def _adapt_json_schema(schema: dict[str, Any]) -> None:
    """Accept the former name of a key, and let every error name the invalid key."""
    properties = schema["properties"]
    properties["coverage_drop"] = {**properties["containment_drop"], "deprecated": True}
    select_by_type(properties["engine"])
    for kind, own in own_source_schemas().items():
        properties["source"]["properties"]["type"]["enum"].append(kind)
        properties["source"]["allOf"].append({"if": {"properties": {"type": {"const": kind}}}, "then": own})
    for key in ("stratum", "ground_truth"):
        settings, _ = properties[key].pop("anyOf")
        properties[key] |= {"type": ["object", "null"], "if": {"type": "object"}, "then": settings}


class Collection(BaseModel):
    """A series of crawls that are analysed together.

    Parameters
    ----------
    name
        Lower-case letters, digits and underscores, 48 at most, starting with a letter. All assets, jobs and files of
        the collection carry this name.
    granularity
        Kind of the elements.
    stratum
        Column that divides the elements into strata, with one estimate per stratum; for presence sources with columns.
    source
        Where the data are read from: a type of this package, or an entry point of another one, such as
        ``my_package.my_source``; in Python also an instance of a user's class, see `sources.interface`.
    quarantine
        Unreadable crawls that are set aside instead of stopping the collection. ``damaged``: the content of a file of
        one crawl is not as expected; ``any``: also files of one crawl that cannot be fetched; ``none``: no crawl. For
        presence sources.
    first_crawl, last_crawl
        Labels of the first and last crawl, both included. None: the first or last crawl of the source.
    clock
        Clock of the headline: survival per crawl or per year.
    drift
        Reference period of the drift tests, and rolling windows of the parameter history.
    containment_drop
        Largest relative fall of lag-1 containment, in (0, 1), below the median of earlier pairs that does not raise a
        warning. The former name ``coverage_drop`` is accepted.
    cross_archive
        Other archives of the same web, to which the lists are compared; for presence sources.
    ground_truth
        The operator's own counters, to which the estimates are compared.
    automation
        When sensors and schedules poll the source, and how they retry.
    owners
        People responsible for the collection: e-mail addresses, or team names such as ``team:crawling``.
    sample_one_in
        Keep a coordinated sample of 1 in this many elements, the same elements in every crawl. Counts are then
        estimates with confidence intervals. For presence sources.
    engine
        Where capture histories are counted; for presence sources.
    elements
        Crawl that table ``elements`` describes, and lists of elements to act on; for presence sources.
    keep_elements
        Keep the text of every element with its key, so lists name the elements. Off by default, because texts
        may be private and take more space than keys; no estimate needs them. For presence sources.
    fits, figures
        Fits and figures of other packages, by their entry points, such as ``my_package.my_fit``.
    memory_gb
        Largest amount of memory that ingest and counting use at once, in GiB; for presence sources.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import PresenceListSource
    >>> source = PresenceListSource(path="hosts.csv.gz", crawl_column="snapshot")
    >>> collection = Collection(name="my_hosts", granularity="host", source=source, clock="year")
    >>> collection.noun, collection.fitted_observables
    ('host', ['containment', 'discovery_curve'])
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, json_schema_extra=_adapt_json_schema)

    name: str = Field(pattern=r"^[a-z]([a-z0-9_]{0,46}[a-z0-9])?$")
    granularity: Literal["url", "host", "domain", "other"]
    stratum: StratumSettings | None = None  # before the source, whose validator reads it
    quarantine: Quarantine = "damaged"  # likewise
    source: _AnySource
    first_crawl: CrawlLabel | None = None
    last_crawl: CrawlLabel | None = None
    clock: Literal["crawl", "year"] = "crawl"
    drift: DriftSettings = DriftSettings()
    containment_drop: float = Field(
        default=0.2, gt=0, lt=1, validation_alias=AliasChoices("containment_drop", "coverage_drop")
    )
    cross_archive: CrossArchiveSettings | None = None
    ground_truth: Counters | None = None
    automation: AutomationSettings = AutomationSettings()
    owners: list[Annotated[str, StringConstraints(pattern=r"^(team:[A-Za-z0-9_.-]+|[^@\s]+@[^@\s]+\.[^@\s]+)$")]] = []
    sample_one_in: int = Field(default=1, ge=1, le=2**20)
    engine: Engine = LocalEngine()
    memory_gb: float = Field(default=4.0, ge=0.0625)
    elements: ElementSettings = ElementSettings()
    keep_elements: bool = False
    fits: list[str] = []
    figures: list[str] = []

    def relative_to(self, folder: Path) -> Self:
        """Return a copy whose relative paths start at a folder."""
        located: dict[str, Any] = {"source": self.source.relative_to(folder)}
        if self.ground_truth is not None:
            located["ground_truth"] = self.ground_truth.relative_to(folder)
        return self.model_copy(update=located)

    @property
    def noun(self) -> str:
        """Singular noun for an element; its plural takes an s."""
        return _NOUNS[self.granularity]

    @field_validator("source", mode="wrap")
    @classmethod
    def _accept_source_object(cls, source: object, validate: ValidatorFunctionWrapHandler) -> _AnySource:
        """Accept the settings of a source of another package, and a source object unchanged."""
        if isinstance(source, dict) and is_own_type(source.get("type")):
            source = validate_own_source(source)
        if isinstance(source, PresenceSource | TablesSource):
            return source
        validated: _AnySource = validate(source)
        return validated

    @field_validator("source")
    @classmethod
    def _with_stratum(cls, source: _AnySource, info: ValidationInfo) -> _AnySource:
        stratum: StratumSettings | None = info.data.get("stratum")
        # An invalid stratum is absent from the data, and its own error is reported instead.
        if isinstance(source, WebGraphRanksSource) and stratum is None and "stratum" in info.data:
            raise ValueError(
                "gives ranks for strata, but the collection has no stratum: add one next to source, such as stratum: "
                "{column: harmonicc_pos, bands: [1000, 1000000]}, or use the source under `of` instead"
            )
        if stratum is None or not isinstance(source, PresenceSource):
            return source
        return source.with_stratum(StratumColumn(stratum.column, ranks=stratum.bands is not None))

    @field_validator("source")
    @classmethod
    def _with_quarantine(cls, source: _AnySource, info: ValidationInfo) -> _AnySource:
        quarantine: Quarantine | None = info.data.get("quarantine")
        if quarantine is None or not isinstance(source, PresenceSource):
            return source
        return source.with_quarantine(quarantine)

    @field_validator("fits", "figures")
    @classmethod
    def _are_installed(cls, names: list[str], info: ValidationInfo) -> list[str]:
        for name in names:
            check_entry_point("fits" if info.field_name == "fits" else "figures", name)
        return names

    @model_validator(mode="after")
    def _validate_combination(self) -> Self:
        if self.stratum is not None and self.engine.type == "spark":
            raise ValueError(
                "has stratum and engine.type spark, which does not count strata: set engine: {type: local}"
            )
        if self.cross_archive is not None and not other_lists(self.cross_archive, self.name):
            raise ValueError("has cross_archive without another collection: name one under cross_archive.lists")
        source_granularity = self.source.granularity
        if source_granularity not in {None, self.granularity}:
            raise ValueError(
                f"has granularity {self.granularity}, but its source gives elements of granularity "
                f"{source_granularity}: set granularity: {source_granularity}, or change the settings of the source"
            )
        if isinstance(self.source, PresenceSource) and not self.source.has_texts:
            unusable = [name for name in ("keep_elements", "cross_archive") if getattr(self, name)]
            if unusable:
                raise ValueError(
                    f"has {' and '.join(unusable)}, but its source gives hashes of elements, not texts: remove it"
                )
        unused = PRESENCE_SETTINGS & self.model_fields_set
        if unused and not self.has_histories:
            raise ValueError(
                f"has {' and '.join(sorted(unused))}, but its source gives counts, not elements: remove "
                f"{'it' if len(unused) == 1 else 'them'}"
            )
        return self

    @property
    def memory_bytes(self) -> int:
        """Largest amount of memory to use at once, in bytes."""
        return round(self.memory_gb * 2**30)

    @property
    def counting_error(self) -> CountingError:
        """Counting error of the source and of the sample."""
        from crawl_urn_dagster.urn import CountingError

        return CountingError(relative=self.source.relative_error, one_in=self.sample_one_in)

    @property
    def selection(self) -> Selection:
        """First and last crawl to read from the source."""
        return Selection(self.first_crawl, self.last_crawl)

    @property
    def has_files(self) -> bool:
        """Whether the source reads files."""
        return bool(self.source.location_fields)

    @property
    def has_histories(self) -> bool:
        """Whether capture histories can be counted."""
        return isinstance(self.source, PresenceSource)

    @property
    def has_containment(self) -> bool:
        """Whether pairwise intersections are known."""
        return isinstance(self.source, PresenceSource) or self.source.has_pairs

    @property
    def has_discovery_curve(self) -> bool:
        """Whether unions of windows are known."""
        return isinstance(self.source, PresenceSource) or self.source.has_windows

    @property
    def fitted_observables(self) -> list[str]:
        """Names of the observable tables that the collection's fits use."""
        names = ["containment"] if self.has_containment else []
        return names + (["discovery_curve"] if self.has_discovery_curve else [])


def demo_collection() -> Collection:
    """Return a simulated collection, which needs no file and no network.

    Examples
    --------
    >>> demo_collection().name
    'demo'
    """
    few_windows = DriftSettings(step_crawls=9)
    return Collection(name="demo", granularity="url", source=SimulatedSource(), drift=few_windows)
