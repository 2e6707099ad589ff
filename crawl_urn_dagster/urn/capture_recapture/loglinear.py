"""Estimate the abundance of a closed population from two or more lists by log-linear models with dependence.

Does not order the lists in time, and does not use the closed forms of models without dependence (see `closed_models`).

The expected number of elements with a pattern of lists is Poisson; its logarithm is a constant, an effect of each list,
an effect of each pair of lists that depend on each other, and possibly a function of the number of lists. The constant
is the logarithm of the elements on no list. Models, standard errors and AIC follow Rcapture (Baillargeon and
Rivest 2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import gammaln, xlogy

from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: Dependence of all lists through unequal catchability of the elements.
Heterogeneity: TypeAlias = Literal["poisson2", "darroch", "chao"]
Pair: TypeAlias = tuple[int, int]

#: Largest number of lists: patterns double with each.
MAX_LISTS = 8
# Up to this number of lists every set of dependent pairs is fitted; beyond, pairs are added one at a time.
_EXHAUSTIVE_LISTS = 4
_ITERATIONS = 60
_CONVERGED = 1e-10
# Change of a linear predictor in one step that is halved; a larger one can overflow.
_LARGEST_STEP = 5.0
_LARGEST_PREDICTOR = 50.0
# Logarithm of elements on no list divided by elements on some, above which no finite maximum exists.
_LARGEST_LOG_ODDS = 8.0
# Relative size of a singular value below which the lists do not identify every effect.
_SINGULAR = 1e-10
_CURVATURES: dict[Heterogeneity, Callable[[FloatArray], FloatArray]] = {
    "poisson2": lambda k: (2.0**k - 1)[:, None],
    "darroch": lambda k: (k**2 / 2)[:, None],
    "chao": lambda k: np.maximum(k[:, None] - np.arange(2, k.max()), 0.0),
}


@dataclass(frozen=True)
class LoglinearFit:
    """Fit of a log-linear model to the patterns of several lists.

    Attributes
    ----------
    pairs
        Pairs of lists that depend on each other, by position.
    heterogeneity
        Dependence of all lists through unequal catchability; None: none.
    captured
        Elements on at least one list.
    unseen
        Estimated elements on no list; NaN if no maximum exists.
    se
        Standard error of the estimate.
    deviance, degrees, aic
        Deviance, residual degrees of freedom, and Akaike's information criterion with the constants of the Poisson
        likelihood.
    """

    pairs: tuple[Pair, ...]
    heterogeneity: Heterogeneity | None
    captured: float
    unseen: float
    se: float
    deviance: float
    degrees: int
    aic: float

    @property
    def estimate(self) -> float:
        """Elements on some list or on none."""
        return self.captured + self.unseen

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the estimate, log-normal in the elements on no list."""
        if not (self.unseen > 0 and self.se > 0):
            return np.nan, np.nan
        spread = float(np.exp(NORMAL_QUANTILE * np.sqrt(np.log1p((self.se / self.unseen) ** 2))))
        return self.captured + self.unseen / spread, self.captured + self.unseen * spread

    def describe(self, names: Sequence[str]) -> str:
        """Return the model in words, such as ``a:b, darroch``; ``independent`` without dependence."""
        terms = [f"{names[i]}:{names[j]}" for i, j in self.pairs]
        terms += [self.heterogeneity] if self.heterogeneity else []
        return ", ".join(terms) or "independent"


