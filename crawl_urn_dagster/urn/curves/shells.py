"""Urns whose shell is uneven: a core with two shells, and a shell whose elements' coverage is spread.

Here: their curves, and least squares of any urn to both curves at once. Not here: fits of whole capture histories
(`likelihood`), fits of one curve (`fits`), or the choice between models (`comparison`).

Shells are uneven in what no average over them shows: a crawl holds more of what it covers well, so containment
sees the size-biased coverage E[c²]/E[c], and what a crawl covers badly is what it still discovers late.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.curves.conversions import Fraction, core_share_from_kappa
from crawl_urn_dagster.urn.curves.model import CoreShellUrn, Urn
from crawl_urn_dagster.urn.data.arguments import require_fraction, require_whole_numbers
from crawl_urn_dagster.urn.fits.curves import STARTS
from crawl_urn_dagster.urn.fits.status import Alternative, at_bound, describe_openness, judge_search, too_few
from crawl_urn_dagster.urn.optimise.bounded_least_squares import hold_elsewhere, minimise, response

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crawl_urn_dagster.urn.data.histories import FloatArray

CurvesModel = Literal["homogeneous", "core_shell", "core_two_shells", "beta_shell"]


class CrawlShares(NamedTuple):
    """Shares of one crawl; the three sum to 1."""

    core: FloatArray
    shell_1: FloatArray
    shell_2: FloatArray


@dataclass(frozen=True, eq=False)
class CoreTwoShellsUrn:
    """An urn with a core that never leaves and is always sampled, and two shells that are homogeneous urns.

    Parameters
    ----------
    kappa
        Core's share κ of the urn, in [0, 1].
    share
        First shell's share of the elements outside the core, in [0, 1].
    alpha_1, coverage_1, alpha_2, coverage_2
        Survival and coverage of the shells, as in `Urn`.

    Raises
    ------
    ValueError
        When a parameter is NaN or outside [0, 1].
    """

    #: What a fit of it estimates: names of attributes, each in [0, 1].
    ESTIMATES: ClassVar[tuple[str, ...]] = (
        *("kappa", "core_share"),
        *("share_1", "alpha_1", "coverage_1"),
        *("share_2", "alpha_2", "coverage_2"),
    )

    kappa: Fraction
    share: Fraction
    alpha_1: Fraction
    coverage_1: Fraction
    alpha_2: Fraction
    coverage_2: Fraction

    def __post_init__(self) -> None:
        for field in fields(self):
            require_fraction(field.name, getattr(self, field.name))

    @property
    def share_1(self) -> Fraction:
        """First shell's share of the elements outside the core."""
        return self.share

    @property
    def share_2(self) -> Fraction:
        """Second shell's share of them."""
        return 1 - self.share

    @property
    def shells(self) -> tuple[Urn, Urn]:
        """The shells as urns of their own."""
        return Urn(self.alpha_1, self.coverage_1), Urn(self.alpha_2, self.coverage_2)

    @property
    def crawl_shares(self) -> CrawlShares:
        """Shares of one crawl, in proportion to share of the urn times coverage."""
        first = self.share * self.coverage_1
        coverage = first + (1 - self.share) * self.coverage_2
        core = core_share_from_kappa(self.kappa, coverage)
        # Of a shell that is never sampled, any division does.
        of_shell = np.divide(first, coverage, out=np.ones(np.shape(coverage)), where=np.asarray(coverage) > 0)
        return CrawlShares(core, (1 - core) * of_shell, (1 - core) * (1 - of_shell))

    @property
    def core_share(self) -> FloatArray:
        """Core's share μ of one crawl."""
        return self.crawl_shares.core

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Fraction of a crawl's elements that the crawl a lag later holds too; see `Urn.containment`."""
        core, *shares = self.crawl_shares
        return core + sum(share * shell.containment(lag) for share, shell in zip(shares, self.shells, strict=True))

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Distinct elements in t + 1 crawls at equal gaps, over the size of one; see `Urn.discovery_curve`."""
        core, *shares = self.crawl_shares
        return core + sum(share * shell.discovery_curve(t) for share, shell in zip(shares, self.shells, strict=True))


@dataclass(frozen=True, eq=False)
class BetaShellUrn:
    """An urn of core and shell in which coverage is Beta-distributed over the elements of the shell.

    An element keeps its coverage for life and new ones are drawn from the same distribution, so at any time the
    elements of the shell are spread alike.

    Parameters
    ----------
    kappa
        Core's share κ of the urn, in [0, 1].
    alpha
        Survival α of the shell per crawl, in [0, 1].
    coverage
        Mean c of the coverage over the shell's elements, in [0, 1].
    spread
        Its variance over c (1-c), the largest that it can be, in [0, 1]: 0 is the urn of core and shell; at 1 a
        share c of the shell is in every crawl while it lives, and the rest in none. The Beta distribution's
        parameters are c (1-s)/s and (1-c) (1-s)/s, and s is the correlation of two captures of an element.

    Raises
    ------
    ValueError
        When a parameter is NaN or outside [0, 1].

    Notes
    -----
    With C an element's coverage, m(k) = E[C (1-C)^k]/E[C] is the chance that an element of a crawl would be
    missed by k crawls; for the Beta distribution it is Π_(i<k) ((1-c)(1-s) + i s)/(1 + i s). An element of a
    crawl is first seen again j crawls later with chance h(j) = α^j (m(j-1) - m(j)), and by symmetry in time a
    share 1 - h(1) - … - h(t) of crawl t was not seen in the t crawls before.
    """

    #: What a fit of it estimates: names of attributes, each in [0, 1].
    ESTIMATES: ClassVar[tuple[str, ...]] = ("kappa", "core_share", "alpha", "coverage", "spread", "coverage_sd")

    kappa: Fraction
    alpha: Fraction
    coverage: Fraction
    spread: Fraction

    def __post_init__(self) -> None:
        for field in fields(self):
            require_fraction(field.name, getattr(self, field.name))

    @property
    def core_share(self) -> FloatArray:
        """Core's share μ of one crawl."""
        return core_share_from_kappa(self.kappa, self.coverage)

    @property
    def coverage_sd(self) -> FloatArray:
        """Standard deviation of coverage over the shell's elements, at most 1/2."""
        return np.asarray(np.sqrt(self.spread * self.coverage * (1 - self.coverage)))[()]

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Fraction of a crawl's elements that the crawl a lag later holds too, μ + (1-μ) (E[C²]/E[C]) α^lag.

        E[C²]/E[C] = c + s (1-c). Parameters and errors are those of `Urn.containment`.
        """
        size_biased = self.coverage + self.spread * (1 - self.coverage)
        return self.core_share + (1 - self.core_share) * Urn(self.alpha, size_biased).containment(lag)

    def first_returns(self, lag: npt.ArrayLike) -> FloatArray:
        """Fraction of a crawl that is first seen again exactly ``lag`` crawls later, whole numbers from 1 on.

        μ at lag 1, and (1-μ) h(lag). Errors are those of `discovery_curve`.
        """
        lags = require_whole_numbers("lag", lag, least=1)
        returns = np.zeros(lags.shape)
        for j, of_shell in enumerate(self._shell_returns(int(lags.max(initial=1))), start=1):
            core = self.core_share if j == 1 else 0.0
            returns = returns + np.where(lags == j, core + (1 - self.core_share) * of_shell, 0.0)
        return np.asarray(returns)[()]

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Distinct elements in t + 1 crawls at equal gaps, over the size of one; 1 at t = 0.

        U(t)/M = μ + (1-μ) Σ_(k=0..t) (1 - h(1) - … - h(k)).

        Raises
        ------
        ValueError
            When a t is not a whole number of at least 0.
        """
        crawls = require_whole_numbers("t", t, least=0)
        new: Fraction = 1.0
        curve: Fraction = 1.0
        for k, of_shell in enumerate(self._shell_returns(int(crawls.max(initial=0))), start=1):
            new = new - of_shell
            curve = curve + np.where(crawls >= k, new, 0.0)
        return np.asarray(self.core_share + (1 - self.core_share) * curve)[()]

    def _shell_returns(self, longest: int) -> list[Fraction]:
        """h(1) to h(longest) of the shell: α^j m(j-1) (c (1-s) + s)/(1 + (j-1) s), in which nothing cancels."""
        returns: list[Fraction] = []
        missed = self.alpha
        for i in range(longest):
            scale = 1 + i * self.spread
            returns.append(missed * (self.coverage * (1 - self.spread) + self.spread) / scale)
            missed = missed * self.alpha * ((1 - self.coverage) * (1 - self.spread) + i * self.spread) / scale
        return returns


