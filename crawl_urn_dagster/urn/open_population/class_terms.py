"""Compute the terms of the history likelihood that belong to one class, with exact derivatives.

Does not mix classes; see `likelihood`.

Parameters may have a leading axis of complex steps from one real point, so a step through `adjoint` gives exact second
derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray

    #: Real or complex, shape (..., T) or (..., T - 1).
    Numbers = npt.NDArray[Any]

#: How a class survives: by a hazard per gap, or without deaths but those of a class that grows or shrinks.
Survival = Literal["hazard", "growing", "shrinking"]

#: Size of a complex step. It is far below every number whose logarithm is taken.
COMPLEX_STEP = 1e-100
# A probability or an expectation below this is taken as this one, which keeps its logarithm finite.
_TINY = 1e-80
# A larger hazard is taken as this one: nothing survives it.
_LARGEST_LOG_HAZARD = 4.5


class CourseParameters(NamedTuple):
    """Parameters of one class at every crawl and gap.

    Attributes
    ----------
    log_eligible
        Logarithm of the expected eligible elements, shape (..., T).
    log_hazard
        Logarithm of the hazard H, shape (..., T - 1); not read for a class without a hazard.
    logit_coverage
        Logit of the coverage, shape (..., T); not read for a class that is always captured.
    """

    log_eligible: Numbers
    log_hazard: Numbers
    logit_coverage: Numbers


class Turnover(NamedTuple):
    """Survival, deaths and births of each gap, and derivatives of the exponent of survival; shape (..., T - 1)."""

    log_survival: Numbers
    deaths: Numbers
    births: Numbers
    by_growth: Numbers
    by_log_hazard: Numbers


class ClassTerms(NamedTuple):
    """Terms of the expected number of elements with a history: captures @ logit_coverage + first[f] + last[l].

    Attributes
    ----------
    first, last
        Term of the first and of the last capture, shape (..., T).
    unseen
        Expected eligible elements that no earlier crawl of the window captured, shape (..., T).
    never_again
        Probability that no later crawl captures an eligible element, shape (..., T).
    survival
        Probability to survive each gap, shape (..., T - 1).
    turnover
        Survival, deaths and births of each gap.
    missed
        Probability that a crawl misses an eligible element, shape (..., T).
    total
        Expected elements that are captured at least once, shape (...).
    """

    first: Numbers
    last: Numbers
    unseen: Numbers
    never_again: Numbers
    survival: Numbers
    turnover: Turnover
    missed: Numbers
    total: Numbers


def _turnover(parameters: CourseParameters, survival: Survival) -> Turnover:
    """Return the turnover of each gap.

    All leading axes of complex parameters have the same real parts. The functions of one gap are therefore computed
    once, with a complex step for each of their two arguments, and the steps of the parameters follow from these.
    """
    growth, following = np.diff(parameters.log_eligible), parameters.log_eligible[..., 1:]
    if not np.iscomplexobj(growth):
        return _turnover_at(growth, parameters.log_hazard, following, survival)
    at = (0,) * (growth.ndim - 1)
    step = 1j * COMPLEX_STEP * np.eye(2)[:, :, None]
    real = following.real[at]
    found = _turnover_at(growth.real[at] + step[0], parameters.log_hazard.real[at] + step[1], real, survival)
    change = np.stack([growth.imag, parameters.log_hazard.imag]) / COMPLEX_STEP

    def moved(values: Numbers) -> Numbers:
        return np.asarray(values.real[0] + 1j * (values.imag[0] * change[0] + values.imag[1] * change[1]))

    result = Turnover(*map(moved, found))
    return result._replace(births=result.births + 1j * found.births.real[0] * following.imag)


def _turnover_at(growth: Numbers, log_hazard: Numbers, following: Numbers, survival: Survival) -> Turnover:
    """Return survival φ = exp(g/2 - A) and births N(t+1)(1 - exp(-g/2 - A)) for growth g and hazard H.

    cosh A = cosh(g/2) + cosh H - 1, so φ = exp(-H) without growth, φ <= 1 and births >= 0 for any growth, and both are
    smooth functions of g and H. Without a hazard A = |g|/2.
    """
    if survival == "hazard":
        is_free = log_hazard.real < _LARGEST_LOG_HAZARD
        hazard = np.exp(np.where(is_free, log_hazard, _LARGEST_LOG_HAZARD))
        by_g, by_h = np.sinh(growth / 4), np.sinh(hazard / 2)
        z = np.sqrt(by_g**2 + by_h**2)
        slope = 2 / np.sqrt(1 + z**2) / z
        exponent = 2 * np.arcsinh(z)
        by_growth = slope * by_g * np.cosh(growth / 4) / 4
        by_log_hazard = slope * by_h * np.cosh(hazard / 2) / 2 * hazard * is_free
    else:
        sign = 1.0 if survival == "growing" else -1.0
        exponent, by_growth, by_log_hazard = sign * growth / 2, np.full_like(growth, sign / 2), np.zeros_like(growth)
    log_survival = growth / 2 - exponent
    births = -np.exp(following) * np.expm1(-growth / 2 - exponent)
    return Turnover(log_survival, -np.expm1(log_survival), births, by_growth, by_log_hazard)


def _before(increments: Numbers) -> Numbers:
    """Sum the increments of the gaps before each crawl, shape (..., T)."""
    return np.concatenate([np.zeros_like(increments[..., :1]), increments.cumsum(axis=-1)], axis=-1)


def _after(values: Numbers) -> Numbers:
    """Sum the values of the crawls after each gap, shape (..., T - 1)."""
    return values[..., :0:-1].cumsum(axis=-1)[..., ::-1]


def _exp(values: Numbers) -> Numbers:
    """Return the exponential, to first order in a complex step."""
    real = np.exp(values.real)
    return np.asarray(real + 1j * real * values.imag if np.iscomplexobj(values) else real)


def _log(values: Numbers) -> Numbers:
    """Return the logarithm, to first order in a complex step; that of `_TINY` for anything smaller."""
    real = np.maximum(values.real, _TINY)
    if not np.iscomplexobj(values):
        return np.asarray(np.log(real))
    return np.asarray(np.log(real) + 1j * (values.imag / real * (values.real > _TINY)))


def _divided(numerator: FloatArray, values: Numbers) -> Numbers:
    """Return the quotient, to first order in a complex step; 0 for a divisor below `_TINY`."""
    real = numerator / np.where(values.real > _TINY, values.real, np.inf)
    if not np.iscomplexobj(values):
        return np.asarray(real + np.zeros_like(values))
    return np.asarray(real - 1j * real * (values.imag / np.maximum(values.real, _TINY)))


def _recursion(start: Numbers, factors: Numbers, summands: Numbers) -> Numbers:
    """Compute x(0) = start and x(t+1) = factors(t) x(t) + summands(t) along the last axis, shape (..., T)."""
    factors, summands = (np.ascontiguousarray(values.T) for values in (factors, summands))
    result = np.empty((len(factors) + 1, *start.shape), dtype=np.result_type(start, factors, summands))
    result[0] = start
    for t, (factor, summand) in enumerate(zip(factors, summands, strict=True)):
        result[t + 1] = factor * result[t] + summand
    return result.T


def class_terms(parameters: CourseParameters, survival: Survival, *, is_always_captured: bool) -> ClassTerms:
    """Compute the terms of one class.

    Parameters
    ----------
    parameters
        Parameters of the class.
    survival
        How the class survives.
    is_always_captured
        Whether its coverage is 1.
    """
    change = _turnover(parameters, survival)
    phi = _exp(change.log_survival)
    eligible = _exp(parameters.log_eligible)
    if is_always_captured:
        missed = log_missed = np.zeros_like(eligible)
    else:
        log_missed = -np.logaddexp(0, parameters.logit_coverage.real)
        missed = np.exp(log_missed)
        if np.iscomplexobj(eligible):
            logit_coverage = parameters.logit_coverage
            missed = missed - 1j * missed * (1 - missed) * logit_coverage.imag
            log_missed = log_missed - 1j * (1 - missed.real) * logit_coverage.imag
    unseen = _recursion(eligible[..., 0], phi * missed[..., :-1], change.births)
    never_again = _recursion(
        np.ones_like(eligible[..., 0]), (phi * missed[..., 1:])[..., ::-1], change.deaths[..., ::-1]
    )[..., ::-1]
    passed = _before(change.log_survival + log_missed[..., :-1])
    return ClassTerms(
        first=_log(unseen) - passed,
        last=passed + log_missed + _log(never_again),
        unseen=unseen,
        never_again=never_again,
        survival=phi,
        turnover=change,
        missed=missed,
        total=(unseen * (1 - missed)).sum(axis=-1),
    )


def adjoint(
    parameters: CourseParameters,
    terms: ClassTerms,
    by_terms: tuple[Numbers, Numbers, Numbers],
    *,
    is_always_captured: bool,
) -> CourseParameters:
    """Differentiate captures @ logit_coverage + by_first @ first + by_last @ last - total by the parameters.

    Parameters
    ----------
    parameters, is_always_captured
        Arguments of `class_terms`.
    terms
        Result of `class_terms`.
    by_terms
        Captures of each crawl and elements by first and by last capture, each of shape (T,).

    Returns
    -------
    CourseParameters
        Derivative by each parameter.
    """
    captures, by_first, by_last = by_terms
    change = terms.turnover
    phi, missed, unseen, never = terms.survival, terms.missed, terms.unseen, terms.never_again
    direct = _divided(by_first, unseen) - (1 - missed)
    kept, lost = phi * missed[..., :-1], phi * missed[..., 1:]
    by_unseen = _recursion(direct[..., -1], kept[..., ::-1], direct[..., -2::-1])[..., ::-1]
    direct = _divided(by_last, never)
    by_never = _recursion(direct[..., 0], lost, direct[..., 1:])
    later_unseen, earlier_never = by_unseen[..., 1:], by_never[..., :-1]

    by_passed = _after(by_last - by_first)
    by_phi = later_unseen * missed[..., :-1] * unseen[..., :-1] + earlier_never * (missed[..., 1:] * never[..., 1:] - 1)
    by_log_survival = by_passed + by_phi * phi
    by_exponent_of_births = later_unseen * (change.births - _exp(parameters.log_eligible[..., 1:]))
    by_exponent = -by_log_survival - by_exponent_of_births
    by_growth = (by_log_survival - by_exponent_of_births) / 2 + by_exponent * change.by_growth
    by_eligible = np.concatenate([(by_unseen * unseen)[..., :1], later_unseen * change.births], axis=-1)
    by_eligible[..., 1:] += by_growth
    by_eligible[..., :-1] -= by_growth

    by_coverage = np.zeros_like(by_eligible)
    if not is_always_captured:
        by_missed = unseen.copy()
        by_missed[..., :-1] += phi * unseen[..., :-1] * later_unseen
        by_missed[..., 1:] += phi * never[..., 1:] * earlier_never
        by_log_missed = by_last + by_missed * missed
        by_log_missed[..., :-1] += by_passed
        by_coverage = captures - (1 - missed) * by_log_missed
    return CourseParameters(by_eligible, by_exponent * change.by_log_hazard, by_coverage)
