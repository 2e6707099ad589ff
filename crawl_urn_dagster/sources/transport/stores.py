"""Published trees of many files: over HTTPS, in S3, or mirrored in a folder.

Here: opening one file of a tree for reading by parts, and reading lists of its files. Not here: which files a source
reads (`common_crawl_index`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl_urn_dagster.sources.formats.count_tables import read_text
from crawl_urn_dagster.sources.inputs import AbsentError, SourceError
from crawl_urn_dagster.sources.transport.locations import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow.fs

    from crawl_urn_dagster.sources.transport.files import Files, LocalFile

MAX_FILES = 100_000
_MAX_LIST_BYTES = 2**26
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=+-]*(/[A-Za-z0-9_][A-Za-z0-9_.=+-]*)*")


@dataclass(frozen=True)
class Store:
    """A tree of files.

    Attributes
    ----------
    root
        An http(s) address, an s3 address such as ``s3://commoncrawl``, or a folder.
    files
        Access to the cache.
    """

    root: str
    files: Files

    def read_list(self, path: str) -> list[str]:
        """Read a list of files of the tree, a path per line, gzip-compressed.

        Raises
        ------
        AbsentError
            When there is no such list.
        SourceError
            When it cannot be read, or a line is no path inside the tree.
        """
        where = f"{self.root.rstrip('/')}/{path}"
        text = self._read_text(path, where) if self._in_s3 else read_text(self._fetch(where))
        lines = text.split()
        wrong = [line for line in lines if not _PATH.fullmatch(line)]
        if wrong or not lines or len(lines) > MAX_FILES:
            found = f"the line {wrong[0][:80]!r}" if wrong else f"{len(lines):,} lines"
            raise SourceError(f"{where}: found {found}, expected 1 to {MAX_FILES:,} lines that are each a path")
        return lines

    def list_folder(self, pattern: str) -> list[str]:
        """Paths of a mirrored tree that match a glob; none of a tree that is not a folder."""
        if "://" in self.root:
            return []
        return sorted(path.relative_to(self.root).as_posix() for path in Path(self.root).glob(pattern))

    def has_any(self, paths: Iterable[str]) -> bool:
        """Whether some of the files of a list are mirrored; of a tree that is no folder, all are taken to be there."""
        return "://" in self.root or any((Path(self.root) / path).exists() for path in paths)

    def open(self, path: str) -> Any:
        """Open a file as something that can be read by parts.

        Raises
        ------
        SourceError
            When it cannot be opened.
        """
        if is_remote(self.root):
            from crawl_urn_dagster.sources.transport.ranges import RemoteFile

            return RemoteFile(f"{self.root.rstrip('/')}/{path}", deadline_seconds=self.files.deadline_seconds)
        filesystem, root = self._filesystem()
        try:
            return filesystem.open_input_file(f"{root}/{path}")
        except OSError as error:
            raise SourceError(f"{self.root}/{path}: cannot be opened: {error}") from error

    @property
    def _in_s3(self) -> bool:
        return "://" in self.root and not is_remote(self.root)

    def _fetch(self, where: str) -> LocalFile:
        if not is_remote(where) and not Path(where).exists():
            raise AbsentError(f"{where}: there is no such file")
        return self.files.fetch(where)

    def _read_text(self, path: str, where: str) -> str:
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
        """S3 with the credentials of its own configuration, or the local file system."""
        from pyarrow import fs

        if "://" in self.root:
            filesystem, root = fs.FileSystem.from_uri(self.root)
            return filesystem, root.rstrip("/")
        return fs.LocalFileSystem(), self.root
