"""Report section on the method and the inputs, with which anyone can reproduce the report.

Does not show secrets of the configuration.
"""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import yaml

from crawl_urn_dagster.config.collection import PRESENCE_SETTINGS
from crawl_urn_dagster.report.blocks import Folded, Section
from crawl_urn_dagster.report.markdown import captioned_table
from crawl_urn_dagster.sources.transport.locations import is_remote, is_secret_name

if TYPE_CHECKING:
    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.report.content import Content

REDACTED = "[redacted]"
_PACKAGES = ("crawl-urn-dagster", "dagster", "duckdb", "matplotlib", "numpy", "pandas", "pyarrow", "scipy")
METHOD = (
    "The model is the urn of Paris, Çelikkanat and Foppiano, *Measuring What the Crawler Sees* (2026). Each crawl "
    "captures a share c (coverage) of an urn of eligible elements. A share α (survival) of them is still eligible at "
    "the next crawl, and new elements replace the others. In addition, a core is always eligible and captured by every "
    "crawl. The joint fit is a weighted least-squares fit to the overlaps of all pairs and all recaptures, given the "
    "sizes of the crawls; every other fit uses one observable. Containment of the core–shell urn has its exact form; "
    "the printed form is fitted as well, under the name `paper`. Confidence intervals come from a hierarchical "
    "bootstrap that repeats the whole sequence of crawls, with a coverage drawn for every crawl and a survival for "
    "every gap. If the model does not fit a collection, its parameters are not reported."
)


def provenance_section(content: Content) -> Section:
    """Return method, configuration, versions and inputs."""
    if "inputs" not in content.frames:
        return Section(
            "Method and reproduction",
            [METHOD, f"Versions: {versions()}."],
            "This page was made from a fit in Python, so it names no configuration and no files.",
        )
    inputs = content.frames["inputs"]
    inputs = inputs.assign(location=[redacted(location) for location in inputs["location"]])
    configuration = configuration_yaml(content.collection)
    note = " Possible secrets are redacted." if REDACTED in configuration else ""
    read_at = f", last read at {content.read_at:%Y-%m-%d %H:%M} UTC" if content.read_at else ""
    return Section(
        "Method and reproduction",
        [
            METHOD,
            Folded("Configuration with all defaults", [_code(configuration)]),
            f"Versions: {versions()}.",
            captioned_table(f"Inputs{read_at}", inputs, max_rows=20, source="inputs"),
            "The tables in `observables.duckdb`, in the folder of this page, contain every number on it.",
        ],
        "To reproduce this page, save the configuration below as FILE and run `crawl-urn run --collections FILE`."
        f"{note}",
    )


def configuration_yaml(collection: Collection) -> str:
    """Return the configuration of one collection as YAML, with all defaults and without secrets."""
    without = None if collection.has_histories else set(PRESENCE_SETTINGS)
    configured = redacted(collection.model_dump(mode="json", exclude=without))
    return str(yaml.safe_dump({"collections": [configured]}, sort_keys=False, allow_unicode=True))


def versions() -> str:
    """Return the versions of Python and of the packages that determine the numbers."""
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in _PACKAGES)])


def redacted(value: Any, key: str = "") -> Any:
    """Return a configuration value with possible secrets redacted.

    These are the values of keys that are named like secrets, and the user, query and fragment of URLs.

    Parameters
    ----------
    value
        Mapping, list, string or other value of a configuration.
    key
        Key of the value.

    Examples
    --------
    >>> redacted({"path": "https://user:secret@host.example/a.csv", "threads": 2})
    {'path': 'https://host.example/a.csv?[redacted]', 'threads': 2}
    """
    if isinstance(value, dict):
        return {name: redacted(one, str(name)) for name, one in value.items()}
    if isinstance(value, list):
        return [redacted(one, key) for one in value]
    if not isinstance(value, str):
        return value
    if is_secret_name(key):
        return REDACTED
    if not is_remote(value):
        return value
    address = urlsplit(value)
    host = address.netloc.rpartition("@")[2]
    query = REDACTED if address.query or address.fragment or host != address.netloc else ""
    return urlunsplit((address.scheme, host, address.path, query, ""))


def _code(text: str) -> str:
    """Return text as an indented code block, which no text can end early."""
    return "\n".join(f"    {line}" for line in text.splitlines())
