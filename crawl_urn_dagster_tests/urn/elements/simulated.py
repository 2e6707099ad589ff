"""Simulate elements whose class and state are known, for tests of posterior probabilities."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit


class Simulated(NamedTuple):
    """Elements that were captured at least once.

    Attributes
    ----------
    seen
        Captures, shape (elements, crawls).
    core, alive, available
        Whether each element is of the core, and its state at the last crawl, shape (elements,).
    next
        Whether the next crawl captures each element, shape (elements,).
    """

    seen: np.ndarray
    core: np.ndarray
    alive: np.ndarray
    available: np.ndarray
    next: np.ndarray


def simulate_elements(
    rng, n_crawls, n=4000, *, kappa=0.4, survival=0.9, coverage=0.7, noise=0.0, departure=0.0, back=1.0, growth=0.0
):
    """Simulate a core and a shell whose coverage varies on the logit scale; its elements may become dormant."""
    core = np.arange(n) < kappa * n
    alive = np.ones(n, dtype=bool)
    available = core | (rng.random(n) < back / (departure + back))
    crawls = []
    for t in range(n_crawls + 1):
        if t:
            alive &= core | (rng.random(len(core)) < survival)
            stays = rng.random(len(core))
            available = core | np.where(available, stays >= departure, stays < back)
            born = max(round(n * (1 + growth) ** t) - int(alive.sum()), 0)
            new_core = rng.random(born) < (kappa * growth / (growth + (1 - kappa) * (1 - survival)) if growth else 0.0)
            core, alive = np.r_[core, new_core], np.r_[alive, np.ones(born, dtype=bool)]
            available = np.r_[available, new_core | (rng.random(born) < back / (departure + back))]
        chance = expit(logit(coverage) + noise * rng.normal())
        captured = alive & available & (core | (rng.random(len(core)) < chance))
        if t == n_crawls:
            break
        state = alive.copy(), available.copy()
        crawls.append(captured)
    size = len(crawls[-1])
    seen = np.array([np.pad(captured, (0, size - len(captured))) for captured in crawls]).T
    known = seen.any(axis=1)
    last_states = (core[:size], *state, captured[:size])
    return Simulated(seen[known], *(values[known] for values in last_states))


def auc(score, outcome):
    """Return the probability that a random positive has a higher score than a random negative."""
    order = np.argsort(score, kind="stable")
    _, inverse, counts = np.unique(score[order], return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positive = outcome[order]
    n = positive.sum()
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(outcome) - n)))
