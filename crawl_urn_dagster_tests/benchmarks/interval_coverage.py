"""Measure how often 95 % confidence intervals of the joint fit, and of least squares, contain the true value.

Run ``python -m crawl_urn_dagster_tests.benchmarks.interval_coverage FOLDER``. Each simulated collection adds a line to
a file of its cell in the folder, and a new run continues after the last line. It prints a Markdown table.

`urn.simulate` simulates the elements of an urn with κ = 0.4, α = 0.75, c = 0.6 one by one. A cell is a number of crawls
and a kind of noise: none; coverage, logit c_t normal with sd 0.3; survival, the loss rate -log α_t lognormal with mean
0.288 and a relative sd of 0.3 (the bootstrap draws it from a gamma distribution); or both, each an AR(1) with rho 0.5.
The true values are the expectations of K/M_t, of -log α_t and of c_t.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit

from crawl_urn_dagster.urn import CoreShellUrn, simulate
from crawl_urn_dagster.urn.data.counts import Counts
from crawl_urn_dagster.urn.fits.joint import JointFit, fit_joint, urn_of
from crawl_urn_dagster.urn.uncertainty.bootstrap import bootstrap_joint

if TYPE_CHECKING:
    from crawl_urn_dagster.urn import CaptureHistoryCounts
    from crawl_urn_dagster.urn.data.histories import FloatArray

CORE, SHELL, ALPHA, COVERAGE = 8_000, 12_000, 0.75, 0.6
NAMES = ("kappa", "core_share", "alpha", "coverage")


class Cell(NamedTuple):
    """Number of crawls, standard deviations of the noise of coverage and survival, and their AR(1) coefficient."""

    name: str
    crawls: int
    coverage_sd: float
    survival_sd: float
    rho: float


CELLS = [
    Cell(f"{kind}, T = {crawls}", crawls, *noise)
    for crawls in (24, 51)
    for kind, noise in {
        "pure urn": (0.0, 0.0, 0.0),
        "coverage noise": (0.3, 0.0, 0.0),
        "survival noise": (0.0, 0.3, 0.0),
        "both, AR(1)": (0.3, 0.3, 0.5),
    }.items()
]


def truth(cell: Cell) -> dict[str, float]:
    """Return the true parameters, means over the distribution of c_t (by quadrature)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    coverage = expit(logit(COVERAGE) + cell.coverage_sd * nodes)
    mean = weights / weights.sum()
    kappa = CORE / (CORE + SHELL)
    return {
        "kappa": kappa,
        "core_share": float(mean @ CoreShellUrn(kappa, ALPHA, coverage).core_share),
        "alpha": ALPHA,
        "coverage": float(mean @ coverage),
    }


def simulated_histories(cell: Cell, seed: int) -> CaptureHistoryCounts:
    """Simulate the capture histories of one collection."""
    rng = np.random.default_rng(seed)
    coverage = expit(logit(COVERAGE) + cell.coverage_sd * autoregressive(rng, cell.rho, cell.crawls))
    log_sd = np.sqrt(np.log1p(cell.survival_sd**2))
    loss = np.exp(log_sd * autoregressive(rng, cell.rho, cell.crawls - 1) - log_sd**2 / 2)
    return simulate(
        times=np.arange(cell.crawls), core=CORE, shell=SHELL, alpha=ALPHA**loss, coverage=coverage, seed=seed
    ).counts()


def simulated(cell: Cell, seed: int) -> Counts:
    """Simulate the counts of one collection."""
    histories = simulated_histories(cell, seed)
    shared = histories.intersections().astype(float)
    return Counts(np.arange(cell.crawls, dtype=float), np.diagonal(shared), shared, histories.unions().astype(float))


def autoregressive(rng: np.random.Generator, rho: float, n: int) -> FloatArray:
    """Draw a standard normal AR(1) series."""
    values = rng.standard_normal(n)
    for k in range(1, n):
        values[k] = rho * values[k - 1] + np.sqrt(1 - rho**2) * values[k]
    return values


