"""Compute where the search for the fit of a member of the ladder starts.

Does not search; see `ladder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray
    from crawl_urn_dagster.urn.open_population.members import Layout

_MISS = 0.01
_HAZARD = 0.002
_GROWTH = 1e-3
# Shifts of the coverage (logit) and of the hazard (logarithm) between two new shells.
_SPLITS = ((-1.0, 0.8), (1.0, 0.8))
_SHELL_COVERAGE = 0.6
_SHELL_HAZARD = 0.2
# Elements that this share of the crawls captured count as stable in a start.
_OFTEN = 0.8


class Found(NamedTuple):
    """Parameters of a simpler member that was fitted, and the second derivatives of its likelihood."""

    layout: Layout
    parameters: FloatArray
    hessian: FloatArray


class Sizes(NamedTuple):
    """Counts that starts are computed from.

    Attributes
    ----------
    captured
        Elements captured at least once.
    crawls
        Elements of each crawl, shape (T,).
    in_all
        Elements in all crawls.
    often, often_missed
        Elements in most crawls, and the share of the crawls that missed them.
    """

    captured: float
    crawls: FloatArray
    in_all: float
    often: float
    often_missed: float


def sizes_of(counts: CaptureHistoryCounts) -> Sizes:
    """Count what starts are computed from."""
    share = counts.seen.mean(axis=1)
    often = counts.elements * (share >= _OFTEN)
    total = float(often.sum())
    missed = 1 - float(often @ share) / total if total else _MISS
    crawls = counts.elements.astype(np.float64) @ counts.seen
    return Sizes(float(counts.distinct_elements), crawls, float(counts.in_all), total, missed)


def starts_of(layout: Layout, sizes: Sizes, fits: Mapping[str, Found]) -> list[FloatArray]:
    """Return starts from the counts and from the fits of simpler members, each of shape (n_parameters,)."""
    member = layout.member
    sources = [_read(fits[name], sizes) for name in member.starts_from if name in fits]
    if not sources or member.name in {"core_shell", "core_missed"}:
        sources.append(_from_counts(layout, sizes))
    return [
        _assemble(layout, split_values, sizes) for values in sources for split_values in _with_classes(layout, values)
    ]


def _read(found: Found, sizes: Sizes) -> dict[str, FloatArray]:
    """Return the parameters by name, ``stable_eligible`` on the logarithmic scale and growth of every gap."""
    layout = found.layout
    values = {name: found.parameters[at].copy() for name, at in layout.index.items()}
    if layout.is_linear_core:
        values["stable_eligible"] = np.log(values["stable_eligible"] * sizes.captured)
    n = layout.n_crawls
    if layout.member.trend == "growing":
        values["growth"] = np.repeat(values["growth"], n - 1)
    elif layout.member.trend == "fluctuating":
        values["growth"] = np.concatenate([[0.0], values["growth"], [0.0]])
    return values


def _from_counts(layout: Layout, sizes: Sizes) -> dict[str, FloatArray]:
    """Guess the parameters from the sizes of the crawls."""
    stable = {"none": 0.0, "core": 0.8 * sizes.in_all}.get(layout.member.stable, sizes.often)
    shell = np.maximum(sizes.crawls - stable * (1 - sizes.often_missed), 0.02 * sizes.crawls) + 0.1
    eligible = shell.mean() / _SHELL_COVERAGE
    return {
        "log_hazard": np.full(layout.n_crawls - 1, np.log(_SHELL_HAZARD)),
        "logit_coverage": logit(np.clip(shell / eligible, 0.02, 0.98)),
        "log_eligible_1": np.array([np.log(eligible)]),
        "stable_eligible": np.array([np.log(max(stable, 1.0))]),
        "stable_miss": np.array([logit(np.clip(sizes.often_missed, 1e-3, 0.5))]),
    }


def _with_classes(layout: Layout, values: dict[str, FloatArray]) -> list[dict[str, FloatArray]]:
    """Return the values with the shells that the member has, split in two ways where shells are new."""
    have = sum(name.startswith("log_eligible_") for name in values)
    want = layout.member.n_shells
    if have > want:  # the more stable of two shells becomes the stable class
        return [_shell_to_stable(values)]
    if have == want:
        return [values]
    if layout.member.stable == "none" and "stable_miss" in values:
        return [_stable_to_shell(values)]
    return _split(values, have, want)


def _split(values: dict[str, FloatArray], have: int, want: int) -> list[dict[str, FloatArray]]:
    """Split the last shell."""
    result = []
    for by_coverage, by_hazard in _SPLITS:
        split = dict(values)
        for k in range(have + 1, want + 1):
            eligible = values[f"log_eligible_{k - 1}"] - np.log(2)
            coverage, hazard = (values.get(f"shift_{name}_{k - 1}", np.zeros(1)) for name in ("coverage", "hazard"))
            split |= {
                f"log_eligible_{k - 1}": eligible,
                f"log_eligible_{k}": eligible,
                f"shift_coverage_{k}": coverage + by_coverage,
                f"shift_hazard_{k}": hazard + by_hazard,
            }
        if have == 1:  # the split is around the shell that was fitted
            split["logit_coverage"] = values["logit_coverage"] - by_coverage / 2
            split["log_hazard"] = values["log_hazard"] - by_hazard / 2
        result.append(split)
    return result


def _stable_to_shell(values: dict[str, FloatArray]) -> dict[str, FloatArray]:
    hazard = values.get("stable_hazard", np.array([np.log(_HAZARD)]))
    return values | {
        "log_eligible_2": values["stable_eligible"],
        "shift_coverage_2": -values["stable_miss"] - values["logit_coverage"].mean(),
        "shift_hazard_2": hazard - values["log_hazard"].mean(),
    }


def _shell_to_stable(values: dict[str, FloatArray]) -> dict[str, FloatArray]:
    stable, rest = (2, 1) if values["shift_hazard_2"][0] < 0 else (1, 2)

    def shifted(name: str, base: str, k: int) -> FloatArray:
        return values[base] + (values[f"shift_{name}_2"] if k == 2 else 0.0)

    return values | {
        "log_eligible_1": values[f"log_eligible_{rest}"],
        "log_hazard": shifted("hazard", "log_hazard", rest),
        "logit_coverage": shifted("coverage", "logit_coverage", rest),
        "stable_eligible": values[f"log_eligible_{stable}"],
        "stable_hazard": shifted("hazard", "log_hazard", stable).mean(keepdims=True),
        "stable_miss": -shifted("coverage", "logit_coverage", stable).mean(keepdims=True),
    }


def _assemble(layout: Layout, values: dict[str, FloatArray], sizes: Sizes) -> FloatArray:
    """Arrange the values as parameters of the member, with defaults for those that no simpler member has."""
    n = layout.n_crawls
    defaults = {
        "growth": np.zeros(n - 1),
        "stable_eligible": np.array([np.log(max(0.5 * sizes.in_all, 1.0))]),
        "stable_growth": np.array([layout.sign * _GROWTH]),
        "stable_miss": np.array([logit(_MISS)]),
        "stable_hazard": np.array([np.log(_HAZARD)]),
    }
    values = defaults | values
    growth = values["growth"]
    if layout.member.trend == "growing":
        values["growth"] = growth.mean(keepdims=True)
    elif layout.member.trend == "fluctuating":
        # The number of elements is then that of the first crawl, not of the middle of the window.
        for k in range(1, layout.member.n_shells + 1):
            values[f"log_eligible_{k}"] = values[f"log_eligible_{k}"] - growth.mean() * (n - 1) / 2
        values["growth"] = growth[1:-1]
    if layout.is_linear_core:
        values["stable_eligible"] = np.exp(values["stable_eligible"]) / sizes.captured
    return np.concatenate([values[name] for name in layout.index])
