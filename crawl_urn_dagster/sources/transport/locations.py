"""Where a source's files are: a path, a glob, or an http(s) address.

Here: what a location may be, and the files that a local glob stands for. Not here: fetching (`files`).
"""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, StringConstraints

#: Place of a crawl's label, and of the number of a part, in a location that stands for many files.
CRAWL, PART = "{crawl}", "{part}"
PLACES = (CRAWL, PART)

_ENDINGS = re.compile(r"(\.(cdxj?|txt|tsv|csv|parquet|gz))*", re.IGNORECASE)
_GLOB_CHARACTERS = frozenset("*?[")
_SECRET = re.compile(
    r"token|secret|passw|signature|credential|auth|(access|account|api|private|shared)[._-]?key|^(key|sig)$",
    re.IGNORECASE,
)


def is_remote(location: str) -> bool:
    """Whether a location is an http(s) address."""
    return location.lower().startswith(("http://", "https://"))


def _check(location: str) -> str:
    if not is_remote(location):
        if "://" in location:
            raise ValueError("is neither a path nor an address that starts with http:// or https://")
        return location
    if not urlsplit(location).hostname:
        raise ValueError("is an address without a host")
    return without_secrets(location)


def is_named_like_a_secret(name: str) -> bool:
    """Whether the value of a parameter or a setting of this name may be a secret."""
    return _SECRET.search(name) is not None


def without_secrets(address: str) -> str:
    """Return an address that may be stored and shown.

    Raises
    ------
    ValueError
        When it has a user name or password, or a parameter that is named like a secret.
    """
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise ValueError("holds a user name or password, which would be stored with the results; put them in ~/.netrc")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if is_named_like_a_secret(name):
            raise ValueError(
                f"has the parameter {name[:40]!r}, which may be a secret and would be stored with the results; "
                "download the file and give its path"
            )
    return address


def masked(text: str) -> str:
    """Put marks in place of users and queries of the addresses in a text."""
    return re.sub(r"(\w://[^\s?'\"]*)\?[^\s'\"]*", r"\1?...", re.sub(r"://[^/@\s'\"]*@", "://...@", text))


#: A path (relative to the configuration's folder), a glob, or an http(s) address.
Location = Annotated[str, StringConstraints(min_length=1), AfterValidator(_check)]


def is_glob(location: str) -> bool:
    """Whether a location stands for several local files; a file of exactly that name is no glob."""
    return not is_remote(location) and not _GLOB_CHARACTERS.isdisjoint(location) and not Path(location).exists()


def label_in_path(pattern: str, path: str) -> str | None:
    """Label that the path of a file gives its crawl, without the endings of data files.

    It is the part that the one ``*`` of a glob matches, or the name of a file of a folder; None of another location.
    """
    if Path(pattern).is_dir():
        return without_endings(Path(path).name)
    before, star, after = str(Path(pattern)).partition("*")
    if not star or is_glob(before) or is_glob(after) or not is_glob(pattern):
        return None
    return without_endings(path[len(before) : len(path) - len(after)])


def without_endings(name: str) -> str:
    """Name or path of a file without what says its format."""
    return next(name[:at] for at in range(len(name) + 1) if _ENDINGS.fullmatch(name[at:]))


def existing(location: str) -> list[str]:
    """Return the files that a location stands for, in the order of their names; an address as it is.

    A folder stands for the files in it whose names do not start with a dot.
    """
    if is_remote(location):
        return [location]
    for place in PLACES:
        location = location.replace(place, "*")
    if Path(location).is_dir():
        return sorted(str(path) for path in Path(location).iterdir() if path.is_file() and path.name[0] != ".")
    # Path: a pattern with "//" or "./" in it would give paths that do not start like it.
    paths = glob.glob(str(Path(location)), recursive=True) if is_glob(location) else [location]  # noqa: PTH207
    return sorted(path for path in paths if Path(path).is_file())


def in_folder(folder: Path, location: str) -> str:
    """Take a relative path from a folder; absolute paths and addresses stay."""
    return location if is_remote(location) else str(folder / location)
