"""Fetch the files of a source: local ones in place, remote ones through a cache on disk.

Does not send requests; see `download`. Does not interpret files; see `formats`.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.progress import Progress
from crawl_urn_dagster.sources.errors import DamagedError, SourceError, TooLargeError
from crawl_urn_dagster.sources.input_files import InputFile, LocalFile
from crawl_urn_dagster.sources.transport.download import download
from crawl_urn_dagster.sources.transport.file_formats import START_BYTES
from crawl_urn_dagster.sources.transport.http_requests import fetch_headers
from crawl_urn_dagster.sources.transport.locations import (
    existing_files,
    is_address,
    is_remote,
    is_stored,
    table_around,
)
from crawl_urn_dagster.sources.transport.object_stores import (
    hugging_face_url,
    list_stored,
    open_stored,
    version_of,
)
from crawl_urn_dagster.sources.transport.text_files import reject_web_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SHA256 = re.compile(r"[0-9a-f]{64}")
_VERSIONS_KEPT = 2
_ENTRY, _DOWNLOAD = "entry.json", "download"


class _Entry(BaseModel):
    """Cached version of a remote file, stored as JSON next to its content."""

    url: str
    etag: str | None
    last_modified: str | None
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Files:
    """Access to local and remote files.

    Several processes may use one cache at the same time: contents are named by their hash and moved into place when
    complete, and one process at a time downloads a file. Interrupted downloads are resumed. The cache may be deleted
    whenever no process uses it.

    Parameters
    ----------
    cache
        Folder of downloads and derived files.
    deadline_seconds
        Time for one download, retries included.
    max_bytes
        Largest accepted download.
    max_derived_bytes
        Largest file that is converted.
    report
        Receives a line on the progress of a download every few seconds.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "hosts.csv")
    ...     _ = path.write_text("crawl,element")
    ...     Files(Path(folder, "cache")).fetch(str(path)).input.bytes
    13
    """

    cache: Path
    deadline_seconds: float = 600.0
    max_bytes: int = 8 * 2**30
    max_derived_bytes: int = 2**63 - 1
    report: Callable[[str], object] = str

    @classmethod
    def of_home(cls, home: Path) -> Files:
        """Return the access of all collections under a home folder, which also keeps the downloads."""
        return cls(home / ".cache")

    def fetch(self, location: str) -> LocalFile:
        """Make a file readable: hash a local file, download a remote one unless the cached copy is current.

        Raises
        ------
        SourceError
            When the file does not exist, cannot be downloaded, or is a web page. An outdated copy is never returned
            instead.
        """
        if location.lower().startswith("hf://"):
            local = self._fetch_remote(hugging_face_url(location))
            local = LocalFile(local.path, replace(local.input, location=location))
        elif is_stored(location):
            local = self._fetch_stored(location)
        else:
            local = self._fetch_remote(location) if is_remote(location) else _local_file(location)
        with local.path.open("rb") as file:
            reject_web_page(file.read(START_BYTES), location)
        return local

    def locate(self, location: str) -> list[str]:
        """Return the files that a location stands for: one, the files in a folder, or those that a glob matches.

        Raises
        ------
        SourceError
            When no file exists, or one is part of a Delta or Iceberg table.
        """
        if is_stored(location):
            paths = list_stored(location, deadline_seconds=self.deadline_seconds)
        else:
            paths = existing_files(location)
        if not paths:
            raise SourceError(f"{location}: there is no such file; check the path")
        table = None if is_address(location) else table_around(paths)
        if table is not None:
            raise SourceError(
                f"{paths[0]}: is part of {table[1]}, in which files may be outdated; set the path of a presence list "
                f"to the folder {table[0]}"
            )
        return paths

    def fetch_all(self, location: str) -> list[LocalFile]:
        """Fetch the files that `locate` returns.

        Raises
        ------
        SourceError
            When no file exists, or one cannot be fetched.
        """
        return [self.fetch(path) for path in self.locate(location)]

    def identify(self, location: str) -> InputFile:
        """Identify a file without downloading it; a local file is hashed.

        Raises
        ------
        AbsentError
            When the server reports that the file does not exist.
        SourceError
            When a local file does not exist, or the server cannot be reached or does not report the size.
        """
        if not is_remote(location):  # Also of an object store, whose files are downloaded.
            return self.fetch(location).input
        headers = fetch_headers(location, deadline_seconds=self.deadline_seconds)
        size = headers.get("Content-Length", "")
        if not size.isdecimal():
            raise SourceError(
                f"{location}: the server does not report the file's size; download the file and give its path"
            )
        return InputFile(location, int(size), hashlib.sha256(repr(sorted(headers.items())).encode()).hexdigest())

    def forget(self, location: str) -> None:
        """Remove the cached copy of a remote file; a local file stays."""
        if is_address(location):
            shutil.rmtree(self._folder(location), ignore_errors=True)

    def derive(self, key: str, version: str, make: Callable[[Path], None], *, size: int = 0) -> Path:
        """Return the file derived under a key from a version of its inputs; make it if it does not exist.

        Parameters
        ----------
        key
            Names the inputs and the derivation.
        version
            Hash of the inputs' content, in hexadecimal.
        make
            Writes the file to the given path; only a completed file is kept.
        size
            Size of the inputs in bytes.

        Raises
        ------
        TooLargeError
            When the file does not exist, and its inputs are larger than `max_derived_bytes`.
        """
        path = self._folder(key) / version
        if not path.exists():
            if size > self.max_derived_bytes:
                raise TooLargeError(
                    f"a new file has {size:,} bytes, more than the {self.max_derived_bytes:,} that may be converted"
                )
            with replacing(path) as temporary:
                make(temporary)
            _prune(path.parent)
        return path

    def derived(self, key: str, version: str) -> Path | None:
        """Return the file that `derive` made under a key from a version of its inputs; None if there is none."""
        path = self._folder(key) / version
        return path if path.exists() else None

    def _folder(self, key: str) -> Path:
        return self.cache / hashlib.sha256(key.encode()).hexdigest()

    def _fetch_remote(self, url: str) -> LocalFile:
        folder = self._folder(url)
        with self._download_lock(folder, url):
            cached = _read_entry(folder / _ENTRY, url)
            validators = (
                {} if cached is None else {"If-None-Match": cached.etag, "If-Modified-Since": cached.last_modified}
            )
            received = download(
                url,
                folder / _DOWNLOAD,
                {name: value for name, value in validators.items() if value is not None},
                deadline_seconds=self.deadline_seconds,
                max_bytes=self.max_bytes,
                report=self.report,
            )
            if received is not None:
                (folder / _DOWNLOAD).replace(folder / received.sha256)
                cached = _Entry(url=url, **asdict(received))
                with replacing(folder / _ENTRY) as temporary:
                    temporary.write_text(cached.model_dump_json(indent=1), encoding="utf-8")
        assert cached is not None  # noqa: S101 - without a copy no validators are sent, and the answer is never "not modified"
        _prune(folder)
        return LocalFile(folder / cached.sha256, InputFile(url, cached.bytes, cached.sha256))

    def _fetch_stored(self, address: str) -> LocalFile:
        """Copy a file of an object store to the cache, unless the copy has the version that the store has now."""
        folder = self._folder(address)
        with self._download_lock(folder, address):
            version = version_of(address)
            cached = _read_entry(folder / _ENTRY, address)
            if cached is None or cached.etag != version:
                size = int(version.split()[0])
                if size > self.max_bytes:
                    raise TooLargeError(
                        f"{address}: is larger than the {self.max_bytes:,} bytes that are accepted; download it "
                        "manually and give its path"
                    )
                digest, progress = hashlib.sha256(), Progress(f"downloading {address}", size, self.report, unit="byte")
                with open_stored(address) as stream, (folder / _DOWNLOAD).open("wb") as copy:
                    while chunk := stream.read(1 << 20):
                        digest.update(chunk)
                        copy.write(chunk)
                        progress.advance(len(chunk))
                (folder / _DOWNLOAD).replace(folder / digest.hexdigest())
                cached = _Entry(url=address, etag=version, last_modified=None, sha256=digest.hexdigest(), bytes=size)
                with replacing(folder / _ENTRY) as temporary:
                    temporary.write_text(cached.model_dump_json(indent=1), encoding="utf-8")
        _prune(folder)
        return LocalFile(folder / cached.sha256, InputFile(address, cached.bytes, cached.sha256))

    @contextmanager
    def _download_lock(self, folder: Path, url: str) -> Iterator[None]:
        """Prevent other processes from downloading to a folder."""
        from filelock import FileLock, Timeout

        folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(folder / ".lock", timeout=self.deadline_seconds):
                yield
        except Timeout as error:
            raise SourceError(
                f"{url}: another process is downloading it, and has not finished within {self.deadline_seconds:g} "
                "seconds; try again later"
            ) from error


def _local_file(location: str) -> LocalFile:
    path = Path(location)
    if not path.is_file():
        raise SourceError(f"{location}: there is no such file; check the path")
    try:
        return LocalFile(path, InputFile(location, path.stat().st_size, _current_sha256(path.resolve())))
    except PermissionError as error:
        raise DamagedError(f"{location}: cannot be opened: {error.strerror}; check its permissions") from error


def _read_entry(metadata: Path, url: str) -> _Entry | None:
    """Read the cache entry of an address; return None if it is missing or its content is incomplete."""
    try:
        entry = _Entry.model_validate_json(metadata.read_bytes())
        # The comparison also proves that the entry names no file outside the folder: its name is its own hash.
        is_whole = entry.sha256 == _current_sha256(metadata.parent / entry.sha256)
    # SourceError: another process is replacing the file by the same content.
    except (FileNotFoundError, ValidationError, SourceError):
        return None
    return entry if is_whole and entry.url == url else None


def _prune(folder: Path) -> None:
    """Remove all but the two newest contents; a process that was just given the older one may still read it."""
    contents = [path for path in folder.iterdir() if _SHA256.fullmatch(path.name)]
    with suppress(FileNotFoundError):  # Another process may be removing the same files.
        for path in sorted(contents, key=lambda path: path.stat().st_mtime_ns)[:-_VERSIONS_KEPT]:
            path.unlink()


def _current_sha256(path: Path) -> str:
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    """Hash a file once per size and modification time: sensors poll every half minute."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) != (size, mtime_ns):
        raise SourceError(f"{path}: changed while it was read; try again when it has been written completely")
    return digest.hexdigest()
