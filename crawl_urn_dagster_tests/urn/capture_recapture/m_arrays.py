"""Sizes and recaptures of capture histories, for tests."""

import numpy as np

from crawl_urn_dagster.urn import CaptureHistoryCounts

UNEVEN = np.array([0.0, 0.1, 0.35, 0.4, 1.0, 1.2, 1.25, 2.0])


def m_array(counts):
    """Return sizes and recaptures."""
    return np.diagonal(counts.intersections()), counts.recaptures()


def histories(*rows):
    """Return sizes and recaptures of histories such as ``"101 3"``, which 3 elements have."""
    seen = np.array([[mark == "1" for mark in row.split()[0]] for row in rows])
    return m_array(CaptureHistoryCounts(seen, np.array([int(row.split()[1]) for row in rows])))


def in_order(fit, field="estimates"):
    """Return estimates or standard errors of all parameters of a maximum-likelihood fit, NaN if unknown."""
    by_name = fit.estimates if field == "estimates" else fit.details.standard_errors
    return np.array([by_name.get(name, np.nan) for name in fit.details.parameters])


def ends(fit):
    """Return the low and the high ends of the confidence intervals of all parameters, NaN if unknown."""
    unknown = (np.nan, np.nan)
    return np.array([fit.intervals.get(name, unknown) for name in fit.details.parameters]).T


def having(fit, part, values):
    """Return those of the values, one for each parameter, whose parameter's name contains a part."""
    return values[[part in name for name in fit.details.parameters]]
