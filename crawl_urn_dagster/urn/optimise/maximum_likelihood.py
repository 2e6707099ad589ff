"""Maximum likelihood of probabilities: the search, the information, standard errors and limits.

Here: what the likelihoods of capture histories after the first capture share, whose parameters lie in [0, 1]. Not
here: any one likelihood (`cormack_jolly_seber`, `mixtures`), or least squares (`bounded`).

The search needs a gradient alone, and takes any number of parameters: there may be some for every crawl and stratum. On
the ridges of urns with a core `likelihood`, which has the information with every gradient, has a faster one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from crawl_urn_dagster.urn.data.normal_intervals import logit_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

    #: Log-likelihood and its gradient, for parameters of shape (parameters,) strictly between 0 and 1.
    LogLikelihood: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

# How close to 0 and 1 the search goes: the logarithm of an impossible event stays finite.
_EDGE = 1e-12
_ITERATIONS_OF_A_START = 30
_ITERATIONS = 2_000
_NEWTON_STEPS = 20
# The Newton decrement is twice what the log-likelihood can still gain: where Newton's method ends, and may end.
_DECREMENT = 1e-9
_CONVERGED_DECREMENT = 1e-4
# Step of the central differences on the logit scale: the cube root of the gradient's rounding error.
_STEP = 3e-5
# Information is scaled to a unit diagonal, unless it is less than one trial's or next to the largest nothing; an
# eigenvalue below this is then rounding error, and its eigenvector a direction in which the likelihood is flat.
_LEAST_SHARE = 1e-6
_SINGULAR = 1e-6
_OPEN = 1e-3


@dataclass(frozen=True, eq=False)
class Estimates:
    """Maximum-likelihood estimates of probabilities.

    Attributes
    ----------
    names
        Names of the parameters.
    values
        Shape (parameters,), in [0, 1]; exactly 0 or 1 at a bound, NaN where not identified.
    se
        Standard errors from the inverse of the observed information, shape (parameters,); NaN where not
        identified or at a bound.
    low, high
        95 % limits, symmetric on the logit scale; NaN where ``se`` is.
    minus_two_log_likelihood
        -2 ln L without constants; NaN when nothing could be estimated.
    n_parameters
        Identifiable parameters: the rank of the information, and those at a bound.
    sample_size
        Trials that the likelihood is of: captures in any crawl but the last.
    status
        One of `STATUSES`, but never ``model_violation``.
    reason
        Why the status is not ``ok``, naming the parameters; None when it is.
    """

    names: tuple[str, ...]
    values: FloatArray
    se: FloatArray
    low: FloatArray
    high: FloatArray
    minus_two_log_likelihood: float
    n_parameters: int
    sample_size: int
    status: str
    reason: str | None

    @property
    def aicc(self) -> float:
        """Akaike's criterion for small samples, -2 ln L + 2k + 2k(k+1)/(n-k-1) (Hurvich and Tsai 1989).

        NaN when the sample has no more than k + 1 trials.
        """
        k, spare = self.n_parameters, self.sample_size - self.n_parameters - 1
        return self.minus_two_log_likelihood + 2 * k + 2 * k * (k + 1) / spare if spare > 0 else np.nan


class _Information(NamedTuple):
    """Gradient and covariance of the free parameters on the logit scale, and which of them are identified."""

    free: BoolArray
    gradient: FloatArray
    covariance: FloatArray
    identified: BoolArray
    rank: int

    @property
    def decrement(self) -> float:
        return float(self.gradient @ self.covariance @ self.gradient)


def maximise(log_likelihood: LogLikelihood, starts: Sequence[FloatArray], sample_size: int) -> FloatArray:
    """Find the parameters of the largest likelihood: the best of several starts, finished by Newton's method.

    Parameters
    ----------
    log_likelihood
        The log-likelihood with its gradient.
    starts
        At least one array of shape (parameters,) in [0, 1].
    sample_size
        Number of trials, more than 0; it scales the search only.

    Returns
    -------
    Shape (parameters,); a parameter at a bound is 1e-12 from it.
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
    return _finish(log_likelihood, parameters)


