"""Maximise likelihoods whose parameters are probabilities, with standard errors from the information.

Does not define likelihoods; see `cormack_jolly_seber` and `mixtures`, which condition on the first capture.

The search needs only a gradient and accepts any number of parameters, such as one for every crawl and stratum. On the
ridges of urns with a core, `histories_likelihood` has a faster search, because it has the information with every
gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from crawl_urn_dagster.urn.data.normal_intervals import logit_interval
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode
from crawl_urn_dagster.urn.results.result import FitResult, Interval, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray
    from crawl_urn_dagster.urn.results.result import FitKind

    #: Log-likelihood and its gradient, for parameters of shape (n_parameters,) strictly between 0 and 1.
    LogLikelihood: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]
    #: Gradients at many points at once, of shape (points, n_parameters) for parameters of that shape.
    Gradients: TypeAlias = Callable[[FloatArray], FloatArray]

# Distance that the search keeps from 0 and 1, which keeps the logarithm of an impossible event finite.
_EDGE = 1e-12
_ITERATIONS_OF_A_START = 30
_ITERATIONS = 2_000
_NEWTON_STEPS = 20
# The Newton decrement is twice the gain that is left in the log-likelihood. Newton's method ends below the first
# threshold; a search that ends above the second has not converged.
_DECREMENT = 1e-9
_CONVERGED_DECREMENT = 1e-4
# Step of the central differences on the logit scale: the cube root of the gradient's rounding error.
_STEP = 3e-5
# Parameters that are moved at once, where gradients are computed together.
_MOVED_AT_ONCE = 128
# The information is scaled to a unit diagonal, except for entries below that of one trial or negligible next to the
# largest one. An eigenvalue below `_SINGULAR` is then a rounding error, and its eigenvector is a direction in which the
# likelihood is flat.
_LEAST_SHARE = 1e-6
_SINGULAR = 1e-6
_FLAT_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class MaximumLikelihoodDetails:
    """Likelihood and standard errors of a maximum-likelihood fit.

    Attributes
    ----------
    parameters
        Names of all parameters of the model, identified or not.
    minus_two_log_likelihood
        -2 ln L without constants; NaN if nothing could be estimated.
    n_parameters
        Number of identifiable parameters: the rank of the information plus the parameters at a bound.
    sample_size
        Number of trials in the likelihood: captures by any crawl but the last.
    standard_errors
        Standard errors by name, from the inverse of the observed information times the dispersion. A parameter that is
        not identified or at a bound is absent.
    dispersion
        Variance inflation factor ĉ, at least 1.

    References
    ----------
    Burnham, K. P. and Anderson, D. R. (2002). Model Selection and Multimodel Inference, 2nd edition. Springer.

    Hurvich, C. M. and Tsai, C.-L. (1989). Regression and time series model selection in small samples. Biometrika 76,
    297-307.
    """

    parameters: tuple[str, ...]
    minus_two_log_likelihood: float
    n_parameters: int
    sample_size: int
    standard_errors: Mapping[str, float] = field(default_factory=dict)
    dispersion: float = 1.0

    @property
    def aicc(self) -> float:
        """Akaike's criterion for small samples, -2 ln L + 2k + 2k(k+1)/(n-k-1).

        NaN if the sample has at most k + 1 trials.
        """
        return self.minus_two_log_likelihood + self._penalty

    @property
    def qaicc(self) -> float:
        """Quasi-likelihood criterion, -2 ln L/ĉ + 2k + 2k(k+1)/(n-k-1), where k does not count ĉ, as in MARK.

        NaN if the sample has at most k + 1 trials. It equals `aicc` if the dispersion is 1.
        """
        return self.minus_two_log_likelihood / self.dispersion + self._penalty

    @property
    def _penalty(self) -> float:
        k, spare = self.n_parameters, self.sample_size - self.n_parameters - 1
        return 2 * k + 2 * k * (k + 1) / spare if spare > 0 else np.nan


MaximumLikelihoodFit: TypeAlias = FitResult[MaximumLikelihoodDetails]


class _Information(NamedTuple):
    """Gradient and covariance of the free parameters on the logit scale, and whether each is identified."""

    free: BoolArray
    gradient: FloatArray
    covariance: FloatArray
    identified: BoolArray
    rank: int

    @property
    def decrement(self) -> float:
        return float(self.gradient @ self.covariance @ self.gradient)


def maximise(
    log_likelihood: LogLikelihood,
    starts: Sequence[FloatArray],
    sample_size: int,
    *,
    gradients: Gradients | None = None,
) -> FloatArray:
    """Maximise a likelihood from several starts, and finish the best search by Newton's method.

    Parameters
    ----------
    log_likelihood
        The log-likelihood with its gradient.
    starts
        At least one array of shape (n_parameters,) in [0, 1].
    sample_size
        Number of trials, more than 0. It only scales the search.
    gradients
        The gradients at many points, which differences need; None: one after the other.

    Returns
    -------
    ndarray
        Parameters, shape (n_parameters,). A parameter at a bound is 1e-12 away from it.
    """

    def objective(parameters: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = log_likelihood(parameters)
        return -value / sample_size, -gradient / sample_size

    def search(start: FloatArray, iterations: int) -> tuple[float, FloatArray]:
        found = minimize(
            objective,
            np.clip(start, _EDGE, 1 - _EDGE),
            jac=True,
            method="L-BFGS-B",
            bounds=[(_EDGE, 1 - _EDGE)] * len(start),
            options={"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 1e-15, "gtol": 1e-12},
        )
        return float(found.fun), np.asarray(found.x)

    candidates = [search(start, _ITERATIONS_OF_A_START) for start in starts]
    _, parameters = search(min(candidates, key=lambda candidate: candidate[0])[1], _ITERATIONS)
    return _finish(log_likelihood, parameters, gradients)


def fit_at(
    log_likelihood: LogLikelihood,
    best: FloatArray,
    *,
    kind: FitKind,
    parameters: Sequence[str],
    sample_size: int,
    powers: FloatArray,
    dispersion: float = 1.0,
    may_be_zero: Sequence[str] = (),
    gradients: Gradients | None = None,
) -> MaximumLikelihoodFit:
    """Compute standard errors and the status of a maximum, and find the parameters that are not identified.

    Parameters
    ----------
    log_likelihood, sample_size, gradients
        Arguments of `maximise`.
    best
        Result of `maximise`, shape (n_parameters,).
    kind
        Kind of the fit.
    parameters
        A name for each parameter.
    powers
        Power, more than 0, to which each parameter is raised for the result, shape (n_parameters,). A power other than
        1 changes the unit of time of a survival.
    dispersion
        Variance inflation factor, by which the covariance is multiplied.
    may_be_zero
        Names of the parameters whose intervals must be able to contain 0.
    """
    found = _information(log_likelihood, best, gradients)
    logit_se = np.full(len(best), np.nan)
    known = np.flatnonzero(found.free)[found.identified]
    logit_se[known] = np.sqrt(dispersion * np.diagonal(found.covariance)[found.identified])
    is_flat = found.free & np.isnan(logit_se)

    values = np.where(found.free, best, np.rint(best)) ** powers
    se = powers * values * (1 - best) * logit_se
    low, high = logit_interval(values, se, np.isin(parameters, may_be_zero))
    status, reasons = _status(parameters, values, found, is_flat)
    return FitResult(
        kind=kind,
        estimates=_by_name(parameters, np.where(is_flat, np.nan, values)),
        intervals={
            name: Interval(float(low[k]), float(high[k])) for k, name in enumerate(parameters) if not np.isnan(low[k])
        },
        status=status,
        reasons=reasons,
        details=MaximumLikelihoodDetails(
            parameters=tuple(parameters),
            minus_two_log_likelihood=-2 * log_likelihood(best)[0],
            n_parameters=found.rank + int((~found.free).sum()),
            sample_size=sample_size,
            standard_errors=_by_name(parameters, se),
            dispersion=dispersion,
        ),
    )


def nothing_estimated(
    kind: FitKind, parameters: Sequence[str], sample_size: int, reason: Reason
) -> MaximumLikelihoodFit:
    """Return a fit of status ``too_few_points`` without estimates."""
    details = MaximumLikelihoodDetails(tuple(parameters), np.nan, 0, sample_size)
    return FitResult(kind=kind, estimates={}, status=Status.TOO_FEW_POINTS, details=details, reasons=(reason,))


def as_not_identified(fit: MaximumLikelihoodFit, n_parameters: int, reason: Reason) -> MaximumLikelihoodFit:
    """Return the fit of a model that fits no better than a simpler one, as ``not_identified``."""
    return FitResult(
        kind=fit.kind,
        estimates={},
        status=Status.NOT_IDENTIFIED,
        details=replace(fit.details, n_parameters=n_parameters, standard_errors={}),
        reasons=(reason,),
    )


def _by_name(names: Sequence[str], values: FloatArray) -> dict[str, float]:
    """Return the known values by name."""
    return {name: float(value) for name, value in zip(names, values, strict=True) if not np.isnan(value)}


def _finish(log_likelihood: LogLikelihood, parameters: FloatArray, gradients: Gradients | None) -> FloatArray:
    """Iterate Newton's method on the free parameters while it raises the likelihood and stays off the bounds."""
    value = log_likelihood(parameters)[0]
    for _ in range(_NEWTON_STEPS):
        found = _information(log_likelihood, parameters, gradients)
        if found.decrement < _DECREMENT:
            break
        trial = parameters.copy()
        trial[found.free] = expit(logit(parameters[found.free]) + found.covariance @ found.gradient)
        trial_value = log_likelihood(trial)[0] if _is_free(trial)[found.free].all() else -np.inf
        if not trial_value > value:
            break
        parameters, value = trial, trial_value
    return parameters