def list_patterns(n_lists: int) -> npt.NDArray[np.float64]:
    """Return the patterns of lists that hold an element, shape (2**n_lists - 1, n_lists); list i is bit i of the row.

    Examples
    --------
    >>> list_patterns(2).tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    codes = np.arange(1, 2**n_lists)
    return (codes[:, None] >> np.arange(n_lists) & 1).astype(np.float64)


def fit_loglinear(
    counts: npt.ArrayLike, pairs: Sequence[Pair] = (), heterogeneity: Heterogeneity | None = None
) -> LoglinearFit:
    """Fit a log-linear model to the patterns of two or more lists.

    Parameters
    ----------
    counts
        Elements of each pattern, in the order of `list_patterns`, shape (2**n_lists - 1,).
    pairs
        Pairs of lists that depend on each other, by position.
    heterogeneity
        ``poisson2``: a term in 2^k - 1, where k is the number of lists of an element; ``darroch``: in k²/2; ``chao``:
        one effect for each k above 2, which is at least 0, so the estimate is a lower bound under any heterogeneity.

    Returns
    -------
    LoglinearFit

    Raises
    ------
    ValueError
        If the number of counts fits no number of lists from 2 to `MAX_LISTS`, or a count is negative.

    References
    ----------
    Baillargeon, S. and Rivest, L.-P. (2007). Rcapture: loglinear models for capture-recapture in R. Journal of
    Statistical Software 19(5).

    Rivest, L.-P. and Baillargeon, S. (2007). Applications and extensions of Chao's moment estimator for the size of a
    closed population. Biometrics 63, 999-1006.

    Examples
    --------
    >>> fit = fit_loglinear([781, 254, 167])
    >>> round(fit.estimate, 1), round(fit.se, 1)
    (2389.9, 130.4)
    """
    y, n_lists = _counts(counts)
    held = list_patterns(n_lists)
    columns = [np.ones((y.size, 1)), held, *(held[:, [i]] * held[:, [j]] for i, j in pairs)]
    curvature = np.empty((y.size, 0)) if heterogeneity is None else _CURVATURES[heterogeneity](held.sum(axis=1))
    while True:
        design = np.hstack([*columns, curvature])
        effects, covariance = _fit_poisson(design, y)
        curvature_effects = effects[design.shape[1] - curvature.shape[1] :]
        if heterogeneity != "chao" or not (curvature_effects < 0).any():
            break
        # Heterogeneity makes every such effect positive; the bound takes a negative one for 0.
        curvature = np.delete(curvature, int(np.argmax(curvature_effects < 0)), axis=1)
    fitted = np.exp(design @ effects)
    unseen, variance = float(np.exp(effects[0])), float(covariance[0, 0])
    log_likelihood = float((xlogy(y, fitted) - fitted - gammaln(y + 1)).sum())
    return LoglinearFit(
        tuple(pairs),
        heterogeneity,
        float(y.sum()),
        unseen,
        float(np.sqrt(unseen + unseen**2 * variance)),
        2 * float((xlogy(y, y) - xlogy(y, fitted) - y + fitted).sum()),
        y.size - design.shape[1],
        2 * design.shape[1] - 2 * log_likelihood,
    )


def select_loglinear(counts: npt.ArrayLike) -> list[LoglinearFit]:
    """Fit models with every kind of dependence that three or more lists identify; the smallest AIC comes first.

    Without heterogeneity any pairs of lists may depend on each other: all sets of pairs up to four lists, and for more
    lists those found by adding one pair at a time. A model without a finite maximum is left out.

    Parameters
    ----------
    counts
        As in `fit_loglinear`.

    Examples
    --------
    >>> best = select_loglinear([43, 53, 13, 71, 7, 155, 72])[0]
    >>> best.describe("abc"), round(best.estimate)
    ('a:b, a:c, b:c', 1240)
    """
    y, n_lists = _counts(counts)
    all_pairs = list(combinations(range(n_lists), 2))
    fits = [fit_loglinear(y), *(fit_loglinear(y, (), kind) for kind in ("poisson2", "darroch") if n_lists > 2)]
    if 2 < n_lists <= _EXHAUSTIVE_LISTS:
        sets = chain.from_iterable(combinations(all_pairs, size) for size in range(1, len(all_pairs) + 1))
        fits += [fit_loglinear(y, pairs) for pairs in sets]
    elif n_lists > _EXHAUSTIVE_LISTS:
        fits += _add_pairs(y, fits[0], all_pairs)
    return sorted((fit for fit in fits if np.isfinite(fit.unseen)), key=lambda fit: fit.aic)


def chao_bound(counts: npt.ArrayLike) -> LoglinearFit:
    """Return Chao's lower bound with an effect of each list; for two lists it is Petersen's estimate.

    Examples
    --------
    >>> round(chao_bound([781, 254, 167]).estimate, 1)
    2389.9
    """
    return fit_loglinear(counts, (), "chao")


def _add_pairs(y: FloatArray, start: LoglinearFit, all_pairs: Sequence[Pair]) -> list[LoglinearFit]:
    """Add the pair that lowers AIC most, until none does; return the fit after each step."""
    steps, best = list[LoglinearFit](), start
    while True:
        trials = [fit_loglinear(y, (*best.pairs, pair)) for pair in all_pairs if pair not in best.pairs]
        finite = [fit for fit in trials if np.isfinite(fit.unseen)]
        following = min(finite, key=lambda fit: fit.aic, default=best)
        if following.aic >= best.aic:
            return steps
        steps.append(following)
        best = following


def _fit_poisson(design: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Maximise the Poisson likelihood by Newton's method; effects and covariance are NaN if the constant is infinite.

    Other effects may tend to infinity where patterns have no element; the fitted numbers of these then tend to 0.
    """
    unknown = np.full(design.shape[1], np.nan), np.full((design.shape[1],) * 2, np.nan)
    effects = np.linalg.lstsq(design, np.log(y + 0.5), rcond=None)[0]
    deviance = np.inf
    for _ in range(_ITERATIONS):
        fitted = np.exp(np.clip(design @ effects, -_LARGEST_PREDICTOR, _LARGEST_PREDICTOR))
        previous, deviance = deviance, 2 * float((xlogy(y, y) - xlogy(y, fitted) - y + fitted).sum())
        if abs(previous - deviance) < _CONVERGED * (1 + abs(deviance)):
            break
        step = np.linalg.lstsq(np.sqrt(fitted)[:, None] * design, (y - fitted) / np.sqrt(fitted), rcond=None)[0]
        effects = effects + step * min(1.0, _LARGEST_STEP / max(float(np.abs(design @ step).max()), _LARGEST_STEP))
    weighted = np.sqrt(fitted)[:, None] * design
    covariance = np.linalg.pinv(weighted.T @ weighted, rcond=_SINGULAR, hermitian=True)
    is_identified = np.linalg.matrix_rank(weighted, tol=_SINGULAR * np.abs(weighted).max()) == design.shape[1]
    if effects[0] > np.log(y.sum() + 1) + _LARGEST_LOG_ODDS or not (is_identified and covariance[0, 0] > 0):
        return unknown
    return effects, covariance


def _counts(counts: npt.ArrayLike) -> tuple[FloatArray, int]:
    """Check the counts of the patterns, and return them with the number of lists."""
    y = np.asarray(counts, dtype=np.float64)
    n_lists = int(y.size + 1).bit_length() - 1
    if y.ndim != 1 or y.size != 2**n_lists - 1 or not 2 <= n_lists <= MAX_LISTS or (y < 0).any():
        raise ValueError(
            f"counts have shape {y.shape} and minimum {y.min(initial=0):.0f}; expected 2**n - 1 counts of at least 0 "
            f"for n lists, 2 to {MAX_LISTS}"
        )
    return y, n_lists
