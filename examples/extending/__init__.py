"""A source, a fit and a figure for crawls of sitemaps, which pyproject.toml names as entry points."""

from crawl_urn_dagster.figures import Entry

# The code location reads this when it loads; the module that draws is imported when the figure is drawn.
CONTAINMENT_MATRIX = Entry("sitemap_urn.figure", "Containment of every pair of crawls.", ("containment",))
