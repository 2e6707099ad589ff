"""Estimate coverage, survival and the persistent core of a collection of web crawls, as Dagster assets.

Exports the public names. Each is loaded at its first use, so an import of the package loads neither Dagster nor numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawl_urn_dagster.api import CrawlFit, Crawls, fit, read_counts, read_presence, read_source
    from crawl_urn_dagster.config.collection import Collection, demo_collection
    from crawl_urn_dagster.config.loading import load_collections
    from crawl_urn_dagster.estimates.elements.lookup import look_up_elements
    from crawl_urn_dagster.observables.keys import element_keys
    from crawl_urn_dagster.orchestration.build import build_defs
    from crawl_urn_dagster.orchestration.component import CrawlUrnComponent
    from crawl_urn_dagster.orchestration.customisation import AssetOptions
    from crawl_urn_dagster.orchestration.resources import CrawlUrnHome

__all__ = [
    "AssetOptions",
    "Collection",
    "CrawlFit",
    "CrawlUrnComponent",
    "CrawlUrnHome",
    "Crawls",
    "build_defs",
    "demo_collection",
    "element_keys",
    "fit",
    "load_collections",
    "look_up_elements",
    "read_counts",
    "read_presence",
    "read_source",
]

_HOMES = {
    **dict.fromkeys(
        ("CrawlFit", "Crawls", "fit", "read_counts", "read_presence", "read_source"), "crawl_urn_dagster.api"
    ),
    "AssetOptions": "crawl_urn_dagster.orchestration.customisation",
    "Collection": "crawl_urn_dagster.config.collection",
    "CrawlUrnComponent": "crawl_urn_dagster.orchestration.component",
    "CrawlUrnHome": "crawl_urn_dagster.orchestration.resources",
    "build_defs": "crawl_urn_dagster.orchestration.build",
    "demo_collection": "crawl_urn_dagster.config.collection",
    "element_keys": "crawl_urn_dagster.observables.keys",
    "load_collections": "crawl_urn_dagster.config.loading",
    "look_up_elements": "crawl_urn_dagster.estimates.elements.lookup",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
