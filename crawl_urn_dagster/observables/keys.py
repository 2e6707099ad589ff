"""Hash elements to 64-bit keys that are the same on every machine and in every version.

Does not store keys; see `presence`.

A key is SipHash-2-4 of the element's UTF-8 bytes under the key ``0123456789123456`` (16 ASCII bytes), passed through
the finaliser of SplitMix64 (a bijection), and read as a signed integer, which every engine can store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, IntArray

#: Hash of the keys, as recorded in presence files.
KEY_HASH = "siphash-2-4(0123456789123456), splitmix64, int64"
LOWEST_KEY = -(2**63)
KEY_SPACE = 2**64


def element_keys(elements: npt.NDArray[Any] | Sequence[str]) -> IntArray:
    """Hash elements, vectorised.

    If two elements have the same key, they count as one. Among n elements the probability is about n² / 2^65: 3e-6 for
    ten million elements, 3 % for a billion.

    Parameters
    ----------
    elements
        Texts, shape (elements,); or keys, which are returned unchanged.

    Returns
    -------
    Keys, shape (elements,); equal texts have equal keys.

    Examples
    --------
    >>> element_keys(["example.org"]).tolist()
    [-8974534044371716174]
    """
    from pandas.util import hash_array

    if isinstance(elements, np.ndarray) and elements.dtype == np.int64:
        return elements.view(np.int64)
    texts = np.asarray(elements, dtype=object)
    hashed = hash_array(texts, encoding="utf8", hash_key="0123456789123456", categorize=False)
    return hashed.view(np.int64)


def in_sample(keys: IntArray, one_in: int) -> BoolArray | slice:
    """Select the keys of a coordinated sample: the lowest ``1 / one_in`` of the key space.

    Every crawl keeps the same elements, so overlaps within the sample are a sample of the overlaps.

    Parameters
    ----------
    keys
        Any keys.
    one_in
        Inverse of the sampling fraction, at least 1; 1 keeps everything.

    Returns
    -------
    Index of the selected keys.
    """
    return slice(None) if one_in == 1 else keys < first_key(1, one_in)


def elements_in_sample(elements: npt.NDArray[np.object_], one_in: int) -> npt.NDArray[np.bool_]:
    """Return for each element whether it is in a coordinated sample; see `in_sample`."""
    return element_keys(elements) < first_key(1, one_in) if one_in > 1 else np.ones(len(elements), dtype=np.bool_)


def first_key(part: int, parts: int) -> int:
    """Return the lowest key of a part of the key space, divided into equal parts that count from 0.

    Examples
    --------
    >>> first_key(0, 4), first_key(2, 4)
    (-9223372036854775808, 0)
    """
    return LOWEST_KEY + part * KEY_SPACE // parts
