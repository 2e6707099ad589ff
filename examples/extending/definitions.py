"""Define a code location with its own source, fit and figure."""

import os

import dagster as dg
import fit  # noqa: F401 - registers itself
from figure import containment_matrix_asset
from source import SitemapSource

from crawl_urn_dagster import Collection, build_defs

sitemaps = Collection(name="sitemaps", granularity="url", source=SitemapSource(path=os.environ["SITEMAPS"]))

defs = dg.Definitions.merge(
    build_defs([sitemaps], home=os.environ["CRAWL_URN_HOME"]),
    dg.Definitions(assets=[containment_matrix_asset("sitemaps")]),
)
