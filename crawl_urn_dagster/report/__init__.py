"""Report of a collection and comparison of several, as Markdown and as one HTML file.

Does not compute numbers (see `estimates`), draw figures (see `figures`) or write files (see `orchestration.assets`).
"""

from __future__ import annotations

from crawl_urn_dagster.figures.catalogue import own_figure
from crawl_urn_dagster.report.archives import archives_section
from crawl_urn_dagster.report.blocks import Page, Picture, Section
from crawl_urn_dagster.report.charts import crawl_moments
from crawl_urn_dagster.report.content import Content
from crawl_urn_dagster.report.curves import curves_section
from crawl_urn_dagster.report.data_quality import data_quality_section
from crawl_urn_dagster.report.drift import drift_section
from crawl_urn_dagster.report.elements import elements_section
from crawl_urn_dagster.report.forecast import forecast_section, latest_crawl_section
from crawl_urn_dagster.report.goodness_of_fit import (
    fit_section,
    model_comparison_section,
    observables_section,
)
from crawl_urn_dagster.report.ground_truth import ground_truth_section
from crawl_urn_dagster.report.model_free import model_free_section, other_estimators_section
from crawl_urn_dagster.report.operator_terms import operator_terms_section
from crawl_urn_dagster.report.pages import to_html, to_markdown
from crawl_urn_dagster.report.planning import planning_section
from crawl_urn_dagster.report.provenance import provenance_section
from crawl_urn_dagster.report.strata import strata_section
from crawl_urn_dagster.report.summary import lead, quantities_section

__all__ = ["Content", "Page", "Picture", "report_page", "to_html", "to_markdown"]

_SECTIONS = (
    quantities_section,
    latest_crawl_section,
    elements_section,
    curves_section,
    drift_section,
    operator_terms_section,
    forecast_section,
    planning_section,
    fit_section,
    observables_section,
    model_comparison_section,
    strata_section,
    archives_section,
    ground_truth_section,
    model_free_section,
    other_estimators_section,
    data_quality_section,
    provenance_section,
)


def report_page(content: Content) -> Page:
    """Return the report of a collection.

    Parameters
    ----------
    content
        Tables and figures of the collection.
    """
    title = f"{content.collection.name} ({content.collection.granularity})"
    sections = [section for make in _SECTIONS if (section := make(content)) is not None]
    own = content.figures(*(own_figure(entry_point) for entry_point in content.collection.figures))
    sections += [Section("Figures of other packages", own)] if own else []
    return Page(title, lead(content), sections, crawl_moments(content.crawls))
