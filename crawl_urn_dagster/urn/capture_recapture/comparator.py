"""Describe the capture-recapture estimators that the urn is compared with, and hold their results.

Does not compute estimates; see `closed_populations` and `unseen_elements`.

In the descriptions, N is the number of elements eligible at one time, M the number in a crawl and K the number in the
core. α is shell survival from crawl to crawl, c shell coverage, and c̄ = 1 - c. ν∞ is the long-run new fraction of a
crawl, (1 - K/M)(1-α)/(1-α c̄).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

Unit = Literal["elements", "fraction", "exponent"]

_CLOSED = "no element starts or stops being eligible between the crawls"
_EQUAL = f"{_CLOSED}, and a crawl captures all elements with equal probability"
_BY_LAG = (
    "elements stop being eligible and are replaced: at a lag of D crawls it estimates M²/(K + (M - K) c α^D), which is "
    "N α^(-D) without a core"
)
_GROWING = "counts every element captured before as still eligible, so it grows with the number of crawls"
_UNSEEN = (
    "estimates all elements that were eligible in the window, not N, and gives about 1/(2 α c̄) times the elements not "
    "captured, which is not a lower bound if α c̄ < 1/2"
)
_TURNOVER = (
    "elements stop being eligible: the new fraction is about (1 - α)/(1 - α c̄) times the true one, and the sample "
    "coverage is too near 1"
)


class _Description(NamedTuple):
    """Constant fields of a `Comparator`."""

    target: str
    unit: Unit
    assumption: str
    bias: str


def _abundance(bias: str) -> _Description:
    return _Description("eligible elements, N", "elements", _EQUAL, bias)


def _heterogeneous(variable: str) -> _Description:
    return _Description(
        "eligible elements, N",
        "elements",
        f"{_CLOSED}, and a crawl captures each element with a probability that depends on the element by {variable}",
        "takes elements that were eligible for few crawls for elements that are hard to capture, and extrapolates to "
        "more of them: it counts elements of the whole window and more",
    )


_DESCRIPTIONS = {
    "petersen": _abundance(_BY_LAG),
    "chapman": _abundance(_BY_LAG),
    "schnabel": _abundance(_GROWING),
    "schumacher_eschmeyer": _abundance(_GROWING),
    "m0": _abundance(_GROWING),
    "mt": _Description(
        "eligible elements, N",
        "elements",
        f"{_CLOSED}, and a crawl captures all elements with equal probability, which depends on the crawl",
        _GROWING,
    ),
    "mh_poisson2": _heterogeneous("the Poisson exponent of 2 in its odds"),
    "mh_darroch": _heterogeneous("a normal variable in its log odds"),
    "mb": _Description(
        "eligible elements, N",
        "elements",
        f"{_CLOSED}, and all elements that were not captured before are captured with equal probability",
        "takes new eligible elements for old ones, so it grows with the number of crawls, without limit once the "
        "number of new elements no longer falls",
    ),
    "chao1": _Description(
        "captured and not captured elements",
        "elements",
        f"{_CLOSED}, and each capture is of an eligible element with a probability that depends on the element",
        _UNSEEN,
    ),
    "chao2": _Description(
        "captured and not captured elements",
        "elements",
        f"{_CLOSED}, and a crawl captures each element with a probability that depends on the element",
        _UNSEEN,
    ),
    "good_turing_coverage": _Description(
        "probability that a capture is of an element captured before",
        "fraction",
        f"{_CLOSED}, and captures are independent",
        _TURNOVER,
    ),
    "good_turing_new_fraction": _Description(
        "new fraction of a crawl", "fraction", f"{_CLOSED}, and captures are independent", _TURNOVER
    ),
    "heaps": _Description(
        "Heaps' exponent b",
        "exponent",
        "the number of distinct elements is a power of the number of crawls, at any scale",
        "an urn's discovery curve tends to a line of slope ν∞: b is not constant and tends to 1 in long windows",
    ),
}


@dataclass(frozen=True)
class Comparator:
    """Result of an estimator, with its assumption and its bias in an urn.

    Attributes
    ----------
    name
        Name of the estimator.
    target
        Quantity that the estimator is meant for.
    unit
        ``elements``, ``fraction`` or ``exponent``.
    estimate
        Estimate in that unit; NaN if the data do not allow one.
    se
        Standard error; NaN if unknown or if the literature has none.
    low, high
        Ends of the 95 % confidence interval, `high` possibly infinite; NaN where `se` is.
    assumption
        Condition under which the estimate is of its target.
    bias
        Quantity that the estimator gives in an urn instead.
    reason
        Why the estimate or the standard error is unknown; None if both are known.

    Examples
    --------
    See `comparators`.
    """

    name: str
    target: str
    unit: Unit
    estimate: float
    se: float
    low: float
    high: float
    assumption: str
    bias: str
    reason: str | None = None


def comparator(
    estimator: str,
    estimate: float,
    se: float,
    low: float,
    high: float,
    *,
    reason: str | None = None,
    name: str | None = None,
) -> Comparator:
    """Return the result of an estimator with its description, under the estimator's name unless another is given."""
    target, unit, assumption, bias = _DESCRIPTIONS[estimator]
    return Comparator(
        name or estimator, target, unit, float(estimate), float(se), float(low), float(high), assumption, bias, reason
    )


def from_unseen(
    estimator: str, captured: float, unseen: float, variance: float, *, reason: str | None = None
) -> Comparator:
    """Return a number of elements with an interval that is log-normal in the elements not captured.

    Without elements not captured, or a variance, the standard error is unknown, for the reason.
    """
    known = unseen > 0 and 0 < variance < np.inf
    # The square of a tiny number of elements may be 0, so ln(1 + variance/unseen²) is computed from logarithms.
    log_variance = np.logaddexp(0, np.log(variance) - 2 * np.log(unseen)) if known else np.nan
    spread = float(np.exp(NORMAL_QUANTILE * np.sqrt(log_variance)))
    return comparator(
        estimator,
        captured + unseen,
        float(np.sqrt(variance)) if known else np.nan,
        captured + unseen / spread,
        captured + unseen * spread,
        reason=None if known else reason or "The likelihood does not give a standard error.",
    )
