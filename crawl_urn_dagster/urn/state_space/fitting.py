"""Fit mixtures of state-space classes to capture histories by maximum likelihood.

Does not select among models (see `family`) nor compute intervals of what follows from them (see `intervals`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import logit

from crawl_urn_dagster.urn.data.thinning import is_long
from crawl_urn_dagster.urn.results.result import Status
from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.likelihood import FREE, Layout, Likelihood, Observations

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

#: Kinds of the classes of each model; `sure` and `permanent` relax a core in one direction each.
MODELS: dict[str, tuple[str, ...]] = {
    "markov_1": ("markov",),
    "markov_2": ("markov",) * 2,
    "markov_3": ("markov",) * 3,
    "core_markov_1": ("core", "markov"),
    "core_markov_2": ("core", "markov", "markov"),
    "hidden_1": ("hidden",),
    "hidden_2": ("hidden",) * 2,
    "core_hidden_1": ("core", "hidden"),
    "core_hidden_2": ("core", "hidden", "hidden"),
    "sure_markov_1": ("sure", "markov"),
    "permanent_markov_1": ("permanent", "markov"),
    "sure_markov_2": ("sure", "markov", "markov"),
    "permanent_markov_2": ("permanent", "markov", "markov"),
    "sure_hidden_1": ("sure", "hidden"),
    "permanent_hidden_1": ("permanent", "hidden"),
    "sure_hidden_2": ("sure", "hidden", "hidden"),
    "permanent_hidden_2": ("permanent", "hidden", "hidden"),
    "markov_hidden_1": ("markov", "hidden"),
    "markov_hidden_2": ("markov", "hidden", "hidden"),
}
# Names of one, two or three like classes, those that are most often captured again first.
_NAMES = {1: ("all",), 2: ("stable", "intermittent"), 3: ("stable", "intermittent", "rare")}
_LOWEST, _HIGHEST = -9.0, 12.0
_STARTS = 4
_ITERATIONS_OF_A_START = 25
_ITERATIONS = 300
# Log-likelihoods of the first two searches that differ by less are at the same maximum.
_SAME_MAXIMUM = 1e-3
# A search ends when a step gains less than that in the log-likelihood.
_LEAST_GAIN = 1e-6
# Twice the gain that Newton's method would still make, above which a search has not converged.
_CONVERGED_DECREMENT = 0.05
_DIFFERENCE = 3e-4
# Smallest probability, and smallest distance from 1, at which a search with uneven gaps starts.
_FARTHEST_START = 1e-3
_SINGULAR = 1e-8
# First start of the probabilities of each class, in the order of `ClassParameters`; a row for each like class.
_FIRST_START = np.array([[0.99, 0.97, 0.02, 0.4], [0.95, 0.8, 0.2, 0.2], [0.8, 0.6, 0.5, 0.3]])


@dataclass(frozen=True, eq=False)
class StateSpaceFit:
    """Maximum of the likelihood of one model.

    Attributes
    ----------
    model
        Name of the model, a key of `MODELS`.
    mixture
        Classes per mean gap, with their shares of a crawl and the growth.
    log_likelihood
        Logarithm of the likelihood, conditional on the first captures unless the growth is free.
    n_parameters, n_elements, n_crawls
        Free parameters, captured elements, crawls.
    status
        ``ok``, ``at_bound``, ``not_identified`` or ``not_converged``.
    at_bound
        Whether each parameter is at a bound of the search, shape (n_parameters,).
    point
        Parameters in the order of `Layout`, shape (n_parameters,).
    covariance
        Inverse of the information of the parameters, shape (n_parameters, n_parameters); 0 for those at a bound.
    layout
        Order of the parameters.
    """

    model: str
    mixture: Mixture
    log_likelihood: float
    n_parameters: int
    n_elements: int
    n_crawls: int
    status: Status
    at_bound: BoolArray
    point: FloatArray
    covariance: FloatArray
    layout: Layout

    @property
    def bic(self) -> float:
        """Bayesian information criterion; the sample size is the number of elements."""
        return -2 * self.log_likelihood + self.n_parameters * float(np.log(max(self.n_elements, 1)))

    @property
    def converged(self) -> bool:
        """Whether the search ended at a maximum."""
        return self.status is not Status.NOT_CONVERGED

    @property
    def is_identified(self) -> bool:
        """Whether the likelihood has a single maximum, possibly at a bound."""
        return self.status not in {Status.NOT_CONVERGED, Status.NOT_IDENTIFIED}


def fit_model(model: str, data: Observations, *, seed: int, start: FloatArray | None = None) -> StateSpaceFit:
    """Fit one model by the conditional likelihood.

    Parameters
    ----------
    model
        A key of `MODELS`.
    data
        Sufficient statistic with at least three crawls and one element; see `observe`.
    seed
        Seed of the starts of the search.
    start
        Only start of the search, such as the parameters of a fit to nearly the same crawls; several starts if None.

    Returns
    -------
    StateSpaceFit
        Best maximum found.
    """
    layout = Layout(MODELS[model])
    likelihood = Likelihood(data, layout)
    if start is None and data.gaps is not None and is_long(data.n_crawls):
        # Each evaluation with uneven gaps takes T² steps, so the search among several starts takes them for equal.
        start = _start_from_equal_gaps(fit_model(model, data.with_equal_gaps(), seed=seed))
    if start is not None:
        return describe(model, likelihood, _ordered(likelihood, search(likelihood, start)[0]))
    rng = np.random.default_rng(seed)
    first = _first_start(layout, is_per_gap=data.gaps is not None)
    starts = [first] + [first + rng.standard_normal(first.size) for _ in range(_STARTS - 1)]
    found: list[tuple[FloatArray, float]] = []
    for start in starts:
        found.append(search(likelihood, start, _ITERATIONS_OF_A_START))
        if len(found) > 1 and abs(found[0][1] - found[1][1]) < _SAME_MAXIMUM:
            break  # the likelihood most likely has no other maximum
    point = search(likelihood, min(found, key=lambda candidate: candidate[1])[0])[0]
    return describe(model, likelihood, _ordered(likelihood, point))


def describe(model: str, likelihood: Likelihood, point: FloatArray) -> StateSpaceFit:
    """Return the fit at a maximum, with its covariance and status."""
    layout = likelihood.layout
    evaluation = likelihood(point)
    covariance, at_bound, is_flat = invert_information(likelihood, point)
    gradient = np.where(at_bound, 0.0, evaluation.gradient)
    decrement = float(gradient @ covariance @ gradient)
    if decrement > _CONVERGED_DECREMENT:
        status = Status.NOT_CONVERGED
    elif is_flat:
        status = Status.NOT_IDENTIFIED
    else:
        status = Status.AT_BOUND if at_bound.any() else Status.OK
    return StateSpaceFit(
        model=model,
        mixture=mixture_at(likelihood, point),
        log_likelihood=evaluation.value,
        n_parameters=layout.n_parameters,
        n_elements=int(likelihood.data.n_elements),
        n_crawls=likelihood.data.n_crawls,
        status=status,
        at_bound=at_bound,
        point=point,
        covariance=covariance,
        layout=layout,
    )


def mixture_at(likelihood: Likelihood, point: FloatArray) -> Mixture:
    """Return the classes at a point."""
    parameters, shares, growth = likelihood.probabilities(point)
    kinds = likelihood.layout.kinds
    alike = sum(kind == kinds[-1] for kind in kinds)
    names = kinds[: len(kinds) - alike] + _NAMES[alike]
    classes = [StateSpaceClass(name, *values) for name, values in zip(names, parameters.tolist(), strict=True)]
    return Mixture(tuple(classes), tuple(shares.tolist()), growth)


def _first_start(layout: Layout, *, is_per_gap: bool) -> FloatArray:
    alike = sum(kind == layout.kinds[-1] for kind in layout.kinds)
    parts, offset = [], len(layout.kinds) - alike
    for k, kind in enumerate(layout.kinds):
        values = _FIRST_START[max(k - offset, 0)].copy()
        if is_per_gap:
            departure, reactivation = values[2:]
            values[2:] = reactivation / (departure + reactivation), 1 - departure - reactivation
        parts.append(values[list(FREE[kind])])
    logits = np.concatenate(parts)
    return np.concatenate([np.log(logits / (1 - logits)), -0.5 * np.arange(1, len(layout.kinds))])


def _start_from_equal_gaps(fit: StateSpaceFit) -> FloatArray:
    """Return the parameters for uneven gaps of a fit that takes all gaps for equal."""
    parts = []
    for kind, element in zip(fit.layout.kinds, fit.mixture.classes, strict=True):
        values = np.array([element.survival, element.coverage, element.departure, element.reactivation])
        if 2 in FREE[kind]:
            values[2:] = float(element.parameters.availability), float(element.parameters.memory)
        free = values[list(FREE[kind])]
        parts.append(logit(np.clip(free, _FARTHEST_START, 1 - _FARTHEST_START)))
    return np.concatenate([*parts, fit.point[sum(map(len, parts)) :]])


def search(
    likelihood: Likelihood,
    start: FloatArray,
    iterations: int = _ITERATIONS,
    growth_bounds: tuple[float, float] = (0.0, 0.0),
) -> tuple[FloatArray, float]:
    """Return the point that a search ends at and minus its log-likelihood.

    Parameters
    ----------
    likelihood
        Likelihood to maximise.
    start
        Point of the layout's parameters.
    iterations
        Largest number of iterations.
    growth_bounds
        Ends of the log growth, if it is free.
    """
    scale = max(likelihood.data.n_elements, 1.0)
    bounds = [(_LOWEST, _HIGHEST)] * (start.size - likelihood.layout.grows)
    bounds += [growth_bounds] * likelihood.layout.grows

    def objective(point: FloatArray) -> tuple[float, FloatArray]:
        evaluation = likelihood(point)
        return -evaluation.value / scale, -evaluation.gradient / scale

    low, high = np.transpose(bounds)
    found = minimize(
        objective,
        np.clip(start, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={
            "maxiter": iterations,
            "maxfun": 2 * iterations,
            "ftol": _LEAST_GAIN / scale,
            "gtol": 1e-9,
            "maxcor": 20,
        },
    )
    return np.asarray(found.x), float(found.fun) * scale


def _ordered(likelihood: Likelihood, point: FloatArray) -> FloatArray:
    """Sort like classes by the probability that a capture is followed by one in the next crawl, highest first."""
    kinds = likelihood.layout.kinds
    logits, log_shares, _ = likelihood.split(point)
    classes = mixture_at(likelihood, point).classes
    order = sorted(range(len(kinds)), key=lambda k: (kinds[k] == kinds[-1], -float(classes[k].returns(1).first[1])))
    shares = log_shares[order]
    return np.concatenate([*(logits[k] for k in order), shares[1:] - shares[0]])


def invert_information(likelihood: Likelihood, point: FloatArray) -> tuple[FloatArray, BoolArray, bool]:
    """Invert the information of the parameters that are not at a bound.

    Returns
    -------
    covariance
        Inverse, 0 for parameters at a bound, shape (n_parameters, n_parameters).
    at_bound
        Whether each parameter is at a bound, shape (n_parameters,).
    is_flat
        Whether the likelihood is flat in a direction.
    """
    at_bound = (point <= _LOWEST + 1e-3) | (point >= _HIGHEST - 1e-3)
    free = np.flatnonzero(~at_bound)
    steps = _DIFFERENCE * np.eye(point.size)[free]
    slopes = [likelihood(point + step).gradient - likelihood(point - step).gradient for step in steps]
    information = -np.array(slopes).reshape(len(free), point.size)[:, free] / (2 * _DIFFERENCE)
    covariance = np.zeros((point.size, point.size))
    inverse, is_flat = _inverse(information)
    covariance[np.ix_(free, free)] = inverse
    return covariance, at_bound, is_flat


def _inverse(information: FloatArray) -> tuple[FloatArray, bool]:
    """Invert the part of an information that is positive, and say whether there is another part."""
    if not np.isfinite(information).all():
        return np.zeros_like(information), True
    information = (information + information.T) / 2
    scale = np.sqrt(np.maximum(np.diagonal(information), 1e-3))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    regular = values > _SINGULAR
    inverse = (vectors[:, regular] / values[regular]) @ vectors[:, regular].T
    return np.asarray(inverse / np.outer(scale, scale)), not bool(regular.all())
