"""Files that appear whole or not at all.

Here: writing beside the target and moving into place, and clearing up after a process that was killed while it did.
Not here: what is written.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARTIAL = ".partial"


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Be the only process that writes in a folder, and remove what one that was killed left half-written.

    The folder is made when it is absent. Another process is waited for.
    """
    from filelock import FileLock

    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        for path in folder.glob(f".*{_PARTIAL}"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        yield


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Give a folder inside another that is removed at the end, or by the next `exclusive`."""
    with tempfile.TemporaryDirectory(prefix=".", suffix=_PARTIAL, dir=folder) as scratch:
        yield Path(scratch)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a temporary path in the target's folder; it takes the target's place when the block ends well.

    Its content is on disk by then, so that not even a loss of power leaves half of it under the target's name. The
    folder is made when it is absent. When the block raises, the target stays as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_PARTIAL, dir=target.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Give an empty folder; it takes the target's place as a whole when the block ends well.

    A reader sees the old folder or the new one, never some files of each; for the moment between two renames there is
    none. When the block raises, the target stays as it was.
    """
    beside = target.with_name(f".{target.name}")
    with exclusive(beside), scratch_folder(beside) as scratch:
        new = scratch / target.name
        new.mkdir()
        yield new
        for path in new.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        if target.exists():
            target.rename(scratch / "replaced")
        new.rename(target)
