"""Compute the Poisson likelihood of capture histories under a mixture of classes, with gradient and information.

Does not define models (see `members`) or search (see `newton`).

An element of class k with first capture f and last capture l has the expected count
λ_k = N_k(f) ψ_k(f) Π C^h (1-C)^(1-h) Π φ χ_k(l), and log L = Σ n log Σ_k λ_k - Σ_k Σ_f N_k(f) ψ_k(f) C_k(f).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from crawl_urn_dagster.urn.data.histories import first_and_last
from crawl_urn_dagster.urn.open_population.class_terms import COMPLEX_STEP, CourseParameters, adjoint, class_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, FloatArray, IntArray
    from crawl_urn_dagster.urn.open_population.class_terms import ClassTerms, Survival

    #: Captures of each crawl, and elements by first and by last capture, each of shape (T,).
    Sums: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


# Histories whose products are computed at once: their captures as numbers fit the processor's cache.
_CHUNK = 2_048
# Parameters of courses whose complex steps are followed at once: the intermediate arrays fit the processor's cache.
_STEPPED = 100_000


@dataclass(frozen=True, eq=False)
class ClassDesign:
    """How a class depends on the parameters of a model.

    Attributes
    ----------
    name
        Name of the class.
    survival
        How the class survives.
    is_always_captured
        Whether its coverage is 1.
    matrix
        Derivative of log eligible, log hazard and logit coverage by the parameters, shape (3 T - 1, n_parameters).
    """

    name: str
    survival: Survival
    is_always_captured: bool
    matrix: FloatArray

    @cached_property
    def _sparse(self) -> sparse.csr_array:
        return sparse.csr_array(self.matrix)

    def course(self, parameters: FloatArray) -> CourseParameters:
        """Return the parameters of every crawl and gap, for parameters of shape (n_parameters,)."""
        return _course(self._sparse @ parameters)

    def by_parameters(self, by_course: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return derivatives by the parameters, from those by the course, shape (..., 3 T - 1)."""
        return np.asarray(by_course @ self._sparse)

    def stepped_courses(self, parameters: FloatArray) -> Iterator[CourseParameters]:
        """Yield the parameters of every crawl and gap with a complex step of each parameter along the first axis.

        The steps are divided into parts that fit the processor's cache.
        """
        course, steps = self._sparse @ parameters, self._sparse.T.tocsr()
        at_once = max(_STEPPED // len(course), 1)
        for low in range(0, parameters.size, at_once):
            yield _course(course + 1j * COMPLEX_STEP * steps[low : low + at_once].toarray())


def _course(values: npt.NDArray[Any]) -> CourseParameters:
    """Split log eligible, log hazard and logit coverage, shape (..., 3 T - 1)."""
    n = (values.shape[-1] + 1) // 3
    return CourseParameters(values[..., :n], values[..., n : 2 * n - 1], values[..., 2 * n - 1 :])


@dataclass(frozen=True, eq=False)
class HistoryRows:
    """Capture histories in the form that the likelihood needs.

    Attributes
    ----------
    seen
        Captures of each history that several classes can have, shape (rows, T).
    first, last
        Index of the crawl of the first and of the last capture of these histories, shape (rows,).
    elements
        Elements with these histories, shape (rows,).
    is_run
        Whether a history has no miss between its first and its last capture, shape (rows,).
    sums
        Captures of each crawl, and elements by first and by last capture, of all other histories, each of shape (T,).
    by_first, by_last
        Indicators of the first and of the last capture, shape (rows, T).
    """

    seen: FloatArray
    first: IntArray
    last: IntArray
    elements: FloatArray
    is_run: BoolArray
    sums: Sums
    by_first: sparse.csr_array
    by_last: sparse.csr_array

    @property
    def n_crawls(self) -> int:
        """Number of crawls."""
        return int(self.seen.shape[1])

    def sums_of(self, weights: FloatArray) -> Sums:
        """Sum weights of the rows by crawl, by first and by last capture, each of shape (T,)."""
        return _sums(self.seen, self.first, self.last, weights)

    def curvature_of(self, weights: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return S' X' diag(weights) X S, with captures and indicators of first and last capture X and slopes S.

        Parameters
        ----------
        weights
            Shape (rows,).
        slopes
            Slopes of the terms of captures, of first and of last captures, shape (3 T, n_parameters).
        """
        n, some = self.n_crawls, np.flatnonzero(weights)
        # Hardly any parameter changes the term of a capture in one class and not in the other.
        by_captures, by_first, by_last = sparse.csr_array(slopes[:n]), slopes[n : 2 * n], slopes[2 * n :]
        if some.size <= n:
            moved = self.seen[some] @ by_captures + by_first[self.first[some]] + by_last[self.last[some]]
            return np.asarray(moved.T @ (moved * weights[some, None]))
        captures, first_captures, last_captures = np.zeros((3, n, n))
        for low in range(0, some.size, _CHUNK):
            rows = some[low : low + _CHUNK]
            seen = self.seen[rows]
            weighted = seen * weights[rows, None]
            captures += seen.T @ weighted
            first_captures += self.by_first[rows].T @ weighted
            last_captures += self.by_last[rows].T @ weighted
        pairs = sparse.csr_array((weights[some], (self.first[some], self.last[some])), shape=(n, n))
        first: FloatArray = np.bincount(self.first[some], weights[some], minlength=n)[:, None]
        last: FloatArray = np.bincount(self.last[some], weights[some], minlength=n)[:, None]
        half = by_first.T @ (first_captures @ by_captures + first / 2 * by_first + pairs @ by_last)
        half += by_last.T @ (last_captures @ by_captures + last / 2 * by_last)
        return np.asarray(half + half.T + by_captures.T @ (captures @ by_captures))


def _sums(seen: FloatArray, first: IntArray, last: IntArray, weights: FloatArray) -> Sums:
    n = seen.shape[1]
    by_first, by_last = (np.bincount(at, weights, minlength=n).astype(np.float64) for at in (first, last))
    return weights @ seen, by_first, by_last


def history_rows(counts: CaptureHistoryCounts, *, is_mixed: bool) -> HistoryRows:
    """Prepare histories for the likelihood.

    Parameters
    ----------
    counts
        Elements of each capture history.
    is_mixed
        Whether several classes can have any history. If not, only histories without a miss between the first and the
        last capture, of which one is by the first or the last crawl, can be of the core.
    """
    captured = counts.seen.any(axis=1) & (counts.elements > 0)
    seen, elements = counts.seen[captured], counts.elements[captured].astype(np.float64)
    n = counts.n_crawls
    first, last = first_and_last(seen)
    is_run = seen.sum(axis=1) == last - first + 1
    rows = np.ones(len(seen), dtype=bool) if is_mixed else is_run & ((first == 0) | (last == n - 1))
    sums = _sums(seen.astype(np.float64), first, last, elements * ~rows)
    first, last = first[rows], last[rows]
    each = np.arange(first.size)
    ones = np.ones(first.size)
    return HistoryRows(
        seen=seen[rows].astype(np.float64),
        first=first,
        last=last,
        elements=elements[rows],
        is_run=is_run[rows],
        sums=sums,
        by_first=sparse.csr_array((ones, (each, first)), shape=(first.size, n)),
        by_last=sparse.csr_array((ones, (each, last)), shape=(first.size, n)),
    )


def _is_possible(design: ClassDesign, matrix_of_growth: FloatArray, rows: HistoryRows) -> BoolArray | None:
    """Return which histories a class can have; None for all."""
    if not design.is_always_captured:
        return None
    changes = bool(matrix_of_growth.any())
    enters = changes and design.survival == "growing"
    leaves = changes and design.survival == "shrinking"
    starts = True if enters else rows.first == 0
    ends = True if leaves else rows.last == rows.n_crawls - 1
    return np.asarray(rows.is_run & starts & ends)


class MixtureLikelihood:
    """Log-likelihood of a mixture of classes as a function of the parameters of a model.

    Parameters
    ----------
    designs
        The classes. All but the last class may have any history only if the rows are mixed.
    rows
        The histories.
    """

    def __init__(self, designs: Sequence[ClassDesign], rows: HistoryRows) -> None:
        self.designs = tuple(designs)
        self._rows = rows
        n = rows.n_crawls
        self._possible = [_is_possible(design, np.diff(design.matrix[:n], axis=0), rows) for design in self.designs]
        self._soft = [possible is None for possible in self._possible].index(True)
        self._evaluated: tuple[bytes, list[ClassTerms], FloatArray] | None = None

    def _evaluate(self, parameters: FloatArray) -> tuple[list[ClassTerms], FloatArray]:
        """Return terms and logarithms of expectations; a search needs value, gradient and more at the same point."""
        point = parameters.tobytes()
        if self._evaluated is None or self._evaluated[0] != point:
            terms = self._terms(parameters)
            self._evaluated = point, terms, self._log_expected(parameters, terms)
        return self._evaluated[1:]

    def _terms(self, parameters: FloatArray) -> list[ClassTerms]:
        return [
            class_terms(design.course(parameters), design.survival, is_always_captured=design.is_always_captured)
            for design in self.designs
        ]

    def _log_expected(self, parameters: FloatArray, terms: Sequence[ClassTerms]) -> FloatArray:
        """Return the logarithm of the expected elements of each class and history, shape (classes, rows)."""
        rows = self._rows
        result = np.empty((len(terms), rows.elements.size))
        for k, (design, term, possible) in enumerate(zip(self.designs, terms, self._possible, strict=True)):
            result[k] = term.first[rows.first] + term.last[rows.last]
            if possible is None:
                result[k] += rows.seen @ design.course(parameters).logit_coverage
            else:
                result[k][~possible] = -np.inf
        return result

    def value(self, parameters: FloatArray) -> float:
        """Return the log-likelihood without the constant Σ ln n!."""
        terms, logs = self._evaluate(parameters)
        soft, (captures, by_first, by_last) = terms[self._soft], self._rows.sums
        coverage = self.designs[self._soft].course(parameters).logit_coverage
        rest = captures @ coverage + by_first @ soft.first + by_last @ soft.last
        mixed = self._rows.elements @ logsumexp(logs, axis=0) if logs.size else 0.0
        return float(mixed + rest - sum(term.total for term in terms))

    def _weights(self, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the share of each class in each history, and its elements, shape (classes, rows) each."""
        shares = np.exp(logs - logsumexp(logs, axis=0)) if logs.size else logs
        return shares, shares * self._rows.elements

    def _sums(self, k: int, weights: FloatArray) -> Sums:
        """Return the sums of the histories of class k, with those that only one class can have."""
        sums = self._rows.sums_of(weights)
        if k != self._soft:
            return sums
        rest = self._rows.sums
        return sums[0] + rest[0], sums[1] + rest[1], sums[2] + rest[2]

    def gradient(self, parameters: FloatArray) -> FloatArray:
        """Return the gradient, shape (n_parameters,)."""
        terms, logs = self._evaluate(parameters)
        _, weights = self._weights(logs)
        gradient = np.zeros(parameters.size)
        for k, design in enumerate(self.designs):
            always = design.is_always_captured
            by_course = adjoint(
                design.course(parameters), terms[k], self._sums(k, weights[k]), is_always_captured=always
            )
            gradient += design.by_parameters(np.concatenate(by_course))
        return gradient

    def information(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient, shape (n_parameters,), and second derivatives, shape (n_parameters, n_parameters)."""
        terms, logs = self._evaluate(parameters)
        shares, weights = self._weights(logs)
        gradient, hessian = np.zeros(parameters.size), np.zeros((parameters.size, parameters.size))
        jacobians = []
        for k, design in enumerate(self.designs):
            by_class, curvature, jacobian = _differentiate(design, parameters, terms[k], self._sums(k, weights[k]))
            gradient += by_class
            hessian += curvature
            jacobians.append(jacobian)
        for k in range(len(self.designs)):
            for j in range(k):
                between = jacobians[k] - jacobians[j]
                hessian += self._rows.curvature_of(weights[k] * shares[j], between)
        return gradient, hessian


def _differentiate(
    design: ClassDesign, parameters: FloatArray, terms: ClassTerms, sums: Sums
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return gradient and curvature of a class with given memberships, and the Jacobian of its terms.

    All are by the parameters of the model, shapes (n_parameters,), (n_parameters, n_parameters) and
    (3 T, n_parameters).
    """
    always = design.is_always_captured
    gradient = np.concatenate(adjoint(design.course(parameters), terms, sums, is_always_captured=always))
    curvatures, slopes = [], []
    for steps in design.stepped_courses(parameters):
        terms_of_steps = class_terms(steps, design.survival, is_always_captured=always)
        gradients = adjoint(steps, terms_of_steps, sums, is_always_captured=always)
        curvatures.append(design.by_parameters(np.concatenate(gradients, axis=1).imag / COMPLEX_STEP))
        slopes.append(np.concatenate([by.imag.T / COMPLEX_STEP for by in terms_of_steps[:2]]))
    curvature = np.concatenate(curvatures)
    n = terms.first.size
    coverage = np.zeros((n, parameters.size)) if always else design.matrix[2 * n - 1 :]
    jacobian = np.concatenate([coverage, np.concatenate(slopes, axis=1)])
    return design.by_parameters(gradient), (curvature + curvature.T) / 2, jacobian
