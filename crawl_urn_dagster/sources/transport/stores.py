"""Open files of a published tree: over HTTPS, in S3, or mirrored in a folder.

Does not choose which files are read; see `common_crawl.columnar_index`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl_urn_dagster.sources.errors import AbsentError, SourceError
from crawl_urn_dagster.sources.transport.locations import is_remote, without_settings
from crawl_urn_dagster.sources.transport.object_stores import open_filesystem
from crawl_urn_dagster.sources.transport.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow.fs

    from crawl_urn_dagster.sources.transport.files import Files

MAX_FILES = 100_000
_MAX_LIST_BYTES = 2**26
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=+-]*(/[A-Za-z0-9_][A-Za-z0-9_.=+-]*)*")


@dataclass(frozen=True)
class Store:
    """A tree of files.

    Attributes
    ----------
    root
        An http(s) address, an S3 address such as ``s3://commoncrawl``, or a folder.
    files
        Access to the cache.
    """

    root: str
    files: Files

    def read_list(self, path: str) -> list[str]:
        """Read a gzip-compressed list of files in the tree, one path per line.

        Raises
        ------
        AbsentError
            When the list does not exist.
        SourceError
            When the list cannot be read, or a line is not a path inside the tree.
        """
        where = self._address(path)
        text = self._read_local_text(where) if self._is_folder or is_remote(self.root) else self._read_s3(path, where)
        lines = text.split()
        wrong = [line for line in lines if not _PATH.fullmatch(line)]
        if wrong or not lines or len(lines) > MAX_FILES:
            found = f"the line {wrong[0][:80]!r}" if wrong else f"{len(lines):,} lines"
            raise SourceError(f"{where}: found {found}, expected 1 to {MAX_FILES:,} lines that are each a path")
        return lines

    def list_folder(self, pattern: str) -> list[str]:
        """Return the paths in a mirrored tree that match a glob; a tree that is not a folder has none."""
        if not self._is_folder:
            return []
        return sorted(path.relative_to(self.root).as_posix() for path in Path(self.root).glob(pattern))

    def has_any(self, paths: Iterable[str]) -> bool:
        """Test whether a mirrored tree has any file of a list; other trees are assumed to be complete."""
        return not self._is_folder or any((Path(self.root) / path).exists() for path in paths)

    def open(self, path: str) -> Any:
        """Open a file that can be read in parts.

        Raises
        ------
        SourceError
            When the file cannot be opened.
        """
        if is_remote(self.root):
            from crawl_urn_dagster.sources.transport.ranges import RemoteFile

            return RemoteFile(self._address(path), deadline_seconds=self.files.deadline_seconds)
        filesystem, root = self._filesystem()
        try:
            return filesystem.open_input_file(f"{root}/{path}")
        except OSError as error:
            raise SourceError(f"{self._address(path)}: cannot be opened: {error}") from error

    def _address(self, path: str) -> str:
        """Return the address of a file in the tree, before the settings of the store."""
        root = without_settings(self.root)
        return f"{root.rstrip('/')}/{path}{self.root[len(root) :]}"

    def identify(self, path: str) -> str:
        """Return a text that changes when a file is replaced, without reading it.

        Raises
        ------
        SourceError
            When the file does not exist, or the server cannot be reached.
        """
        where = f"{self.root.rstrip('/')}/{path}"
        if is_remote(self.root):
            return self.files.identify(where).sha256
        filesystem, root = self._filesystem()
        try:
            (info,) = filesystem.get_file_info([f"{root}/{path}"])
        except OSError as error:
            raise SourceError(f"{where}: cannot be found: {error}") from error
        if not info.is_file:
            raise AbsentError(f"{where}: there is no such file")
        return f"{info.size} {info.mtime_ns}"

    @property
    def _is_folder(self) -> bool:
        return "://" not in self.root

    def _read_local_text(self, where: str) -> str:
        if self._is_folder and not Path(where).exists():
            raise AbsentError(f"{where}: there is no such file")
        return read_text(self.files.fetch(where))

    def _read_s3(self, path: str, where: str) -> str:
        filesystem, root = self._filesystem()
        try:
            with filesystem.open_input_stream(f"{root}/{path}", compression="gzip") as stream:
                content: bytes = stream.read(_MAX_LIST_BYTES)
        except FileNotFoundError as error:
            raise AbsentError(f"{where}: there is no such file") from error
        except OSError as error:
            raise SourceError(f"{where}: cannot be read: {error}") from error
        return content.decode("ascii", "replace")

    def _filesystem(self) -> tuple[pyarrow.fs.FileSystem, str]:
        """Return the local file system, or S3 with AWS's configured credentials, and the root in it."""
        from pyarrow import fs

        return (fs.LocalFileSystem(), self.root) if self._is_folder else open_filesystem(self.root)
