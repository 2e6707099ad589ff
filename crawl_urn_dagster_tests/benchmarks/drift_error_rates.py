"""Measure false alarms of drift, and how often and how soon drift is detected and attributed.

Run ``python -m crawl_urn_dagster_tests.benchmarks.drift_error_rates FOLDER``. Each simulated collection adds a line per
scenario to a file of its cell in the folder, and a new run continues after the last line. It prints Markdown tables.

Elements are simulated one by one: N = 20,000, κ = 0.40, α = 0.75, c = 0.6, with the logit of c_t normal with sd 0.25,
independent or as an AR(1) with rho 0.5. A cell is a number of crawls of the reference period and a kind of noise. The
reference is followed by 24 monitored crawls. After the first 6, nothing changes, κ falls to 0.38 or 0.35 at once or to
0.35 along a ramp of 12 crawls (elements that leave the core go to the shell), c rises to 0.75, or α falls to 0.65. The
scenarios of one collection share its reference and the noise.

Two usual methods are measured for comparison. Both monitor κ of a rolling window with the standard error of least
squares: a z-test against the reference at every crawl, at 1.96, and a CUSUM with k = 0.5 and h = 5.
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

from crawl_urn_dagster.urn import fit_joint
from crawl_urn_dagster.urn.data.counts import Counts
from crawl_urn_dagster.urn.fits.joint import FREE, fit_replicates
from crawl_urn_dagster.urn.monitoring.attribution import attribute, date_change
from crawl_urn_dagster.urn.monitoring.control_charts import FALSE_ALARMS, HORIZON, draw_baseline, monitor
from crawl_urn_dagster.urn.simulation import SimulatedHistories
from crawl_urn_dagster_tests.benchmarks.interval_coverage import autoregressive, least_squares_intervals

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.fits.joint import JointFit
    from crawl_urn_dagster.urn.monitoring.control_charts import Baseline, Monitoring

URN, KAPPA, ALPHA, COVERAGE, NOISE_SD = 20_000, 0.40, 0.75, 0.6, 0.25
CHANGE_AFTER = 6
LIMITS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.10)
NONE = "no change"


class Cell(NamedTuple):
    """Number of crawls of the reference period, and AR(1) coefficient of the noise."""

    window: int
    rho: float

    @property
    def name(self) -> str:
        """Name in tables and file names."""
        return f"window {self.window}, rho {self.rho:g}"


class Scenario(NamedTuple):
    """Parameters after the change, crawls that κ needs to change, and the parameter to be attributed."""

    kappa: float = KAPPA
    alpha: float = ALPHA
    coverage: float = COVERAGE
    ramp: int = 1
    named: str = ""


CELLS = [Cell(window, rho) for window in (24, 36) for rho in (0.0, 0.5)]
SCENARIOS = {
    NONE: Scenario(),
    "κ 0.40 → 0.38": Scenario(kappa=0.38, named="kappa"),
    "κ 0.40 → 0.35": Scenario(kappa=0.35, named="kappa"),
    "κ ramp → 0.35": Scenario(kappa=0.35, ramp=12, named="kappa"),
    "c 0.60 → 0.75": Scenario(coverage=0.75, named="coverage"),
    "α 0.75 → 0.65": Scenario(alpha=0.65, named="alpha"),
}


def simulated(cell: Cell, scenario: Scenario, seed: int) -> Counts:
    """Simulate the counts of one collection; up to the change they do not depend on the scenario."""
    n_crawls = cell.window + HORIZON
    rng = np.random.default_rng(seed)
    noise = NOISE_SD * autoregressive(rng, cell.rho, n_crawls)
    changed = np.clip((np.arange(n_crawls) - cell.window - CHANGE_AFTER + 1) / scenario.ramp, 0, 1)
    core = np.rint(URN * (KAPPA + (scenario.kappa - KAPPA) * changed))
    coverage = expit(logit(np.where(changed > 0, scenario.coverage, COVERAGE)) + noise)
    alpha = np.where(changed > 0, scenario.alpha, ALPHA)
    number = np.arange(URN)
    seen = np.zeros((URN, n_crawls), dtype=bool)
    left = []
    for crawl in range(n_crawls):
        in_core = number < core[crawl]
        if crawl:
            replaced = ~in_core & (rng.random(URN) >= alpha[crawl])
            left.append(np.packbits(seen[replaced], axis=1))
            seen[replaced] = False
        seen[:, crawl] = in_core | (rng.random(URN) < coverage[crawl])
    packed = np.concatenate([*left, np.packbits(seen, axis=1)])
    histories = SimulatedHistories(packed[packed.any(axis=1)], n_crawls).counts()
    shared = histories.intersections().astype(float)
    return Counts(np.arange(n_crawls, dtype=float), np.diagonal(shared), shared, histories.unions().astype(float))


def rolling(reference: JointFit, counts: Counts) -> FloatArray:
    """Return z of κ in the windows that end at each monitored crawl, compared with the reference."""
    first = len(reference.details.counts.times)
    ends = range(first + 1, len(counts.times) + 1)
    windows = [slice(end - first, end) for end in ends]
    problems = Counts(
        counts.times[:first],
        np.stack([counts.sizes[w] for w in windows]),
        np.stack([counts.intersections[w, w] for w in windows]),
        np.stack([counts.unions[w, w] for w in windows]),
    )
    start = np.tile(reference.details.parameters, (len(windows), 1))
    kappa = fit_replicates(reference.details.points, problems, start, FREE["core_shell"]).parameters[:, 0]
    low, high = least_squares_intervals(reference)["kappa"]
    return (kappa - reference.kappa) / (np.sqrt(2) * (high - low) / (2 * 1.96))


def cusum(z: FloatArray) -> FloatArray:
    """Return a two-sided CUSUM with k = 0.5."""
    up = down = 0.0
    sums = []
    for step in z:
        up, down = max(0.0, up + step - 0.5), max(0.0, down - step - 0.5)
        sums.append(max(up, down))
    return np.array(sums)


def named(monitoring: Monitoring, until: int) -> str:
    """Return the parameters that a change is attributed to, except the core share, which follows from them."""
    changes = attribute(monitoring, date_change(monitoring, until), until).changes
    return "+".join(name for name in ("kappa", "alpha", "coverage") if changes[name].attributed)


def row_of(baseline: Baseline, counts: Counts, number: int) -> dict[str, object]:
    """Return the alarms and attributions in one scenario of one collection."""
    monitoring = monitor(baseline, counts)
    p = monitoring.p_values.min(axis=0)
    row: dict[str, object] = {"number": number}
    row |= {f"p_{crawl}": value for crawl, value in enumerate(p)}
    row |= {"p_core": monitoring.p_values[0].min()}
    z = rolling(baseline.bootstrap.fit, counts)
    row |= {"z": first_at(abs(z) > 1.96), "cusum": first_at(cusum(z) > 5)}
    alarms = np.flatnonzero(monitoring.alarmed.any(axis=0))
    alarms = alarms[alarms >= CHANGE_AFTER] if len(alarms) and alarms[0] >= CHANGE_AFTER else alarms
    row |= {"alarm": "", "since": "", "named": "", "named_at_end": ""}
    if alarms.size:
        since = date_change(monitoring, int(alarms[0]))
        row |= {"alarm": int(alarms[0]), "since": since, "named": named(monitoring, int(alarms[0]))}
        row["named_at_end"] = named(monitoring, int(alarms[-1]))
    return row


def first_at(where: FloatArray) -> int | str:
    """Return the first position, or an empty text."""
    found = np.flatnonzero(where)
    return int(found[0]) if found.size else ""


def path_of(cell: Cell, scenario: str, folder: Path) -> Path:
    """Return the file of the results of a scenario of a cell."""
    return folder / f"{cell.window}_{cell.rho:g}_{list(SCENARIOS).index(scenario)}.csv"


def rows_of(cell: Cell, scenario: str, folder: Path) -> list[dict[str, str]]:
    """Read the existing results."""
    path = path_of(cell, scenario, folder)
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run_one(cell: Cell, number: int, scenarios: list[str], folder: Path, n_bootstrap: int) -> None:
    """Simulate one collection in the scenarios without a result for it."""
    seed = zlib.crc32(f"{cell.name} {number}".encode())
    missing = [name for name in scenarios if len(rows_of(cell, name, folder)) == number]
    baseline = None
    for name in missing:
        counts = simulated(cell, SCENARIOS[name], seed)
        if baseline is None:
            reference = fit_joint(counts.window(0, cell.window), model="core_shell", clock="crawl")
            baseline = draw_baseline(reference, counts, seed=seed, n_replicates=n_bootstrap)
        row = row_of(baseline, counts, number)
        path = path_of(cell, name, folder)
        is_new = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(row))
            if is_new:
                writer.writeheader()
            writer.writerow(row)


def alarms_at(rows: list[dict[str, str]], limit: float) -> FloatArray:
    """Return the first alarm of each collection at a limit; `HORIZON` without an alarm."""
    p = np.array([[float(row[f"p_{crawl}"]) for crawl in range(HORIZON)] for row in rows])
    below = p <= limit
    return np.where(below.any(axis=1), below.argmax(axis=1), HORIZON)


def summary(folder: Path) -> str:
    """Return tables of the files in the folder."""
    lines = [
        "| cell | scenario | runs | alarm | median delay | named | named at end | z | CUSUM |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in CELLS:
        for name, scenario in SCENARIOS.items():
            rows = rows_of(cell, name, folder)
            if not rows:
                continue
            start = CHANGE_AFTER if scenario.named else 0
            numbers = [str(len(rows))]
            first = alarms_at(rows, FALSE_ALARMS)
            eligible = first >= start
            found = eligible & (first < HORIZON)
            numbers.append(_share(found[eligible]))
            if scenario.named:
                right = [
                    np.array([row[column] == scenario.named for row in rows])[found]
                    for column in ("named", "named_at_end")
                ]
                numbers += [f"{np.median(first[eligible]) - start + 1:.0f}", *map(_share, right)]
            else:
                crawls = np.minimum(first + 1, HORIZON).sum()
                numbers += [f"run length {crawls / max(found.sum(), 1):.0f}", "", ""]
            for rival in ("z", "cusum"):
                at = np.array([int(row[rival] or HORIZON) for row in rows])
                delay = f", {np.median(at[at >= start]) - start + 1:.0f}" if scenario.named else ""
                numbers.append(_share((at < HORIZON)[at >= start]) + delay)
            lines.append(f"| {cell.name} | {name} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def trade_off(folder: Path) -> str:
    """Return a table of false alarms, detection and delay by limit."""
    lines = [
        "| cell | limit | false alarms | run length | κ → 0.38 | κ → 0.35 | ramp |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in CELLS:
        for limit in LIMITS:
            numbers = []
            for name in list(SCENARIOS)[:4]:
                rows = rows_of(cell, name, folder)
                if not rows:
                    continue
                first = alarms_at(rows, limit)
                if name == NONE:
                    alarms = (first < HORIZON).sum()
                    crawls = np.minimum(first + 1, HORIZON).sum()
                    numbers += [_share(first < HORIZON), f"{crawls / alarms:.0f}" if alarms else f"> {crawls}"]
                else:
                    first = first[first >= CHANGE_AFTER] - CHANGE_AFTER
                    numbers.append(f"{_share(first < HORIZON - CHANGE_AFTER)}, {np.median(first) + 1:.0f}")
            if numbers:
                lines.append(f"| {cell.name} | {limit:g} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def _share(hits: FloatArray) -> str:
    return f"{np.mean(hits):.3f}" if len(hits) else "–"


def main() -> None:
    """Simulate missing collections, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of the results")
    parser.add_argument("--unchanged", type=int, default=400, help="collections without a change in a cell")
    parser.add_argument("--changed", type=int, default=100, help="collections of every other scenario in a cell")
    parser.add_argument("--bootstrap", type=int, default=200, help="bootstrap replicates per collection")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for number in range(max(arguments.unchanged, arguments.changed)):
        names = [NONE] if number < arguments.unchanged else []
        names += [name for name in SCENARIOS if name != NONE and number < arguments.changed]
        for cell in CELLS:
            run_one(cell, number, names, arguments.folder, arguments.bootstrap)
    print(f"Nominal false alarms {FALSE_ALARMS}, {dt.datetime.now(dt.timezone.utc):%Y-%m-%d}.\n")
    print(summary(arguments.folder), trade_off(arguments.folder), sep="\n\n")


if __name__ == "__main__":
    main()
