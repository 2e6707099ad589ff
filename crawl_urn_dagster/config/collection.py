"""Typed configuration: which collections there are, where each takes its data from, and how it is judged.

Here: the form of the configuration file, and what is said when it is wrong. Not here: what a source needs
(its own module), or assets.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from crawl_urn_dagster.observables.engines import Engine, LocalEngine
from crawl_urn_dagster.observables.strata import StratumSettings
from crawl_urn_dagster.sources import (
    PresenceSource,
    Selection,
    SimulatedSource,
    Source,
    StratumColumn,
    TablesSource,
    WebGraphRanksSource,
)
from crawl_urn_dagster.sources.inputs import listed
from crawl_urn_dagster.sources.transport.locations import masked

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import ValidationInfo
    from pydantic_core import ErrorDetails
    from typing_extensions import Self

    from crawl_urn_dagster.sources.interface import SourceConfig
    from crawl_urn_dagster.urn import CountingError

    _AnySource = PresenceSource | TablesSource
else:
    _AnySource = Source  # what a file may hold; classes of the user's own are let past it

MAX_CONFIGURATION_BYTES = 2**20
#: Settings of collections whose source gives elements; others must not have them.
OF_PRESENCE = frozenset({"sample_one_in", "engine", "memory_gb", "stratum"})


class CollectionsError(ValueError):
    """The configuration is wrong; the message says where, what was found and expected, a line per error."""


def _iso_date(value: object) -> object:
    """Turn the date that YAML made of a bare 2013-12-01 back into the text it was."""
    return value.isoformat() if type(value) is date else value


CrawlLabel = Annotated[str, BeforeValidator(_iso_date)]


class DriftSettings(BaseModel):
    """What the parameters of a collection are compared with, and in which windows they are followed.

    Parameters
    ----------
    window_crawls
        Crawls of the reference, and of each rolling window of the history; at least 5.
    step_crawls
        Crawls from the start of one rolling window to that of the next.
    reference_from
        Label of the first crawl of the reference. None: the first of the collection. After a change that is there to
        stay, name a crawl after it: the reference does not move by itself.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    window_crawls: int = Field(default=24, ge=5)
    step_crawls: int = Field(default=1, ge=1)
    reference_from: CrawlLabel | None = None


def _time_zone(name: str) -> str:
    """Return the name of a time zone that this machine knows."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("is no time zone; expected a name such as UTC or Europe/Paris") from None
    return name


#: Minutes, hours, days of the month, months and days of the week.
_CRON_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


_MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTHS = {name: str(number) for number, name in enumerate(_MONTH_NAMES, start=1)}
_CRON_PART = r"(\*|[0-9A-Za-z]+(-[0-9A-Za-z]+)?)(/[1-9][0-9]*)?"
_CRON_FIELD = rf"{_CRON_PART}(,{_CRON_PART})*"


def _cron(schedule: str) -> str:
    """Return a schedule in cron's notation that has a day to fire on; what else it says is checked by Dagster."""
    if not re.fullmatch(rf"{_CRON_FIELD}( {_CRON_FIELD}){{4}}", schedule):
        raise ValueError("is no cron schedule; expected five fields, such as '0 6 2 * *'")
    fields = schedule.split()
    for field, (low, high) in zip(fields, _CRON_RANGES, strict=True):
        if any(not low <= int(number) <= high for number in re.findall(r"(?<!/)\b\d+", field)):
            raise ValueError(f"is no cron schedule; {field} should be from {low} to {high}")
    days, months = fields[2], re.sub("[A-Za-z]{3}", lambda name: _MONTHS.get(name[0].lower(), name[0]), fields[3])
    if not re.search("[A-Za-z]", days + months):
        first = min(_cron_numbers(days, 1, 31))
        longest = max(monthrange(2024, month)[1] for month in _cron_numbers(months, 1, 12))
        if first > longest:
            raise ValueError(f"never fires; expected a day of the month from 1 to {longest}")
    return schedule


def _cron_numbers(field: str, low: int, high: int) -> set[int]:
    """Numbers that a field of cron stands for; a range whose end is before its start goes round."""
    numbers: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        start = low if first == "*" else int(first)
        end = int(last) if last else high if first == "*" or step else start
        span_numbers = [*range(start, end + 1)] or [*range(start, high + 1), *range(low, end + 1)]
        numbers.update(span_numbers[:: int(step or 1)])
    return numbers


