"""Access to a source's files: local ones as they are, remote ones through a cache on disk.

Here: hashing, the cache and what is derived from a file once. Not here: HTTP itself (`download`), what a
location is (`locations`), or any format.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.sources.inputs import START_BYTES, InputFile, SourceError, TooLargeError, refuse_web_page
from crawl_urn_dagster.sources.transport.download import download, look_up
from crawl_urn_dagster.sources.transport.locations import existing, is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SHA256 = re.compile(r"[0-9a-f]{64}")
_VERSIONS_KEPT = 2
_ENTRY, _DOWNLOAD = "entry.json", "download"


@dataclass(frozen=True)
class LocalFile:
    """A file that can be read now: where it is on disk, and what it is."""

    path: Path
    input: InputFile


class _Entry(BaseModel):
    """What the cache knows of a remote file; kept beside it as JSON."""

    url: str
    etag: str | None
    last_modified: str | None
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Files:
    """Access to local and remote files.

    Several processes may use one cache at once: contents are named by their hash and put in place whole, and a file
    is downloaded by one of them. A download that is interrupted is gone on from. The cache may be deleted at any time
    when nothing runs.

    Parameters
    ----------
    cache
        Folder of downloads and of what is derived from files.
    deadline_seconds
        Time for one download, retries included.
    max_bytes
        Largest download that is accepted.
    max_derived_bytes
        Largest file from which anything is derived.
    report
        Takes a line on the progress of a download every few seconds.
    """

    cache: Path
    deadline_seconds: float = 600.0
    max_bytes: int = 8 * 2**30
    max_derived_bytes: int = 2**63 - 1
    report: Callable[[str], object] = str

    def fetch(self, location: str) -> LocalFile:
        """Make a file readable: a local one is hashed, a remote one downloaded unless held and current.

        Raises
        ------
        SourceError
            When there is no such file, it cannot be downloaded, or is a web page; an outdated copy is never given
            instead.
        """
        local = self._fetch_remote(location) if is_remote(location) else _local_file(location)
        with local.path.open("rb") as file:
            refuse_web_page(file.read(START_BYTES), location)
        return local

    def fetch_all(self, location: str) -> list[LocalFile]:
        """Fetch every file that a location stands for: one, or those that a local glob matches.

        Raises
        ------
        SourceError
            When there is none, or one cannot be fetched.
        """
        paths = existing(location)
        if not paths:
            raise SourceError(f"{location}: there is no such file; check the path")
        return [self.fetch(path) for path in paths]

    def identify(self, location: str) -> InputFile:
        """Say what a file is without downloading it; a local one is hashed.

        Raises
        ------
        AbsentError
            When the server says that there is no such file.
        SourceError
            When there is no such file, or its server cannot be asked or gives nothing to tell versions by.
        """
        if not is_remote(location):
            return self.fetch(location).input
        said = look_up(location, deadline_seconds=self.deadline_seconds)
        size = said.get("Content-Length", "")
        if not size.isdecimal():
            raise SourceError(f"{location}: the server does not tell its size; download it by hand and give its path")
        return InputFile(location, int(size), hashlib.sha256(repr(sorted(said.items())).encode()).hexdigest())

    def forget(self, location: str) -> None:
        """Remove what is held of a remote file; a local one stays."""
        if is_remote(location):
            shutil.rmtree(self._folder(location), ignore_errors=True)

    def derive(self, key: str, version: str, make: Callable[[Path], None], *, size: int = 0) -> Path:
        """Return the file that was derived under a key from some version of its inputs; make it when new.

        Parameters
        ----------
        key
            What is derived from what.
        version
            Hash of the inputs' content, in hexadecimal.
        make
            Writes the file at the path it gets; only a file that was written whole is kept.
        size
            Size of the inputs in bytes.

        Raises
        ------
        TooLargeError
            When it is not there, and the inputs are larger than anything may be derived from.
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

    def _folder(self, key: str) -> Path:
        return self.cache / hashlib.sha256(key.encode()).hexdigest()

    def _fetch_remote(self, url: str) -> LocalFile:
        folder = self._folder(url)
        with self._downloading(folder, url):
            held = _read_entry(folder / _ENTRY, url)
            validators = {} if held is None else {"If-None-Match": held.etag, "If-Modified-Since": held.last_modified}
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
                held = _Entry(url=url, **asdict(received))
                with replacing(folder / _ENTRY) as temporary:
                    temporary.write_text(held.model_dump_json(indent=1), encoding="utf-8")
        assert held is not None  # noqa: S101 - without a copy there are no validators, and never "not modified"
        _prune(folder)
        return LocalFile(folder / held.sha256, InputFile(url, held.bytes, held.sha256))

    @contextmanager
    def _downloading(self, folder: Path, url: str) -> Iterator[None]:
        """Be the only process that downloads to a folder."""
        from filelock import FileLock, Timeout

        folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(folder / ".lock", timeout=self.deadline_seconds):
                yield
        except Timeout as error:
            raise SourceError(
                f"{url}: another process is downloading it, and has not ended within {self.deadline_seconds:g} "
                "seconds; try again later"
            ) from error


def _local_file(location: str) -> LocalFile:
    path = Path(location)
    if not path.is_file():
        raise SourceError(f"{location}: there is no such file; check the path")
    return LocalFile(path, InputFile(location, path.stat().st_size, _sha256_now(path.resolve())))


def _read_entry(metadata: Path, url: str) -> _Entry | None:
    """Read what the cache holds of an address; None when that is nothing, or not whole."""
    try:
        entry = _Entry.model_validate_json(metadata.read_bytes())
        # Also proof that the entry names no file outside of the folder: no other name is its file's hash.
        whole = entry.sha256 == _sha256_now(metadata.parent / entry.sha256)
    # SourceError: another process puts the same content in place just now.
    except (FileNotFoundError, ValidationError, SourceError):
        return None
    return entry if whole and entry.url == url else None


def _prune(folder: Path) -> None:
    """Remove all but the newest contents; the one before stays, for a process that was just given it."""
    contents = [path for path in folder.iterdir() if _SHA256.fullmatch(path.name)]
    with suppress(FileNotFoundError):  # another process removes the same ones
        for path in sorted(contents, key=lambda path: path.stat().st_mtime_ns)[:-_VERSIONS_KEPT]:
            path.unlink()


def _sha256_now(path: Path) -> str:
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    """Hash a file once per state, so that asking every half minute is cheap."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) != (size, mtime_ns):
        raise SourceError(f"{path}: changed while it was read; try again when it has been written whole")
    return digest.hexdigest()
