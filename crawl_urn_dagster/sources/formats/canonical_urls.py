"""Canonicalise URLs to keys (SURT), hosts and registered domains.

Does not read files; see `cdx`.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    import tldextract

MAX_URL_CHARACTERS = 8192
_REMEMBERED = 2**18
# As the library surt has it.
_WWW = re.compile(r"^www\d*\.")


def map_distinct(texts: pa.Array, function: Callable[[str], str | None]) -> pa.Array:
    """Apply a function once to each distinct text; nulls stay null, and None becomes null."""
    import pyarrow as pa

    encoded = texts.dictionary_encode()
    mapped = pa.array([function(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return mapped.take(encoded.indices)


@functools.lru_cache(maxsize=_REMEMBERED)
def canonical_key(url: str) -> str | None:
    """Return the canonical key (SURT) of an http(s) URL, such as ``org,archive)/about``; None when it has none."""
    from surt import surt

    if len(url) > MAX_URL_CHARACTERS:
        return None
    try:
        key: str = surt(url)
    except (ValueError, AttributeError):  # Raised for an impossible port or host name, or a text that is not a URL.
        return None
    return key if key.find(")") > 0 else None


@functools.lru_cache(maxsize=_REMEMBERED)
def canonical_host(site: str) -> str | None:
    """Return the host of a key or URL, in lower case, without ``www.`` and port; None when it has none.

    Parameters
    ----------
    site
        The start of a key, up to and including the parenthesis, such as ``org,archive)``, or the start of a URL, up to
        the path, such as ``http://www.archive.org:80``.
    """
    key = site if site.endswith(")") else canonical_key(f"{site}/")
    host = host_of_key(key) if key is not None else None
    if host is not None and site is key and (not host.isascii() or "%" in host):
        # Some indexes have keys with international names as they were written.
        return canonical_host(f"http://{host}") or host
    return None if host is None else _WWW.sub("", host.lower()) or None


def host_of_key(key: str) -> str | None:
    """Return the host of a key as it is written there, without port; None when it has none."""
    reversed_host = key[: key.index(")")].partition(":")[0].strip(",")
    return ".".join(reversed(reversed_host.split(","))) or None


@functools.lru_cache(maxsize=_REMEMBERED)
def registered_domain(host: str) -> str | None:
    """Return the domain registered under an ICANN suffix; None for an IP address, a suffix or a local name."""
    return _public_suffixes().extract_str(host).top_domain_under_public_suffix or None


@functools.lru_cache(maxsize=_REMEMBERED)
def private_domain(host: str) -> str | None:
    """Return the domain under any public suffix, such as ``a.github.io``; None for an IP address or a suffix."""
    found = _public_suffixes().extract_str(host, include_psl_private_domains=True)
    return found.top_domain_under_public_suffix or None


@functools.cache
def _public_suffixes() -> tldextract.TLDExtract:
    """Return the list of suffixes in the library's release: never downloaded, so the same on every machine."""
    import tldextract

    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)
