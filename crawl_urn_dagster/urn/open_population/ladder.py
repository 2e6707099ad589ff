"""Fit the members of the ladder of open-population models and select the simplest adequate one.

Does not test adequacy: the caller gives the test. Coverage is free at every crawl and survival in every gap, so noise
and trends of either, and uneven gaps, are part of every member.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.data.histories import first_and_last
from crawl_urn_dagster.urn.open_population.class_terms import class_terms
from crawl_urn_dagster.urn.open_population.classes import PopulationClass
from crawl_urn_dagster.urn.open_population.likelihood import history_rows
from crawl_urn_dagster.urn.open_population.member_likelihood import MemberLikelihood
from crawl_urn_dagster.urn.open_population.members import MEMBERS, MEMBERS_BY_NAME, layout_of
from crawl_urn_dagster.urn.open_population.newton import covariance_of
from crawl_urn_dagster.urn.open_population.quantity_intervals import (
    Courses,
    estimate_quantities,
    limits_of,
    upper_limit_of_share,
)
from crawl_urn_dagster.urn.open_population.starts import Found, Sizes, sizes_of, starts_of
from crawl_urn_dagster.urn.results.result import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray
    from crawl_urn_dagster.urn.open_population.likelihood import HistoryRows
    from crawl_urn_dagster.urn.open_population.members import Member
    from crawl_urn_dagster.urn.open_population.newton import Maximum

#: Difference of QAICc beyond which a model has no support.
NO_SUPPORT = 10.0
_LARGEST_C_HAT = 3.0
_LEAST_EXPECTED = 5.0
# Core member whose fit limits κ of a member without a core. Two shells that grow have none: the limit of a constant
# population does not hold for a core that crawls miss.
_LIMITED_BY = {
    "homogeneous": "core_shell",
    "homogeneous_growing": "core_shell_growing",
    "two_shells_no_core": "core_two_shells",
}


@dataclass(frozen=True, eq=False)
class OpenPopulationFit:
    """Fit of one member of the ladder.

    Attributes
    ----------
    model
        Name of the member.
    stage
        Stage of the ladder.
    classes
        Expected course of each class; a core or long-lived class first.
    log_likelihood
        Log-likelihood without the constant of the counts.
    n_parameters
        Number of parameters.
    aicc
        Akaike's criterion for small samples; infinity if there are too few captures for it.
    converged
        Whether the search ended at a maximum.
    covariance
        Covariance of the parameters, that of numbers of elements on the logarithmic scale; 0 for parameters at a bound
        or in flat directions.
    estimates
        Quantities of the window by name: ``coverage`` and ``survival`` of the shells, ``mean_survival`` of all,
        ``gone`` (share of a crawl that is no longer eligible at the next), ``population``, ``known_eligible``,
        ``completeness``, ``newcomers`` (first captures of a crawl), ``really_new`` (share of them that appeared
        since the crawl before), ``growth`` per crawl of all and ``shell_growth``.
        With a core: ``kappa`` in the middle of the window (of a fluctuating member: its mean without the first and the
        last crawl), ``kappa_first``, ``kappa_last``, ``core_share`` of a crawl, ``core_growth`` and ``miss``. With a
        long-lived class: ``long_lived_fraction`` of the population (with ``_first`` and ``_last``),
        ``long_lived_share`` of a crawl, ``loss``, ``loss_half_life`` in crawls, ``core_growth`` and ``miss``. κ of a
        member without a core is 0, and unknown for two shells that grow.
    intervals
        95 % confidence intervals of the estimates. They include the variation between populations of the same Poisson
        process. If κ is estimated as 0, its interval is one-sided.
    standard_errors
        Standard errors of the estimates, by name.
    courses
        Quantities of every crawl or gap, with intervals: ``population_by_crawl``, ``known_eligible_by_crawl``,
        ``completeness_by_crawl``, ``coverage_by_crawl``, ``survival_by_gap``, ``gone_by_gap``, ``kappa_by_crawl``,
        ``core_share_by_crawl``. Values of the first and last crawl of a fluctuating member follow from a convention.
    kappa_limit
        Upper end of the one-sided 95 % confidence interval of κ, for members with a core.
    """

    model: str
    stage: int
    classes: tuple[PopulationClass, ...]
    log_likelihood: float
    n_parameters: int
    aicc: float
    converged: bool
    covariance: FloatArray
    estimates: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    standard_errors: Mapping[str, float] = field(default_factory=dict)
    courses: Courses = field(default_factory=Courses)
    kappa_limit: float | None = None

    def inflated(self, c_hat: float) -> OpenPopulationFit:
        """Return the fit with standard errors multiplied by the square root of a variance inflation above 1."""
        factor = max(c_hat, 1.0) ** 0.5
        errors = {name: factor * error for name, error in self.standard_errors.items()}
        intervals = {
            name: Interval(*map(float, limits_of(name, self.estimates[name], error))) for name, error in errors.items()
        }
        if not self.estimates.get("kappa", 1.0):
            intervals["kappa"] = Interval(0.0, min(factor * self.intervals["kappa"].high, 1.0))
        courses = replace(self.courses, factor=factor * self.courses.factor)
        return replace(self, intervals=intervals, standard_errors=errors, courses=courses)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Fitted members and the selected one.

    Attributes
    ----------
    candidates
        Fits in the order of the ladder.
    selected
        The simplest adequate member whose QAICc is within 10 of the best; if none is adequate, the simplest within 10.
        None if nothing could be fitted.
    is_adequate
        Whether the selected fit is adequate.
    c_hat
        Variance inflation of the best member, between 1 and 3.
    """

    candidates: tuple[OpenPopulationFit, ...]
    selected: OpenPopulationFit | None
    is_adequate: bool
    c_hat: float

    def delta_qaicc(self, fit: OpenPopulationFit) -> float:
        """Return QAICc of a candidate minus that of the best one."""
        return _qaicc(fit, self.c_hat) - min(_qaicc(other, self.c_hat) for other in self.candidates)


