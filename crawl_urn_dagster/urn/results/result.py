"""Define what every fit returns: its kind, estimates, intervals, status and reasons.

Does not fit anything; see `urn.fits`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from crawl_urn_dagster.urn.results.codes import Code
from crawl_urn_dagster.urn.results.reasons import ReasonCode, explain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.results.reasons import Reason

Clock = Literal["crawl", "year"]

# A 95 % interval of a number in [0, 1] that is wider than this excludes next to nothing.
_UNINFORMATIVE_WIDTH = 0.9


class Status(Code):
    """Status of a fit or of a quantity, in order of precedence.

    ``refuted``: tests of the collection refute the model, so its numbers describe the curves only. ``qualified``: the
    numbers hold with the reservation that the verdict states.

    Examples
    --------
    >>> Status("at_bound") is Status.AT_BOUND
    True
    >>> Status.OK == "ok"
    True
    """

    MODEL_VIOLATION = "model_violation"
    TOO_FEW_POINTS = "too_few_points"
    NOT_CONVERGED = "not_converged"
    REFUTED = "refuted"
    AT_BOUND = "at_bound"
    NOT_IDENTIFIED = "not_identified"
    QUALIFIED = "qualified"
    OK = "ok"


#: Statuses for which no estimate is reported and no curve is drawn.
UNREPORTED_STATUSES = (Status.MODEL_VIOLATION, Status.TOO_FEW_POINTS, Status.NOT_CONVERGED)
#: Statuses for which point estimates and derived quantities are not reported; confidence intervals may be.
NO_POINT_ESTIMATE_STATUSES = (*UNREPORTED_STATUSES, Status.NOT_IDENTIFIED)


class Interval(NamedTuple):
    """A 95 % confidence interval.

    Examples
    --------
    >>> Interval(0.02, 0.98).is_uninformative
    True
    """

    low: float
    high: float

    @property
    def is_uninformative(self) -> bool:
        """Whether the interval of a number in [0, 1] excludes so little that the number is not identified."""
        return self.high - self.low > _UNINFORMATIVE_WIDTH


class FitKind(NamedTuple):
    """Projection, model, form and clock: they identify a fit within a collection.

    Examples
    --------
    >>> print(FitKind("containment", "core_shell", "exact", "crawl"))
    core_shell containment, exact form, per crawl
    """

    projection: str
    model: str
    form: str
    clock: str

    def __str__(self) -> str:
        form = f", {self.form} form" if self.model == "core_shell" else ""
        return f"{self.model} {self.projection}{form}, per {self.clock}"


@dataclass(frozen=True, eq=False)
class LeastSquaresDetails:
    """Points, residuals and derivatives of a least-squares fit.

    Attributes
    ----------
    abscissa
        Lags, or times from the first to the last crawl of a window, in units of the clock; shape (points,).
    observed, fitted
        Containment, or distinct elements divided by the size of the start crawl; shape (points,). ``fitted`` is NaN
        when nothing could be estimated.
    response
        Derivative of each estimate by each observed point, by name of the estimate, shape (estimates, points); NaN for
        an estimate that is at a bound or not a function of the points.
    response_names
        Names of the rows of ``response``.
    """

    abscissa: FloatArray
    observed: FloatArray
    fitted: FloatArray
    response: FloatArray
    response_names: tuple[str, ...]

    @property
    def n_points(self) -> int:
        """Number of fitted points."""
        return len(self.observed)

    @property
    def residuals(self) -> FloatArray:
        """Observed minus fitted, shape (points,)."""
        return self.observed - self.fitted

    @property
    def residual_rms(self) -> float | None:
        """Root mean square of the residuals, in units of ``observed``; None when nothing could be estimated."""
        rms = float(np.sqrt(np.mean(self.residuals**2))) if self.n_points else np.nan
        return None if np.isnan(rms) else rms

    def linear_refits(self, estimates: Mapping[str, float], curves: FloatArray) -> dict[str, FloatArray]:
        """Return the estimates that other values of the points imply, to first order.

        Parameters
        ----------
        estimates
            Estimates of the fit.
        curves
            Shape (replicates, points).
        """
        moves = ((curves - self.observed) @ self.response.T).T
        return {
            name: estimates[name] + move
            for name, move in zip(self.response_names, moves, strict=True)
            if name in estimates
        }


D = TypeVar("D")


@dataclass(frozen=True, eq=False, repr=False)
class FitResult(Generic[D]):
    """Result of fitting one urn to one projection of the data.

    Attributes
    ----------
    kind
        Projection of the data, model, form of containment, and clock.
    estimates
        Estimates by name, such as ``kappa``, ``core_share``, ``alpha`` and ``coverage``; parameters that the model
        does not have, or that could not be estimated, are absent. Values are in [0, 1], except that an inversion with
        status ``not_identified`` keeps its values as they are.
    intervals
        95 % confidence intervals by name, of estimates and of operator terms; unknown intervals are absent.
    status
        Whether the estimates may be reported.
    reasons
        Why the status is not ``ok``, or what qualifies it.
    details
        Results specific to the method, such as points and residuals, or the likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from crawl_urn_dagster.urn import CoreShellUrn, fit_containment_core_shell
    >>> lag = np.arange(1, 13)
    >>> g = CoreShellUrn(kappa=0.4, alpha=0.8, coverage=0.5).containment(lag)
    >>> fit = fit_containment_core_shell(lag, g, form="exact", clock="crawl")
    >>> round(fit.kappa, 3), fit.status.value
    (0.4, 'ok')
    >>> print(fit.summary())
    core_shell containment, exact form, per crawl
    kappa = 0.400
    core_share = 0.571
    alpha = 0.800
    coverage = 0.500
    status: ok
    """

    kind: FitKind
    estimates: Mapping[str, float]
    status: Status
    details: D
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()

    @property
    def reason_codes(self) -> tuple[ReasonCode, ...]:
        """Codes of the reasons."""
        return tuple(reason.code for reason in self.reasons)

    @property
    def reason(self) -> str | None:
        """The reasons as sentences; None without reasons."""
        return explain(self.reasons)

    @property
    def is_reported(self) -> bool:
        """Whether estimates may be shown at all."""
        return self.status not in UNREPORTED_STATUSES

    @property
    def is_all_core(self) -> bool:
        """Whether the fit has no shell, so shell survival and shell coverage are undefined."""
        return ReasonCode.ALL_CORE in self.reason_codes

    @property
    def kappa(self) -> float | None:
        """Core fraction of the urn, κ; None when not estimated."""
        return self.estimates.get("kappa")

    @property
    def core_share(self) -> float | None:
        """Core share of a crawl, μ; None when not estimated."""
        return self.estimates.get("core_share")

    @property
    def alpha(self) -> float | None:
        """Survival of the shell, or of the homogeneous urn, per unit of the clock; None when not estimated."""
        return self.estimates.get("alpha")

    @property
    def coverage(self) -> float | None:
        """Coverage of the shell, or of the homogeneous urn; None when not estimated."""
        return self.estimates.get("coverage")

    def with_reasons(self, *reasons: Reason, status: Status | None = None) -> FitResult[D]:
        """Return the fit with more reasons, and another status if one is given."""
        return replace(self, reasons=(*self.reasons, *reasons), status=status or self.status)

    def summary(self) -> str:
        """Return kind, estimates with intervals, status and reasons as lines of text."""
        lines = [str(self.kind)]
        for name, value in self.estimates.items():
            interval = self.intervals.get(name)
            within = f" (95 % CI {interval.low:.3f} to {interval.high:.3f})" if interval else ""
            if self.status not in NO_POINT_ESTIMATE_STATUSES:
                lines.append(f"{name} = {value:.3f}{within}")
            elif self.is_reported and interval:
                lines.append(f"{name}: not identified{within}")
        return "\n".join([*lines, f"status: {self.status}" + (f". {self.reason}" if self.reason else "")])

    def __repr__(self) -> str:
        shown = {} if self.status in NO_POINT_ESTIMATE_STATUSES else self.estimates
        values = "".join(f", {name}={value:.3f}" for name, value in shown.items())
        return f"<FitResult {self.kind}: {self.status}{values}>"


AnyFit = FitResult[Any]


def no_fit(kind: FitKind, reason: Reason) -> FitResult[LeastSquaresDetails]:
    """Return a fit of status ``too_few_points`` that has no points and no estimates."""
    empty = np.empty(0)
    details = LeastSquaresDetails(empty, empty, empty, np.empty((0, 0)), ())
    return FitResult(kind=kind, estimates={}, status=Status.TOO_FEW_POINTS, details=details, reasons=(reason,))
