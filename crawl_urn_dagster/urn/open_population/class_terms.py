"""Compute the terms of the history likelihood that belong to one class, with exact derivatives.

Does not mix classes; see `likelihood`.

All arrays may have leading axes and complex values, so a complex step through `adjoint` gives exact second derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

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
    log_living
        Logarithm of the expected living elements, shape (..., T).
    log_hazard
        Logarithm of the hazard H, shape (..., T - 1); not read for a class without a hazard.
    logit_coverage
        Logit of the coverage, shape (..., T); not read for a class that is always captured.
    """

    log_living: Numbers
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
        Expected living elements that no earlier crawl of the window captured, shape (..., T).
    never_again
        Probability that no later crawl captures a living element, shape (..., T).
    survival
        Probability to survive each gap, shape (..., T - 1).
    turnover
        Survival, deaths and births of each gap.
    missed
        Probability that a crawl misses a living element, shape (..., T).
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
    """Return survival φ = exp(g/2 - A) and births N(t+1)(1 - exp(-g/2 - A)) for growth g and hazard H.

    cosh A = cosh(g/2) + cosh H - 1, so φ = exp(-H) without growth, φ <= 1 and births >= 0 for any growth, and both are
    smooth functions of g and H. Without a hazard A = |g|/2.
    """
    g = np.diff(parameters.log_living)
    if survival == "hazard":
        is_free = parameters.log_hazard.real < _LARGEST_LOG_HAZARD
        hazard = np.exp(np.where(is_free, parameters.log_hazard, _LARGEST_LOG_HAZARD))
        by_g, by_h = np.sinh(g / 4), np.sinh(hazard / 2)
        z = np.sqrt(by_g**2 + by_h**2)
        slope = 2 / np.sqrt(1 + z**2) / z
        exponent = 2 * np.arcsinh(z)
        by_growth = slope * by_g * np.cosh(g / 4) / 4
        by_log_hazard = slope * by_h * np.cosh(hazard / 2) / 2 * hazard * is_free
    else:
        sign = 1.0 if survival == "growing" else -1.0
        exponent, by_growth, by_log_hazard = sign * g / 2, np.full_like(g, sign / 2), np.zeros_like(g)
    log_survival = g / 2 - exponent
    births = -np.exp(parameters.log_living[..., 1:]) * np.expm1(-g / 2 - exponent)
    return Turnover(log_survival, -np.expm1(log_survival), births, by_growth, by_log_hazard)


def _before(increments: Numbers) -> Numbers:
    """Sum the increments of the gaps before each crawl, shape (..., T)."""
    return np.concatenate([np.zeros_like(increments[..., :1]), increments.cumsum(axis=-1)], axis=-1)


def _after(values: Numbers) -> Numbers:
    """Sum the values of the crawls after each gap, shape (..., T - 1)."""
    return values[..., :0:-1].cumsum(axis=-1)[..., ::-1]


def _log(values: Numbers) -> Numbers:
    return np.log(np.where(values.real > _TINY, values, _TINY))


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
    phi = np.exp(change.log_survival)
    living = np.exp(parameters.log_living)
    if is_always_captured:
        missed = log_missed = np.zeros_like(living)
    else:
        log_missed = -np.logaddexp(0, parameters.logit_coverage.real)
        missed = np.exp(log_missed)
        if np.iscomplexobj(living):
            logit_coverage = parameters.logit_coverage
            missed = missed - 1j * missed * (1 - missed) * logit_coverage.imag
            log_missed = log_missed - 1j * (1 - missed.real) * logit_coverage.imag
    unseen, never_again = np.empty_like(living), np.ones_like(living)
    unseen[..., 0] = living[..., 0]
    kept = phi * missed[..., :-1]
    lost = phi * missed[..., 1:]
    for t in range(living.shape[-1] - 1):
        unseen[..., t + 1] = change.births[..., t] + kept[..., t] * unseen[..., t]
    for t in range(living.shape[-1] - 2, -1, -1):
        never_again[..., t] = change.deaths[..., t] + lost[..., t] * never_again[..., t + 1]
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
    kept, lost = phi * missed[..., :-1], phi * missed[..., 1:]
    by_unseen = by_first / np.where(unseen.real > _TINY, unseen, np.inf) - (1 - missed)
    by_never = by_last / np.where(never.real > _TINY, never, np.inf) + np.zeros_like(unseen)
    for t in range(unseen.shape[-1] - 2, -1, -1):
        by_unseen[..., t] += kept[..., t] * by_unseen[..., t + 1]
    for t in range(unseen.shape[-1] - 1):
        by_never[..., t + 1] += lost[..., t] * by_never[..., t]
    later_unseen, earlier_never = by_unseen[..., 1:], by_never[..., :-1]

    by_passed = _after(by_last - by_first)
    by_phi = later_unseen * missed[..., :-1] * unseen[..., :-1] + earlier_never * (missed[..., 1:] * never[..., 1:] - 1)
    by_log_survival = by_passed + by_phi * phi
    by_exponent_of_births = later_unseen * (change.births - np.exp(parameters.log_living[..., 1:]))
    by_exponent = -by_log_survival - by_exponent_of_births
    by_growth = (by_log_survival - by_exponent_of_births) / 2 + by_exponent * change.by_growth
    by_living = np.concatenate([(by_unseen * unseen)[..., :1], later_unseen * change.births], axis=-1)
    by_living[..., 1:] += by_growth
    by_living[..., :-1] -= by_growth

    by_coverage = np.zeros_like(by_living)
    if not is_always_captured:
        by_missed = unseen.copy()
        by_missed[..., :-1] += phi * unseen[..., :-1] * later_unseen
        by_missed[..., 1:] += phi * never[..., 1:] * earlier_never
        by_log_missed = by_last + by_missed * missed
        by_log_missed[..., :-1] += by_passed
        by_coverage = captures - (1 - missed) * by_log_missed
    return CourseParameters(by_living, by_exponent * change.by_log_hazard, by_coverage)
