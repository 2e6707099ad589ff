"""Adjust intervals of quantities for what the likelihood does not see: other crawls, earlier crawls, and bounds.

Does not compute quantities; see `ladder_quantities` and `memory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from crawl_urn_dagster.urn import Interval, ReasonCode, Status
from crawl_urn_dagster.urn.data.autocorrelation import autocorrelation
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    from crawl_urn_dagster.estimates.assessment.result import Quantity
    from crawl_urn_dagster.urn.open_population.quantity_intervals import Course
    from crawl_urn_dagster.urn.open_population.really_new import ReallyNew

_LARGEST_CORRELATION = 0.9
# The rule of three: with 95 % confidence, at most three events are expected where none was observed.
_RULE_OF_THREE = 3.0
# Fewer expected events count as no event.
_NO_EVENT = 0.5
_EDGE = 1e-12


def over_crawls(quantity: Quantity, course: Course) -> Quantity:
    """Return a mean share whose interval also covers the variation from crawl to crawl, for other crawls.

    The variation beyond sampling is taken for a first-order autoregressive process. Close to 0 or 1, where the logit
    is too steep for it, the interval is widened as it is.

    Parameters
    ----------
    quantity
        Mean share over crawls or gaps.
    course
        The share of each.
    """
    values, errors = course.estimate[np.isfinite(course.standard_error)], course.standard_error
    value = quantity.value
    if value is None or quantity.interval is None or len(values) < 3:
        return quantity
    residual = values - values.mean()
    excess = max(float(residual @ residual / (len(values) - 1) - np.nanmean(errors**2)), 0.0)
    correlation = autocorrelation(residual, largest=_LARGEST_CORRELATION)
    half = NORMAL_QUANTILE * np.sqrt(excess / len(values) * (1 + correlation) / (1 - correlation))
    if half == 0:
        return quantity
    low, high = quantity.interval
    if not half < min(value, 1 - value) or not 0 < low < high < 1:
        ends = value - np.hypot(value - low, half), value + np.hypot(high - value, half)
        return quantity._replace(interval=Interval(*(float(end) for end in np.clip(ends, 0, 1))))
    middle, spread = logit(value), half / (value * (1 - value))
    ends = middle - np.hypot(middle - logit(low), spread), middle + np.hypot(logit(high) - middle, spread)
    return quantity._replace(interval=Interval(*(float(expit(end)) for end in ends)))


def over_earlier_crawls(completeness: Quantity, in_window: float) -> Quantity:
    """Return a completeness whose interval also holds if no crawl before the first captured elements.

    Parameters
    ----------
    completeness
        Completeness if crawls before the first captured elements as the later ones did.
    in_window
        Completeness without such crawls; it is higher, because fewer elements are known.

    Examples
    --------
    >>> from crawl_urn_dagster.estimates.assessment.result import Quantity
    >>> found = over_earlier_crawls(Quantity(0.8, Interval(0.75, 0.85)), 0.82)
    >>> round(found.interval.high, 6), found.inner.high
    (0.87, 0.85)
    """
    value, interval = completeness.value, completeness.interval
    if value is None or interval is None or not in_window > value:
        return completeness
    outer = Interval(interval.low, min(interval.high + in_window - value, 1.0))
    return completeness._replace(interval=outer, inner=interval, assumption="earlier_crawls")


def over_first_captures(share: Quantity, bounds: ReallyNew) -> Quantity:
    """Return a share of first captures whose interval covers what no test can check: new elements and earlier crawls.

    The ends move on the logit scale by as much as the share does.

    Parameters
    ----------
    share
        Share of first captures that appeared since the crawl before, as fitted.
    bounds
        The fitted share and its ends over the assumptions.

    Examples
    --------
    >>> from crawl_urn_dagster.estimates.assessment.result import Quantity
    >>> from crawl_urn_dagster.urn.open_population.really_new import ReallyNew
    >>> found = over_first_captures(Quantity(0.7, Interval(0.6, 0.8)), ReallyNew(0.5, 0.7, 0.8))
    >>> [round(end, 3) for end in found.interval]
    [0.391, 0.873]
    """
    if share.value is None or share.interval is None:
        return share
    scaled = logit(np.clip(bounds, _EDGE, 1 - _EDGE))
    ends = logit(np.clip(share.interval, _EDGE, 1 - _EDGE)) + scaled[[0, 2]] - scaled[1]
    low, high = expit(ends).tolist()
    outer = Interval(min(low, share.interval.low), max(high, share.interval.high))
    return share._replace(interval=outer, inner=share.interval, assumption="first_captures")


def with_rule_of_three(rate: Quantity, exposed: float) -> Quantity:
    """Return a rate of events whose interval is not narrower than observations without an event allow.

    Parameters
    ----------
    rate
        Events per exposure.
    exposed
        Number of exposures, such as captured elements that could have been lost, above 0.

    Examples
    --------
    >>> from crawl_urn_dagster.estimates.assessment.result import Quantity
    >>> with_rule_of_three(Quantity(6e-6, Interval(6e-6, 6e-6)), 3_000)[:2]
    (0.0, Interval(low=0.0, high=0.001))
    """
    value, interval, limit = rate.value, rate.interval, _RULE_OF_THREE / exposed
    if value is None or interval is None or interval.high >= limit:
        return rate
    return rate._replace(value=0.0 if value * exposed < _NO_EVENT else value, interval=Interval(0.0, limit))


def without_newcomers(share: Quantity, newcomers: Quantity) -> Quantity:
    """Return the share of newcomers, without a value if no newcomers are estimated."""
    if newcomers.value or share.value is None:
        return share
    code = ReasonCode.TOO_FEW_ELEMENTS.value
    return share._replace(value=None, interval=None, inner=None, status=Status.NOT_IDENTIFIED, reason_code=code)


def complement(one: Quantity) -> Quantity:
    """Return the rest of a share, 1 minus it."""
    if one.value is None or one.interval is None:
        return one
    return one._replace(value=1 - one.value, interval=Interval(1 - one.interval.high, 1 - one.interval.low))
