"""Assess a collection: its verdict, the selected model, and the quantities that may be quoted.

Does not test or fit; see `urn.goodness_of_fit`, `urn.open_population`, `urn.state_space` and `decision`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crawl_urn_dagster.estimates.assessment.curves import curve_quantities
from crawl_urn_dagster.estimates.assessment.decision import FEWEST_CRAWLS, Findings, decide
from crawl_urn_dagster.estimates.assessment.ladder_quantities import (
    RELEVANT_GROWTH,
    candidate_rows,
    is_tested_enough,
    ladder_classes,
    ladder_quantities,
    population_rows,
    test_rows,
    variance_inflation,
)
from crawl_urn_dagster.estimates.assessment.memory import (
    MemoryModel,
    fit_memory,
    memory_candidates,
    memory_classes,
    memory_population,
    memory_quantities,
    memory_tests,
    uneven_gaps,
)
from crawl_urn_dagster.estimates.assessment.models import TestedLadder, climb_tested
from crawl_urn_dagster.estimates.assessment.result import Assessment, without_uninformative
from crawl_urn_dagster.estimates.assessment.verdicts import Quotable, VerdictName, state_verdict
from crawl_urn_dagster.estimates.diagnosis import curves_verdict
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.tables import unions_matrix
from crawl_urn_dagster.urn import Status, recaptures_from_unions
from crawl_urn_dagster.urn.capture_recapture.population_trend import PopulationTrend, population_trend
from crawl_urn_dagster.urn.goodness_of_fit.scope_break import find_mass_change
from crawl_urn_dagster.urn.goodness_of_fit.violation import FEWEST_CRAWLS_FOR_RULE
from crawl_urn_dagster.urn.state_space.core_test import CoreVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.estimates.intervals import FittedCollection
    from crawl_urn_dagster.urn import CaptureHistoryCounts
    from crawl_urn_dagster.urn.results.result import AnyFit

#: Models of the curves, which the tests of the curves refute together.
CURVE_MODELS = frozenset({"homogeneous", "core_shell"})
# Fewer elements determine no number.
_FEWEST_ELEMENTS = 10
# All models of independent draws that are fitted to the curves or by likelihood, which memory refutes.
_INDEPENDENT_DRAWS = CURVE_MODELS | {"core_two_shells", "beta_shell"}


def assess_curves(data: CollectionData, fitted: FittedCollection, headline: AnyFit, tests: pd.DataFrame) -> Assessment:
    """Assess a collection by its curves, for lack of capture histories.

    Parameters
    ----------
    data
        The collection.
    fitted
        The primary fits with their replicates.
    headline
        The selected fit of the curves.
    tests
        Tests of the curves; see `diagnosis.diagnosis_table`.
    """
    trend = _trend_of_curves(data, headline)
    is_tested = trend is not None and trend.smallest_detectable <= RELEVANT_GROWTH
    verdict = curves_verdict(headline, tests, is_tested_enough=is_tested)
    rows = [] if trend is None or not trend.is_tested else [_trend_row(trend, headline.kind.model)]
    if verdict.quotable is not Quotable.NO and rows and rows[0]["verdict"] == "fails":
        verdict = state_verdict(VerdictName.MISFIT, "The population grows or shrinks.")
    if verdict.quotable is Quotable.NO:
        refuted = CURVE_MODELS if verdict.status is Status.REFUTED else frozenset[str]()
        return Assessment(verdict, tests=rows, refuted=refuted)
    years = data.crawls["years"]
    mean_gap = float(years.iloc[-1]) / (len(years) - 1) if headline.kind.clock == "year" else 1.0
    quantities = curve_quantities(fitted, headline, n_crawls=len(years), mean_gap=mean_gap, status=verdict.status)
    return Assessment(verdict, headline.kind.model, without_uninformative(quantities), tests=rows)


def _trend_of_curves(data: CollectionData, headline: AnyFit) -> PopulationTrend | None:
    """Return the trend of the population by the unions of windows; None without them."""
    if data.discovery_curve is None:
        return None
    unions = unions_matrix(data.crawls, data.discovery_curve)
    sizes = np.diagonal(unions)
    core = (headline.core_share or 0.0) * float(np.nanmean(sizes))
    return population_trend(sizes, recaptures_from_unions(unions), core)


def _trend_row(trend: PopulationTrend, model: str) -> dict[str, Any]:
    """Return the row of table `adequacy_tests` of a trend over the window."""
    gaps = len(trend.population) - 1
    matters = abs(gaps * trend.slope) > RELEVANT_GROWTH and not trend.low <= 0 <= trend.high
    is_strong = trend.smallest_detectable <= RELEVANT_GROWTH
    return {
        "test": "population_trend",
        "subject": model,
        "effect": gaps * trend.slope,
        "effect_low": gaps * trend.low,
        "effect_high": gaps * trend.high,
        "se": gaps * trend.se,
        "smallest_seen": trend.smallest_detectable,
        "relevant": RELEVANT_GROWTH,
        "verdict": "fails" if matters else "holds" if is_strong else "too_weak",
    }


def assess(
    data: CollectionData, fitted: FittedCollection, headline: AnyFit, tests: pd.DataFrame, *, seed: int
) -> Assessment:
    """Assess a collection by its capture histories, or by its curves if there are none.

    Parameters
    ----------
    data, fitted, headline, tests
        As for `assess_curves`.
    seed
        Seed of simulated replicates.
    """
    histories = data.counted_histories
    if len(data.labels) < FEWEST_CRAWLS:
        fewest = FEWEST_CRAWLS_FOR_RULE if histories is None else FEWEST_CRAWLS
        return Assessment(state_verdict(VerdictName.TOO_SHORT, _shortage(len(data.labels), fewest)))
    if histories is not None and (sparse := _sparsity(histories)) is not None:
        return Assessment(state_verdict(VerdictName.NOT_IDENTIFIED, sparse))
    if histories is None or histories.in_all == histories.distinct_elements:
        return assess_curves(data, fitted, headline, tests)
    return assess_histories(data, histories, seed=seed)


def _shortage(n_crawls: int, fewest: int) -> str:
    """State how many crawls a test of the model needs."""
    return f"A test needs at least {fewest} crawls; {n_crawls} can be used."


def _sparsity(histories: CaptureHistoryCounts) -> str | None:
    """Return why histories determine no number; None if they may."""
    if histories.distinct_elements < _FEWEST_ELEMENTS:
        n = histories.distinct_elements
        return f"Only {count_noun(n, 'element')} {'was' if n == 1 else 'were'} captured."
    if not histories.recaptures().any():
        return "No element was captured by two crawls."
    return None


def assess_histories(data: CollectionData, histories: CaptureHistoryCounts, *, seed: int) -> Assessment:
    """Assess a collection by its capture histories alone.

    Parameters
    ----------
    data
        The collection, for its labels, times and sampling.
    histories
        Capture histories of the counted elements, of at least 5 crawls.
    seed
        Seed of simulated replicates.
    """
    found = climb_tested(histories)
    if found.ladder.is_adequate:
        return _assess_ladder(data, found)
    memory = fit_memory(found.tested.histories, uneven_gaps(data.times("year")[list(found.crawls)]), seed=seed)
    if memory is None or not memory.is_adequate:
        return _with_mass_change(_assess_ladder(data, found, memory), data, found)
    return _with_mass_change(_assess_memory(data, found, memory), data, found)


def _with_mass_change(assessed: Assessment, data: CollectionData, found: TestedLadder) -> Assessment:
    """Name the gap that many more elements than usual did not survive, or at which many more were new.

    Absence in runs hides a break of scope from the tests of the ladder. The numbers are still of all crawls, because
    the population of each crawl follows from its own histories.
    """
    change = find_mass_change(found.tested.histories)
    if found.scope_break is not None or change.crawl is None:
        return assessed
    label = data.labels[found.crawls[change.crawl]]
    happened = "of the elements left permanently" if change.share > 0 else "of the elements were new"
    finding = f"At {label}, {100 * abs(change.share):.0f} % more {happened} than usual, as after a change of scope."
    verdict = replace(assessed.verdict, meaning=f"{assessed.verdict.meaning} {finding}")
    row = {"test": "scope_break", "subject": label, "effect": change.share, "verdict": "fails"}
    return replace(assessed, verdict=verdict, tests=[*assessed.tests, row])


def _assess_memory(data: CollectionData, found: TestedLadder, memory: MemoryModel) -> Assessment:
    labels, one_in = data.labels, data.error.one_in
    n_crawls = len(found.crawls)
    name = decide(Findings(n_crawls=n_crawls, model=memory.model, memory=memory.memory))
    findings = _findings(found, labels)
    if memory.core_verdict is not CoreVerdict.ACCEPTED:
        findings.append(
            f"No permanent core is shown; losses below 1 in {n_crawls} per crawl cannot be distinguished from none."
        )
    verdict = state_verdict(name, *findings)
    evidence = _evidence(found, labels)
    return Assessment(
        verdict,
        memory.model,
        without_uninformative(memory_quantities(memory, one_in=one_in, status=verdict.status)),
        memory_classes(memory),
        memory_population(memory, [labels[crawl] for crawl in found.crawls], one_in),
        **evidence
        | {
            "candidates": [*evidence["candidates"], *memory_candidates(memory, is_selected=True)],
            "tests": [*evidence["tests"], *memory_tests(memory)],
            "refuted": _INDEPENDENT_DRAWS,
        },
    )


def _evidence(found: TestedLadder, labels: Sequence[str]) -> dict[str, Any]:
    return {
        "candidates": candidate_rows(found),
        "tests": test_rows(found, labels),
        "set_aside": tuple(labels[crawl] for crawl in found.set_aside),
        "scope_break": None if found.scope_break is None else labels[found.scope_break],
    }


def _assess_ladder(data: CollectionData, found: TestedLadder, memory: MemoryModel | None = None) -> Assessment:
    """Assess by the ladder; a model with memory that is not adequate is only listed."""
    labels, one_in, fit = data.labels, data.error.one_in, found.ladder.selected
    speaks = fit if found.ladder.is_adequate else None
    has_core = speaks is not None and bool(speaks.estimates.get("kappa"))
    kappa = speaks.inflated(variance_inflation(found)).intervals["kappa"] if speaks is not None and has_core else None
    name = decide(
        Findings(
            n_crawls=len(found.crawls),
            model=None if speaks is None else speaks.model,
            dependence_fails=fit is not None and found.tested.tests(fit).dependence_fails,
            is_tested_enough=is_tested_enough(found),
            kappa_width=None if kappa is None else kappa.high - kappa.low,
        )
    )
    verdict = state_verdict(name, *_findings(found, labels))
    evidence = _evidence(found, labels)
    evidence["refuted"] = _refuted_by(found, len(labels))
    if memory is not None:
        evidence["candidates"] += memory_candidates(memory, is_selected=False)
        evidence["tests"] += memory_tests(memory)
    if speaks is None:
        return Assessment(verdict, **evidence)
    quantities = without_uninformative(ladder_quantities(found, speaks, one_in=one_in, status=verdict.status))
    if name is VerdictName.INCONCLUSIVE:
        quantities |= {
            each: quantities[each]._replace(value=None, reason_code=name) for each in ("kappa", "core_share")
        }
    return Assessment(
        verdict,
        speaks.model,
        quantities,
        () if name is VerdictName.INCONCLUSIVE else ladder_classes(found, speaks),
        population_rows(found, speaks, labels, one_in),
        **evidence,
    )


def assess_stratum(data: CollectionData, histories: CaptureHistoryCounts, *, seed: int) -> Assessment:
    """Assess a stratum of a collection by its capture histories alone.

    Parameters
    ----------
    data
        The stratum, for its labels, times and sampling.
    histories
        Its capture histories.
    seed
        Seed of simulated replicates.
    """
    if histories.n_crawls < FEWEST_CRAWLS:
        return Assessment(state_verdict(VerdictName.TOO_SHORT, _shortage(histories.n_crawls, FEWEST_CRAWLS)))
    if (sparse := _sparsity(histories)) is not None:
        return Assessment(state_verdict(VerdictName.NOT_IDENTIFIED, sparse))
    if histories.in_all == histories.distinct_elements:
        return Assessment(state_verdict(VerdictName.NOT_IDENTIFIED, "Every element is in every crawl."))
    return assess_histories(data, histories, seed=seed)


def _refuted_by(found: TestedLadder, n_crawls: int) -> frozenset[str]:
    """Return the models of the curves other than the selected one, which are of all crawls, or all of them."""
    fit = found.ladder.selected
    are_all_crawls = len(found.crawls) == n_crawls
    if fit is None or not found.ladder.is_adequate or not are_all_crawls:
        return _INDEPENDENT_DRAWS
    return CURVE_MODELS - {fit.model}


def _findings(found: TestedLadder, labels: Sequence[str]) -> list[str]:
    """Return sentences on too few crawls, on crawls that were set aside and on a break of scope."""
    n_crawls = len(found.crawls)
    sentences = [_shortage(n_crawls, FEWEST_CRAWLS)] if n_crawls < FEWEST_CRAWLS else []
    if found.set_aside:
        names = ", ".join(labels[crawl] for crawl in found.set_aside)
        sentences.append(f"These crawls differ from all others and were set aside: {names}.")
    if found.scope_break is not None:
        first, last = labels[found.crawls[0]], labels[found.crawls[-1]]
        sentences.append(
            f"The scope changed at {labels[found.scope_break]}, so the numbers describe {first} to {last} only."
        )
    return sentences
