"""A code location with a source, a model and a figure of one's own."""

import os

import dagster as dg
from figure import containment_matrix_asset
from model import stretched_asset
from source import SitemapSource

from crawl_urn_dagster import Collection, build_defs

sitemaps = Collection(name="sitemaps", granularity="url", source=SitemapSource(path=os.environ["SITEMAPS"]))

defs = dg.Definitions.merge(
    build_defs([sitemaps], home=os.environ["CRAWL_URN_HOME"]),
    dg.Definitions(assets=[stretched_asset("sitemaps"), containment_matrix_asset("sitemaps")]),
)