def _is_free(parameters: FloatArray) -> BoolArray:
    return np.asarray((parameters > _EDGE) & (parameters < 1 - _EDGE))


def _information(log_likelihood: LogLikelihood, parameters: FloatArray, gradients: Gradients | None) -> _Information:
    """Differentiate the gradient on the logit scale, and invert the part of it that is not singular.

    A free parameter is identified if no direction in which the likelihood is flat changes it.
    """
    free = _is_free(parameters)

    def slopes(logits: FloatArray) -> FloatArray:
        moved = np.tile(parameters, (len(logits), 1))
        moved[:, free] = expit(logits)
        found = np.array([log_likelihood(one)[1] for one in moved]) if gradients is None else gradients(moved)
        return np.asarray((found * moved * (1 - moved))[:, free])

    logits = logit(parameters[free])
    differences = [np.zeros((0, logits.size))]
    for low in range(0, logits.size, _MOVED_AT_ONCE):
        steps = _STEP * np.eye(min(_MOVED_AT_ONCE, logits.size - low), logits.size, k=low)
        differences.append(slopes(logits + steps) - slopes(logits - steps))
    information = -np.concatenate(differences) / (2 * _STEP)
    information = (information + information.T) / 2

    diagonal = np.diagonal(information)
    scale = np.sqrt(np.maximum(diagonal, max(1.0, _LEAST_SHARE * diagonal.max(initial=0))))
    eigenvalues, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    regular = eigenvalues > _SINGULAR
    inverse = (vectors[:, regular] / eigenvalues[regular]) @ vectors[:, regular].T
    identified = (vectors[:, ~regular] ** 2).sum(axis=1) < _FLAT_SHARE
    return _Information(free, slopes(logits[None])[0], inverse / np.outer(scale, scale), identified, int(regular.sum()))


def _status(
    names: Sequence[str], values: FloatArray, found: _Information, is_flat: BoolArray
) -> tuple[Status, tuple[Reason, ...]]:
    """Return the status of a maximum and its reasons; the first reason decides the status."""
    statuses, reasons = [], []
    if found.decrement > _CONVERGED_DECREMENT:
        statuses.append(Status.NOT_CONVERGED)
        reasons.append(Reason(ReasonCode.NOT_CONVERGED, {"search": "maximum-likelihood"}))
    if not found.free.all():
        bounds = ", ".join(f"{names[k]} at {values[k]:.0f}" for k in np.flatnonzero(~found.free).tolist())
        statuses.append(Status.AT_BOUND)
        reasons.append(Reason(ReasonCode.AT_BOUND_WITHOUT_ERROR, {"parameters": bounds}))
    if is_flat.any():
        unknown = ", ".join(names[k] for k in np.flatnonzero(is_flat).tolist())
        statuses.append(Status.NOT_IDENTIFIED)
        reasons.append(Reason(ReasonCode.FLAT_LIKELIHOOD, {"parameters": unknown}))
    return statuses[0] if statuses else Status.OK, tuple(reasons)
