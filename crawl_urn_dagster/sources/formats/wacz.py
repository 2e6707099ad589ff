"""Take the indexes out of WACZ files, local or remote, without the WARCs.

Does not read indexes; see `cdx`.
"""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from typing import TYPE_CHECKING

from crawl_urn_dagster.sources.errors import SourceError, TooLargeError
from crawl_urn_dagster.sources.input_files import LocalFile
from crawl_urn_dagster.sources.transport.locations import is_remote
from crawl_urn_dagster.sources.transport.ranges import RemoteFile

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import WriteableBuffer

    from crawl_urn_dagster.sources.transport.files import Files

#: Separates the location of a WACZ from the name of a file in it.
INSIDE = "!/"
_INDEX = re.compile(r"indexes/[^/]+\.cdxj?(\.gz)?", re.IGNORECASE)
_BUFFER_BYTES = 2**20


def is_wacz(location: str) -> bool:
    """Test whether a location is a WACZ file, by its name."""
    return location.partition("?")[0].lower().endswith(".wacz")


def extract_indexes(files: Files, location: str) -> list[LocalFile]:
    """Return the indexes in a WACZ file; of a remote file, only its table of contents and the indexes are downloaded.

    Raises
    ------
    SourceError
        When the file is not a ZIP file, has no index, or cannot be read.
    """
    local = None if is_remote(location) else files.fetch(location)
    container = files.identify(location) if local is None else local.input
    names: list[str] = []
    contents = files.derive(
        f"contents of {location}", container.sha256, lambda target: _list_indexes(files, location, target)
    )
    names = contents.read_text(encoding="utf-8").splitlines()
    if not names:
        raise SourceError(
            f"{location}: has no index of the form indexes/*.cdx, .cdxj or .gz of these; index its WARCs, or extract "
            "them and use the source warc"
        )

    def extract(name: str) -> LocalFile:
        path = files.derive(
            f"{location}{INSIDE}{name}", container.sha256, lambda target: _extract(files, location, name, target)
        )
        identity = type(container)(f"{location}{INSIDE}{name}", path.stat().st_size, container.sha256)
        return LocalFile(path, identity)

    return [extract(name) for name in names]


def _list_indexes(files: Files, location: str, target: Path) -> None:
    with _open(files, location) as archive:
        names = sorted(name for name in archive.namelist() if _INDEX.fullmatch(name) and "\n" not in name)
        target.write_text("\n".join(names), encoding="utf-8")


def _extract(files: Files, location: str, name: str, target: Path) -> None:
    with _open(files, location) as archive:
        size = archive.getinfo(name).file_size
        if size > files.max_bytes:
            raise TooLargeError(
                f"{location}{INSIDE}{name}: has {size:,} bytes, more than the {files.max_bytes:,} that are accepted"
            )
        try:
            with archive.open(name) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file, _BUFFER_BYTES)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
            raise SourceError(f"{location}{INSIDE}{name}: cannot be read: {error}; get the file again") from error


def _open(files: Files, location: str) -> zipfile.ZipFile:
    try:
        if not is_remote(location):
            return zipfile.ZipFile(location)
        # A ZIP file is read in many small parts, and each request has a large one.
        remote = _RawFile(RemoteFile(location, deadline_seconds=files.deadline_seconds))
        return zipfile.ZipFile(io.BufferedReader(remote, _BUFFER_BYTES))
    except (zipfile.BadZipFile, EOFError) as error:
        raise SourceError(f"{location}: is not a WACZ file: {error}; check the location") from error


class _RawFile(io.RawIOBase):
    """A remote file, as a buffer reads it."""

    def __init__(self, file: RemoteFile) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        content = self._file.read(len(view))
        view[: len(content)] = content
        return len(content)
