"""Estimate strata by rank in crawls whose elements all have the same parameters.

Run ``python -m crawl_urn_dagster_tests.benchmarks.stratum_reading`` for the table of docs/strata.md. It uses these
archives:

- *urn, random ranks*: a core and shell urn in which every capture has a new random rank.
- *urn, ranks by age*: the same urn, with better ranks for elements that have been eligible for longer.
- *list, flicker, losses*: the list with flicker, from which one in ten elements is lost permanently in every gap.
- *list, no flicker* and *list, flicker*: the 1,000 highest of 5,000 elements by a score that follows the same AR(1)
  process for all, without and with additional noise at each crawl.

It prints the parameters of every stratum when the first, the last or the best rank of an element decides. With the
argument ``small``, it prints the share of confidence intervals that contain the true value in strata of 20, 40 and 100
elements. With ``pooled``, it prints the errors of estimates alone and partially pooled in eight unequal bands of the
first archive, and how often κ follows the rank. With ``moves``, it prints how ranks move in all archives.
"""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates import strata as strata_module
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.rank_changes import rank_changes_table
from crawl_urn_dagster.estimates.strata import stack, stratum_sizes, stratum_tables
from crawl_urn_dagster.estimates.stratum_profile import stratum_profile_table
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.observables.tables import crawls_table
from crawl_urn_dagster.urn import CaptureHistoryCounts, CoreShellUrn, CountingError, ReasonCode, simulate
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls

CRAWLS, URN, KAPPA, ALPHA, COVERAGE = 24, 4_000, 0.4, 0.9, 0.6
LISTED, SCORED, MEMORY, FLICKER, LOSSES = 1_000, 5_000, 0.98, 0.15, 0.1
BANDS = [50, 200, 500]
NAMES = ["1-50", "51-200", "201-500", "501+"]
DOUBTS = {"core": ReasonCode.CORE_NOT_PERMANENT, "size": ReasonCode.STRATUM_CHANGES_SIZE}


def urn_captures(rng):
    """Return whether each element is in each crawl."""
    core = round(KAPPA * URN)
    histories = simulate(
        times=np.arange(CRAWLS), core=core, shell=URN - core, alpha=ALPHA, coverage=COVERAGE, seed=int(rng.integers(99))
    ).counts()
    return np.repeat(histories.seen, histories.elements, axis=0)


def urn_random_ranks(rng):
    seen = urn_captures(rng)
    return seen, np.where(seen, rng.integers(0, len(NAMES), seen.shape), len(NAMES))


def urn_ranks_by_age(rng):
    seen = urn_captures(rng)
    first = seen.argmax(axis=1)
    # Elements of the first crawl can have any age.
    born = np.where(first == 0, -rng.geometric(1 - ALPHA, len(seen)), first)
    age = np.arange(CRAWLS)[None, :] - born[:, None]
    band = np.digitize(-age, [-16, -8, -4], right=True)
    return seen, np.where(seen, band, len(NAMES))


def ranked_list(rng, flicker, losses=0.0):
    score, element, n = rng.normal(size=SCORED), np.arange(SCORED), SCORED
    listed = []
    for _ in range(CRAWLS):
        shown = score + flicker * rng.normal(size=SCORED)
        listed.append(element[np.argsort(-shown)[:LISTED]])
        score = MEMORY * score + np.sqrt(1 - MEMORY**2) * rng.normal(size=SCORED)
        if losses:
            lost = rng.random(SCORED) < losses
            element = np.where(lost, n + np.cumsum(lost) - 1, element)
            score, n = np.where(lost, rng.normal(size=SCORED), score), n + lost.sum()
    ranks = np.full((n, CRAWLS), LISTED + 1)
    for crawl, elements in enumerate(listed):
        ranks[elements, crawl] = np.arange(1, LISTED + 1)
    seen = ranks <= LISTED
    return seen[seen.any(axis=1)], np.where(seen, np.searchsorted(BANDS, ranks), len(NAMES))[seen.any(axis=1)]


def strata_by(take, seen, band):
    """Return counts by stratum when the first, last or best band of an element decides."""
    rows = np.arange(len(seen))
    stratum = {
        "first": band[rows, seen.argmax(axis=1)],
        "last": band[rows, CRAWLS - 1 - seen[:, ::-1].argmax(axis=1)],
        "best": band.min(axis=1),
    }[take]
    found = {}
    for number, name in enumerate(NAMES):
        histories, elements = np.unique(seen[stratum == number], axis=0, return_counts=True)
        if len(elements):
            found[name] = CaptureHistoryCounts(histories, elements)
    return found


def calendar():
    return crawls_table(dated_crawls(np.ones(CRAWLS, dtype=int)))


def estimates(strata):
    parameters = stack(stratum_tables(calendar(), strata, CountingError(), "crawl")["parameters"])
    for sizes in stratum_sizes(strata).itertuples():
        headline = read_headline(parameters, sizes.stratum)
        doubts = [word for word, code in DOUBTS.items() if code in headline.reason_codes]
        numbers = f"{headline.status}{f' ({chr(44).join(doubts)} doubted)' if doubts else ''}: {headline.numbers}"
        yield sizes.stratum, sizes.elements, sizes.in_first, sizes.in_last, sizes.in_all, numbers


