"""Write files and folders atomically, and remove the leftovers of killed processes.

Does not write any content itself.
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
    """Lock a folder for writing, and remove partial files of a killed process.

    Creates the folder if necessary, and waits for other processes.
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
    """Yield a folder inside another one; it is removed at the end, or by the next `exclusive`."""
    with tempfile.TemporaryDirectory(prefix=".", suffix=_PARTIAL, dir=folder) as scratch:
        yield Path(scratch)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary path in the target's folder, and replace the target with it if the block succeeds.

    The content is synchronised to disk first, so not even a power failure leaves a partial target. Creates the folder
    if necessary. If the block raises, the target is unchanged.
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
    """Yield an empty folder, and replace the target with it if the block succeeds.

    A reader finds the old folder or the new one, never a mixture. Between the two renames the target is absent for a
    moment. If the block raises, the target is unchanged.
    """
    lock_folder = target.with_name(f".{target.name}")
    with exclusive(lock_folder), scratch_folder(lock_folder) as scratch:
        new = scratch / target.name
        new.mkdir()
        yield new
        for path in new.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        if target.exists():
            target.rename(scratch / "replaced")
        new.rename(target)