@dataclass(frozen=True, eq=False)
class UrnFit:
    """An urn fitted by least squares.

    Attributes
    ----------
    projection
        What was fitted: ``containment``, ``discovery_curve``, or ``curves`` for both together.
    model
        ``homogeneous``, ``core_shell``, ``core_two_shells``, ``beta_shell`` or ``revisit_delay``.
    urn
        The fitted urn, whose fields are the parameters; None when nothing could be estimated.
    n_parameters
        Number of fitted parameters.
    residual_rms
        Root mean square of the residuals, in the unit of ``observed``; None with ``urn``.
    status, reason
        As in `fits.Fit`.
    identified
        Whether the points tell the first parameter apart from others 0.1 away.
    observed, fitted
        Shape (points,); the curves in units of one crawl, containment first. ``fitted`` is NaN without an urn.
    estimates
        The parameters and what follows from them, by name, each in [0, 1]; empty without an urn. With a core they are
        ``kappa`` and ``core_share``; ``alpha`` and ``coverage``, of two shells ``share_1``, ``alpha_1``,
        ``coverage_1`` and so for 2; ``spread`` and ``coverage_sd`` of the shell whose coverage is spread;
        ``revisit_coverage`` and ``crawl_coverage`` of a revisit delay.
    response
        Derivative of each of the estimates by each observed point, shape (estimates, points); NaN of an estimate at a
        bound. As in `fits.Fit`.
    """

    projection: str
    model: str
    urn: Any
    n_parameters: int
    residual_rms: float | None
    status: str
    reason: str | None
    identified: bool
    observed: FloatArray
    fitted: FloatArray
    estimates: Mapping[str, float]
    response: FloatArray


