"""Simulate elements of state-space classes one by one, for the tests of what is fitted to them."""

import numpy as np
from scipy.special import expit, logit

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts


def simulate_classes(mixture, size, n_crawls, *, seed, efforts=0.0):
    """Return histories of a mixture whose crawls capture `size` elements on average, without what was never captured.

    Entrants are stationary. Efforts are added to logits: of coverage, or of c1 and c0 if the coverage is 1.
    """
    rng = np.random.default_rng(seed)
    efforts = np.broadcast_to(efforts, n_crawls)
    parts = []
    for element, share in zip(mixture.classes, mixture.shares, strict=True):
        eligible = size * share / (element.coverage * element.availability)
        born = rng.poisson(eligible * (mixture.growth - element.survival) * mixture.growth ** np.arange(n_crawls - 1))
        birth = np.repeat(np.arange(n_crawls), np.append(rng.poisson(eligible), born))
        alive = np.ones(birth.size, dtype=bool)
        available = rng.random(birth.size) < element.availability
        seen = np.zeros((birth.size, n_crawls), dtype=bool)
        for t, effort in enumerate(efforts):
            stay, back, coverage = 1 - element.departure, element.reactivation, element.coverage
            if coverage < 1:
                coverage = expit(logit(coverage) + effort)
            elif 0 < element.departure < 1:
                stay, back = expit(logit([stay, back]) + effort)
            old = birth < t
            moved = rng.random(birth.size) < np.where(available, stay, back)
            available = np.where(old, moved, available)
            alive &= ~old | (rng.random(birth.size) < element.survival)
            seen[:, t] = alive & available & (birth <= t) & (rng.random(birth.size) < coverage)
        parts.append(seen)
    seen = np.concatenate(parts)
    histories, elements = np.unique(seen[seen.any(axis=1)], axis=0, return_counts=True)
    return CaptureHistoryCounts(histories, elements)
