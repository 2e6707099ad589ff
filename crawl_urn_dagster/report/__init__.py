"""The report of a collection, and the comparison of several: as Markdown and as one HTML file.

Here: which sections a report has, in the order in which an operator reads. Not here: numbers (`estimates`), drawing
(`figures`), or where pages are kept (`assets`).
"""

from __future__ import annotations

from crawl_urn_dagster.report import evidence, judgement, opening, terms
from crawl_urn_dagster.report.blocks import Page, Picture
from crawl_urn_dagster.report.content import Content
from crawl_urn_dagster.report.pages import to_html, to_markdown
from crawl_urn_dagster.report.provenance import provenance

__all__ = ["Content", "Page", "Picture", "report_page", "to_html", "to_markdown"]


def report_page(content: Content) -> Page:
    """Report of a collection."""
    sections = [
        opening.believing(content),
        opening.last_crawl(content),
        opening.drift(content),
        terms.dictionary(content),
        terms.next_crawls(content),
        terms.plans(content),
        judgement.fit_quality(content),
        judgement.cross_source(content),
        judgement.which_urn(content),
        judgement.strata(content),
        evidence.without_urn(content),
        evidence.comparators(content),
        evidence.data_quality(content),
        provenance(content),
    ]
    title = f"{content.collection.name} ({content.collection.granularity})"
    return Page(title, opening.lead(content), [section for section in sections if section is not None])