def fit_curves(
    model: CurvesModel,
    *,
    lag: npt.ArrayLike = (),
    containment: npt.ArrayLike = (),
    t: npt.ArrayLike = (),
    ratio: npt.ArrayLike = (),
    near: UrnFit | None = None,
) -> UrnFit:
    """Fit an urn to mean containment, the mean discovery curve, or both together; unweighted, per crawl.

    Containment is in its exact form. Shells come in order of survival, the longer-lived first.

    Parameters
    ----------
    model
        Which urn. One curve alone does not tell two shells apart in general; the status says so.
    lag, containment
        Shape (lags,), crawls and mean containment; lag 0 is left out. None by default.
    t, ratio
        Shape (lengths,), crawls after the first and mean U(s, T)/U(s, 0); t = 0 is left out. None by default.
    near
        A fit of the same urn to curves much like these, to search from; by default the search is from many starts.

    Raises
    ------
    ValueError
        When shapes do not fit or a value is not finite.
    """
    curves = {"lag": lag, "containment": containment, "t": t, "ratio": ratio}
    return fit_urn_to_curves(model, urn_of=_URNS[model], starts=_STARTS[model], near=near, **curves)


def fit_urn_to_curves(
    model: str,
    *,
    urn_of: Callable[..., Any],
    starts: Sequence[tuple[float, ...]],
    lag: npt.ArrayLike,
    containment: npt.ArrayLike,
    t: npt.ArrayLike,
    ratio: npt.ArrayLike,
    near: UrnFit | None,
) -> UrnFit:
    """Fit any urn that has both curves, as `fit_curves` does.

    Parameters are those of `fit_urn` and `fit_curves`.
    """
    lags, g = _points("lag", lag, "containment", containment)
    lengths, curve = _points("t", t, "ratio", ratio)
    projection = "curves" if lags.size and lengths.size else "containment" if lags.size else "discovery_curve"

    def curves(urn: Any) -> FloatArray:
        parts = [urn.containment(lags)] if lags.size else []
        return np.concatenate([*parts, urn.discovery_curve(lengths)] if lengths.size else parts, axis=-1)

    return fit_urn(
        projection,
        model,
        np.concatenate([g, curve]),
        urn_of=urn_of,
        curve_of=curves,
        starts=starts if near is None or near.urn is None else [_parameters_of(near)],
    )


