"""Measure the speed of the batched fits against lmfit and `scipy.optimize.curve_fit`, on the same 1,000 problems.

Run it with lmfit installed: ``python -m crawl_urn_dagster_tests.benchmarks.fit_speed``. It prints a Markdown table of
medians over repeats with one row per curve, model and rival: the time of the rival's fit and of a batched fit, their
ratio, and the share of the rival's fits that are equal (parameters, or else sum of squares, to 1e-6), worse and better.
Rivals get the model as a plain numpy function, the same bounds and one start in the middle of the problems. The batched
fits find the global optimum. The last line is the median time of a joint fit and of its bootstrap with 500 replicates.
"""

import platform
from datetime import datetime, timezone
from functools import partial
from statistics import median
from time import perf_counter

import lmfit
import numpy as np
import scipy
from scipy.optimize import curve_fit

from crawl_urn_dagster.urn import CoreShellUrn, Counts, Urn, bootstrap_joint, fit_joint, simulate
from crawl_urn_dagster.urn.fits.batched import fit_containment_batch, fit_discovery_batch

SEED = 20_260
PROBLEMS, REPEATS = 1_000, 3
CRAWLS, REPLICATES = 51, 500
T = np.arange(1.0, 51.0)
START = {"alpha": 0.7, "coverage": 0.5}
BATCHED = {"containment": fit_containment_batch, "discovery_curve": fit_discovery_batch}


def containment_homogeneous(t, alpha, coverage):
    return coverage * alpha**t


def containment_core_shell(t, core_share, alpha, coverage):
    return core_share + (1 - core_share) * coverage * alpha**t


def discovery_homogeneous(t, alpha, coverage):
    unresolved = alpha * (1 - coverage)
    transient = alpha * coverage * (1 - unresolved ** (t + 1)) / (1 - unresolved) ** 2
    return (t + 1) * (1 - alpha) / (1 - unresolved) + transient


def discovery_core_shell(t, kappa, alpha, coverage):
    core_share = kappa / (kappa + (1 - kappa) * coverage)
    return core_share + (1 - core_share) * discovery_homogeneous(t, alpha, coverage)


#: Curve, model, function, name of the core parameter, and noise.
CASES = [
    ("containment", "homogeneous", containment_homogeneous, None, 0.01),
    ("containment", "core_shell", containment_core_shell, "core_share", 0.01),
    ("discovery_curve", "homogeneous", discovery_homogeneous, None, 0.01),
    ("discovery_curve", "core_shell", discovery_core_shell, "kappa", 0.01),
]


def problems(curve, share, noise):
    """Return observed curves of 1,000 urns, shape (n_problems, n_points)."""
    rng = np.random.default_rng(SEED)
    kappa, alpha, coverage = (rng.uniform(*limits, (PROBLEMS, 1)) for limits in ((0.05, 0.6), (0.3, 0.97), (0.1, 0.9)))
    urn = CoreShellUrn(kappa, alpha, coverage) if share else Urn(alpha, coverage)
    values = urn.containment(T) if curve == "containment" else urn.discovery_curve(T)
    return values + noise * rng.normal(size=values.shape)


def fit_by_lmfit(function, start, curves):
    model = lmfit.Model(function)
    parameters = model.make_params(**{name: {"value": value, "min": 0, "max": 1} for name, value in start.items()})
    return np.array([list(model.fit(curve, parameters, t=T).best_values.values()) for curve in curves])


def fit_by_curve_fit(function, start, curves):
    guess = list(start.values())
    return np.array([curve_fit(function, T, curve, guess, bounds=(0, 1), max_nfev=20_000)[0] for curve in curves])


def timed(fit):
    """Return the median seconds over repeats, and the result."""
    seconds = []
    for _ in range(REPEATS):
        begun = perf_counter()
        result = fit()
        seconds.append(perf_counter() - begun)
    return median(seconds), result


def compare(curve, model, function, share, noise):
    """Yield the rows of the table for one curve and model."""
    curves = problems(curve, share, noise)
    start = {share: 0.3} | START if share else START
    seconds, batched = timed(partial(BATCHED[curve], T, curves, model=model))
    ours = np.stack([getattr(batched, name) for name in start], axis=1)
    squares = ((curves - batched.fitted) ** 2).sum(axis=1)
    for rival, fit in [("lmfit", fit_by_lmfit), ("curve_fit", fit_by_curve_fit)]:
        rival_seconds, theirs = timed(partial(fit, function, start, curves))
        rival_fitted = np.array([function(T, *parameters) for parameters in theirs])
        excess = ((curves - rival_fitted) ** 2).sum(axis=1) - squares
        same = np.mean((abs(ours - theirs) < 1e-6).all(axis=1) | (abs(excess) < 1e-6))
        yield (
            f"| {curve} | {model} | {noise} | {rival} | {1e6 * rival_seconds / PROBLEMS:.0f} "
            f"| {1e6 * seconds / PROBLEMS:.0f} | {rival_seconds / seconds:.0f} | {same:.1%} "
            f"| {np.mean(excess > 1e-6):.1%} | {np.mean(excess < -1e-6):.1%} |"
        )


def joint_and_bootstrap():
    """Return the seconds of the joint fit of one collection, and of its bootstrap."""
    times = np.arange(float(CRAWLS))
    histories = simulate(times=times, core=8_000, shell=12_000, alpha=0.75, coverage=0.6, seed=SEED).counts()
    overlaps, unions = histories.intersections().astype(float), histories.unions().astype(float)
    counts = Counts(times, np.diagonal(overlaps), overlaps, unions)
    fit_seconds, fit = timed(partial(fit_joint, counts, model="core_shell", clock="crawl"))
    return fit_seconds, timed(partial(bootstrap_joint, fit, seed=SEED, n_replicates=REPLICATES))[0]


def main():
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    print(f"{PROBLEMS} problems, {REPEATS} repeats, seed {SEED}, {datetime.now(timezone.utc):%Y-%m-%d}")
    print(f"{versions}, lmfit {lmfit.__version__}\n")
    print("| curve | model | noise | rival | rival, µs a fit | batched, µs a fit | ratio | same | worse | better |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for case in CASES:
        for row in compare(*case):
            print(row, flush=True)
    fit_seconds, bootstrap_seconds = joint_and_bootstrap()
    print(f"\n{CRAWLS} crawls: joint fit {fit_seconds:.2f} s, {REPLICATES} replicates {bootstrap_seconds:.1f} s")


if __name__ == "__main__":
    main()
