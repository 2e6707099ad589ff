"""Read the assessment of a collection back from its tables, and word it.

Does not assess; see `assess`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.assessment.result import Assessment, format_quantity, read_quantities
from crawl_urn_dagster.estimates.assessment.verdicts import Quotable, are_curves_unreported
from crawl_urn_dagster.estimates.diagnosis import read_verdict
from crawl_urn_dagster.formatting import format_interval
from crawl_urn_dagster.urn import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from crawl_urn_dagster.estimates.assessment.result import Quantity
    from crawl_urn_dagster.estimates.assessment.verdicts import Verdict
    from crawl_urn_dagster.estimates.headline import Headline

# The model of the ladder that the joint fit of the curves describes.
_CORE_SHELL = "core_shell"
#: Statement of every assumption that no test can check; see column ``assumption`` of table `quantities`.
ASSUMPTIONS = {
    "newborn_coverage": "elements are covered in their first crawl as later",
    "earlier_crawls": "crawls before the first captured elements as the later ones did",
    "entrants": "new elements are available to crawls at once",
    "first_captures": "elements are covered in their first crawl as later, and crawls before the first captured "
    "elements as the later ones did",
}


def read_assessment(tables: Mapping[str, pd.DataFrame]) -> Assessment:
    """Return verdict, model, quantities, crawls set aside and break of scope from the tables of an assessment.

    Parameters
    ----------
    tables
        Those of `observables.schema.ASSESSMENT_TABLES` by name.
    """
    quantities, tests = tables["quantities"], tables["adequacy_tests"]
    failed = tests[tests["verdict"] == "fails"].groupby("test")["subject"].agg(tuple).to_dict()
    return Assessment(
        read_verdict(tables["diagnosis"]),
        model=str(quantities["model"].iloc[0]) if len(quantities) else None,
        quantities=read_quantities(quantities),
        set_aside=failed.get("outlying_crawl", ()),
        scope_break=next(iter(failed.get("scope_break", ())), None),
    )


def state_numbers(assessment: Assessment) -> str:
    """Return the quantities that may be quoted, with 95 % confidence intervals, in one line."""
    if not assessment.has_numbers:
        return "no number may be quoted"
    return "; ".join(state_quantity(*one) for one in assessment.quantities.items())


def state_quantity(name: str, quantity: Quantity) -> str:
    """Return a quantity with its interval and, if it ranges over an assumption, the interval if that holds."""
    return f"{format_quantity(name, quantity)}{_state_inner(quantity)}"


def _state_inner(quantity: Quantity) -> str:
    """Return the interval if the untestable assumption holds, as words; empty if no digit depends on an assumption."""
    if quantity.inner is None or quantity.interval is None:
        return ""
    inner, outer = (format_interval(sum(one) / 2, *one)[1:] for one in (quantity.inner, quantity.interval))
    return "" if inner == outer else f", or {inner[0]} to {inner[1]} if {ASSUMPTIONS[str(quantity.assumption)]}"


def state_assessment(assessment: Assessment) -> str:
    """Return in sentences whether numbers may be quoted, the verdict, and the numbers."""
    verdict, numbers = assessment.verdict, state_numbers(assessment)
    return (
        f"Numbers may be quoted: {verdict.quotable.value}. Verdict {verdict.name}: {verdict.meaning} "
        f"{numbers[:1].upper()}{numbers[1:]}."
    )


def curves_withheld_reason(headline: Headline, verdict: Verdict) -> str | None:
    """Return why nothing may be concluded from the selected fit of the curves; None if it may be used.

    Parameters
    ----------
    headline
        The selected fit of the curves.
    verdict
        Verdict on the collection.
    """
    if headline.is_refuted:
        return f"{Status.REFUTED}: tests of the collection contradict the fit of the curves"
    if not headline.is_reported:
        return f"{headline.status}: {headline.reason}"
    return f"{verdict.name}: {verdict.meaning.rstrip('.')}" if are_curves_unreported(verdict.name) else None


def refitted_curves_withheld_reason(headline: Headline, assessment: Assessment) -> str | None:
    """Return why fits of the curves without the crawls that were set aside may not be used; None if they may.

    If crawls were set aside, the selected fit of the curves of all crawls is refuted. If the selected model of the
    other crawls is a core and a shell, fits of their curves may be used.

    Parameters
    ----------
    headline
        The selected fit of the curves of all crawls.
    assessment
        Assessment of the collection.
    """
    is_without = assessment.set_aside and assessment.scope_break is None and assessment.model == _CORE_SHELL
    verdict = assessment.verdict
    return None if is_without and verdict.quotable is not Quotable.NO else curves_withheld_reason(headline, verdict)