def fit_urn(
    projection: str,
    model: str,
    observed: FloatArray,
    *,
    urn_of: Callable[..., Any],
    curve_of: Callable[[Any], FloatArray],
    starts: Sequence[tuple[float, ...]],
) -> UrnFit:
    """Fit an urn whose parameters lie in [0, 1] by least squares, and judge the fit.

    Parameters
    ----------
    projection, model
        Names for the result.
    observed
        Shape (points,), finite.
    urn_of
        The urn with given parameters, which are its first fields, in their order; its ``ESTIMATES`` are estimated.
    curve_of
        Its values at the points.
    starts
        Parameters to search from.
    """
    n_parameters = len(starts[0])
    if observed.size <= n_parameters:
        return _nothing_fitted(projection, model, observed, n_parameters)

    def curve(parameters: FloatArray) -> FloatArray:
        return curve_of(urn_of(*np.moveaxis(parameters, -1, 0)[..., None]))

    def named(parameters: FloatArray) -> dict[str, float]:
        urn = urn_of(*parameters.tolist())
        return {field.name: float(getattr(urn, field.name)) for field in fields(urn)[:n_parameters]}

    def estimated(parameters: FloatArray) -> FloatArray:
        urn = urn_of(*np.moveaxis(parameters, -1, 0))
        return np.stack([getattr(urn, name) for name in urn.ESTIMATES], axis=-1)

    optimum = minimise(curve, observed, starts)
    urn, parameters = urn_of(*optimum.parameters.tolist()), named(optimum.parameters)
    residual_rms = float(np.sqrt(np.mean((optimum.fitted - observed) ** 2)))
    first = next(iter(parameters))
    openness = describe_openness(
        "The curves leave",
        parameters,
        optimum.fitted,
        (
            Alternative(first, named(other.parameters), other.fitted)
            for _, other in hold_elsewhere(curve, observed, optimum, (0,))
        ),
        misses=residual_rms,
    )
    bounds = [at_bound(name, value) for name, value in parameters.items() if value in {0, 1}]
    status, reason = judge_search(bounds, openness, converged=optimum.converged)
    return UrnFit(
        projection=projection,
        model=model,
        urn=urn,
        n_parameters=n_parameters,
        residual_rms=residual_rms,
        status=status,
        reason=reason,
        identified=not openness,
        observed=observed,
        fitted=optimum.fitted,
        estimates=dict(zip(urn.ESTIMATES, estimated(optimum.parameters).tolist(), strict=True)),
        response=response(curve, optimum, estimated),
    )


def _nothing_fitted(projection: str, model: str, observed: FloatArray, n_parameters: int) -> UrnFit:
    return UrnFit(
        projection=projection,
        model=model,
        urn=None,
        n_parameters=n_parameters,
        residual_rms=None,
        status="too_few_points",
        reason=too_few(f"There are {observed.size} points", n_parameters),
        identified=False,
        observed=observed,
        fitted=np.full(observed.size, np.nan),
        estimates={},
        response=np.empty((0, observed.size)),
    )


def _shells_in_order(kappa: Fraction, share: Fraction, *shells: Fraction) -> CoreTwoShellsUrn:
    """Core and two shells, of which the longer-lived comes first whichever was given first."""
    one, other = shells[:2], shells[2:]
    in_order = one[0] >= other[0]

    def where(this: Fraction, that: Fraction) -> FloatArray:
        return np.where(in_order, this, that)[()]

    return CoreTwoShellsUrn(kappa, where(share, 1 - share), *map(where, one, other), *map(where, other, one))


def _parameters_of(fit: UrnFit) -> tuple[float, ...]:
    return tuple(float(getattr(fit.urn, field.name)) for field in fields(fit.urn)[: fit.n_parameters])


def _points(
    abscissa_name: str, abscissa: npt.ArrayLike, name: str, values: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Points without those at 0."""
    x, y = np.asarray(abscissa, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"{abscissa_name} has shape {x.shape} and {name} {y.shape}; expected (points,) for both")
    unknown = ~(np.isfinite(x) & np.isfinite(y))
    if unknown.any():
        at = int(unknown.argmax())
        raise ValueError(f"point {at} is {name} {y[at]} at {abscissa_name} {x[at]}; leave unknown points out")
    return x[x != 0], y[x != 0]


_URNS: dict[CurvesModel, Callable[..., Any]] = {
    "homogeneous": Urn,
    "core_shell": CoreShellUrn,
    "core_two_shells": _shells_in_order,
    "beta_shell": BetaShellUrn,
}
_SHELLS = (
    (0.5, 0.95, 0.8, 0.7, 0.3),
    (0.5, 0.95, 0.3, 0.7, 0.8),
    (0.5, 0.9, 0.5, 0.4, 0.5),
    (0.5, 0.99, 0.6, 0.85, 0.6),
    (0.2, 0.95, 0.7, 0.8, 0.3),
    (0.8, 0.95, 0.3, 0.5, 0.7),
)
_STARTS: dict[CurvesModel, tuple[tuple[float, ...], ...]] = {
    "homogeneous": STARTS["homogeneous"],
    "core_shell": STARTS["core_shell"],
    "core_two_shells": tuple((kappa, *shells) for kappa in (0.1, 0.4) for shells in _SHELLS),
    "beta_shell": tuple(product((0.1, 0.4), (0.5, 0.9), (0.3, 0.7), (0.05, 0.4))),
}
