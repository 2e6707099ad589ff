"""Load collections from a YAML file, and explain what is wrong with it.

Does not define the settings; see `config.collection` and the modules of the sources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.config.cross_archive import CrossArchiveSettings, unusable_lists
from crawl_urn_dagster.config.settings import AutomationSettings, DriftSettings, ElementSettings
from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.observables.engines import Engine
from crawl_urn_dagster.observables.strata import StratumSettings
from crawl_urn_dagster.sources.registry import COUNTER_TYPES, SOURCE_TYPES, source_class
from crawl_urn_dagster.sources.transport.locations import mask_addresses

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pydantic_core import ErrorDetails


MAX_CONFIGURATION_BYTES = 2**20


class CollectionsError(ValueError):
    """The configuration file is invalid; the message has one line per error: where, what was found and expected."""


class _Configuration(BaseModel):
    model_config = ConfigDict(extra="forbid")

    collections: list[Collection] = Field(min_length=1)


def load_collections(path: Path) -> tuple[Collection, ...]:
    """Read the collections of a YAML file; relative paths start at its folder.

    Raises
    ------
    CollectionsError
        If the file cannot be read, or its YAML, keys, values, names or file paths are invalid.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> text = "collections: [{name: demo, granularity: url, source: {type: simulated}}]"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "collections.yaml"
    ...     _ = path.write_text(text, encoding="utf-8")
    ...     [collection.name for collection in load_collections(path)]
    ['demo']
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
    collections = [collection.relative_to(folder) for collection in configured]
    errors = [
        f"{path}: {error}"
        for error in (*_repeated_names(collections), *_missing_files(collections), *_lists(collections))
    ]
    if errors:
        raise CollectionsError("\n".join(errors))
    return tuple(collections)


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuse a mapping with a repeated key, because YAML would silently keep the last value."""

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
        raise CollectionsError(f"{path}: larger than {MAX_CONFIGURATION_BYTES:,} bytes; expected a list of collections")
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CollectionsError(f"{path}{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CollectionsError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error


def _repeated_names(collections: list[Collection]) -> list[str]:
    names = [collection.name for collection in collections]
    return [
        f"collections[{index}].name: found {name!r}, as in collections[{names.index(name)}]; choose another"
        for index, name in enumerate(names)
        if names.index(name) < index
    ]


def _missing_files(collections: list[Collection]) -> list[str]:
    return [
        f"collections[{index}] ({collection.name}).{key}: no such file: {missing}; expected an existing file, a glob "
        "such as folder/*.csv.gz, or an http(s) URL (relative paths start at the configuration's folder)"
        for index, collection in enumerate(collections)
        for key, located in (("source", collection.source), ("ground_truth", collection.ground_truth))
        if located is not None
        for missing in located.missing_files()
    ]


def _lists(collections: list[Collection]) -> list[str]:
    names = [collection.name for collection in collections]
    return [
        f"collections[{names.index(name)}] ({name}).cross_archive.lists: {reason}"
        for name, reason in unusable_lists(dict(zip(names, collections, strict=True)))
    ]


def _by_type(union: object) -> dict[object, Any]:
    """Return the models of a union by the value of their field ``type``."""
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(get_args(union)[0])}


_ENGINES: dict[object, type[BaseModel]] = _by_type(Engine)
_TYPES: dict[str, Iterable[object]] = {"engine": _ENGINES, "ground_truth": COUNTER_TYPES}
_SETTINGS: dict[object, type[BaseModel]] = {
    "drift": DriftSettings,
    "elements": ElementSettings,
    "automation": AutomationSettings,
    "cross_archive": CrossArchiveSettings,
    "stratum": StratumSettings,
}


def _explain(details: ErrorDetails, content: object) -> str:
    """Return one line with the key path, the value found there, and the value expected."""
    kind, loc, found = details["type"], details["loc"], details["input"]
    path = _key_path(loc, content)
    if kind == "extra_forbidden":
        return f"{path}: unknown key; {format_options(str(loc[-1]), _model_at(loc).model_fields)}"
    if kind == "missing":
        return f"{path}: is missing, and has no default"
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        tag = str(details["ctx"].get("tag", ""))
        types = [str(kind) for kind in _TYPES.get(str(loc[-1]), SOURCE_TYPES)]
        return f"{path}.type: {f'found {tag!r}' if tag else 'is missing'}; {format_options(tag, types)}"
    if kind == "value_error":
        return f"{path}: {_shown(found)} {details['ctx']['error']}"
    expected = details["msg"].replace("Input should", "should")
    hint = "; put it in quotes" if kind == "string_type" else ""
    return f"{path}: found {_shown(found)}, {expected}{hint}"


def _shown(value: object) -> str:
    text = mask_addresses(repr(value))
    return text if len(text) <= 80 else f"{text[:80]}..."


def _key_path(loc: tuple[int | str, ...], content: Any) -> str:
    """Return a path such as ``collections[2] (edu_urls).source.windows``."""
    path = ""
    for depth, part in enumerate(loc):
        if isinstance(part, int):
            path += f"[{part}]"
            if depth == 1 and isinstance(content["collections"][part], dict):
                name = content["collections"][part].get("name")
                path += f" ({name})" if isinstance(name, str) else ""
        # Below a union pydantic adds the type, which is not a key of the file.
        elif depth == 0 or loc[depth - 1] not in {"source", "engine", "of", "ground_truth"}:
            path += f".{part}" if path else part
    return path


def _model_at(loc: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the model that has the last part of a location as a key."""
    if len(loc) == 1:
        return _Configuration
    if len(loc) == 3:
        return Collection
    if loc[2] in _SETTINGS:
        return _SETTINGS[loc[2]]
    if loc[2] == "engine":
        return _ENGINES[loc[3]]
    if loc[2] == "ground_truth":
        return COUNTER_TYPES[str(loc[3])]
    return source_class(str(loc[5] if loc[4:5] == ("of",) and len(loc) > 6 else loc[3]))
