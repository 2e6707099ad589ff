"""Fit mixtures of two classes of elements in the Cormack-Jolly-Seber model to capture histories.

Covers a finite mixture of constant survival and coverage, and the mixture whose first class is the core. Does not cover
one class (see `cormack_jolly_seber`) or the urn of core and shell from crawl sizes and overlaps (see `fits`).

The likelihood conditions on the first capture. With coverage constant in time, the probability of a history depends
only on its first crawl, its last crawl and the number of captures, so histories are counted by these three.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import expit, logit, xlog1py

from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.recaptures import (
    gaps_of,
    never_seen_again,
    never_seen_again_gradient,
    smallest_gap,
)
from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, count_cells
from crawl_urn_dagster.urn.optimise.maximum_likelihood import as_not_identified, fit_at, maximise, nothing_estimated
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode
from crawl_urn_dagster.urn.results.result import FitKind

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray
    from crawl_urn_dagster.urn.optimise.maximum_likelihood import MaximumLikelihoodFit
    from crawl_urn_dagster.urn.results.result import Clock

Varying = Literal["common", "class"]

_START_SHARES = (0.3, 0.7)
# Distances from the fit of one class at which two classes start, on the logit scales of survival and of coverage.
_SPREADS = ((-1.0, 0.0), (0.0, -1.0), (-1.0, -1.0), (-1.0, 1.0))
# Gain in -2 ln L over one class that may be a rounding error.
_NO_GAIN = 1e-3


class _Histories(NamedTuple):
    """Elements by first crawl, last crawl and number of captures; arrays of shape (n_cells,) except `gaps`.

    Attributes
    ----------
    first, last
        Crawls of the first and of the last capture.
    captured, missed
        Crawls after the first capture and up to the last one that captured the element, and that missed it.
    elapsed
        Time from the first to the last capture.
    elements
        Elements of the cell.
    released
        1 if the elements were released after the last capture, 0 if they were lost.
    gaps
        Times between crawls, shape (n_gaps,).
    """

    first: IntArray
    last: IntArray
    captured: FloatArray
    missed: FloatArray
    elapsed: FloatArray
    elements: FloatArray
    released: FloatArray
    gaps: FloatArray

    @property
    def releases(self) -> int:
        """Number of captures by crawls other than the last one."""
        return int((self.elements * (self.captured + (self.last < self.gaps.size) * self.released)).sum())

    def log_probability(self, alpha: float, coverage: float) -> FloatArray:
        """Return the log-probability of the history after the first capture, shape (n_cells,)."""
        chi = never_seen_again(alpha**self.gaps, np.full(self.gaps.size, coverage))
        return np.asarray(
            self.elapsed * np.log(alpha)
            + self.captured * np.log(coverage)
            + xlog1py(self.missed, -coverage)
            + np.log(chi)[self.last] * self.released
        )

    def gradient(self, members: FloatArray, alpha: float, coverage: float) -> tuple[float, float]:
        """Differentiate ``sum(members * log_probability)`` by alpha and by coverage."""
        phi, p = alpha**self.gaps, np.full(self.gaps.size, coverage)
        never = np.bincount(self.last, weights=members * self.released, minlength=self.gaps.size + 1)
        by_phi, by_p = never_seen_again_gradient(never, phi, p, never_seen_again(phi, p))
        by_alpha = (members @ self.elapsed + by_phi @ (self.gaps * phi)) / alpha
        by_coverage = members @ self.captured / coverage - members @ self.missed / (1 - coverage) + by_p.sum()
        return float(by_alpha), float(by_coverage)


def fit_two_classes(
    counts: CaptureHistoryCounts,
    times: npt.ArrayLike | None = None,
    *,
    survival: Varying = "class",
    coverage: Varying = "class",
    clock: Clock = "crawl",
) -> MaximumLikelihoodFit:
    """Maximise the likelihood of a mixture of two classes of constant survival and coverage.

    The probability of a history after the first capture is the mean over the classes, weighted by their shares of the
    elements first captured by a crawl. The shares are assumed to be the same at every crawl (Pledger, Pollock and
    Norris 2003). In an urn they are not, because elements that live long and are captured often are captured first.

    Parameters
    ----------
    counts
        Elements of each capture history.
    times
        Times of the crawls, shape (n_crawls,), not decreasing; one unit apart if None.
    survival, coverage
        ``class`` for one value per class, or ``common``.
    clock
        Unit of the times.

    Returns
    -------
    FitResult
        Estimates ``share`` of the first class; then ``alpha_1`` and ``alpha_2``, or ``alpha``, per unit of time; then
        ``coverage_1`` and ``coverage_2``, or ``coverage``. The first class is the one with lower survival, or with
        lower coverage if survival is common. No parameter is identified if two classes fit no better than one. The
        details are `MaximumLikelihoodDetails`.

    Raises
    ------
    ValueError
        If the times decrease or have a different length, or `survival` or `coverage` is unknown.

    References
    ----------
    Pledger, S., Pollock, K. H. and Norris, J. L. (2003). Open capture-recapture models with heterogeneity: I.
    Cormack-Jolly-Seber model. Biometrics 59, 786-794.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import simulate
    >>> counts = simulate(times=range(6), core=500, shell=500, alpha=0.6, coverage=0.5, seed=1).counts()
    >>> list(fit_two_classes(counts, coverage="common").estimates)
    ['share', 'alpha_1', 'alpha_2', 'coverage']
    """
    alpha_names, alpha_index = _parameters("alpha", survival, 1)
    coverage_names, coverage_index = _parameters("coverage", coverage, 1 + len(alpha_names))
    names = ["share", *alpha_names, *coverage_names]
    histories, unit = _histories(counts, times)
    kind = FitKind("recaptures", "two_classes", "exact", clock)
    if not histories.captured.any():
        return nothing_estimated(kind, names, histories.releases, Reason(ReasonCode.NO_RECAPTURES))

    def log_likelihood(parameters: FloatArray) -> tuple[float, FloatArray]:
        share, classes = parameters[0], list(zip(alpha_index, coverage_index, strict=True))
        joint = np.log([[share], [1 - share]]) + [
            histories.log_probability(parameters[a], parameters[c]) for a, c in classes
        ]
        total = np.logaddexp(*joint)
        members = histories.elements * np.exp(joint - total)
        gradient = np.zeros(len(names))
        gradient[0] = members[0].sum() / share - members[1].sum() / (1 - share)
        for (a, c), weights in zip(classes, members, strict=True):
            gradient[[a, c]] += histories.gradient(weights, parameters[a], parameters[c])
        return float(histories.elements @ total), gradient

    one_class = _one_class(counts, histories)
    centre = logit(_start(one_class))
    starts = []
    for share, (by_alpha, by_coverage) in product(_START_SHARES, _SPREADS):
        start = np.full(len(names), share)
        start[alpha_index] = expit(centre[0] + by_alpha * np.array([1, -1]))
        start[coverage_index] = expit(centre[1] + by_coverage * np.array([1, -1]))
        starts.append(start)
    best = maximise(log_likelihood, starts, histories.releases)
    if tuple(best[[alpha_index[0], coverage_index[0]]]) > tuple(best[[alpha_index[1], coverage_index[1]]]):
        best[0] = 1 - best[0]
        for index in (alpha_index, coverage_index):
            best[index] = best[index[::-1]]
    powers = np.ones(len(names))
    powers[alpha_index] = 1 / unit
    fit = fit_at(log_likelihood, best, kind=kind, parameters=names, sample_size=histories.releases, powers=powers)
    if one_class.details.minus_two_log_likelihood - fit.details.minus_two_log_likelihood > _NO_GAIN:
        return fit
    return as_not_identified(fit, one_class.details.n_parameters, Reason(ReasonCode.ONE_CLASS_SUFFICES))


def fit_core_and_shell(
    counts: CaptureHistoryCounts, times: npt.ArrayLike | None = None, *, clock: Clock = "crawl"
) -> MaximumLikelihoodFit:
    """Maximise the likelihood of the urn of core and shell: a mixture whose first class is in every crawl.

    The core has survival and coverage 1 and exists from the start. Only elements of the first crawl that are in every
    crawl can belong to it, although elements of the shell may be in every crawl, too.

    Parameters
    ----------
    counts
        Elements of each capture history.
    times
        Times of the crawls, shape (n_crawls,), not decreasing; one unit apart if None.
    clock
        Unit of the times.

    Returns
    -------
    FitResult
        Estimates ``core_share``, the core share μ of the first crawl, then ``alpha`` and ``coverage`` of the shell,
        with survival per unit of time. `kappa_from_core_share` gives the core fraction of the urn. The details are
        `MaximumLikelihoodDetails`.

    Raises
    ------
    ValueError
        If the times decrease or have a different length.

    References
    ----------
    Paris, Çelikkanat and Foppiano (2026). Measuring What the Crawler Sees. Common Crawl Foundation.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import simulate
    >>> counts = simulate(times=range(6), core=500, shell=500, alpha=0.6, coverage=0.5, seed=1).counts()
    >>> print(fit_core_and_shell(counts).summary())
    core_and_shell recaptures, per crawl
    core_share = 0.661 (95 % CI 0.626 to 0.693)
    alpha = 0.584 (95 % CI 0.548 to 0.620)
    coverage = 0.519 (95 % CI 0.467 to 0.571)
    status: ok
    """
    names = ["core_share", "alpha", "coverage"]
    histories, unit = _histories(counts, times)
    kind = FitKind("recaptures", "core_and_shell", "exact", clock)
    if not histories.captured.any():
        return nothing_estimated(kind, names, histories.releases, Reason(ReasonCode.NO_RECAPTURES))
    may_be_core = histories.first == 0
    is_complete = histories.captured == np.where(histories.released, histories.gaps.size, histories.last)

    def log_likelihood(parameters: FloatArray) -> tuple[float, FloatArray]:
        share, alpha, coverage = (float(parameter) for parameter in parameters)
        shell = histories.log_probability(alpha, coverage) + np.where(may_be_core, np.log1p(-share), 0.0)
        total = np.logaddexp(np.where(is_complete, np.log(share), -np.inf), shell)
        in_shell = histories.elements * np.exp(shell - total)
        in_core = (histories.elements - in_shell)[is_complete].sum()
        by_share = in_core / share - in_shell[may_be_core].sum() / (1 - share)
        return float(histories.elements @ total), np.array([by_share, *histories.gradient(in_shell, alpha, coverage)])

    centre = _start(_one_class(counts, histories))
    starts = [np.array([share, *centre]) for share in _START_SHARES]
    best = maximise(log_likelihood, starts, histories.releases)
    return fit_at(
        log_likelihood,
        best,
        kind=kind,
        parameters=names,
        sample_size=histories.releases,
        powers=np.array([1, 1 / unit, 1]),
        may_be_zero=["core_share"],
    )


def _histories(counts: CaptureHistoryCounts, times: npt.ArrayLike | None) -> tuple[_Histories, float]:
    """Count histories by first crawl, last crawl and captures, with times in units of the smallest gap."""
    gaps = gaps_of(times, counts.n_crawls)
    unit = smallest_gap(gaps)
    clock = np.append(0.0, np.cumsum(gaps / unit))
    lost = counts.lost_alone()
    released_cells = count_cells(CaptureHistoryCounts(counts.seen, counts.elements - lost.elements))
    lost_cells = count_cells(lost)
    first, last, captures, elements = (np.concatenate(both) for both in zip(released_cells, lost_cells, strict=True))
    released = np.repeat([1.0, 0.0], [len(released_cells.first), len(lost_cells.first)])
    captured, missed, members = (
        numbers.astype(np.float64) for numbers in (captures - 1, last - first - captures + 1, elements)
    )
    return _Histories(first, last, captured, missed, clock[last] - clock[first], members, released, gaps / unit), unit


def _one_class(counts: CaptureHistoryCounts, histories: _Histories) -> MaximumLikelihoodFit:
    """Fit one survival, per smallest gap, and one coverage to all elements."""
    clock = np.append(0.0, np.cumsum(histories.gaps))
    sizes, losses = np.diagonal(counts.intersections()), counts.losses()
    return fit_cormack_jolly_seber(sizes, counts.recaptures(), times=clock, losses=losses)


def _start(one_class: MaximumLikelihoodFit) -> FloatArray:
    """Return survival and coverage away from the bounds; 0.5 if not identified."""
    values = [one_class.estimates.get(name, 0.5) for name in one_class.details.parameters]
    return np.array(values).clip(0.05, 0.95)


def _parameters(name: str, varying: Varying, first: int) -> tuple[list[str], list[int]]:
    """Return the names of one or two parameters, and the index of the parameter of each class."""
    if varying not in {"class", "common"}:
        raise ValueError(f"{name} varies by {varying!r}; expected 'class' or 'common'")
    return ([f"{name}_1", f"{name}_2"], [first, first + 1]) if varying == "class" else ([name], [first, first])
