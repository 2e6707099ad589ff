"""Compute intervals of all fits from replicates of the joint fit, and qualify fits by their intervals.

Does not draw replicates; see `urn.uncertainty`.

Intervals refer to repetitions of the whole sequence of crawls, each with another sample of the urn, another coverage of
every crawl and another survival over every gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.estimates.fits import definition_of
from crawl_urn_dagster.estimates.fits.definition import PrimaryFit
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.processes import call_each
from crawl_urn_dagster.urn import Status, bootstrap_joint, check_core, refit
from crawl_urn_dagster.urn.fits.joint import JointDetails
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode
from crawl_urn_dagster.urn.uncertainty.bootstrap import intervals_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Bootstrap, FitKind, Interval
    from crawl_urn_dagster.urn.fits.joint import JointFit
    from crawl_urn_dagster.urn.results.result import AnyFit

    FloatArray = npt.NDArray[np.float64]

REPLICATES = 200
SEED = 1
LEVEL = 0.95
# A core test below this p-value qualifies a fit: 1 in 1,000 collections with a permanent core fail it.
_CORE_TEST_LEVEL = 1e-3
# Difference of parameters, and of times in mean gaps, up to which joint fits on two clocks are the same.
_SAME = 1e-6


class Refits(NamedTuple):
    """Estimates of the replicates of one fit.

    Attributes
    ----------
    replicated
        Estimates by name, shape (replicates,).
    about
        Values by name, shifted to the estimate and with their bias; their spread gives the interval.
    """

    replicated: Mapping[str, FloatArray]
    about: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class FittedCollection:
    """The primary fits of a collection with their intervals and replicates.

    Attributes
    ----------
    fits
        The fits, each with its intervals.
    refits
        Estimates of the replicates by kind of fit; absent for a fit without intervals.
    bootstraps
        Replicates of each joint fit by kind; the joint fits on one clock share their counts.
    """

    fits: Sequence[AnyFit]
    refits: Mapping[FitKind, Refits]
    bootstraps: Mapping[FitKind, Bootstrap]

    def bootstrap_on(self, clock: str) -> Bootstrap | None:
        """Return the first bootstrap of a clock; None if its joint fits are not reported."""
        return next((one for kind, one in self.bootstraps.items() if kind.clock == clock), None)

    def intervals(self, fit: AnyFit, level: float = LEVEL) -> Mapping[str, Interval]:
        """Return the intervals of one of the fits at another confidence level."""
        if fit.kind in self.bootstraps:
            return self.bootstraps[fit.kind].intervals(level)
        bootstrap, refits = self.bootstrap_on(fit.kind.clock), self.refits.get(fit.kind)
        return {} if bootstrap is None or refits is None else _curve_intervals(fit, refits, bootstrap, level)


def with_intervals(
    fits: Sequence[AnyFit], data: CollectionData, *, n_replicates: int = REPLICATES, seed: int = SEED
) -> FittedCollection:
    """Compute the intervals of all fits, except fits on a clock whose joint fits are not reported.

    Replicates are drawn from the joint core-shell fit, or from the joint homogeneous fit if the core is empty.

    Parameters
    ----------
    fits
        As returned by `fitting.fit_primary`.
    data
        The fitted collection. If the number of elements in every crawl differs from the expectation of the joint
        core-shell fit, this fit has a reason, whatever its status.
    n_replicates
        Replicates on each clock.
    seed
        Seed of the replicates.
    """
    clocks = dict.fromkeys(fit.kind.clock for fit in fits)
    on_clocks = [[fit for fit in fits if fit.kind.clock == clock] for clock in clocks]
    parts: list[FittedCollection]
    if _have_equal_bootstraps(on_clocks):
        parts = [_with_intervals_on_clock(on_clocks[0], data, n_replicates, seed)]
        drawn = tuple(parts[0].bootstraps.values())
        parts += [_with_intervals_on_clock(some, data, n_replicates, seed, drawn) for some in on_clocks[1:]]
    else:
        parts = call_each(_with_intervals_on_clock, [(some, data, n_replicates, seed) for some in on_clocks])
    found = {fit.kind: fit for part in parts for fit in part.fits}
    return FittedCollection(
        [found[fit.kind] for fit in fits],
        {kind: refits for part in parts for kind, refits in part.refits.items()},
        {kind: bootstrap for part in parts for kind, bootstrap in part.bootstraps.items()},
    )


def _joint_of(fits: Sequence[AnyFit]) -> list[JointFit]:
    """Return the joint fits that have replicates."""
    return [fit for fit in fits if isinstance(fit.details, JointDetails) and fit.is_reported]


def _have_equal_bootstraps(on_clocks: Sequence[Sequence[AnyFit]]) -> bool:
    """Whether the joint fits on all clocks are the same, as they are if all gaps are equal."""
    if not on_clocks:
        return False
    first, *others = map(_joint_of, on_clocks)
    return all(
        [fit.kind.model for fit in first] == [fit.kind.model for fit in other]
        and all(
            np.allclose(one.details.parameters, same.details.parameters, rtol=0, atol=_SAME)
            and np.allclose(one.details.counts.in_mean_gaps, same.details.counts.in_mean_gaps, rtol=0, atol=_SAME)
            for one, same in zip(first, other, strict=True)
        )
        for other in others
    )


def _with_intervals_on_clock(
    fits: Sequence[AnyFit], data: CollectionData, n_replicates: int, seed: int, same: Sequence[Bootstrap] = ()
) -> FittedCollection:
    """Compute the intervals of the fits on one clock, with the replicates of another clock if these are the same."""
    joint = _joint_of(fits)
    drawn_from = next((fit for fit in joint if fit.kappa != 0), None)
    if drawn_from is None:
        return FittedCollection(fits, {}, {})
    refits: dict[FitKind, Refits] = {}
    bootstraps: dict[FitKind, Bootstrap] = {}
    found: dict[FitKind, AnyFit] = {}
    known = {one.fit.kind.model: one for one in same}
    drawn = _of_fit(known, drawn_from) or bootstrap_joint(drawn_from, seed=seed, n_replicates=n_replicates)
    for fit in joint:
        found_again = drawn if fit is drawn_from else _of_fit(known, fit)
        bootstrap = found_again or refit(fit, drawn.noise, drawn.replicates)
        bootstraps[fit.kind], refits[fit.kind] = bootstrap, Refits(bootstrap.estimates, {})
        tested = fit.with_reasons(*_core_test(bootstrap, data.in_all))
        found[fit.kind] = apply_interval_rule(tested, bootstrap.intervals())
    for fit in fits:
        definition = definition_of(fit.kind)
        if isinstance(definition, PrimaryFit) and definition.refit is not None and fit.alpha is not None:
            values = definition.refit(fit, data, drawn.replicates.counts)
            refits[fit.kind] = Refits(values, _about_estimates(fit, values, drawn.fit))
            found[fit.kind] = apply_interval_rule(fit, _curve_intervals(fit, refits[fit.kind], drawn))
    return FittedCollection([found.get(fit.kind, fit) for fit in fits], refits, bootstraps)


def _of_fit(known: Mapping[str, Bootstrap], fit: JointFit) -> Bootstrap | None:
    """Return the bootstrap of the same model on the clock of a fit; None without one."""
    if fit.kind.model not in known:
        return None
    bootstrap = known[fit.kind.model]
    counts = replace(bootstrap.replicates.counts, times=fit.details.counts.times)
    return replace(bootstrap, fit=fit, replicates=bootstrap.replicates._replace(counts=counts))


def _core_test(bootstrap: Bootstrap, in_all: int | None) -> tuple[Reason, ...]:
    """Return a reason if the number of elements in every crawl is not what a permanent core implies."""
    if in_all is None or bootstrap.fit.kind.model == "homogeneous":
        return ()
    test = check_core(bootstrap, in_all)
    if test.p_value >= _CORE_TEST_LEVEL:
        return ()
    code = ReasonCode.CORE_TOO_SMALL if test.in_all > test.expected else ReasonCode.CORE_NOT_PERMANENT
    return (Reason(code, {"in_all": test.in_all, "expected": test.expected, "p_value": test.p_value}),)


def apply_interval_rule(fit: AnyFit, intervals: Mapping[str, Interval]) -> AnyFit:
    """Return a fit with its intervals; a fit with an uninformative interval is not ``ok``."""
    fit = replace(fit, intervals=intervals)
    extended = [
        SYMBOLS.get(name, name)
        for name, estimate in fit.estimates.items()
        if name in intervals and 0 < estimate < 1 and estimate in intervals[name]
    ]
    if extended:
        fit = fit.with_reasons(Reason(ReasonCode.INTERVAL_ENDS_AT_ESTIMATE, {"parameters": ", ".join(extended)}))
    uninformative = [
        f"{SYMBOLS.get(name, name)} ({intervals[name].low:.3f} to {intervals[name].high:.3f})"
        for name in fit.estimates
        if name in intervals and intervals[name].is_uninformative
    ]
    if not uninformative:
        return fit
    reason = Reason(ReasonCode.UNINFORMATIVE_INTERVAL, {"intervals": ", ".join(uninformative)})
    return fit.with_reasons(reason, status=Status.NOT_IDENTIFIED if fit.status == Status.OK else None)


def _about_estimates(fit: AnyFit, values: Mapping[str, FloatArray], drawn: AnyFit) -> dict[str, FloatArray]:
    """Return refits shifted to the estimates, by name.

    The replicates are drawn from the joint fit, so the bias of a fit is the mean of its refits minus the joint
    estimate; the bias of an urn of another model is unknown and left out.
    """
    about = {}
    same_urn = (fit.kind.model, fit.kind.form) == (drawn.kind.model, drawn.kind.form)
    for name, again in values.items():
        estimate = fit.estimates[name]
        if 0 <= estimate <= 1 and np.isfinite(again).all():
            truth = drawn.estimates.get(name) if same_urn else None
            about[name] = np.clip(estimate + again - (again.mean() if truth is None else truth), 0, 1)
    return about


def _curve_intervals(fit: AnyFit, refits: Refits, bootstrap: Bootstrap, level: float = LEVEL) -> dict[str, Interval]:
    estimated = {name: fit.estimates[name] for name in refits.about}
    gap = bootstrap.fit.details.counts.mean_gap
    return intervals_of(estimated, refits.about, gap=gap, freedom=bootstrap.freedom, level=level)
