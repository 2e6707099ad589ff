"""Measure how often the intervals of a state-space urn contain the truth, with effort noise and with growth.

Run ``python -m crawl_urn_dagster_tests.benchmarks.state_space_intervals --collections 100``. It prints a table.
The urn has two Markov classes. It is simulated for 60 crawls before the first one that is fitted, so the known
eligible elements of every crawl come from an old urn.
"""

from __future__ import annotations

import argparse
import itertools
from typing import NamedTuple

import numpy as np

from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster.urn.state_space.classes import StateSpaceClass
from crawl_urn_dagster.urn.state_space.family import fit_family, quantities

CLASSES = (
    StateSpaceClass.markov("stable", survival=0.995, after_capture=0.98, after_miss=0.4),
    StateSpaceClass.markov("intermittent", survival=0.966, after_capture=0.82, after_miss=0.15),
)
SHARES = (0.8, 0.2)
SIZE = 2_000
BURN_IN = 60


class Simulated(NamedTuple):
    """Capture histories, and what is true of each crawl."""

    histories: CaptureHistoryCounts
    known_eligible: np.ndarray
    survival: np.ndarray


def simulate(rng: np.random.Generator, n_crawls: int, effort_sd: float, growth: float) -> Simulated:
    """Simulate an urn, and keep the last crawls."""
    total = BURN_IN + n_crawls
    effort = effort_sd * rng.standard_normal(total)
    known_eligible, lost, parts = np.zeros(n_crawls), np.zeros(n_crawls), []
    for element, share in zip(CLASSES, SHARES, strict=True):
        eligible = SIZE * share / element.availability * growth**-BURN_IN
        births = rng.poisson(eligible * (growth - element.survival) * growth ** np.arange(total - 1))
        birth = np.repeat(np.arange(total), np.append(rng.poisson(eligible), births))
        alive, known = np.ones(birth.size, bool), np.zeros(birth.size, bool)
        available = rng.random(birth.size) < element.availability
        seen = np.zeros((birth.size, n_crawls), bool)
        for t in range(total):
            is_old, before = birth < t, alive.copy()
            alive &= ~is_old | (rng.random(birth.size) < element.survival)
            stays, returns = (_shifted(p, effort[t]) for p in (1 - element.departure, element.reactivation))
            moved = rng.random(birth.size) < np.where(available, stays, returns)
            available = np.where(is_old, moved, available)
            captured = alive & available & (birth <= t)
            lost_now = (before & ~alive & known).sum()
            known |= captured
            if t >= BURN_IN:
                at = t - BURN_IN
                seen[:, at] = captured
                known_eligible[at] += (alive & known).sum()
                lost[at] += lost_now
        parts.append(seen)
    seen = np.concatenate(parts)
    rows, elements = np.unique(seen[seen.any(axis=1)], axis=0, return_counts=True)
    return Simulated(CaptureHistoryCounts(rows, elements), known_eligible, 1 - lost[1:] / known_eligible[:-1])


def _shifted(probability: float, effort: float) -> float:
    return float(1 / (1 + (1 / probability - 1) * np.exp(-effort)))


class Assessed(NamedTuple):
    """Intervals by quantity, true means of a collection by quantity, and whether each population is inside."""

    intervals: dict[str, tuple[float, float]]
    means: dict[str, float]
    inside: np.ndarray


def assess(simulated: Simulated, growth: float, seed: int) -> Assessed:
    """Fit a collection, and compare its population with the truth."""
    family = fit_family(simulated.histories, seed=seed)
    assert family is not None
    population = family.population
    means = {
        "completeness": float((population.sizes / simulated.known_eligible).mean()),
        "survival": float(simulated.survival.mean()),
        "growth": growth,
    }
    found = {one.name: (one.low, one.high) for one in quantities(family, seed=seed) if one.class_name is None}
    low, high = population.limits()
    inside = (low <= simulated.known_eligible) & (simulated.known_eligible <= high)
    return Assessed({name: found[name] for name in means}, means, inside)


def hit_rates(collections: list[Assessed]) -> list[float]:
    """Return the shares of intervals that contain the truth.

    The first is completeness of the crawls at hand. The others are of the mean over the collections: other crawls of
    such an urn, of which those at hand are a sample.
    """
    own = [(one.intervals["completeness"], one.means["completeness"]) for one in collections]
    rates = [np.mean([low <= mean <= high for (low, high), mean in own])]
    for name in collections[0].means:
        truth = np.mean([one.means[name] for one in collections])
        rates.append(np.mean([one.intervals[name][0] <= truth <= one.intervals[name][1] for one in collections]))
    inside = np.array([one.inside for one in collections])
    quarter = inside.shape[1] // 4
    return [*rates, inside[:, :quarter].mean(), inside[:, -quarter:].mean()]


def main() -> None:
    """Simulate collections in every cell, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--collections", type=int, default=100, help="simulated collections in a cell")
    parser.add_argument("--crawls", type=int, nargs="+", default=[12, 24, 51], help="crawls of a collection")
    arguments = parser.parse_args()
    titles = ["completeness", "in the long run", "survival", "growth", "population, first quarter", "last quarter"]
    print(f"| crawls | effort sd | growth | {' | '.join(titles)} |", f"|{'---|' * 9}", sep="\n")
    for n_crawls, effort_sd, growth in itertools.product(arguments.crawls, (0.0, 0.3), (1.0, 1.02)):
        collections = []
        for number in range(arguments.collections):
            rng = np.random.default_rng([n_crawls, int(10 * effort_sd), int(100 * growth), number])
            collections.append(assess(simulate(rng, n_crawls, effort_sd, growth), growth, number))
        shares = " | ".join(f"{share:.2f}" for share in hit_rates(collections))
        print(f"| {n_crawls} | {effort_sd:g} | {growth:g} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
