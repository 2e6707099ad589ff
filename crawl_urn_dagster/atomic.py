"""Files that appear whole or not at all.

Here: writing beside the target and moving into place. Not here: what is written.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a temporary path in the target's folder; it takes the target's place when the block ends well.

    The folder is made when it is absent. When the block raises, the target stays as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
