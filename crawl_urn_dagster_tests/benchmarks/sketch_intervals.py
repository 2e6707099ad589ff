"""Measure how often confidence intervals of fits to sketches contain the true value.

Run ``python -m crawl_urn_dagster_tests.benchmarks.sketch_intervals [COLLECTIONS] [P]``. Urns have 20,000 elements
(κ = 0.4, α = 0.75, c = 0.6) and 16 crawls, each sketched in 2^P registers as in Common Crawl's statistics. Pairs and
windows pass through the functions of the source into the joint fit. The spread of the estimates over collections should
equal that of the replicates.
"""

import sys

import numpy as np

from crawl_urn_dagster.sources.common_crawl.hyperloglog import pair_unions, relative_error, window_unions
from crawl_urn_dagster.urn import Counts, bootstrap_joint, fit_joint, simulate
from crawl_urn_dagster_tests.sources.generated_sketches import sketch

TRUTH = {"kappa": 0.4, "core_share": 0.4 / (0.4 + 0.6 * 0.6), "alpha": 0.75, "coverage": 0.6}
CRAWLS, CORE, SHELL, REPLICATES = 16, 8_000, 12_000, 100


def sketched_counts(seed, p):
    """Return the raw counts of a collection, from sketches."""
    urn = simulate(times=np.arange(CRAWLS), core=CORE, shell=SHELL, alpha=0.75, coverage=0.6, seed=seed)
    keys = np.random.default_rng(seed).integers(0, 2**64, len(urn.packed), dtype=np.uint64)
    registers = np.stack([sketch(keys[urn.captured(crawl)], p) for crawl in range(CRAWLS)])
    either, windows = pair_unions(registers).astype(float), window_unions(registers).astype(float)
    sizes = np.diagonal(either)
    later = np.triu(np.ones_like(either, dtype=bool), 1)
    return Counts(
        np.arange(CRAWLS, dtype=float),
        sizes,
        np.where(later, sizes[:, None] + sizes - either, np.nan),
        np.where(later, windows, np.nan),
        relative_error=relative_error(p),
    )


def main(collections=200, p=10):
    found, spread, inside = [], [], []
    for seed in range(collections):
        fit = fit_joint(sketched_counts(seed, p), model="core_shell", clock="crawl")
        bootstrap = bootstrap_joint(fit, seed=1, n_replicates=REPLICATES)
        intervals = bootstrap.intervals()
        found.append([getattr(fit, name) for name in TRUTH])
        spread.append([np.std(bootstrap.estimates[name]) for name in TRUTH])
        inside.append(
            [name in intervals and intervals[name][0] <= truth <= intervals[name][1] for name, truth in TRUTH.items()]
        )
    print(f"{collections} collections, 2^{p} registers, relative error {relative_error(p):.4f}")
    for name, truth, mean, sd, replicates, share in zip(
        TRUTH,
        TRUTH.values(),
        np.mean(found, axis=0),
        np.std(found, axis=0),
        np.mean(spread, axis=0),
        np.mean(inside, axis=0),
        strict=True,
    ):
        print(
            f"{name:11} truth {truth:.3f} mean {mean:.3f} sd {sd:.4f} of replicates {replicates:.4f} inside {share:.3f}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
