"""Compare theta sketches with HyperLogLog sketches of as many bytes: width and coverage of the intervals of κ and c.

Run ``python -m crawl_urn_dagster_tests.benchmarks.theta_intervals [COLLECTIONS] [P]``. The urns equal those of
`sketch_intervals`. A HyperLogLog sketch has 2^P registers of one byte, a theta sketch 2^P / 8 hashes of eight bytes.
Pairs and windows of both pass into the joint fit; the capture histories, which only theta sketches have, also into the
fit of histories.
"""

import sys
from math import ceil

import numpy as np

from crawl_urn_dagster.urn import CaptureHistoryCounts, Counts, bootstrap_joint, fit_histories, fit_joint, simulate
from crawl_urn_dagster_tests.benchmarks.sketch_intervals import CORE, CRAWLS, REPLICATES, SHELL, TRUTH, sketched_counts

NAMES = ("kappa", "alpha", "coverage")


def sampled_captures(seed, p):
    """Return which elements of the sample at the smallest θ each crawl captured, and the k of 1 in k."""
    urn = simulate(times=np.arange(CRAWLS), core=CORE, shell=SHELL, alpha=0.75, coverage=0.6, seed=seed)
    hashes = np.random.default_rng(seed).random(len(urn.packed))
    kept = 2**p // 8
    captured = np.zeros((CRAWLS, len(hashes)), dtype=bool)
    for crawl in range(CRAWLS):
        captured[crawl, urn.captured(crawl)] = True
    # θ of a sketch of k hashes is the hash after the lowest k; all are kept if there are no more.
    thetas = [np.sort(hashes[one])[kept] if one.sum() > kept else 1.0 for one in captured]
    one_in = ceil(1 / min(thetas))
    return captured[:, (hashes < 1 / one_in) & captured.any(axis=0)], one_in


def sampled_counts(captured, one_in):
    """Return the counts of a sample, multiplied by k."""
    n = len(captured)
    both = captured.astype(float) @ captured.T.astype(float)
    windows = np.full((n, n), np.nan)
    for start in range(n):
        seen = np.logical_or.accumulate(captured[start:], axis=0).sum(axis=1)
        windows[start, start:] = seen
    later = np.triu(np.ones((n, n), dtype=bool), 1)
    return Counts(
        np.arange(n, dtype=float),
        one_in * np.diagonal(both),
        np.where(later, one_in * both, np.nan),
        np.where(later, one_in * windows, np.nan),
        one_in=one_in,
    )


def history_counts(captured):
    seen, elements = np.unique(captured.T, axis=0, return_counts=True)
    return CaptureHistoryCounts(seen, elements)


def main(collections=100, p=14):
    found = {"HyperLogLog, joint": [], "theta, joint": [], "theta, histories": []}
    fractions = []
    for seed in range(collections):
        captured, one_in = sampled_captures(seed, p)
        fractions.append(one_in)
        counts = {"HyperLogLog, joint": sketched_counts(seed, p), "theta, joint": sampled_counts(captured, one_in)}
        for name, one in counts.items():
            fit = fit_joint(one, model="core_shell", clock="crawl")
            intervals = bootstrap_joint(fit, seed=1, n_replicates=REPLICATES).intervals()
            found[name].append(
                [(getattr(fit, quantity), *intervals.get(quantity, (np.nan, np.nan))) for quantity in NAMES]
            )
        histories = fit_histories(history_counts(captured), np.arange(CRAWLS), model="core_shell")
        found["theta, histories"].append(
            [(getattr(histories, quantity), *histories.intervals[quantity]) for quantity in NAMES]
        )
    print(f"{collections} collections, {2**p:,} bytes per sketch; theta: one in {min(fractions)} to {max(fractions)}")
    for name, rows in found.items():
        for number, quantity in enumerate(NAMES):
            estimate, low, high = np.array(rows)[:, number].T
            inside = np.mean((low <= TRUTH[quantity]) & (TRUTH[quantity] <= high))
            print(
                f"{name:20} {quantity:9} truth {TRUTH[quantity]:.3f} mean {estimate.mean():.4f} "
                f"sd {estimate.std():.4f} width {np.nanmean(high - low):.4f} inside {inside:.3f}"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
