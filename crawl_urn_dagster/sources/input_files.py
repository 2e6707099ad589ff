"""Identify the files that a source reads, by location, size and hash.

Does not fetch files; see `transport.files`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class InputFile:
    """Identity of a file that a source reads.

    Attributes
    ----------
    location
        Path or address.
    bytes
        Size of the file.
    sha256
        Hash of the content, in hexadecimal. If a remote file is listed without being downloaded, this is the hash of
        the headers that identify its version.

    Examples
    --------
    >>> InputFile("hosts.csv", bytes=6, sha256="0" * 64).location
    'hosts.csv'
    """

    location: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class LocalFile:
    """A file on disk, ready to be read.

    Attributes
    ----------
    path
        Path on disk; for a remote file, a path in the cache.
    input
        Identity of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> LocalFile(Path("hosts.csv"), InputFile("hosts.csv", bytes=6, sha256="0" * 64)).input.bytes
    6
    """

    path: Path
    input: InputFile


def fingerprint(inputs: tuple[InputFile, ...], *settings: str) -> str:
    """Return a hash (16 hexadecimal digits) of the locations and contents of files and of how they are read.

    Parameters
    ----------
    inputs
        The files, in any order.
    *settings
        Settings that change what is read.

    Examples
    --------
    >>> hosts = InputFile("hosts.csv", bytes=6, sha256="0" * 64)
    >>> fingerprint((hosts,))
    '3f9a0725a5333390'
    >>> fingerprint((hosts,)) == fingerprint((hosts,), "element_column=host")
    False
    """
    lines = sorted(f"{file.location}\t{file.sha256}\n" for file in inputs)
    return hashlib.sha256("".join((*lines, *settings)).encode()).hexdigest()[:16]
