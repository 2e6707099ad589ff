"""List and open files in object stores: S3 and stores like it, Google Cloud Storage, and Hugging Face.

Does not cache files; see `files`.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
from contextlib import contextmanager
from datetime import timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crawl_urn_dagster.sources.errors import AbsentError, SourceError
from crawl_urn_dagster.sources.transport.http_requests import (
    Deadline,
    abandon_after,
    open_response,
    response_error,
    retry,
)
from crawl_urn_dagster.sources.transport.locations import (
    TABLE_METADATA,
    is_glob,
    store_settings,
    table_of_metadata,
    without_hidden,
    without_settings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.fs

_HUGGING_FACE = re.compile(
    r"hf://datasets/(?P<owner>[^/@]+/[^/@]+)(@(?P<revision>[^/]+))?/?(?P<path>.*)", re.IGNORECASE
)
_MAX_PAGES = 1000
_TABLE_DATA = (".parquet", ".orc", ".avro")
_CONNECT_SECONDS, _REQUEST_SECONDS = 10, 60


def open_filesystem(address: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return the file system of an address in S3 or Google Cloud Storage, and the path in it.

    Credentials come from the machine's own configuration, unless the address has the setting ``anonymous=true``.
    """
    from pyarrow import fs

    settings: dict[str, Any] = store_settings(address)
    is_s3 = address.lower().startswith("s3:")
    if settings.pop("anonymous", "false") == "true":
        settings["anonymous"] = True
    if "endpoint_override" in settings:
        scheme, _, endpoint = settings["endpoint_override"].rpartition("://")
        settings |= {"endpoint_override": endpoint, **({"scheme": scheme} if scheme else {})}
    if is_s3:
        times = {"connect_timeout": _CONNECT_SECONDS, "request_timeout": _REQUEST_SECONDS}
        filesystem: pyarrow.fs.FileSystem = fs.S3FileSystem(**settings, **times)
    else:
        filesystem = fs.GcsFileSystem(**settings, retry_time_limit=timedelta(seconds=_REQUEST_SECONDS))
    return filesystem, without_settings(address)[5:].strip("/")


def version_of(address: str) -> str:
    """Return the size and time of modification of a file in S3 or Google Cloud Storage, which identify its version.

    Raises
    ------
    AbsentError
        When there is no such file.
    SourceError
        When the store cannot be read.
    """
    with _named(address):
        filesystem, path = open_filesystem(address)
        info = filesystem.get_file_info(path)
    if not info.is_file:
        raise AbsentError(f"{address}: there is no such file; check the bucket and the key")
    return f"{info.size} {info.mtime_ns}"


@contextmanager
def open_stored(address: str) -> Iterator[Any]:
    """Open a file in S3 or Google Cloud Storage for reading from start to end."""
    with _named(address):
        filesystem, path = open_filesystem(address)
        with filesystem.open_input_stream(path, compression=None) as stream:
            yield stream


def list_stored(location: str, *, deadline_seconds: float) -> list[str]:
    """Return the addresses of the files that a location stands for: one file, the files in a folder, or of a glob.

    Raises
    ------
    SourceError
        When the store cannot be read, or the files are part of a Delta or Iceberg table.
    """
    query = location[len(without_settings(location)) :]
    address = without_settings(location).rstrip("/")
    fixed = re.split(r"[*?\[]", address, maxsplit=1)[0]
    folder = fixed[: fixed.rfind("/")] if is_glob(location) else address
    metadata: list[str] = []
    if address.lower().startswith("hf:"):
        found = _list_hugging_face(folder, deadline_seconds)
    else:
        found, metadata = _list_filesystem(f"{folder}{query}", address[:5])
    tables = {table_of_metadata(path) for path in (*found, *metadata)}
    if is_glob(location):
        pattern = _glob_pattern(address)
        found = [path for path in found if pattern.fullmatch(path)]
    found = without_hidden(location, found)
    for table, kind in sorted(filter(None, tables)):
        if any(path.startswith(f"{table}/") for path in found):
            raise SourceError(
                f"{location}: holds files of {kind}, {table}, in which files may be outdated; copy the table to a "
                "local folder and set the path to it, or give files that were exported from it"
            )
    return sorted(f"{path}{query}" for path in found)