def least_squares_intervals(fit: JointFit) -> dict[str, tuple[float, float]]:
    """Return the intervals of weighted least squares from its Jacobian and residuals: estimate ± 1.96 errors."""
    counts, steps = fit.details.counts, 1e-5 * np.eye(3)

    def both(parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        core, shell = urn_of(counts.in_mean_gaps, counts.sizes, parameters)
        return fit.details.points.expect(core, shell), (core[..., None] / counts.sizes).mean(axis=-1)

    (up, share_up), (down, share_down) = both(fit.details.parameters + steps), both(fit.details.parameters - steps)
    jacobian, gradient = (up - down) / 2e-5 / np.sqrt(fit.details.variance), (share_up - share_down) / 2e-5
    residuals = (fit.details.observed - fit.details.fitted) * counts.sizes.mean() / np.sqrt(fit.details.variance)
    covariance = np.linalg.inv(jacobian @ jacobian.T) * (residuals**2).sum() / (fit.details.n_points - 3)
    kappa, alpha, coverage = np.sqrt(np.diagonal(covariance))
    errors = dict(zip(NAMES, (kappa, np.sqrt(gradient @ covariance @ gradient), alpha, coverage), strict=True))
    return {name: (getattr(fit, name) - 1.96 * se, getattr(fit, name) + 1.96 * se) for name, se in errors.items()}


def row_of(cell: Cell, number: int, n_bootstrap: int) -> dict[str, float]:
    """Return estimates, intervals and hits for one simulated collection."""
    seed = zlib.crc32(f"{cell.name} {number}".encode())
    fit = fit_joint(simulated(cell, seed), model="core_shell", clock="crawl")
    intervals = bootstrap_joint(fit, seed=seed, n_replicates=n_bootstrap).intervals()
    claimed, true = least_squares_intervals(fit), truth(cell)
    row: dict[str, float] = {"number": number}
    for name in NAMES:
        (low, high), (claimed_low, claimed_high) = intervals[name], claimed[name]
        row |= {
            name: getattr(fit, name),
            f"{name}_low": low,
            f"{name}_high": high,
            f"{name}_held": low <= true[name] <= high,
            f"{name}_claimed": claimed_low <= true[name] <= claimed_high,
        }
    return row


def path_of(cell: Cell, folder: Path) -> Path:
    """Return the file of the results of a cell."""
    return folder / f"{cell.name.replace(' ', '_').replace(',', '')}.csv"


def run(cell: Cell, folder: Path, replicates: int, n_bootstrap: int) -> None:
    """Simulate the missing collections of a cell, one line each."""
    path = path_of(cell, folder)
    done = sum(1 for _ in path.open()) - 1 if path.exists() else 0
    with path.open("a", newline="") as file:
        writer = None
        for number in range(done, replicates):
            row = row_of(cell, number, n_bootstrap)
            if writer is None:
                writer = csv.DictWriter(file, fieldnames=list(row))
                if number == 0:
                    writer.writeheader()
            writer.writerow(row)
            file.flush()


def table(folder: Path, n_bootstrap: int) -> str:
    """Return a Markdown table of the share of collections whose interval contains the true value."""
    lines = [
        f"Share of simulated collections whose 95 % interval contains the true value (least squares in parentheses); "
        f"{CORE + SHELL:,} elements, {n_bootstrap} bootstrap replicates, seeds from the names of the cells, "
        f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d}.",
        "",
        "| noise, crawls | collections | κ | μ | α | c |",
        "|---|---|---|---|---|---|",
    ]
    for cell in CELLS:
        path = path_of(cell, folder)
        if not path.exists():
            continue
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        hits = [
            tuple(np.mean([row[f"{name}_{kind}"] == "True" for row in rows]) for kind in ("held", "claimed"))
            for name in NAMES
        ]
        cells = [f"{held:.3f} ({claimed:.2f})" for held, claimed in hits]
        lines.append(f"| {cell.name} | {len(rows)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Simulate missing collections, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of the results")
    parser.add_argument("--collections", type=int, default=300, help="simulated collections in a cell")
    parser.add_argument("--bootstrap", type=int, default=200, help="bootstrap replicates per collection")
    parser.add_argument("--crawls", type=int, choices=(24, 51), help="only cells of this number of crawls")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for cell in CELLS:
        if arguments.crawls in {None, cell.crawls}:
            run(cell, arguments.folder, arguments.collections, arguments.bootstrap)
    print(table(arguments.folder, arguments.bootstrap))


if __name__ == "__main__":
    main()
