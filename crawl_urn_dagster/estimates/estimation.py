"""Run all estimation steps of a collection: from observables to tables of fits and their assessment.

Does not implement the steps (see `fitting`, `intervals`, `selection` and `diagnosis`), nor apply estimators that need
the histories alone (see `capture_recapture`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from crawl_urn_dagster.estimates.assessment.assess import assess
from crawl_urn_dagster.estimates.diagnosis import diagnosis_table, with_verdict
from crawl_urn_dagster.estimates.fits import supplementary_fits
from crawl_urn_dagster.estimates.fitting import (
    CLOCKS,
    apply_violation_rules,
    find_violation,
    fit_primary,
    with_refutation,
    with_violation,
)
from crawl_urn_dagster.estimates.intervals import REPLICATES, SEED, with_intervals
from crawl_urn_dagster.estimates.model_comparison import model_comparison_table
from crawl_urn_dagster.estimates.parameter_tables import operator_terms_table, parameters_table
from crawl_urn_dagster.estimates.regimes import revisit_regimes_table
from crawl_urn_dagster.estimates.selection import select_headline
from crawl_urn_dagster.observables.schema import KAPPA_PROFILE
from crawl_urn_dagster.processes import call_together
from crawl_urn_dagster.progress import with_time_left
from crawl_urn_dagster.urn.fits.joint import profile_kappa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crawl_urn_dagster.estimates.assessment.result import Assessment
    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.estimates.intervals import FittedCollection
    from crawl_urn_dagster.urn import Bootstrap, Clock, Counts, Interval, Violation
    from crawl_urn_dagster.urn.results.result import AnyFit

_PROFILED = np.linspace(0, 0.95, 20)
# Rough share of each stage in the time, from fits of 24 to 1,000 crawls.
_SHARES = (0.1, 0.4, 0.45, 0.05)


@dataclass(frozen=True, eq=False)
class Estimation:
    """Fits, tables and headline of a collection.

    Attributes
    ----------
    tables
        Tables `quantities`, `classes`, `population`, `adequacy_tests`, `candidate_models`, `parameters`,
        `operator_terms`, `diagnosis`, `model_comparison`, `revisit_regimes` and `kappa_profile` by name.
    fitted
        The primary fits with their replicates.
    headline
        The selected fit of the curves.
    assessment
        The numbers that may be quoted for the collection.
    """

    tables: Mapping[str, pd.DataFrame]
    fitted: FittedCollection
    headline: AnyFit
    assessment: Assessment

    def headline_intervals(self, level: float) -> Mapping[str, Interval]:
        """Return the intervals of the selected fit at a confidence level."""
        return self.fitted.intervals(self.headline, level)


def estimate(
    data: CollectionData,
    *,
    clock: Clock,
    n_replicates: int = REPLICATES,
    seed: int = SEED,
    report: Callable[[str], object] = lambda _: None,
) -> Estimation:
    """Fit all urns to a collection, with intervals, and assess the fits.

    Parameters
    ----------
    data
        The collection.
    clock
        Clock of the headline, its diagnosis and the richer urns.
    n_replicates, seed
        Bootstrap replicates on each clock, and their seed.
    report
        Called with the name of each step before the step, and from the second on with an estimate of the time left.
    """
    # The matrices are small: more threads only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        return _estimate(data, clock, n_replicates, seed, with_time_left(report, _SHARES))


def _estimate(
    data: CollectionData, clock: Clock, n_replicates: int, seed: int, report: Callable[[str], object]
) -> Estimation:
    report("fitting all urns")
    fits = fit_primary(data)
    report(f"refitting {n_replicates} bootstrap replicates on each of {len(CLOCKS)} clocks")
    fitted = with_intervals(fits, data, n_replicates=n_replicates, seed=seed)
    selected = select_headline(fitted.fits, clock=clock)
    violations = apply_violation_rules(data)
    tests = diagnosis_table(fitted, selected, violations, data.in_all)
    report("fitting richer urns, profiling kappa, and testing which model may be quoted")
    richer, profile, assessment = call_together(
        [
            (_fit_supplementary, (data, clock, fitted.bootstrap_on("crawl"))),
            (_kappa_profile_table, (data.counts(clock), clock)),
            (_assess, (data, fitted, selected, tests, seed)),
        ]
    )
    fits = [with_refutation(fit, assessment.refuted) for fit in fitted.fits]
    richer = [with_refutation(fit, assessment.refuted) for fit in _after_violation(richer, data, violations)]
    report("comparing models")
    tables = {
        **assessment.tables(),
        "parameters": parameters_table([*fits, *richer], selected.kind, data.crawls),
        "operator_terms": operator_terms_table(fits, selected.kind, data.crawls),
        "diagnosis": with_verdict(tests, clock, assessment.verdict),
        "model_comparison": model_comparison_table(
            data, [fit for fit in richer if fit.kind.projection == "histories"], clock
        ),
        "revisit_regimes": revisit_regimes_table(data),
        "kappa_profile": profile,
    }
    return Estimation(tables, replace(fitted, fits=fits), with_refutation(selected, assessment.refuted), assessment)


def _assess(
    data: CollectionData, fitted: FittedCollection, selected: AnyFit, tests: pd.DataFrame, seed: int
) -> Assessment:
    return assess(data, fitted, selected, tests, seed=seed)


def _fit_supplementary(data: CollectionData, clock: Clock, bootstrap: Bootstrap | None) -> list[AnyFit]:
    return [fit for definition in supplementary_fits(data.own_fits) for fit in definition.fit(data, clock, bootstrap)]


def _after_violation(fits: Sequence[AnyFit], data: CollectionData, violations: Sequence[Violation]) -> list[AnyFit]:
    """Return the fits after the violation rule, which refutes urns without a revisit delay."""
    violation = find_violation(violations)
    delayed = {definition.model for definition in supplementary_fits(data.own_fits) if not definition.is_urn}
    return [fit if fit.kind.model in delayed else with_violation(fit, violation) for fit in fits]


def _kappa_profile_table(counts: Counts | None, clock: Clock) -> pd.DataFrame:
    """Return table `kappa_profile`: both observables together and each alone; empty if no joint fit is possible."""
    if counts is None or len(counts.sizes) < 3:
        return pd.DataFrame(columns=list(KAPPA_PROFILE.column_names))
    unknown = np.full_like(counts.unions, np.nan)
    alone = {"containment": replace(counts, unions=unknown), "discovery_curve": replace(counts, intersections=unknown)}
    known = {
        name: part
        for name, part in alone.items()
        if np.isfinite(part.intersections).any() or np.isfinite(part.unions).any()
    }
    parts = {"joint": counts, **known} if len(known) > 1 else known
    frames = [
        pd.DataFrame(profile_kappa(part, _PROFILED)._asdict()).assign(projection=name, clock=clock)
        for name, part in parts.items()
    ]
    return pd.concat(frames, ignore_index=True)[list(KAPPA_PROFILE.column_names)]