class AutomationSettings(BaseModel):
    """When a collection is looked at and brought up to date without anybody's asking.

    Parameters
    ----------
    look_every_seconds
        Seconds between two looks at the source, at least 1.
    attempts
        How often work that fails is asked for, 1 to 20 times.
    first_wait_seconds
        Seconds between the first failure and the next attempt, at least 0; four times as long after each further one.
    refresh_cron, time_zone
        When the schedules look, which stand in for the sensor: five fields of cron, and an IANA time zone.
    expect_every_days
        Days from the start of a crawl to that of the next. None: no crawl is expected.
    grace_days
        Days by which a crawl may be late, its publication included, before the source counts as stale.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    look_every_seconds: int = Field(default=900, ge=1)
    attempts: int = Field(default=4, ge=1, le=20)
    first_wait_seconds: float = Field(default=900, ge=0)
    refresh_cron: Annotated[str, AfterValidator(_cron)] = "0 6 2 * *"
    time_zone: Annotated[str, AfterValidator(_time_zone)] = "UTC"
    expect_every_days: float | None = Field(default=None, gt=0, le=36_525)
    grace_days: float = Field(default=30, ge=0, le=36_525)

    @property
    def stale_after_days(self) -> float | None:
        """Days after the start of the last crawl from which the source is stale; None: never."""
        return None if self.expect_every_days is None else self.expect_every_days + self.grace_days


_NOUNS = {"url": "URL", "host": "host", "domain": "domain", "other": "element"}


def _name_the_key(schema: dict[str, Any]) -> None:
    """Have a JSON schema choose by ``type``, so that what is wrong is named, and not that no alternative fits."""
    for name in ("source", "engine"):
        union = schema["properties"][name]
        union.pop("oneOf")
        models = union.pop("discriminator")["mapping"]
        union |= {"type": "object", "required": ["type"], "properties": {"type": {"enum": list(models)}}}
        union["allOf"] = [
            {"if": {"properties": {"type": {"const": kind}}}, "then": {"$ref": reference}}
            for kind, reference in models.items()
        ]


class Collection(BaseModel):
    """A sequence of crawls of one thing, and how it is judged.

    Parameters
    ----------
    name
        Lower-case letters, digits and underscores, 48 at most, starting with a letter; it names everything
        that belongs to the collection.
    granularity
        What an element is.
    stratum
        Of presence sources with columns: what divides the elements into strata, each of which is estimated on its own.
    source
        Where the data are from; in Python also a source of a class of one's own, see `sources.base`.
    first_crawl, last_crawl
        Labels of the first and last crawl to take, both included. None: of the source.
    clock
        Clock of the headline: survival per crawl or per year.
    drift
        What parameters are compared with, and in which windows they are followed.
    coverage_drop
        Largest relative fall, in (0, 1), of what the last crawl sees again of the crawl before it, against the median
        of earlier pairs, that is no warning.
    automation
        When it is brought up to date without anybody's asking.
    owners
        Who answers for it: e-mail addresses, or names of teams such as ``team:crawling``.
    sample_one_in
        Of presence sources: keep a coordinated sample of one element in so many, the same in every crawl; counts are
        then estimates with limits.
    engine
        Of presence sources: where capture histories are counted.
    memory_gb
        Of presence sources: bound on what ingest and counting hold in memory at once, in GiB.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, json_schema_extra=_name_the_key)

    name: str = Field(pattern=r"^[a-z]([a-z0-9_]{0,46}[a-z0-9])?$")
    granularity: Literal["url", "host", "domain", "other"]
    stratum: StratumSettings | None = None  # before the source, whose validator reads it
    source: _AnySource
    first_crawl: CrawlLabel | None = None
    last_crawl: CrawlLabel | None = None
    clock: Literal["crawl", "year"] = "crawl"
    drift: DriftSettings = DriftSettings()
    coverage_drop: float = Field(default=0.2, gt=0, lt=1)
    automation: AutomationSettings = AutomationSettings()
    owners: list[Annotated[str, StringConstraints(pattern=r"^(team:[A-Za-z0-9_.-]+|[^@\s]+@[^@\s]+\.[^@\s]+)$")]] = []
    sample_one_in: int = Field(default=1, ge=1, le=2**20)
    engine: Engine = LocalEngine()
    memory_gb: float = Field(default=4.0, ge=0.0625)

    @property
    def noun(self) -> str:
        """What an element is, in the singular; it takes an s."""
        return _NOUNS[self.granularity]

    @field_validator("source", mode="wrap")
    @classmethod
    def _own_source(cls, source: object, validate: ValidatorFunctionWrapHandler) -> _AnySource:
        """Take a source that is one already, also of the user's own class, as it is."""
        if isinstance(source, PresenceSource | TablesSource):
            return source
        validated: _AnySource = validate(source)
        return validated

    @field_validator("source")
    @classmethod
    def _with_stratum(cls, source: _AnySource, info: ValidationInfo) -> _AnySource:
        stratum: StratumSettings | None = info.data.get("stratum")
        # One that is wrong is not in the data.
        if isinstance(source, WebGraphRanksSource) and stratum is None and "stratum" in info.data:
            raise ValueError(
                "gives ranks for strata, but the collection has no stratum: set one beside source, such as stratum: "
                "{column: harmonicc_pos, bands: [1000, 1000000]}, or take what is under `of` as the source"
            )
        if stratum is None or not isinstance(source, PresenceSource):
            return source
        return source.with_stratum(StratumColumn(stratum.column, ranks=stratum.bands is not None))

    @model_validator(mode="after")
    def _elements_to_count(self) -> Self:
        if self.stratum is not None and self.engine.type == "spark":
            raise ValueError(
                "has stratum and engine.type spark, which does not count strata: set engine: {type: local}"
            )
        of_source = self.source.granularity
        if of_source not in {None, self.granularity}:
            raise ValueError(
                f"has granularity {self.granularity}, but the element of its source is of granularity {of_source}: set "
                f"granularity: {of_source}, or have the source give another"
            )
        of_presence = OF_PRESENCE & self.model_fields_set
        if of_presence and not self.has_histories:
            raise ValueError(
                f"has {' and '.join(sorted(of_presence))}, but its source gives counts, not elements: leave that out"
            )
        return self

    @property
    def memory_bytes(self) -> int:
        """Bound on what is held in memory at once."""
        return round(self.memory_gb * 2**30)

    @property
    def counting_error(self) -> CountingError:
        """How the source's elements were counted."""
        from crawl_urn_dagster.urn import CountingError

        return CountingError(relative=self.source.relative_error, one_in=self.sample_one_in)

    @property
    def selection(self) -> Selection:
        """The crawls that the collection takes from its source."""
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
        """Whether there are pairwise intersections."""
        return isinstance(self.source, PresenceSource) or self.source.has_pairs

    @property
    def has_discovery_curve(self) -> bool:
        """Whether there are unions of windows."""
        return isinstance(self.source, PresenceSource) or self.source.has_windows