def climb(
    counts: CaptureHistoryCounts,
    is_adequate: Callable[[OpenPopulationFit], bool],
    c_hat: Callable[[OpenPopulationFit], float] | None = None,
    is_hopeless: Callable[[OpenPopulationFit], bool] = lambda _: False,
) -> Ladder:
    """Fit stage after stage until a member is adequate, and select the simplest one.

    Later stages are fitted only if no member within 10 QAICc units of the best is adequate, because mixtures that are
    compared freely win on noise.

    Parameters
    ----------
    counts
        Elements of each capture history, oldest crawl first.
    is_adequate
        Whether the data do not refute a fit.
    c_hat
        Variance inflation of a fit; that of the counts by first and last capture if None.
    is_hopeless
        Whether the best fit of a stage departs from the data in a way that no later stage describes.

    Returns
    -------
    Ladder
        All fits and the selected one. Nothing is fitted if no element was captured or there are fewer than three
        crawls.
    """
    search = _Search.prepare(counts)
    candidates: list[OpenPopulationFit] = []
    selected, adequate, inflation = None, False, 1.0
    for stage in (1, 2, 3):
        candidates += search.fit_stage(stage)
        if not candidates:
            continue
        best = min(candidates, key=lambda fit: fit.aicc)
        inflation = float(np.clip(c_hat(best) if c_hat else first_last_inflation(best, counts), 1.0, _LARGEST_C_HAT))
        least = min(_qaicc(fit, inflation) for fit in candidates)
        close = [fit for fit in candidates if not _qaicc(fit, inflation) > least + NO_SUPPORT]
        close.sort(key=lambda fit: (fit.n_parameters, fit.aicc))
        selected = next((fit for fit in close if is_adequate(fit)), None)
        if selected is not None:
            adequate = True
            break
        selected = close[0]
        if is_hopeless(best):
            break
    return Ladder(tuple(candidates), selected, adequate, inflation)


def fit_member(counts: CaptureHistoryCounts, name: str) -> OpenPopulationFit | None:
    """Fit a member of the ladder by its name; None if there are too few crawls or elements for it."""
    return _Search.prepare(counts).fit_with_starts(MEMBERS_BY_NAME[name])


def _qaicc(fit: OpenPopulationFit, c_hat: float) -> float:
    return fit.aicc + 2 * fit.log_likelihood * (1 - 1 / c_hat)


def first_last_inflation(fit: OpenPopulationFit, counts: CaptureHistoryCounts) -> float:
    """Return X² by its degrees of freedom for the elements by first and last capture, at least 1.

    The parameters are fitted to the histories and not to these cells, so hardly any degree of freedom is lost to them.
    """
    captured = counts.seen.any(axis=1)
    seen, n = counts.seen[captured], counts.n_crawls
    first, last = first_and_last(seen)
    observed = np.bincount(first * n + last, counts.elements[captured], minlength=n * n).reshape(n, n)
    expected = sum((_first_last(one) for one in fit.classes), np.zeros((n, n)))
    is_large = expected >= _LEAST_EXPECTED
    cells = np.append(expected[is_large], expected[~is_large].sum())
    values = np.append(observed[is_large], observed[~is_large].sum())
    usable = cells >= _LEAST_EXPECTED
    freedom = int(usable.sum()) - 1
    if freedom < 1:
        return 1.0
    return max(float(((values - cells)[usable] ** 2 / cells[usable]).sum()) / freedom, 1.0)


def _first_last(one: PopulationClass) -> FloatArray:
    """Return the expected elements of a class by first and last capture, shape (T, T)."""
    first = one.eligible * one.never_before * one.coverage
    with np.errstate(divide="ignore"):
        alive = np.append(0.0, np.log(one.survival).cumsum())
    with np.errstate(invalid="ignore"):
        survived = np.exp(np.minimum(alive[None, :] - alive[:, None], 0.0))
    expected = first[:, None] * np.nan_to_num(survived) * one.coverage * one.never_again
    return np.asarray(np.triu(expected, 1) + np.diag(first * one.never_again))


