"""Where a source's files are: a path, a glob, or an http(s) address.

Here: what a location may be, and the files that a local glob stands for. Not here: fetching (`files`).
"""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, StringConstraints

_GLOB_CHARACTERS = frozenset("*?[")


def is_remote(location: str) -> bool:
    """Whether a location is an http(s) address."""
    return location.lower().startswith(("http://", "https://"))


def _check(location: str) -> str:
    if not is_remote(location):
        if "://" in location:
            raise ValueError("is neither a path nor an address that starts with http:// or https://")
        return location
    address = urlsplit(location)
    if not address.hostname:
        raise ValueError("is an address without a host")
    if address.username or address.password:
        raise ValueError("holds a user name or password, which would be stored with the results; put them in ~/.netrc")
    return location


#: A path (relative to the configuration's folder), a glob, or an http(s) address.
Location = Annotated[str, StringConstraints(min_length=1), AfterValidator(_check)]


def is_glob(location: str) -> bool:
    """Whether a location stands for several local files; a file of exactly that name is no glob."""
    return not is_remote(location) and not _GLOB_CHARACTERS.isdisjoint(location) and not Path(location).exists()


def existing(location: str) -> list[str]:
    """Return the files that a location stands for, in the order of their names; an address as it is."""
    if is_remote(location):
        return [location]
    # Path: a pattern with "//" or "./" in it would give paths that do not start like it.
    paths = glob.glob(str(Path(location)), recursive=True) if is_glob(location) else [location]  # noqa: PTH207
    return sorted(path for path in paths if Path(path).is_file())


def in_folder(folder: Path, location: str) -> str:
    """Take a relative path from a folder; absolute paths and addresses stay."""
    return location if is_remote(location) else str(folder / location)
