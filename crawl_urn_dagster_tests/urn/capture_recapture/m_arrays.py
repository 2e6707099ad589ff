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


def by_name(estimates, prefix, field="values"):
    """Return the values of a field for the parameters whose name contains the prefix."""
    return np.array(
        [value for name, value in zip(estimates.names, getattr(estimates, field), strict=True) if prefix in name]
    )
