"""Numbers of things in words.

Here: the one function that counts, for whatever is printed anywhere. Not here: other numbers.
"""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """Write a number of things, ``1 pair``, ``1,326 pairs``; the noun is given in the singular and takes an s."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
