"""Define a code location with its own source, fit and figure, which are installed as the package sitemap-urn."""

import os
from pathlib import Path

import dagster as dg

from crawl_urn_dagster import build_defs, load_collections


@dg.definitions
def definitions() -> dg.Definitions:
    """Build the definitions of the collections next to this file."""
    collections = load_collections(Path(__file__).with_name("collections.yaml"))
    return build_defs(collections, home=os.environ["CRAWL_URN_HOME"])
