"""Report of crawls that were fitted in Python, without Dagster: the tables that a fit lacks, and its figures.

Does not fit models (`api`) or write sentences (the modules of the sections).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.config.settings import DriftSettings
from crawl_urn_dagster.estimates.estimated_collection import EstimatedCollection
from crawl_urn_dagster.figures import CATALOGUE, drawable, figure_labels
from crawl_urn_dagster.observables.quality import broken_rules
from crawl_urn_dagster.progress import with_time_left
from crawl_urn_dagster.report import report_page, to_html, to_markdown
from crawl_urn_dagster.report.content import Content
from crawl_urn_dagster.report.pictures import pictures_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    import pandas as pd

    from crawl_urn_dagster.reading import Crawls
    from crawl_urn_dagster.urn import Clock

#: Location of crawls that were not read by the pipeline.
IN_MEMORY = "in memory"


def content_of_fit(
    crawls: Crawls, tables: Mapping[str, pd.DataFrame], *, name: str, granularity: str, clock: Clock
) -> Content:
    """Return the content of a report, without figures, of crawls in memory.

    Parameters
    ----------
    crawls
        The crawls that were fitted.
    tables
        Tables of the crawls and of their fit, by name.
    name, granularity
        Name of the collection, and what its elements are: ``url``, ``host``, ``domain`` or ``other``.
    clock
        Clock of the headline.
    """
    frames = {**tables, **_later_tables(crawls, tables, clock)}
    broken = broken_rules(
        frames["crawls"], frames.get("containment"), frames.get("discovery_curve"), crawls.error.relative
    )
    return Content(_collection(crawls, name, granularity, clock), frames, broken_rules=broken)


def write_report(
    path: str | os.PathLike[str],
    crawls: Crawls,
    tables: Mapping[str, pd.DataFrame],
    *,
    name: str,
    granularity: str,
    clock: Clock,
    report: Callable[[str], object],
) -> Path:
    """Write the report of crawls in memory as HTML with figures, or as Markdown without, and return its path.

    Parameters
    ----------
    path
        File to write; its suffix is ``.html`` or ``.md``.
    crawls, tables, name, granularity, clock
        As in `content_of_fit`.
    report
        Receives a line on the tables, and on each figure with the time left.

    Raises
    ------
    ValueError
        When the suffix, the name or the granularity is another.
    """
    file = Path(path)
    if file.suffix not in {".html", ".md"}:
        raise ValueError(f"path: found suffix {file.suffix!r}, expected '.html' or '.md'")
    is_html = file.suffix == ".html"
    report("computing forecast, rolling windows, drift and plans")
    content = content_of_fit(crawls, tables, name=name, granularity=granularity, clock=clock)
    text = to_html(report_page(with_pictures(content, report))) if is_html else to_markdown(report_page(content))
    with replacing(file) as new:
        new.write_text(text, encoding="utf-8")
    return file


def with_pictures(content: Content, report: Callable[[str], object]) -> Content:
    """Return the content with the figures that its numbers allow, and report each of them."""
    has_numbers = content.assessment.has_numbers
    shown = [one for one in drawable(content.frames) if has_numbers or not CATALOGUE[one].has_parameters]
    stage = with_time_left(report, [1 / len(shown)] * len(shown))

    def reported() -> Iterator[str]:
        for position, name in enumerate(shown, start=1):
            stage(f"drawing figure {position} of {len(shown)}")
            yield name

    return replace(content, pictures=pictures_of(reported(), content.frames, figure_labels(content.collection)))


def _collection(crawls: Crawls, name: str, granularity: str, clock: Clock) -> Collection:
    """Return a configuration that describes crawls in memory; its source is not read."""
    source = (
        {"type": "observable_tables", "pairs": IN_MEMORY, "relative_error": crawls.error.relative}
        if crawls.histories is None
        else {"type": "presence_list", "path": IN_MEMORY}
    )
    return Collection.model_validate(
        {
            "name": name,
            "granularity": granularity,
            "source": source,
            "clock": clock,
            **({} if crawls.histories is None else {"sample_one_in": crawls.error.one_in}),
        }
    )


def _later_tables(crawls: Crawls, tables: Mapping[str, pd.DataFrame], clock: Clock) -> dict[str, pd.DataFrame]:
    """Return the tables of the report that follow from a fit."""
    fitted = EstimatedCollection(tables, lambda: crawls.histories, clock, crawls.error)
    drift = DriftSettings()
    return {
        **fitted.forecast(),
        **fitted.by_window(window_crawls=drift.window_crawls, step_crawls=drift.step_crawls),
        **fitted.drift(window_crawls=drift.window_crawls, reference_from=drift.reference_from),
        **fitted.planning(),
    }
