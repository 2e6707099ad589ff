"""How the numbers were made, so that anyone can make them again.

Here: method, configuration without secrets, versions and hashes of what was read. Not here: numbers.
"""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import yaml

from crawl_urn_dagster.config.collection import PRESENCE_SETTINGS
from crawl_urn_dagster.report.blocks import Folded, Section
from crawl_urn_dagster.report.markdown import table
from crawl_urn_dagster.sources.transport.locations import is_remote, is_secret_name

if TYPE_CHECKING:
    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.report.content import Content

REDACTED = "[redacted]"
_PACKAGES = ("crawl-urn-dagster", "dagster", "duckdb", "matplotlib", "numpy", "pandas", "pyarrow", "scipy")
METHOD = (
    "The model is that of Paris, Çelikkanat and Foppiano, *Measuring What the Crawler Sees* (2026): an urn from "
    "which each crawl samples a share c (coverage) and in which a share α (survival) of what is eligible stays "
    "eligible until the next crawl, the rest being replaced; beside it a core that never leaves and is in every "
    "crawl. The joint fit is a weighted least squares of all overlaps of pairs and all recaptures at once, given the "
    "sizes of the crawls; other fits are of one observable each. Containment of the core-shell urn is in its exact "
    "form; the printed form is fitted beside it under the name `paper`. Intervals are a hierarchical bootstrap that "
    "repeats the whole sequence of crawls, with a coverage for every crawl and a survival for every gap. Parameters "
    "of a collection that no urn describes are withheld."
)


def provenance(content: Content) -> Section:
    """Show method, configuration, versions and inputs."""
    inputs = content.frames["inputs"]
    inputs = inputs.assign(location=[redacted(location) for location in inputs["location"]])
    configuration = configuration_yaml(content.collection)
    note = " What may be secret is redacted." if REDACTED in configuration else ""
    return Section(
        "How this was made, and how to make it again",
        [
            METHOD,
            "Save the configuration below as FILE; then run `crawl-urn run --collections FILE` to make this page again."
            f"{note}",
            Folded("Exact configuration, with all defaults", [_code(configuration)]),
            "Made with " + versions() + ".",
            f"Read were{f', last at {content.read_at:%Y-%m-%d %H:%M} UTC' if content.read_at else ''}:",
            table(inputs, at_most=20, where="inputs"),
            "Every number on this page is in a table of `observables.duckdb`, in the folder of this page.",
        ],
    )


def configuration_yaml(collection: Collection) -> str:
    """Write the configuration of one collection as a YAML file, with all defaults and without secrets."""
    without = None if collection.has_histories else set(PRESENCE_SETTINGS)
    configured = redacted(collection.model_dump(mode="json", exclude=without))
    return str(yaml.safe_dump({"collections": [configured]}, sort_keys=False, allow_unicode=True))


def versions() -> str:
    """Versions of Python and of the packages that numbers depend on."""
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in _PACKAGES)])


def redacted(value: Any, key: str = "") -> Any:
    """Put a mark in place of what may be secret.

    That is the value of a key that is named like a secret, and the user, the query and the fragment of an address.
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
    """Write text as a block of code that nothing in it can end."""
    return "\n".join(f"    {line}" for line in text.splitlines())
