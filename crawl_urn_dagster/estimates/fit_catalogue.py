"""Which fits a collection gets, by name.

Here: projection, model, form and clock of each fit. Not here: the fits (`fitting`); definitions read this list
without loading numpy.
"""

from __future__ import annotations

from typing import NamedTuple


class FitKind(NamedTuple):
    """What names a fit within a collection."""

    projection: str
    model: str
    form: str
    clock: str


def fit_kinds(*, containment: bool, discovery_curve: bool) -> list[FitKind]:
    """Fits of a collection that has the observables given as True."""
    kinds = []
    for clock in ("crawl", "year"):
        kinds += [
            FitKind("joint", "core_shell", "exact", clock),
            FitKind("joint", "homogeneous", "exact", clock),
        ]
        if containment:
            kinds += [
                FitKind("containment", "core_shell", "exact", clock),
                FitKind("containment", "core_shell", "paper", clock),
                FitKind("containment", "homogeneous", "exact", clock),
            ]
        if discovery_curve:
            kinds += [
                FitKind("discovery_curve", "core_shell", "exact", clock),
                FitKind("discovery_curve", "homogeneous", "exact", clock),
            ]
    if discovery_curve:
        kinds += [
            FitKind("discovery_tail", "homogeneous", "exact", "crawl"),
            FitKind("discovery_increments", "core_shell", "exact", "crawl"),
        ]
    return kinds
