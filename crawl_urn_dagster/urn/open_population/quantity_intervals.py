"""Compute 95 % confidence intervals of quantities of the population by the delta method.

Does not define the quantities; see `quantities`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit

from crawl_urn_dagster.urn.open_population.class_terms import COMPLEX_STEP
from crawl_urn_dagster.urn.open_population.quantities import quantities
from crawl_urn_dagster.urn.results.result import Interval

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.open_population.likelihood import ClassDesign

_Z = 1.959963984540054
_Z_ONE_SIDED = 1.6448536269514722
# The rule of three: with 95 % confidence, at most three elements are expected where none was seen.
_RULE_OF_THREE = 3.0
# Quantities whose intervals are computed on the logarithmic scale and as they are; all others are shares.
_POSITIVE = {"population", "known_eligible", "loss_half_life"}
_SIGNED = {"newcomers", "growth", "core_growth", "shell_growth"}
_EDGE = 1e-12


class Course(NamedTuple):
    """A quantity of every crawl or gap with standard error and 95 % interval, each of shape (T,) or (T - 1,)."""

    estimate: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Courses(Mapping[str, Course]):
    """Quantities of every crawl or gap by name, whose intervals are computed when a quantity is read.

    With T crawls, the variances of a course take T³ steps, and most courses of most fits are never read.

    Attributes
    ----------
    designs, parameters, covariance, crawls
        Arguments of `estimate_quantities`.
    estimates
        Estimates by name.
    factor
        Number that standard errors are multiplied by.
    """

    designs: Sequence[ClassDesign] = ()
    parameters: FloatArray = field(default_factory=lambda: np.zeros(0))
    covariance: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    crawls: slice = field(default_factory=lambda: slice(0))
    estimates: Mapping[str, FloatArray] = field(default_factory=dict)
    factor: float = 1.0
    _known: dict[str, Course] = field(default_factory=dict, init=False)

    def __getitem__(self, name: str) -> Course:
        """Return a quantity with its interval."""
        if name not in self._known:
            value = self.estimates[name]
            slope = _slopes(self.designs, self.parameters, self.crawls, {name})[name]
            se = self.factor * _standard_error(slope, self.covariance)
            self._known[name] = Course(value, se, *limits_of(name, value, se))
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self.estimates)

    def __len__(self) -> int:
        """Return the number of quantities."""
        return len(self.estimates)


class Quantities(NamedTuple):
    """Quantities of the window by name, with standard errors and intervals, and quantities by crawl or gap."""

    estimates: dict[str, float]
    standard_errors: dict[str, float]
    intervals: dict[str, Interval]
    courses: Courses


def estimate_quantities(
    designs: Sequence[ClassDesign],
    parameters: FloatArray,
    covariance: FloatArray,
    crawls: slice,
) -> Quantities:
    """Compute quantities with intervals by the delta method.

    Parameters
    ----------
    designs, crawls
        Arguments of `quantities`.
    parameters, covariance
        Parameters of the designs and their covariance.

    Returns
    -------
    Quantities
        Estimates, standard errors and intervals.
    """
    values = quantities(designs, [design.course(parameters) for design in designs], crawls)
    courses = {name: value for name, value in values.items() if value.ndim}
    result = Quantities({}, {}, {}, Courses(designs, parameters, covariance, crawls, courses))
    for name, slope in _slopes(designs, parameters, crawls, values.keys() - courses.keys()).items():
        value, se = float(values[name]), float(_standard_error(slope, covariance))
        low, high = limits_of(name, value, se)
        result.estimates[name], result.standard_errors[name] = value, se
        result.intervals[name] = Interval(float(low), float(high))
    return result


def _slopes(
    designs: Sequence[ClassDesign], parameters: FloatArray, crawls: slice, names: Collection[str]
) -> dict[str, FloatArray]:
    """Differentiate some quantities by the parameters, shape (n_parameters, ...)."""
    parts: dict[str, list[FloatArray]] = {}
    for courses in zip(*(design.stepped_courses(parameters) for design in designs), strict=True):
        for name, value in quantities(designs, courses, crawls).items():
            if name in names:
                parts.setdefault(name, []).append(value.imag / COMPLEX_STEP)
    return {name: np.concatenate(part) for name, part in parts.items()}


def _standard_error(slope: FloatArray, covariance: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.maximum((slope * (covariance @ slope)).sum(axis=0), 0.0)))


def limits_of(name: str, value: npt.ArrayLike, se: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the 95 % confidence interval of a quantity.

    Intervals of numbers of elements are computed on the logarithmic scale, of shares on the logit
    scale, and of growth without a transformation. The interval of a share is linear if it reaches 0, and that of
    survival if it reaches 1.

    Parameters
    ----------
    name
        Name of the quantity.
    value, se
        Estimates and standard errors.
    """
    value, se = np.asarray(value, np.float64), np.asarray(se, np.float64)
    if name in _SIGNED:
        return value - _Z * se, value + _Z * se
    if name.removesuffix("_by_crawl") in _POSITIVE:
        factor = np.exp(np.minimum(_Z * se / value, 50.0))
        return value / factor, value * factor
    inner = np.clip(value, _EDGE, 1 - _EDGE)
    half = _Z * se / (inner * (1 - inner))
    low, high = expit(logit(inner) - half), expit(logit(inner) + half)
    near_0 = value <= _Z * se
    # Survival can be 1; for a core of all elements, the logit is the more cautious scale.
    near_1 = (1 - value <= _Z * se) & ("survival" in name)
    is_near = near_0 | near_1
    linear_low, linear_high = np.maximum(value - _Z * se, 0.0), np.minimum(value + _Z * se, 1.0)
    return np.where(is_near, linear_low, np.minimum(low, value)), np.where(
        is_near, linear_high, np.maximum(high, value)
    )


def upper_limit_of_share(share: float, se: float, eligible: float) -> float:
    """Return the upper end of the one-sided 95 % confidence interval of a share that may be 0.

    Parameters
    ----------
    share, se
        Estimated share of the eligible elements and its standard error.
    eligible
        Expected eligible elements.
    """
    return min(max(share + _Z_ONE_SIDED * se, _RULE_OF_THREE / eligible), 1.0)
