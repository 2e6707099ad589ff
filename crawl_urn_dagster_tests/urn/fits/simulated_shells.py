"""Simulate capture histories of a core with one or two shells."""

import numpy as np
from scipy.special import expit, logit

from crawl_urn_dagster.urn import CaptureHistoryCounts, simulate


def _side_by_side(*counts):
    """Return the counts of several classes of elements together."""
    return CaptureHistoryCounts(
        np.concatenate([part.seen for part in counts]), np.concatenate([part.elements for part in counts])
    )


def two_shells(elements, crawls, seed, noise=0.0):
    """Return counts of a core of 0.3 and equal shells (0.97, 0.8) and (0.85, 0.35), and coverage by shell and crawl."""
    steps = noise * np.random.default_rng(seed).normal(size=crawls)
    coverage = expit(logit([[0.8], [0.35]]) + steps)
    shell = {"times": np.arange(crawls), "shell": round(0.35 * elements)}
    first = simulate(**shell, core=round(0.3 * elements), alpha=0.97, coverage=coverage[0], seed=seed)
    second = simulate(**shell, core=0, alpha=0.85, coverage=coverage[1], seed=seed + 10_000)
    return _side_by_side(first.counts(), second.counts()), coverage


def one_shell(elements, crawls, seed, coverage=0.5):
    """Return counts of a core of 0.3 and a shell of survival 0.85 per crawl."""
    return simulate(
        times=np.arange(crawls),
        core=round(0.3 * elements),
        shell=round(0.7 * elements),
        alpha=0.85,
        coverage=coverage,
        seed=seed,
    ).counts()
