"""Simulated populations of known classes, for tests of goodness of fit."""

import numpy as np

from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster.urn.open_population.classes import PopulationClass

EMPTY = CaptureHistoryCounts(np.zeros((0, 3), dtype=bool), np.zeros(0, dtype=np.int64))


def group(name, eligible, survival, coverage, n_crawls):
    """Return a class; scalars are repeated."""
    return PopulationClass(
        name,
        np.broadcast_to(np.asarray(eligible, dtype=float), (n_crawls,)),
        np.broadcast_to(np.asarray(survival, dtype=float), (n_crawls - 1,)),
        np.broadcast_to(np.asarray(coverage, dtype=float), (n_crawls,)),
    )


def core_and_two_shells(n_crawls=10, size=4_000, growth=0.01):
    """Return a core, and two shells that grow and whose coverage and survival vary."""
    crawl = np.arange(n_crawls)
    growing = size * (1 + growth) ** crawl
    wave = 0.1 * np.sin(crawl)
    return [
        group("core", size, 1, 1, n_crawls),
        group("shell_1", growing, 0.9 + 0.3 * wave[1:], 0.7 + wave, n_crawls),
        group("shell_2", growing, 0.6, 0.35 + wave, n_crawls),
    ]


def as_counts(seen):
    """Count the histories of elements, shape (n_elements, n_crawls)."""
    return CaptureHistoryCounts(*np.unique(seen, axis=0, return_counts=True))


def presence(classes, rng, avoided=0.0):
    """Draw presences, shape (n_elements, n_crawls); a crawl skips a share of the shell's latest captures."""
    seen = [_presence(of, rng, avoided) for of in classes]
    return np.concatenate(seen)


def _presence(of, rng, avoided):
    survivors = np.append(0, of.survival * of.eligible[:-1])
    entries = rng.poisson(np.maximum(of.eligible - survivors, 0))
    entered = np.repeat(np.arange(len(of.eligible)), entries)
    alive, seen = np.zeros(entered.size, dtype=bool), np.zeros((entered.size, len(of.eligible)), dtype=bool)
    for crawl, coverage in enumerate(of.coverage):
        alive = (alive & (rng.random(entered.size) < (of.survival[crawl - 1] if crawl else 1))) | (entered == crawl)
        seen[:, crawl] = alive & (rng.random(entered.size) < coverage)
        if crawl and of.name != "core":
            seen[:, crawl] &= ~seen[:, crawl - 1] | (rng.random(entered.size) >= avoided)
    return seen


def truncated(seen, crawl, share, rng):
    """Return presences of which a crawl kept only a share."""
    result = seen.copy()
    result[:, crawl] &= rng.random(len(seen)) < share
    return result