def estimates_at(
    log_likelihood: LogLikelihood, parameters: FloatArray, names: Sequence[str], sample_size: int, powers: FloatArray
) -> Estimates:
    """Judge a maximum: standard errors, limits, and which parameters it says nothing about.

    Parameters
    ----------
    log_likelihood, sample_size
        As in `maximise`.
    parameters
        What `maximise` returned, shape (parameters,).
    names
        A name per parameter.
    powers
        What each parameter is raised to for the result, more than 0, shape (parameters,): 1, or what changes the
        unit of time of a survival.
    """
    found = _information(log_likelihood, parameters)
    logit_se = np.full(len(parameters), np.nan)
    known = np.flatnonzero(found.free)[found.identified]
    logit_se[known] = np.sqrt(np.diagonal(found.covariance)[found.identified])
    is_open = found.free & np.isnan(logit_se)

    values = np.where(found.free, parameters, np.rint(parameters)) ** powers
    se = powers * values * (1 - parameters) * logit_se
    low, high = logit_interval(values, se)
    status, reason = _judge(names, values, found, is_open)
    return Estimates(
        names=tuple(names),
        values=np.where(is_open, np.nan, values),
        se=se,
        low=low,
        high=high,
        minus_two_log_likelihood=-2 * log_likelihood(parameters)[0],
        n_parameters=found.rank + int((~found.free).sum()),
        sample_size=sample_size,
        status=status,
        reason=reason,
    )


def nothing_estimated(names: Sequence[str], sample_size: int, reason: str) -> Estimates:
    """Return estimates of status ``too_few_points``: NaN throughout."""
    unknown = np.full(len(names), np.nan)
    return Estimates(
        names=tuple(names),
        values=unknown,
        se=unknown,
        low=unknown,
        high=unknown,
        minus_two_log_likelihood=np.nan,
        n_parameters=0,
        sample_size=sample_size,
        status="too_few_points",
        reason=reason,
    )


def withdrawn(estimates: Estimates, n_parameters: int, reason: str) -> Estimates:
    """Withdraw the parameters of a model of which the data identify no more than a simpler one's."""
    unknown = np.full(len(estimates.names), np.nan)
    return replace(
        estimates,
        values=unknown,
        se=unknown,
        low=unknown,
        high=unknown,
        n_parameters=n_parameters,
        status="not_identified",
        reason=reason,
    )


def _finish(log_likelihood: LogLikelihood, parameters: FloatArray) -> FloatArray:
    """Newton's method among the free parameters, while it raises the likelihood and stays off the bounds."""
    value = log_likelihood(parameters)[0]
    for _ in range(_NEWTON_STEPS):
        found = _information(log_likelihood, parameters)
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


def _information(log_likelihood: LogLikelihood, parameters: FloatArray) -> _Information:
    """Differentiate the gradient on the logit scale, and invert what is not singular of it.

    A free parameter is identified when no direction in which the likelihood is flat moves it.
    """
    free = _is_free(parameters)

    def gradient(logits: FloatArray) -> FloatArray:
        moved = parameters.copy()
        moved[free] = expit(logits)
        return np.asarray((log_likelihood(moved)[1] * moved * (1 - moved))[free])

    logits = logit(parameters[free])
    steps = _STEP * np.eye(logits.size)
    differences = [gradient(logits + step) - gradient(logits - step) for step in steps]
    information = -np.array(differences).reshape(logits.size, logits.size) / (2 * _STEP)
    information = (information + information.T) / 2

    diagonal = np.diagonal(information)
    scale = np.sqrt(np.maximum(diagonal, max(1.0, _LEAST_SHARE * diagonal.max(initial=0))))
    eigenvalues, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    regular = eigenvalues > _SINGULAR
    inverse = (vectors[:, regular] / eigenvalues[regular]) @ vectors[:, regular].T
    identified = (vectors[:, ~regular] ** 2).sum(axis=1) < _OPEN
    return _Information(free, gradient(logits), inverse / np.outer(scale, scale), identified, int(regular.sum()))


def _judge(names: Sequence[str], values: FloatArray, found: _Information, is_open: BoolArray) -> tuple[str, str | None]:
    """Status of a maximum, and the reasons; a parameter may be open beside one at a bound."""
    statuses, reasons = [], []
    if found.decrement > _CONVERGED_DECREMENT:
        statuses.append("not_converged")
        reasons.append("The search for the largest likelihood did not settle; this is the best it found.")
    if not found.free.all():
        statuses.append("at_bound")
        bounds = ", ".join(f"{names[k]} at {values[k]:.0f}" for k in range(len(names)) if not found.free[k])
        reasons.append(f"At a bound, where there is no standard error: {bounds}.")
    if is_open.any():
        statuses.append("not_identified")
        unknown = ", ".join(names[k] for k in range(len(names)) if is_open[k])
        reasons.append(f"The likelihood does not depend on each of these alone: {unknown}.")
    return (statuses[0], " ".join(reasons)) if statuses else ("ok", None)
