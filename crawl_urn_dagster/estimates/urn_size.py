"""Compute the size of the urn that a fit implies: the mean crawl size divided by the share that one crawl captures.

Does not fit; see `fits`. The known eligible elements that the assessment quotes are in `assessment`.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn import Interval
from crawl_urn_dagster.urn.curves.conversions import captured_share
from crawl_urn_dagster.urn.uncertainty.bootstrap import crawl_completeness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from crawl_urn_dagster.urn.results.result import AnyFit

_SHELLS = ("coverage_1", "coverage_2")


def urn_size_columns(fit: AnyFit, crawls: pd.DataFrame) -> dict[str, float]:
    """Return columns ``urn_size``, ``urn_size_low`` and ``urn_size_high`` of a fit; empty if it implies no size.

    Parameters
    ----------
    fit
        A fit with estimates of coverage.
    crawls
        Table `crawls` of the fitted crawls; their sizes must be known.
    """
    sizes = _sizes(fit, crawls)
    completeness = _completeness(fit.estimates)
    if not (np.isfinite(sizes) and completeness is not None and 0 < completeness <= 1):
        return {}
    columns = {"urn_size": sizes / completeness}
    interval = _interval(fit, completeness)
    if interval is not None:
        columns["urn_size_low"] = sizes / interval.high
        columns["urn_size_high"] = sizes / interval.low if interval.low > 0 else np.inf
    return columns


def _sizes(fit: AnyFit, crawls: pd.DataFrame) -> float:
    """Return the mean size of the fitted crawls."""
    labels = list(crawls["crawl"])
    first = labels.index(getattr(fit.details, "first_crawl", labels[0]))
    last = labels.index(getattr(fit.details, "last_crawl", labels[-1]))
    sizes = crawls["elements"].iloc[first : last + 1].to_numpy(dtype=np.float64, na_value=np.nan)
    return float(sizes.mean())


def _completeness(estimates: Mapping[str, float]) -> float | None:
    """Return the share of the urn that one crawl captures; None if the estimates do not imply it."""
    if "crawl_coverage" in estimates:
        return estimates["crawl_coverage"]
    if all(name in estimates for name in (*_SHELLS, "share_1", "kappa")):
        first = estimates["share_1"]
        shells = first * estimates["coverage_1"] + (1 - first) * estimates["coverage_2"]
        return float(captured_share(estimates["kappa"], shells))
    if "coverage" not in estimates:
        return None
    return float(crawl_completeness(estimates.get("core_share", 0.0), estimates["coverage"]))


def _interval(fit: AnyFit, completeness: float) -> Interval | None:
    """Return the interval of the share of the urn that one crawl captures.

    Without replicates it is between the corners of the parameters' intervals, so it is wide enough for all of them.
    """
    if "crawl_coverage" in fit.intervals:
        return fit.intervals["crawl_coverage"]
    names = [name for name in ("kappa", "core_share", "share_1", "coverage", *_SHELLS) if name in fit.estimates]
    if not names or any(name not in fit.intervals for name in names if name != "kappa" or len(names) == 1):
        return None
    ends = [value for value in _corners(fit, names) if value is not None and np.isfinite(value)]
    return Interval(min(*ends, completeness), max(*ends, completeness)) if ends else None


def _corners(fit: AnyFit, names: list[str]) -> Iterator[float | None]:
    """Yield the share at every combination of the ends of the parameters' intervals."""
    ends = [fit.intervals.get(name, (fit.estimates[name],) * 2) for name in names]
    for corner in product(*ends):
        yield _completeness(dict(zip(names, corner, strict=True)))
