"""Fit the family of state-space urns to histories, select a member, and derive what is reported of it.

Does not decide whether any of it is adequate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.autocorrelation import autocorrelation
from crawl_urn_dagster.urn.data.histories import unions_from_recaptures
from crawl_urn_dagster.urn.state_space.core_test import CoreTest, CoreVerdict, check_permanent_core
from crawl_urn_dagster.urn.state_space.fitting import StateSpaceFit, fit_model
from crawl_urn_dagster.urn.state_space.growth import Growth, fit_growth
from crawl_urn_dagster.urn.state_space.intervals import (
    Analysis,
    Quantity,
    Withholding,
    analyse,
    derive_quantities,
    estimate_whole,
)
from crawl_urn_dagster.urn.state_space.likelihood import Observations, observe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray
    from crawl_urn_dagster.urn.state_space.classes import Mixture
    from crawl_urn_dagster.urn.state_space.population import Population

#: Models that are fitted by default.
DEFAULT_MODELS = ("markov_1", "markov_2", "markov_3", "hidden_1", "core_markov_1", "core_markov_2", "core_hidden_1")
_LEAST_CRAWLS = 3
_LEAST_CRAWLS_OF_CLASSES = 12
_LEVEL = 0.05
_LARGEST_DISAGREEMENT = 2.0
_RELEVANT_DISAGREEMENT = 0.1
_LARGEST_AUTOCORRELATION = 0.9
_LEAST_ELIGIBLE = 0.5
# Quantities whose interval also covers the estimate of the next best model: of all elements, not of a class.
_EXTRAPOLATED = {"alive_share", "unique_rate", "newcomers_per_crawl", "really_new", "eligible_per_captured"}


class Projections(NamedTuple):
    """Root mean squares of what a fit misses the mean curves by, at equal gaps and with the observed sizes.

    Attributes
    ----------
    containment
        Error of the share of a crawl that a later crawl contains, over all lags.
    discovery
        Error of the distinct elements of a window per element of its first crawl, over all lengths.
    """

    containment: float
    discovery: float


@dataclass(frozen=True, eq=False)
class Family:
    """Fits of all members of the family, and what is known of the selected one.

    Attributes
    ----------
    candidates
        Fits by model.
    selected
        Fit of the smallest BIC among those without a core, or with one if its test accepts the core.
    rival
        Next best fit by BIC of a model with other classes, or None.
    core
        Test for a permanent core, or None if no candidate has one.
    growth
        Growth by first captures, or None if it was not fitted.
    is_stationary
        Whether sizes and first captures agree about the growth.
    analysis, rival_analysis
        Efforts and population under the selected fit and under the rival.
    data
        Sufficient statistic.
    """

    candidates: Mapping[str, StateSpaceFit]
    selected: StateSpaceFit
    rival: StateSpaceFit | None
    core: CoreTest | None
    growth: Growth
    is_stationary: bool
    analysis: Analysis
    rival_analysis: Analysis | None
    data: Observations

    @property
    def population(self) -> Population:
        """Known eligible elements of each crawl. Their errors allow for the choice of the model."""
        found = self.analysis.population
        if self.rival_analysis is None:
            return found
        difference = self.rival_analysis.population.eligible - found.eligible
        return found._replace(covariance=found.covariance + np.outer(difference, difference))


def fit_family(
    histories: CaptureHistoryCounts,
    *,
    gaps: FloatArray | None = None,
    seed: int,
    models: Sequence[str] = DEFAULT_MODELS,
) -> Family | None:
    """Fit the members of the family, test for a permanent core and for growth, and select a member.

    Parameters
    ----------
    histories
        Elements of each capture history.
    gaps
        Gaps between crawls in units of their mean, shape (n_crawls - 1,); equal gaps if None.
    seed
        Seed of the searches.
    models
        Names of the models, keys of `fitting.MODELS`; at least one without a core.

    Returns
    -------
    Family or None
        None if there are fewer than three crawls or no captures.
    """
    if histories.n_crawls < _LEAST_CRAWLS or histories.distinct_elements == 0:
        return None
    data = observe(histories, gaps)
    candidates = {model: fit_model(model, data, seed=seed) for model in models}
    core = check_permanent_core(candidates, data, seed=seed)
    selected = _select(candidates, core)
    rivals = [fit for fit in candidates.values() if fit.model != selected.model]
    rival = min(rivals, key=lambda fit: fit.bic, default=None)
    analysis = analyse(selected, data, histories)
    free = min((fit for fit in candidates.values() if "core" not in fit.layout.kinds), key=lambda fit: fit.bic)
    growth = fit_growth(free, data, histories, analysis.efforts)
    analysis = _with_growth(analysis, growth)
    return Family(
        candidates=candidates,
        selected=selected,
        rival=rival,
        core=core,
        growth=growth,
        is_stationary=agrees_with_population(growth, analysis),
        analysis=analysis,
        rival_analysis=None if rival is None else _with_growth(analyse(rival, data, histories), growth),
        data=data,
    )


def quantities(family: Family, *, seed: int) -> tuple[Quantity, ...]:
    """Return the quantities of the selected fit with intervals, and codes for what should not be quoted.

    Intervals of quantities that are not of one class also cover the estimate of the rival.

    Parameters
    ----------
    family
        Result of `fit_family`.
    seed
        Seed of the draws.

    Returns
    -------
    tuple of Quantity
        Quantities of the whole, of each class, and the growth per mean gap.
    """
    found = derive_quantities(family.analysis, family.data, seed=seed)
    rival = {} if family.rival_analysis is None else estimate_whole(family.rival_analysis)
    result = []
    for quantity in found:
        other = quantity.estimate if quantity.class_name else rival.get(quantity[:3], quantity.estimate)
        low, high = min(quantity.low, other), max(quantity.high, other)
        is_withheld = quantity.name in _EXTRAPOLATED and not family.is_stationary
        code = Withholding.NOT_STATIONARY if is_withheld else quantity.withheld
        result.append(quantity._replace(low=low, high=high, withheld=code))
    growth = family.growth
    return (*result, Quantity("growth", None, None, growth.growth, growth.low, growth.high))


def projections(mixture: Mixture, histories: CaptureHistoryCounts, gaps: FloatArray | None = None) -> Projections:
    """Compare a mixture with the mean containment curve and the mean discovery curve of histories.

    Parameters
    ----------
    mixture
        Classes per mean gap.
    histories
        Elements of each capture history.
    gaps
        Gaps between crawls in units of their mean, shape (n_crawls - 1,); equal gaps if None.

    Returns
    -------
    Projections
        Root mean squares; NaN if no crawl has elements.
    """
    n = histories.n_crawls
    times = np.arange(float(n)) if gaps is None else np.append(0.0, np.cumsum(gaps))
    containment = mixture.containment(np.triu(times - times[:, None]))
    return misses_of_curves(containment, mixture.first_returns_between(n, gaps), histories)


def misses_of_curves(
    containment: FloatArray, first_returns: FloatArray, histories: CaptureHistoryCounts
) -> Projections:
    """Compare expectations of every pair of crawls with the mean containment curve and the mean discovery curve.

    Parameters
    ----------
    containment
        Share of crawl s that crawl t contains, shape (n_crawls, n_crawls).
    first_returns
        Share of crawl s whose next capture is by crawl t, shape (n_crawls, n_crawls).
    histories
        Elements of each capture history.

    Returns
    -------
    Projections
        Root mean squares; NaN if no crawl has elements.
    """
    n = histories.n_crawls
    shared, unions = histories.intersections(), histories.unions()
    sizes = np.diagonal(shared).astype(np.float64)
    modelled = unions_from_recaptures(sizes, sizes[:, None] * first_returns)
    misses = []
    for lag in range(1, n):
        starts = np.flatnonzero(sizes[: n - lag] > 0)
        ends = starts + lag
        lag_residuals = shared[starts, ends] / sizes[starts] - containment[starts, ends]
        window_residuals = (unions[starts, ends] - modelled[starts, ends]) / sizes[starts]
        if starts.size:
            misses.append((lag_residuals.mean(), window_residuals.mean()))
    if not misses:
        return Projections(np.nan, np.nan)
    return Projections(*np.sqrt((np.array(misses) ** 2).mean(axis=0)).tolist())


def _select(candidates: Mapping[str, StateSpaceFit], core: CoreTest | None) -> StateSpaceFit:
    """Return the fit of the smallest BIC; more than one Markov class needs 12 crawls."""
    if core is not None and core.verdict is CoreVerdict.ACCEPTED:
        return core.fit
    free = [fit for fit in candidates.values() if "core" not in fit.layout.kinds]
    if free[0].n_crawls < _LEAST_CRAWLS_OF_CLASSES:
        free = [fit for fit in free if len(fit.layout.kinds) == 1] or free
    return min(free, key=lambda fit: (not fit.converged, fit.bic))


def agrees_with_population(growth: Growth, analysis: Analysis) -> bool:
    """Return whether the growth by first captures agrees with the trend of the population.

    They disagree if they differ by more than two standard errors, and by more than a tenth of the population over all
    crawls.

    Parameters
    ----------
    growth
        Growth by first captures.
    analysis
        Population under the selected fit.
    """
    eligible = analysis.population.eligible
    # A crawl without an eligible element has no logarithm of their number.
    known = eligible >= _LEAST_ELIGIBLE
    if known.sum() < _LEAST_CRAWLS:
        return True
    time, log_eligible = np.flatnonzero(known).astype(np.float64), np.log(eligible[known])
    centred = time - time.mean()
    slope = centred @ log_eligible / (centred @ centred)
    residual = log_eligible - log_eligible.mean() - slope * centred
    lagged = autocorrelation(residual, largest=_LARGEST_AUTOCORRELATION)
    variance = residual @ residual / max(len(time) - 2, 1) / (centred @ centred) * (1 + lagged) / (1 - lagged)
    weights = centred / (centred @ centred) / eligible[known]
    variance += weights @ analysis.population.covariance[np.ix_(known, known)] @ weights
    difference = abs(np.log(growth.growth) - slope)
    is_significant = difference > _LARGEST_DISAGREEMENT * np.hypot(growth.log_se, np.sqrt(variance))
    return not (is_significant and difference * (len(eligible) - 1) > _RELEVANT_DISAGREEMENT)


def _with_growth(analysis: Analysis, growth: Growth) -> Analysis:
    """Return the analysis with the growth if it is shown; a core does not grow."""
    if growth.p_value >= _LEVEL or "core" in analysis.fit.layout.kinds:
        return analysis
    return analysis._replace(log_growth=float(np.log(growth.growth)), log_growth_se=growth.log_se)
