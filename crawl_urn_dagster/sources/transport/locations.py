"""Check locations (paths, globs, http(s) and object-store addresses) and expand local ones to files.

Does not fetch files; see `files`. Does not list object stores; see `object_stores`.
"""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, StringConstraints

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Placeholders for a crawl's label and for the number of a part, in a location that stands for many files.
CRAWL, PART = "{crawl}", "{part}"
PLACEHOLDERS = (CRAWL, PART)

_EXTENSIONS = re.compile(
    r"(\.(cdxj?|txt|tsv|csv|parquet|jsonl|ndjson|feather|arrow|orc|zone|log|warc|wacz|theta|bin|gz|bz2|xz|zst|zip))+\Z",
    re.IGNORECASE,
)
#: Beginnings of addresses in object stores, each with the settings that may follow the address after ``?``.
_STORES: dict[str, tuple[str, ...]] = {
    "s3://": ("anonymous", "region", "endpoint_override", "scheme"),
    "gs://": ("anonymous", "endpoint_override", "scheme"),
    "hf://": (),
}
#: Folders of the metadata of Delta and Iceberg tables.
TABLE_METADATA = ("_delta_log", "metadata")
_TABLE_METADATA = re.compile(r"(?P<folder>.*)/(?:(?P<delta>_delta_log)/.*\.json|metadata/[^/]*\.metadata\.json)")
_SETTING_VALUES = {"anonymous": ("true", "false"), "scheme": ("http", "https")}
_GLOB_CHARACTERS = frozenset("*?[")
_SECRET = re.compile(
    r"token|secret|passw|signature|credential|auth|(access|account|api|private|shared)[._-]?key|^(key|sig)$",
    re.IGNORECASE,
)


def is_remote(location: str) -> bool:
    """Test whether a location is an http(s) address."""
    return location.lower().startswith(("http://", "https://"))


def is_stored(location: str) -> bool:
    """Test whether a location is an address in an object store: ``s3://``, ``gs://`` or ``hf://``."""
    return location.lower().startswith(tuple(_STORES))


def is_address(location: str) -> bool:
    """Test whether a location is an address, and not a path."""
    return is_remote(location) or is_stored(location)


def _check_location(location: str) -> str:
    if not is_address(location):
        if "://" in location:
            raise ValueError(
                "is neither a path nor an address that starts with http://, https://, s3://, gs:// or hf://"
            )
        return location
    if not urlsplit(location).hostname:
        raise ValueError("is an address without a host")
    if is_stored(location):
        store_settings(location)
    return reject_secrets(location)


def store_settings(address: str) -> dict[str, str]:
    """Return the settings of an address in an object store, which follow it after ``?``.

    Raises
    ------
    ValueError
        When a setting or its value is not valid for the store.
    """
    allowed = _STORES[address[:5].lower()]
    settings = dict(parse_qsl(address.partition("?")[2], keep_blank_values=True))
    for name, value in settings.items():
        values = _SETTING_VALUES.get(name, (value,))
        if is_secret_name(name):
            reject_secrets(address)
        if name not in allowed:
            options = ", ".join(allowed) or "none"
            raise ValueError(f"has the setting {name[:40]!r}; {address[:5]} addresses may have: {options}")
        if value not in values or not value:
            raise ValueError(f"has {name}={value[:40]}; expected {' or '.join(values)}")
    return settings


def without_settings(location: str) -> str:
    """Return an address in an object store without the settings after ``?``; any other location stays."""
    return location.partition("?")[0] if is_stored(location) else location


def is_secret_name(name: str) -> bool:
    """Test whether the value of a parameter or setting of this name may be a secret."""
    return _SECRET.search(name) is not None


def reject_secrets(address: str) -> str:
    """Return an address if it may be stored and shown.

    Raises
    ------
    ValueError
        When the address has a user name, a password, or a parameter whose name suggests a secret.
    """
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise ValueError("has a user name or password, which would be stored with the results; put them in ~/.netrc")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if is_secret_name(name):
            raise ValueError(
                f"has the parameter {name[:40]!r}, which may be a secret and would be stored with the results; "
                "download the file and give its path"
            )
    return address


def mask_addresses(text: str) -> str:
    """Replace the users and the queries of all addresses in a text by ``...``."""
    return re.sub(r"(\w://[^\s?'\"]*)\?[^\s'\"]*", r"\1?...", re.sub(r"://[^/@\s'\"]*@", "://...@", text))


#: A path (relative to the configuration's folder), a glob, or an address; a glob may also be in an object store.
Location = Annotated[str, StringConstraints(min_length=1), AfterValidator(_check_location)]