class _Configuration(BaseModel):
    model_config = ConfigDict(extra="forbid")

    collections: list[Collection] = Field(min_length=1)


def demo_collection() -> Collection:
    """Return the collection that needs no file and no network: a simulated urn."""
    few_windows = DriftSettings(step_crawls=9)
    return Collection(name="demo", granularity="url", source=SimulatedSource(), drift=few_windows)


def load_collections(path: Path) -> tuple[Collection, ...]:
    """Read the collections of a YAML file; relative paths in it are taken from its folder.

    Raises
    ------
    CollectionsError
        When the file cannot be read or is wrong: YAML, keys, values, names that occur twice, missing files.
    """
    content = _read_yaml(path)
    if not isinstance(content, dict):
        raise CollectionsError(f"{path}: found {_shown(content)}, expected the key 'collections' and a list")
    try:
        configured = _Configuration.model_validate(content).collections
    except ValidationError as error:
        raise CollectionsError(
            "\n".join(f"{path}: {_explain(details, content)}" for details in error.errors())
        ) from error
    folder = path.resolve().parent
    collections = [
        collection.model_copy(update={"source": collection.source.relative_to(folder)}) for collection in configured
    ]
    wrong = [f"{path}: {line}" for line in (*_repeated_names(collections), *_missing_files(collections))]
    if wrong:
        raise CollectionsError("\n".join(wrong))
    return tuple(collections)


