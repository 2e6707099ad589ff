"""The report of a collection, and the comparison of several: as Markdown and as one HTML file.

Here: which sections a report has, in the order in which an operator reads. Not here: numbers (`estimates`), drawing
(`figures`), or where pages are kept (`assets`).
"""

from __future__ import annotations

from crawl_urn_dagster.report import goodness_of_fit, model_free, operator_terms, summary
from crawl_urn_dagster.report.blocks import Page, Picture
from crawl_urn_dagster.report.content import Content
from crawl_urn_dagster.report.pages import to_html, to_markdown
from crawl_urn_dagster.report.provenance import provenance

__all__ = ["Content", "Page", "Picture", "report_page", "to_html", "to_markdown"]


def report_page(content: Content) -> Page:
    """Report of a collection."""
    sections = [
        summary.believing(content),
        summary.last_crawl(content),
        summary.drift(content),
        operator_terms.dictionary(content),
        operator_terms.next_crawls(content),
        operator_terms.plans(content),
        goodness_of_fit.fit_quality(content),
        goodness_of_fit.cross_source(content),
        goodness_of_fit.which_urn(content),
        goodness_of_fit.strata(content),
        model_free.without_urn(content),
        model_free.comparators(content),
        model_free.data_quality(content),
        provenance(content),
    ]
    title = f"{content.collection.name} ({content.collection.granularity})"
    return Page(title, summary.lead(content), [section for section in sections if section is not None])