def is_glob(location: str) -> bool:
    """Test whether a location stands for several files; a local file of exactly that name is not a glob."""
    if is_remote(location) or _GLOB_CHARACTERS.isdisjoint(without_settings(location)):
        return False
    return is_stored(location) or not Path(location).exists()


def label_in_path(pattern: str, path: str) -> str | None:
    """Return the crawl label in the path of a file that a location (`pattern`) stands for, without file extensions.

    The label is the part that the only ``*`` of a glob matches, or the name of a file in a folder; None for any other
    location.
    """
    path = without_settings(path)
    if _is_folder_of(pattern, path):
        return strip_extensions(path.rpartition("/")[2])
    before, star, after = _normalise(pattern).partition("*")
    if not star or is_glob(before) or is_glob(after) or not is_glob(pattern):
        return None
    return strip_extensions(path[len(before) : len(path) - len(after)])


def names_in_location(pattern: str, path: str) -> list[str]:
    """Return the names in the path of a file that a folder or glob (`pattern`) does not fix, without file extensions.

    The last is the name of the file. Empty if the location stands for one file.
    """
    path = without_settings(path)
    if not _is_folder_of(pattern, path) and not is_glob(pattern):
        return []
    return strip_extensions(path[len(_fixed_part(pattern)) :].lstrip("/")).split("/")


def _fixed_part(location: str) -> str:
    """Return the folder that a location fixes, with the final slash: of a glob, the part before the first wildcard."""
    normal = _normalise(location)
    if not is_glob(location):
        return normal
    start = re.split(r"[*?\[]", normal, maxsplit=1)[0]
    return start[: start.rfind("/") + 1]


def _is_folder_of(pattern: str, path: str) -> bool:
    return path.startswith(f"{_normalise(pattern)}/") if is_stored(pattern) else Path(pattern).is_dir()


def _normalise(location: str) -> str:
    """Return a location in the form in which its files are found: without settings, ``//`` and ``./``."""
    return without_settings(location).rstrip("/") if is_stored(location) else str(Path(location))


def strip_extensions(name: str) -> str:
    """Return the name or path of a file without the extensions of data files, such as ``.csv.gz``."""
    return _EXTENSIONS.sub("", name)


def existing_files(location: str) -> list[str]:
    """Return the files that a location stands for, sorted by name; an address stands for itself.

    A folder stands for the files in it and in its folders, but for names that start with a dot or an underscore.
    """
    if is_address(location):
        return [location]
    for placeholder in PLACEHOLDERS:
        location = location.replace(placeholder, "*")
    if Path(location).is_dir():
        found = (path for path in Path(location).rglob("*") if path.is_file())
        return sorted(str(path) for path in found if not is_hidden(path.relative_to(location).as_posix()))
    # Path normalises "//" and "./": otherwise the paths found would not start like the pattern.
    paths = glob.glob(str(Path(location)), recursive=True) if is_glob(location) else [location]  # noqa: PTH207
    return sorted(path for path in without_hidden(location, paths) if Path(path).is_file())


def without_hidden(location: str, paths: Iterable[str]) -> list[str]:
    """Return the files of a folder or glob without those that have a hidden name which the location does not write."""
    if re.search(r"(^|/)[._]", _normalise(location)[len(_fixed_part(location)) :]):
        return list(paths)
    return [path for path in paths if not is_hidden("/".join(names_in_location(location, path)))]


def table_format(folder: Path) -> str | None:
    """Return the name of the table format of a folder; None if it is not a table."""
    if (folder / "_delta_log").is_dir():
        return "a Delta table"
    return "an Iceberg table" if any((folder / "metadata").glob("*.metadata.json")) else None


def table_of_metadata(path: str) -> tuple[str, str] | None:
    """Return the folder and the format of the table that a path is metadata of; None for any other path."""
    match = _TABLE_METADATA.fullmatch(path)
    return match and (match["folder"], "a Delta table" if match["delta"] else "an Iceberg table")


def table_around(paths: Iterable[str]) -> tuple[Path, str] | None:
    """Return the first table folder that contains one of some files, and the name of its format."""
    folders = {parent for path in paths for parent in Path(path).parents}
    return next(((folder, name) for folder in sorted(folders) if (name := table_format(folder))), None)


def is_hidden(path: str) -> bool:
    """Test whether a relative path has a name that marks other files than data, such as ``_SUCCESS``."""
    return any(name.startswith((".", "_")) for name in path.split("/"))


def resolve_location(folder: Path, location: str) -> str:
    """Resolve a relative path against a folder; absolute paths and addresses stay."""
    return location if is_address(location) else str(folder / location)