def _list_filesystem(address: str, scheme: str) -> tuple[list[str], list[str]]:
    """Return the addresses of the files that an address stands for, and of the metadata of tables around them."""
    from pyarrow import fs

    with _named(address):
        filesystem, path = open_filesystem(address)
        info = filesystem.get_file_info(path) if "/" in path else None
        if info is not None and info.is_file:
            found = [path]
        else:
            selector = fs.FileSelector(path, recursive=True, allow_not_found=True)
            found = [one.path for one in filesystem.get_file_info(selector) if one.is_file]
        may_be_table = any(name.endswith(_TABLE_DATA) for name in found)
        metadata = _metadata_above(filesystem, path) if may_be_table else []
    return [f"{scheme}{name}" for name in found], [f"{scheme}{name}" for name in metadata]


def _metadata_above(filesystem: pyarrow.fs.FileSystem, path: str) -> list[str]:
    """Return the files in folders of a table's metadata next to a path or one of the folders around it."""
    from pyarrow import fs

    parents = list(PurePosixPath(path).parents)[:-1]  # The last is the store itself.
    folders = filesystem.get_file_info([f"{parent}/{name}" for parent in parents for name in TABLE_METADATA])
    found = [folder.path for folder in folders if folder.type == fs.FileType.Directory]
    selectors = [fs.FileSelector(path, allow_not_found=True) for path in found]
    return [one.path for selector in selectors for one in filesystem.get_file_info(selector)]


def hugging_face_url(address: str, *, kind: str = "resolve") -> str:
    """Return the https address of a file in a data set of Hugging Face, or of the list of a folder (``tree``).

    The server is the one in the environment variable ``HF_ENDPOINT``, as for the tools of Hugging Face.
    """
    parts = _HUGGING_FACE.fullmatch(address)
    if parts is None:
        raise SourceError(f"{address}: expected an address such as hf://datasets/OWNER/NAME/folder/*.parquet")
    server = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    top = f"{server}/api/datasets" if kind == "tree" else f"{server}/datasets"
    revision = quote(parts["revision"] or "main", safe="")
    return f"{top}/{parts['owner']}/{kind}/{revision}/{quote(parts['path'])}".rstrip("/")


def _list_hugging_face(folder: str, deadline_seconds: float) -> list[str]:
    """Return the addresses of the files below a folder, or of the file itself, page by page."""
    url: str | None = f"{hugging_face_url(folder, kind='tree')}?recursive=true"
    parts = _HUGGING_FACE.fullmatch(folder)
    assert parts is not None  # noqa: S101 - tested by hugging_face_url
    top = folder[: len(folder) - len(parts["path"])].rstrip("/")
    found: list[str] = []
    for _ in range(_MAX_PAGES):
        try:
            entries, url = _fetch_page(url or "", deadline_seconds)
        except AbsentError:
            return [folder]  # A file has no list; fetching it reports an address that does not exist.
        found += [f"{top}/{entry['path']}" for entry in entries if entry.get("type") == "file"]
        if url is None:
            return found
    raise SourceError(f"{folder}: its list has more than {_MAX_PAGES} pages; set the path to a folder in it")


def _fetch_page(url: str, deadline_seconds: float) -> tuple[list[dict[str, Any]], str | None]:
    """Return the entries of a page of a list, and the address of the next page."""

    def send(deadline: Deadline) -> tuple[list[dict[str, Any]], str | None]:
        with open_response(url, {}, deadline) as response:
            if response.status_code != 200:
                raise response_error(url, response)
            try:
                entries = json.loads(response.raw.read())
            except ValueError as error:
                raise SourceError(f"{url}: is not JSON: {error}; check HF_ENDPOINT") from error
            return entries, response.links.get("next", {}).get("url")

    return retry(url, deadline_seconds, lambda deadline: abandon_after(deadline.seconds_left, lambda: send(deadline)))


def _glob_pattern(address: str) -> re.Pattern[str]:
    """Return the expression for a glob whose ``*`` stays within a name and whose ``**`` matches any folders."""
    texts = []
    for name in address.split("/"):
        single = fnmatch.translate(name).removeprefix("(?s:").removesuffix(r")\Z").removesuffix(r")\z")
        texts.append("(?:[^/]+/)*" if name == "**" else f"{single.replace('.*', '[^/]*')}/")
    return re.compile("".join(texts).removesuffix("/"))


@contextmanager
def _named(address: str) -> Iterator[None]:
    """Name the address in errors of a store, which often name neither bucket nor key."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as error:
        raise AbsentError(f"{address}: there is no such file; check the bucket and the key") from error
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:300]
        raise SourceError(
            f"{address}: cannot be read: {reason}; check the address and the credentials; public data may need "
            "?anonymous=true, other stores ?endpoint_override=..."
        ) from error