@dataclass(eq=False)
class _Search:
    """Histories prepared for the members, and the fits so far."""

    counts: CaptureHistoryCounts
    sizes: Sizes
    single: HistoryRows
    mixed: HistoryRows
    found: dict[str, Found] = field(default_factory=dict)
    fits: dict[str, OpenPopulationFit] = field(default_factory=dict)

    @classmethod
    def prepare(cls, counts: CaptureHistoryCounts) -> _Search:
        return cls(counts, sizes_of(counts), history_rows(counts, is_mixed=False), history_rows(counts, is_mixed=True))

    def fit_stage(self, stage: int) -> list[OpenPopulationFit]:
        members = [member for member in MEMBERS if member.stage == stage and self._is_fittable(member)]
        for member in members:
            self._fit(member)
        fitted = [self.fits[member.name] for member in members]
        return [self._with_limit_of_kappa(fit) for fit in fitted]

    def fit_with_starts(self, member: Member) -> OpenPopulationFit | None:
        if not self._is_fittable(member):
            return None
        for simpler in MEMBERS:
            if simpler.name in member.starts_from and simpler.name not in self.fits:
                self.fit_with_starts(simpler)
        self._fit(member)
        return self.fits[member.name]

    def _is_fittable(self, member: Member) -> bool:
        n = self.counts.n_crawls
        if n < member.least_crawls or not self.sizes.captured:
            return False
        p = layout_of(member, n).n_parameters
        # More parameters than elements are too many for a mixture that is chosen by the data.
        return p < 2**n and (member.stage == 1 or p < self.sizes.captured)

    def _fit(self, member: Member) -> None:
        signs: Sequence[int] = (
            (1, -1) if member.stable in {"core", "core_missed"} and member.trend != "constant" else (1,)
        )
        best: tuple[_Model, Maximum] | None = None
        for sign in signs:
            model = _Model(layout_of(member, self.counts.n_crawls, sign), self.single, self.mixed, self.sizes)
            maximum = model.maximise(starts_of(model.layout, self.sizes, self.found), self._nearest(member))
            if best is None or maximum.value > best[1].value:
                best = model, maximum
        if best is not None:
            self.found[member.name] = Found(best[0].layout, best[1].parameters, best[1].hessian)
            self.fits[member.name] = best[0].describe(best[1])

    def _nearest(self, member: Member) -> Found | None:
        """Return the best of the fits that the search starts from; None without one."""
        names = [name for name in member.starts_from if name in self.fits]
        best = max(names, key=lambda name: self.fits[name].log_likelihood, default=None)
        return None if best is None else self.found[best]

    def _with_limit_of_kappa(self, fit: OpenPopulationFit) -> OpenPopulationFit:
        """Return a fit without a core with κ = 0 and the one-sided limit of the member with one."""
        if "kappa" in fit.estimates or fit.model not in _LIMITED_BY:
            return fit
        rival = self.fits.get(_LIMITED_BY[fit.model])
        limit = rival.kappa_limit if rival and rival.kappa_limit is not None else 1.0
        return replace(
            fit,
            estimates={**fit.estimates, "kappa": 0.0},
            intervals={**fit.intervals, "kappa": Interval(0.0, limit)},
        )


class _Model(MemberLikelihood):
    """Likelihood of one member, and the fit at its maximum."""

    def describe(self, maximum: Maximum) -> OpenPopulationFit:
        member, n, p = self.layout.member, self.layout.n_crawls, self.layout.n_parameters
        crawls = slice(1, n - 1) if member.trend == "fluctuating" else slice(0, n)
        free = ~maximum.at_bound
        if self.core is not None:
            free[self.core] = True  # a core of 0 elements has a standard error
        covariance = covariance_of(maximum.hessian, free)
        if self.core is not None:
            covariance[self.core, :] /= maximum.parameters[self.core]
            covariance[:, self.core] /= maximum.parameters[self.core]
        found = estimate_quantities(self.designs, self.logarithmic(maximum.parameters), covariance, crawls)
        limit = None
        if "kappa" in found.estimates:
            limit = upper_limit_of_share(
                found.estimates["kappa"], found.standard_errors["kappa"], found.estimates["population"]
            )
            if self.core is not None and maximum.at_bound[self.core]:
                found.estimates["kappa"] = 0.0
                found.intervals["kappa"] = Interval(0.0, limit)
        spare = self.sizes.crawls.sum() - p - 1
        penalty = 2 * p + 2 * p * (p + 1) / spare if spare > 0 else np.inf
        return OpenPopulationFit(
            model=member.name,
            stage=member.stage,
            classes=self._classes(maximum.parameters),
            log_likelihood=maximum.value,
            n_parameters=p,
            aicc=float(-2 * maximum.value + penalty),
            converged=maximum.converged,
            covariance=covariance,
            estimates=found.estimates,
            intervals=found.intervals,
            standard_errors=found.standard_errors,
            courses=found.courses,
            kappa_limit=limit,
        )

    def _classes(self, parameters: FloatArray) -> tuple[PopulationClass, ...]:
        result = []
        for design in self.designs:
            course = design.course(self.logarithmic(parameters))
            terms = class_terms(course, design.survival, is_always_captured=design.is_always_captured)
            result.append(PopulationClass(design.name, np.exp(course.log_eligible), terms.survival, 1 - terms.missed))
        return tuple(result)