def small_strata(repetitions=40):
    """Print the share of intervals that contain the true value in strata of few elements."""
    strata_module.FEWEST_ELEMENTS = 1  # this benchmark determines the minimum
    urn = CoreShellUrn(KAPPA, 0.75, COVERAGE)
    for elements in (20, 40, 100):
        core = round(KAPPA * elements)
        settings = {"times": np.arange(CRAWLS), "core": core, "shell": elements - core, "alpha": 0.75}
        strata = {str(seed): simulate(**settings, coverage=COVERAGE, seed=seed).counts() for seed in range(repetitions)}
        parameters = stack(stratum_tables(calendar(), strata, CountingError(), "crawl")["parameters"])
        headlines = [read_headline(parameters, name) for name in strata]
        held = {
            name: np.mean(
                [
                    one.intervals[name].low <= getattr(urn, name) <= one.intervals[name].high
                    for one in headlines
                    if name in one.intervals
                ]
            )
            for name in ("kappa", "core_share", "alpha", "coverage")
        }
        print(elements, sum("core_share" in one.intervals for one in headlines), held, flush=True)


def pooled_strata(repetitions=12):
    """Print errors of eight bands of one process, alone and pooled, coverage of the intervals, and gradients found."""
    ends = [50, 110, 200, 350, 600, 1_000, 1_500, 2_000]
    bounds = {f"{low + 1}-{high}": high for low, high in pairwise([0, *ends])}
    truth = {"kappa": KAPPA, "core_share": CoreShellUrn(KAPPA, ALPHA, COVERAGE).core_share, "alpha": ALPHA}
    truth["coverage"] = COVERAGE
    tables = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        seen = urn_captures(rng)
        band = np.searchsorted(ends, rng.integers(1, ends[-1] + 1, len(seen)))
        strata = {}
        for number, name in enumerate(bounds):
            histories, elements = np.unique(seen[band == number], axis=0, return_counts=True)
            strata[name] = CaptureHistoryCounts(histories, elements)
        parameters = stack(stratum_tables(calendar(), strata, CountingError(), "crawl")["parameters"])
        changes = pd.DataFrame({"stratum": list(bounds), "list_end": None, "lost_by_cut": 0.0})
        tables.append(stratum_profile_table(parameters, bounds, changes).assign(seed=seed))
    table = pd.concat(tables)
    table["truth"] = table["parameter"].map(truth)
    for name, rows in table[table["estimate"].notna() & table["pooled"].notna()].groupby("parameter", sort=False):
        own, pooled = (np.sqrt(((rows[kind] - rows["truth"]) ** 2).mean()) for kind in ("estimate", "pooled"))
        covered = [
            ((rows[f"{kind}_low"] <= rows["truth"]) & (rows["truth"] <= rows[f"{kind}_high"])).mean()
            for kind in ("estimate", "pooled")
        ]
        one_each = rows.drop_duplicates("seed")
        gradients = ((one_each["slope_low"] > 0) | (one_each["slope_high"] < 0)).sum()
        numbers = f"{own:.4f} | {pooled:.4f} | {pooled / own:.2f} | {covered[0]:.2f} | {covered[1]:.2f}"
        print(f"| {SYMBOLS[name]} | {len(rows)} | {numbers} | {gradients} of {len(one_each)} |", flush=True)


def print_moves(archives):
    """Print table `rank_changes` of every archive."""
    bounds, n = dict(zip(NAMES, [*BANDS, np.inf], strict=True)), len(NAMES) + 1
    for name, (make, _) in archives.items():
        _, band = make(np.random.default_rng(1))
        moves = np.array([np.bincount(a * n + b, minlength=n * n).reshape(n, n) for a, b in pairwise(band.T)])
        moves[:, -1, -1] = 0
        for row in rank_changes_table(NAMES, moves, bounds).to_dict("records"):
            numbers = [f"{row[one]:.3f}" for one in ("stayed", "lost", "drift", "diffusion", "passing", "lost_by_cut")]
            print(f"| {name} | `{row['stratum']}` | {' | '.join(numbers)} |".replace("nan", "–"))


def main():
    archives = {
        "urn, random ranks": (urn_random_ranks, ("first", "best")),
        "urn, ranks by age": (urn_ranks_by_age, ("first", "last")),
        "list, no flicker": (lambda rng: ranked_list(rng, 0.0), ("first",)),
        "list, flicker": (lambda rng: ranked_list(rng, FLICKER), ("first", "best")),
    }
    if sys.argv[1:] == ["moves"]:
        print_moves(archives | {"list, flicker, losses": (lambda rng: ranked_list(rng, FLICKER, LOSSES), ())})
        return
    for name, (make, takes) in archives.items():
        seen, band = make(np.random.default_rng(1))
        histories, elements = np.unique(seen, axis=0, return_counts=True)
        divided = {"": {"all": CaptureHistoryCounts(histories, elements)}}
        divided |= {take: strata_by(take, seen, band) for take in takes}
        for take, strata in divided.items():
            for row in estimates(strata):
                print("|", " | ".join(map(str, (name, take, *row))), "|", flush=True)


if __name__ == "__main__":
    parts = {"small": small_strata, "pooled": pooled_strata}
    sys.exit(parts.get(sys.argv[-1], main)())
