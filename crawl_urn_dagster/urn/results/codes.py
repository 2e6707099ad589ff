"""Base of the codes that tables store: statuses, reasons and verdicts.

Does not define any code.
"""

from __future__ import annotations

from enum import Enum


class Code(str, Enum):
    """A code that is stored in a table as its text.

    Examples
    --------
    >>> Colour = Code("Colour", {"RED": "red"})
    >>> str(Colour.RED), {Colour.RED: 1}["red"]
    ('red', 1)
    """

    __hash__ = str.__hash__  # a code read from a table is the same key

    def __str__(self) -> str:
        return str(self.value)
