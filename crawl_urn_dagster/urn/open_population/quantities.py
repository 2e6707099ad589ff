"""Compute quantities of the population from a fitted mixture of classes, and how they change with assumptions.

Does not fit (see `ladder`) or compute intervals (see `quantity_intervals`).

Elements that the crawls before the window captured count as known: before the window each class is assumed to have had
its mean survival, mean coverage and mean growth of the window for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit

from crawl_urn_dagster.urn.open_population.class_terms import class_terms
from crawl_urn_dagster.urn.results.result import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy.typing as npt

    from crawl_urn_dagster.urn.open_population.class_terms import CourseParameters
    from crawl_urn_dagster.urn.open_population.classes import PopulationClass
    from crawl_urn_dagster.urn.open_population.likelihood import ClassDesign

    #: Real or complex.
    Numbers = npt.NDArray[Any]

_EDGE = 1e-12
# Keeps a quotient of zeros at 0.
_TINY = 1e-300


class _Classes(NamedTuple):
    """Eligible, coverage, survival and unknown of every class, shape (classes, ..., T) or (classes, ..., T - 1)."""

    eligible: Numbers
    coverage: Numbers
    survival: Numbers
    unknown: Numbers


def _classes(designs: Sequence[ClassDesign], courses: Sequence[CourseParameters]) -> _Classes:
    eligible, coverage, survival, unknown = [], [], [], []
    for design, course in zip(designs, courses, strict=True):
        terms = class_terms(course, design.survival, is_always_captured=design.is_always_captured)
        eligible.append(np.exp(course.log_eligible))
        coverage.append(1 - terms.missed)
        survival.append(terms.survival)
        unknown.append(_unknown(course.log_eligible, terms.survival, terms.missed))
    return _Classes(np.array(eligible), np.array(coverage), np.array(survival), np.array(unknown))


def _unknown(log_eligible: Numbers, survival: Numbers, missed: Numbers) -> Numbers:
    """Return the probability that an eligible element was captured neither by an earlier crawl nor earlier."""
    older = survival * np.exp(-np.diff(log_eligible))
    mean_older = np.exp(np.log(older).mean(axis=-1))
    mean_missed = missed.mean(axis=-1)
    result = np.empty_like(missed)
    result[..., 0] = (1 - mean_older) / (1 - mean_older * mean_missed + _TINY)
    for t in range(missed.shape[-1] - 1):
        result[..., t + 1] = 1 - older[..., t] + older[..., t] * missed[..., t] * result[..., t]
    return result


def quantities(
    designs: Sequence[ClassDesign], courses: Sequence[CourseParameters], crawls: slice
) -> dict[str, Numbers]:
    """Compute the quantities of a fit.

    Parameters
    ----------
    designs
        The classes: the core or the long-lived class first, then the shells.
    courses
        Parameters of each class.
    crawls
        Crawls whose numbers and coverage are identified.

    Returns
    -------
    dict
        Arrays of shape (...), and of shape (..., crawls) for names that end in ``_by_crawl`` or ``_by_gap``.
    """
    classes = _classes(designs, courses)
    eligible = classes.eligible
    captured = eligible * classes.coverage
    is_shell = np.array([design.name.startswith("shell") for design in designs])
    shell = eligible[is_shell].sum(axis=0)
    total, sizes = eligible.sum(axis=0), captured.sum(axis=0)
    known = (eligible * (1 - (1 - classes.coverage) * classes.unknown)).sum(axis=0)
    shell_survival = (eligible[is_shell][..., :-1] * classes.survival[is_shell]).sum(axis=0) / shell[..., :-1]
    gaps = slice(0, crawls.stop - 1)
    first, last = crawls.start, crawls.stop - 1
    survivors = (eligible[..., :-1] * classes.survival).sum(axis=0)
    retained = (captured[..., :-1] * classes.survival).sum(axis=0) / sizes[..., :-1]
    shell_coverage = captured[is_shell].sum(axis=0) / shell
    result = {
        "coverage": shell_coverage[..., crawls].mean(axis=-1),
        "survival": np.exp(np.log(shell_survival[..., gaps]).mean(axis=-1)),
        "population": total[..., crawls].mean(axis=-1),
        "known_eligible": known[..., crawls].mean(axis=-1),
        "completeness": sizes[..., crawls].sum(axis=-1) / known[..., crawls].sum(axis=-1),
        "mean_survival": np.exp(np.log((survivors / total[..., :-1])[..., gaps]).mean(axis=-1)),
        "gone": 1 - np.exp(np.log(retained[..., gaps]).mean(axis=-1)),
        "newcomers": _first_captures(classes, crawls, gaps),
        "really_new": _really_new(classes, crawls, gaps),
        "growth": np.log(total[..., last] / total[..., first]) / (last - first),
        "shell_growth": np.log(shell[..., last] / shell[..., first]) / (last - first),
        "coverage_by_crawl": shell_coverage,
        "survival_by_gap": shell_survival,
        "gone_by_gap": 1 - retained,
        "population_by_crawl": total,
        "known_eligible_by_crawl": known,
        "completeness_by_crawl": sizes / known,
    }
    if not is_shell[0]:
        result |= _stable_class_quantities(designs[0].name, classes, captured[0] / sizes, crawls)
    return result


def _first_captures(classes: _Classes, crawls: slice, gaps: slice) -> Numbers:
    """Return the elements that an average crawl captures first: births times the probability of ever being captured."""
    births = (classes.eligible[..., 1:] - classes.eligible[..., :-1] * classes.survival)[..., gaps].mean(axis=-1)
    coverage, survival = classes.coverage[..., crawls].mean(axis=-1), classes.survival[..., gaps].mean(axis=-1)
    first_captures: Numbers = (births * coverage / (1 - survival * (1 - coverage))).sum(axis=0)
    return first_captures


def _really_new(classes: _Classes, crawls: slice, gaps: slice) -> Numbers:
    """Return the share of first captures that appeared since the crawl before; 0 without births.

    In the long run, α(1 - c)/λ of the first captures of a class were missed by an earlier crawl.
    """
    eligible, coverage = (one[..., crawls].mean(axis=-1) for one in (classes.eligible, classes.coverage))
    older = (classes.survival * classes.eligible[..., :-1] / classes.eligible[..., 1:])[..., gaps]
    mean_older = np.exp(np.log(older).mean(axis=-1))
    new = eligible * coverage * (1 - mean_older)
    first = new / (1 - mean_older * (1 - coverage) + _TINY)
    share: Numbers = new.sum(axis=0) / (first.sum(axis=0) + _TINY)
    return share


def _stable_class_quantities(name: str, classes: _Classes, share: Numbers, crawls: slice) -> dict[str, Numbers]:
    """Compute shares of the core or the long-lived class, and its growth, loss and miss chances."""
    stable, total = classes.eligible[0], classes.eligible.sum(axis=0)
    fraction = stable / total
    first, last = crawls.start, crawls.stop - 1
    middle = [(first + last) // 2, (first + last + 1) // 2]
    at_middle = np.exp(np.log(stable[..., middle]).mean(axis=-1))
    others = np.exp(np.log((total - stable)[..., middle]).mean(axis=-1))
    loss = 1 - classes.survival[0].mean(axis=-1)
    prefix, stem = ("kappa", "core_share") if name == "core" else ("long_lived_fraction", "long_lived_share")
    result = {
        # Numbers that fluctuate have no course that the middle of the window would represent.
        prefix: fraction[..., crawls].mean(axis=-1) if first > 0 else at_middle / (at_middle + others),
        f"{prefix}_first": fraction[..., first],
        f"{prefix}_last": fraction[..., last],
        stem: share[..., crawls].mean(axis=-1),
        f"{prefix}_by_crawl": fraction,
        f"{stem}_by_crawl": share,
        "core_growth": np.log(stable[..., last] / stable[..., first]) / (last - first),
        "miss": 1 - classes.coverage[0].mean(axis=-1),
    }
    if name == "long_lived":
        result |= {"loss": loss, "loss_half_life": -np.log(2) / np.log(classes.survival[0]).mean(axis=-1)}
    return result


def kappa_over_newborn_coverage(
    inner: Interval, classes: Sequence[PopulationClass], *, lowest: float = 1 / 3, highest: float = 1.5
) -> Interval:
    """Widen the interval of κ by the coverage that elements may have in their first crawl.

    The histories contain no information on the ratio r of the coverage of elements in their first crawl to that in
    later crawls. The shells have S / (1 - (1 - α)(1 - r)) elements, where S is the fitted number.

    Parameters
    ----------
    inner
        Interval of κ with r = 1.
    classes
        Fitted classes.
    lowest, highest
        Range of r. The coverage of new elements is at most 1, so r is at most 1 / coverage.

    Returns
    -------
    Interval
        The outer interval.

    Examples
    --------
    >>> import numpy as np
    >>> from crawl_urn_dagster.urn.open_population.classes import PopulationClass
    >>> shell = PopulationClass("shell", np.full(3, 60.0), np.full(2, 0.8), np.full(3, 0.5))
    >>> low, high = kappa_over_newborn_coverage(Interval(0.35, 0.45), [shell])
    >>> round(low, 3), round(high, 3)
    (0.318, 0.474)
    """
    shells = [one for one in classes if one.name.startswith("shell")]
    eligible = sum(float(one.eligible.mean()) for one in shells)
    factors = []
    for ratio in (lowest, highest):
        total = 0.0
        for one in shells:
            turnover = 1 - float(np.exp(np.log(np.maximum(one.survival, _EDGE)).mean()))
            bounded = min(ratio, 1 / max(float(one.coverage.mean()), _EDGE))
            total += float(one.eligible.mean()) / (1 - turnover * (1 - bounded))
        factors.append(total / eligible)
    low, high = (
        limit / (limit + (1 - limit) * factor) if 0 < limit < 1 else limit
        for limit, factor in zip(inner, factors, strict=True)
    )
    return Interval(min(low, inner.low), max(high, inner.high))


def completeness_of_window(classes: Sequence[PopulationClass]) -> float:
    """Return the completeness if the first crawl is the first of all: it captures all elements known at it.

    Captures of all crawls but the first are divided by the elements that these crawls and those before them in the
    window captured. The first and the last crawl of a model whose population fluctuates follow from a convention and
    have little weight.

    Parameters
    ----------
    classes
        Fitted classes.

    Examples
    --------
    >>> import numpy as np
    >>> from crawl_urn_dagster.urn.open_population.classes import PopulationClass
    >>> completeness_of_window([PopulationClass("shell", np.full(3, 100.0), np.ones(2), np.full(3, 0.5))])
    0.6153846153846154
    """
    captured = sum(float((one.eligible * one.coverage)[1:].sum()) for one in classes)
    missed = sum(float((one.eligible * (1 - one.coverage) * (1 - one.never_before))[1:].sum()) for one in classes)
    return captured / (captured + missed)


def last_known_over_newborn_coverage(
    classes: Sequence[PopulationClass], *, lowest: float = 1 / 3, highest: float = 1.5
) -> tuple[float, float]:
    """Return by how much the known elements of the last crawl change over the coverage that new elements may have.

    In the last gap only the product of survival and coverage is identified by recaptures, so the coverage of the last
    crawl follows from its size. If new elements are covered less than others, a size that deviates from the mean
    implies another coverage than if they are covered alike. The coverage of new elements deviates from its mean by as
    much as that of others, on the logit scale.

    Parameters
    ----------
    classes
        Fitted classes.
    lowest, highest
        Range of the mean ratio of the coverage of elements in their first crawl to that in later crawls.

    Returns
    -------
    tuple of float
        Smallest and largest change in elements; 0 is between them.
    """
    changes = [0.0]
    for ratio in (lowest, highest):
        change = 0.0
        for one in classes:
            if not one.name.startswith("shell"):
                continue
            mean, last = (float(np.clip(c, _EDGE, 1 - _EDGE)) for c in (one.coverage.mean(), one.coverage[-1]))
            turnover = 1 - float(np.exp(np.log(np.maximum(one.survival, _EDGE)).mean()))
            bounded = min(ratio, 1 / mean)
            of_new = float(expit(logit(min(bounded * mean, 1 - _EDGE)) + logit(last) - logit(mean)))
            usual = 1 - turnover * (1 - bounded)
            known = float(one.eligible[-2] * (1 - one.never_before[-2] * (1 - one.coverage[-2])))
            change += known * float(one.survival[-1]) * ((1 - turnover * (1 - of_new / last)) / usual - 1)
        changes.append(change)
    return min(changes), max(changes)
