"""Check locations (paths, globs and http(s) addresses) and expand local ones to files.

Does not fetch files; see `files`.
"""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, StringConstraints

#: Placeholders for a crawl's label and for the number of a part, in a location that stands for many files.
CRAWL, PART = "{crawl}", "{part}"
PLACEHOLDERS = (CRAWL, PART)

_EXTENSIONS = re.compile(r"(\.(cdxj?|txt|tsv|csv|parquet|gz))+\Z", re.IGNORECASE)
_GLOB_CHARACTERS = frozenset("*?[")
_SECRET = re.compile(
    r"token|secret|passw|signature|credential|auth|(access|account|api|private|shared)[._-]?key|^(key|sig)$",
    re.IGNORECASE,
)


def is_remote(location: str) -> bool:
    """Test whether a location is an http(s) address."""
    return location.lower().startswith(("http://", "https://"))


def _check_location(location: str) -> str:
    if not is_remote(location):
        if "://" in location:
            raise ValueError("is neither a path nor an address that starts with http:// or https://")
        return location
    if not urlsplit(location).hostname:
        raise ValueError("is an address without a host")
    return reject_secrets(location)


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


#: A path (relative to the configuration's folder), a glob, or an http(s) address.
Location = Annotated[str, StringConstraints(min_length=1), AfterValidator(_check_location)]


def is_glob(location: str) -> bool:
    """Test whether a location stands for several local files; a file of exactly that name is not a glob."""
    return not is_remote(location) and not _GLOB_CHARACTERS.isdisjoint(location) and not Path(location).exists()


def label_in_path(pattern: str, path: str) -> str | None:
    """Return the crawl label in the path of a file that a location (`pattern`) stands for, without file extensions.

    The label is the part that the only ``*`` of a glob matches, or the name of a file in a folder; None for any other
    location.
    """
    if Path(pattern).is_dir():
        return strip_extensions(Path(path).name)
    before, star, after = str(Path(pattern)).partition("*")
    if not star or is_glob(before) or is_glob(after) or not is_glob(pattern):
        return None
    return strip_extensions(path[len(before) : len(path) - len(after)])


def strip_extensions(name: str) -> str:
    """Return the name or path of a file without the extensions of data files, such as ``.csv.gz``."""
    return _EXTENSIONS.sub("", name)


def existing_files(location: str) -> list[str]:
    """Return the files that a location stands for, sorted by name; an http(s) address stands for itself.

    A folder stands for the files in it whose names do not start with a dot.
    """
    if is_remote(location):
        return [location]
    for placeholder in PLACEHOLDERS:
        location = location.replace(placeholder, "*")
    if Path(location).is_dir():
        return sorted(str(path) for path in Path(location).iterdir() if path.is_file() and path.name[0] != ".")
    # Path normalises "//" and "./": otherwise the paths found would not start like the pattern.
    paths = glob.glob(str(Path(location)), recursive=True) if is_glob(location) else [location]  # noqa: PTH207
    return sorted(path for path in paths if Path(path).is_file())


def resolve_location(folder: Path, location: str) -> str:
    """Resolve a relative path against a folder; absolute paths and addresses stay."""
    return location if is_remote(location) else str(folder / location)
