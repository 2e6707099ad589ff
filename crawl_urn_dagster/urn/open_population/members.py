"""Define the members of the ladder: their classes, parameters, bounds and starts.

Does not fit; see `ladder`.

Shells share a free coverage of every crawl and a free survival of every gap. A second or third shell shifts both, on
the logit and the log-hazard scale. A core is never missed and does not die. A missed core has a miss chance, and a
long-lived class a loss and a miss chance, each the same for all crawls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from crawl_urn_dagster.urn.open_population.likelihood import ClassDesign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray
    from crawl_urn_dagster.urn.open_population.class_terms import Survival

#: The class in addition to the shells.
Stable = Literal["none", "core", "core_missed", "long_lived"]
#: How numbers of elements change: not, by a constant rate, or freely in every gap.
Trend = Literal["constant", "growing", "fluctuating"]

# A core of this many elements counts as absent, and a core that changes at this rate as constant.
# Smaller values would make the logarithms of the expected elements lose their precision.
_LEAST_CORE = 1e-3
_LEAST_GROWTH = 1e-7
_LOG_HAZARD = (-14.0, 2.5)
_LOGIT = (-16.0, 16.0)
_GROWTH = 0.7


@dataclass(frozen=True)
class Member:
    """One model of the ladder.

    Attributes
    ----------
    name
        Name of the model.
    stage
        Stage of the ladder, from 1.
    stable
        The class in addition to the shells.
    n_shells
        Number of shells.
    trend
        How the numbers of elements change.
    starts_from
        Simpler members whose fits are starts of the search.
    """

    name: str
    stage: int
    stable: Stable
    n_shells: int
    trend: Trend
    starts_from: tuple[str, ...] = ()

    @property
    def least_crawls(self) -> int:
        """Number of crawls below which the model is not fitted."""
        return 4 if self.trend == "fluctuating" else 3

    def is_special_case_of(self, other: Member) -> bool:
        """Whether the other model grows and becomes this one without growth, and without some of its shells."""
        return other.trend == "growing" and other.stable == self.stable and other.n_shells >= self.n_shells


MEMBERS = (
    Member("homogeneous", 1, "none", 1, "constant"),
    Member("core_shell", 1, "core", 1, "constant", ("homogeneous",)),
    Member("homogeneous_growing", 1, "none", 1, "growing", ("homogeneous",)),
    Member("core_missed", 1, "core_missed", 1, "constant", ("core_shell",)),
    Member("two_shells_no_core", 1, "none", 2, "constant", ("homogeneous", "core_missed")),
    Member("core_shell_growing", 1, "core", 1, "growing", ("core_shell",)),
    Member("core_two_shells", 1, "core", 2, "constant", ("core_shell", "two_shells_no_core")),
    Member("core_shell_fluctuating", 2, "core", 1, "fluctuating", ("core_shell_growing",)),
    Member("long_lived", 2, "long_lived", 1, "constant", ("core_missed", "two_shells_no_core")),
    Member("two_shells_no_core_growing", 2, "none", 2, "growing", ("two_shells_no_core",)),
    Member("core_missed_growing", 2, "core_missed", 1, "growing", ("core_missed",)),
    Member("core_two_shells_growing", 3, "core", 2, "growing", ("core_two_shells", "core_shell_growing")),
    Member(
        "core_two_shells_fluctuating",
        3,
        "core",
        2,
        "fluctuating",
        ("core_two_shells_growing", "core_shell_fluctuating"),
    ),
    Member("long_lived_two_shells", 3, "long_lived", 2, "constant", ("long_lived", "core_two_shells")),
    Member("core_three_shells", 3, "core", 3, "constant", ("core_two_shells",)),
    Member(
        "long_lived_growing",
        3,
        "long_lived",
        2,
        "growing",
        ("long_lived_two_shells", "core_missed_growing", "core_two_shells_growing"),
    ),
)
MEMBERS_BY_NAME = {member.name: member for member in MEMBERS}


@dataclass(frozen=True, eq=False)
class Layout:
    """Position of each parameter of a member for T crawls.

    Attributes
    ----------
    member
        The model.
    n_crawls
        Number of crawls T.
    sign
        Whether a core grows (1) or shrinks (-1); not read without a core that changes.
    index
        First position and number of the parameters of each name. Names: ``log_hazard``, ``logit_coverage``,
        ``log_eligible_k`` of shell k, ``shift_hazard_k`` and ``shift_coverage_k`` of shell k > 1, ``growth`` of the
        shells, and ``stable_eligible``, ``stable_growth``, ``stable_miss`` and ``stable_hazard`` of the other class.
    """

    member: Member
    n_crawls: int
    sign: int
    index: Mapping[str, slice]

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return max(int(at.stop) for at in self.index.values())

    @property
    def by_crawl(self) -> IntArray:
        """Positions of the parameters of single crawls and gaps, in an order that members share."""
        names = ("log_hazard", "logit_coverage", "growth")
        found = [np.arange(self.n_parameters)[self.index[name]] for name in names if name in self.index]
        return np.concatenate([positions for positions in found if positions.size > 1])

    @property
    def is_linear_core(self) -> bool:
        """Whether ``stable_eligible`` is the number of elements itself, which can be 0, and not its logarithm."""
        return self.member.stable == "core"

    def designs(self) -> tuple[ClassDesign, ...]:
        """Return the classes: the core or the long-lived class first, then the shells."""
        member, n, p = self.member, self.n_crawls, self.n_parameters
        result = []
        if member.stable != "none":
            matrix = np.zeros((3 * n - 1, p))
            matrix[:n, self.index["stable_eligible"]] = 1
            if "stable_growth" in self.index:
                matrix[:n, self.index["stable_growth"]] = _centred(n)[:, None]
            if "stable_hazard" in self.index:
                matrix[n : 2 * n - 1, self.index["stable_hazard"]] = 1
            if "stable_miss" in self.index:
                matrix[2 * n - 1 :, self.index["stable_miss"]] = -1
            survival: Survival = "growing" if self.sign > 0 else "shrinking"
            if member.stable == "long_lived":
                survival = "hazard"
            name = "long_lived" if member.stable == "long_lived" else "core"
            result.append(ClassDesign(name, survival, member.stable == "core", matrix))
        for k in range(1, member.n_shells + 1):
            matrix = np.zeros((3 * n - 1, p))
            matrix[:n, self.index[f"log_eligible_{k}"]] = 1
            if member.trend == "growing":
                matrix[:n, self.index["growth"]] = _centred(n)[:, None]
            elif member.trend == "fluctuating":
                # The first and the last gap have no change: there numbers and coverage are not identified separately.
                matrix[2:n, self.index["growth"]] = np.tri(n - 2, n - 3)
            matrix[n : 2 * n - 1, self.index["log_hazard"]] = np.eye(n - 1)
            matrix[2 * n - 1 :, self.index["logit_coverage"]] = np.eye(n)
            if k > 1:
                matrix[n : 2 * n - 1, self.index[f"shift_hazard_{k}"]] = 1
                matrix[2 * n - 1 :, self.index[f"shift_coverage_{k}"]] = 1
            result.append(ClassDesign(f"shell_{k}" if member.n_shells > 1 else "shell", "hazard", False, matrix))
        return tuple(result)

    def bounds(self, captured: float) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds, given the number of elements that were captured."""
        low, high = np.full(self.n_parameters, -8.0), np.full(self.n_parameters, 8.0)

        def bound(name: str, least: float, most: float) -> None:
            if name in self.index:
                low[self.index[name]], high[self.index[name]] = least, most

        bound("log_hazard", *_LOG_HAZARD)
        bound("logit_coverage", *_LOGIT)
        for k in range(1, self.member.n_shells + 1):
            bound(f"log_eligible_{k}", np.log(_LEAST_CORE), np.log(1e4 * captured))
        bound("growth", -_GROWTH, _GROWTH)
        bound("stable_hazard", *_LOG_HAZARD)
        bound("stable_miss", *_LOGIT)
        if self.is_linear_core:
            bound("stable_eligible", _LEAST_CORE / captured, 2.0)
        else:
            bound("stable_eligible", np.log(_LEAST_CORE), np.log(1e4 * captured))
        signed = self.member.stable != "long_lived"
        least = _LEAST_GROWTH if signed and self.sign > 0 else -_GROWTH
        bound("stable_growth", least, -_LEAST_GROWTH if signed and self.sign < 0 else _GROWTH)
        return low, high


def _centred(n_crawls: int) -> FloatArray:
    """Return the number of crawls since the middle of the window, shape (T,)."""
    return np.arange(n_crawls, dtype=np.float64) - (n_crawls - 1) / 2


def layout_of(member: Member, n_crawls: int, sign: int = 1) -> Layout:
    """Lay out the parameters of a member."""
    sizes = {"log_hazard": n_crawls - 1, "logit_coverage": n_crawls}
    for k in range(1, member.n_shells + 1):
        sizes[f"log_eligible_{k}"] = 1
        if k > 1:
            sizes |= {f"shift_hazard_{k}": 1, f"shift_coverage_{k}": 1}
    if member.trend != "constant":
        sizes["growth"] = n_crawls - 3 if member.trend == "fluctuating" else 1
    if member.stable != "none":
        sizes["stable_eligible"] = 1
        if member.trend != "constant":
            sizes["stable_growth"] = 1
    if member.stable in {"core_missed", "long_lived"}:
        sizes["stable_miss"] = 1
    if member.stable == "long_lived":
        sizes["stable_hazard"] = 1
    index, at = {}, 0
    for name, size in sizes.items():
        index[name] = slice(at, at + size)
        at += size
    return Layout(member, n_crawls, sign, index)
