"""Typed configuration: which collections there are, where each takes its data from, and how it is judged.

Here: the form of the configuration file, and what is said when it is wrong. Not here: what a source needs
(its own module), or assets.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from crawl_urn_dagster.sources import PresenceSource, Selection, SimulatedSource, Source
from crawl_urn_dagster.sources.inputs import listed

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from crawl_urn_dagster.sources.base import SourceConfig

MAX_CONFIGURATION_BYTES = 2**20


class CollectionsError(ValueError):
    """The configuration is wrong; the message says where, what was found and expected, a line per error."""


def _iso_date(value: object) -> object:
    """Turn the date that YAML made of a bare 2013-12-01 back into the text it was."""
    return value.isoformat() if type(value) is date else value


CrawlLabel = Annotated[str, BeforeValidator(_iso_date)]


class DriftSettings(BaseModel):
    """When the parameters of a collection count as drifted.

    Parameters
    ----------
    window_crawls
        Crawls in the last window, and in the window before it that it is compared with; at least 5.
    threshold
        Largest absolute difference of a parameter, in (0, 1], that does not count as drift.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    window_crawls: int = Field(default=12, ge=5)
    threshold: float = Field(default=0.1, gt=0, le=1)


class Collection(BaseModel):
    """A sequence of crawls of one thing, and how it is judged.

    Parameters
    ----------
    name
        Lower-case letters, digits and underscores, 48 at most, starting with a letter; it names everything
        that belongs to the collection.
    granularity
        What an element is.
    source
        Where the data are from.
    first_crawl, last_crawl
        Labels of the first and last crawl to take, both included. None: of the source.
    clock
        Clock of the headline: survival per crawl or per year.
    drift
        When parameters count as drifted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")
    granularity: Literal["url", "host", "domain", "other"]
    source: Source
    first_crawl: CrawlLabel | None = None
    last_crawl: CrawlLabel | None = None
    clock: Literal["crawl", "year"] = "crawl"
    drift: DriftSettings = DriftSettings()

    @property
    def selection(self) -> Selection:
        """The crawls that the collection takes from its source."""
        return Selection(self.first_crawl, self.last_crawl)

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
    return Collection(name="demo", granularity="url", source=SimulatedSource())


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
        raise CollectionsError(f"{path}: cannot be read: {error.strerror}; check the path") from error
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


_SOURCES: dict[object, type[SourceConfig]] = {
    get_args(source.model_fields["type"].annotation)[0]: source for source in get_args(get_args(Source)[0])
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
        return f"{path}.type: {f'found {tag!r}' if tag else 'is missing'}; {listed(tag, map(str, _SOURCES))}"
    if kind == "value_error":
        return f"{path}: {_shown(found)} {details['ctx']['error']}"
    expected = details["msg"].replace("Input should", "should")
    hint = "; put it in quotes" if kind == "string_type" else ""
    return f"{path}: found {_shown(found)}, {expected}{hint}"


def _shown(value: object) -> str:
    text = repr(value)
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
        elif (depth, loc[2:3]) != (3, ("source",)):  # there pydantic puts the source's type, which is no key
            path += f".{part}" if path else part
    return path


def _model_at(loc: tuple[int | str, ...]) -> type[BaseModel]:
    """Model that has the last part of a location as a key."""
    if len(loc) == 1:
        return _Configuration
    if len(loc) == 3:
        return Collection
    return DriftSettings if loc[2] == "drift" else _SOURCES[loc[3]]