class _UniqueKeyLoader(yaml.SafeLoader):
    """Plain YAML in which no key of a mapping occurs twice; the last would win silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} occurs twice; keep one", problem_mark=key.start_mark
                )
            seen.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


def _read_yaml(path: Path) -> object:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_CONFIGURATION_BYTES + 1)
    except OSError as error:
        raise CollectionsError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    if len(text) > MAX_CONFIGURATION_BYTES:
        raise CollectionsError(
            f"{path}: is larger than {MAX_CONFIGURATION_BYTES:,} bytes; expected a list of collections"
        )
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CollectionsError(f"{path}{line}: is no YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CollectionsError(f"{path}: is no YAML: {' '.join(str(error).split())}") from error


def _repeated_names(collections: list[Collection]) -> list[str]:
    names = [collection.name for collection in collections]
    return [
        f"collections[{index}].name: found {name!r}, as in collections[{names.index(name)}]; choose another"
        for index, name in enumerate(names)
        if names.index(name) < index
    ]


def _missing_files(collections: list[Collection]) -> list[str]:
    return [
        f"collections[{index}] ({collection.name}).source: there is no file {missing}; expected an existing "
        "file, or a glob such as folder/*.csv.gz (relative paths are taken from the configuration's folder), or an "
        "http(s) address"
        for index, collection in enumerate(collections)
        for missing in collection.source.missing_files()
    ]


def _by_type(union: object) -> dict[object, Any]:
    """Models of a union by what their field ``type`` says."""
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(get_args(union)[0])}


_SOURCES: dict[object, type[SourceConfig]] = _by_type(Source)
_ENGINES: dict[object, type[BaseModel]] = _by_type(Engine)
_SETTINGS: dict[object, type[BaseModel]] = {
    "drift": DriftSettings,
    "automation": AutomationSettings,
    "stratum": StratumSettings,
}


def _explain(details: ErrorDetails, content: object) -> str:
    """One line: the key path, what was found there, and what was expected."""
    kind, loc, found = details["type"], details["loc"], details["input"]
    path = _key_path(loc, content)
    if kind == "extra_forbidden":
        return f"{path}: unknown key; {listed(str(loc[-1]), _model_at(loc).model_fields)}"
    if kind == "missing":
        return f"{path}: is missing, and has no default"
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        tag = str(details["ctx"].get("tag", ""))
        types = map(str, _ENGINES if loc[-1] == "engine" else _SOURCES)
        return f"{path}.type: {f'found {tag!r}' if tag else 'is missing'}; {listed(tag, types)}"
    if kind == "value_error":
        return f"{path}: {_shown(found)} {details['ctx']['error']}"
    expected = details["msg"].replace("Input should", "should")
    hint = "; put it in quotes" if kind == "string_type" else ""
    return f"{path}: found {_shown(found)}, {expected}{hint}"


def _shown(value: object) -> str:
    text = masked(repr(value))
    return text if len(text) <= 80 else f"{text[:80]}..."


def _key_path(loc: tuple[int | str, ...], content: Any) -> str:
    """Such as ``collections[2] (edu_urls).source.windows``."""
    path = ""
    for depth, part in enumerate(loc):
        if isinstance(part, int):
            path += f"[{part}]"
            if depth == 1 and isinstance(content["collections"][part], dict):
                name = content["collections"][part].get("name")
                path += f" ({name})" if isinstance(name, str) else ""
        elif depth == 0 or loc[depth - 1] not in {
            "source",
            "engine",
            "of",
        }:  # there pydantic puts the type, which is no key
            path += f".{part}" if path else part
    return path


def _model_at(loc: tuple[int | str, ...]) -> type[BaseModel]:
    """Model that has the last part of a location as a key."""
    if len(loc) == 1:
        return _Configuration
    if len(loc) == 3:
        return Collection
    if loc[2] in _SETTINGS:
        return _SETTINGS[loc[2]]
    if loc[2] == "engine":
        return _ENGINES[loc[3]]
    return _SOURCES[loc[5] if loc[4:5] == ("of",) and len(loc) > 6 else loc[3]]
