"""Estimate strata by rank in crawls whose elements all have the same parameters.

Run ``python -m crawl_urn_dagster_tests.benchmarks.stratum_reading`` for the table of docs/strata.md. It uses these
archives:

- *urn, random ranks*: a core and shell urn in which every capture has a new random rank.
- *urn, ranks by age*: the same urn, with better ranks for elements that have been eligible for longer.
- *list, no flicker* and *list, flicker*: the 1,000 highest of 5,000 elements by a score that follows the same AR(1)
  process for all, without and with additional noise at each crawl.

It prints the parameters of every stratum when the first, the last or the best rank of an element decides. With the
argument ``small``, it prints the share of confidence intervals that contain the true value in strata of 20, 40 and 100
elements.
"""

import sys

import numpy as np

from crawl_urn_dagster.estimates import strata as strata_module
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.estimates.strata import stack, stratum_sizes, stratum_tables
from crawl_urn_dagster.observables.tables import crawls_table
from crawl_urn_dagster.urn import CaptureHistoryCounts, CoreShellUrn, CountingError, ReasonCode, simulate
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls

CRAWLS, URN, KAPPA, ALPHA, COVERAGE = 24, 4_000, 0.4, 0.9, 0.6
LISTED, SCORED, MEMORY, FLICKER = 1_000, 5_000, 0.98, 0.15
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


def ranked_list(rng, flicker):
    score = rng.normal(size=SCORED)
    ranks = np.empty((SCORED, CRAWLS), dtype=int)
    for crawl in range(CRAWLS):
        shown = score + flicker * rng.normal(size=SCORED)
        ranks[np.argsort(-shown), crawl] = np.arange(1, SCORED + 1)
        score = MEMORY * score + np.sqrt(1 - MEMORY**2) * rng.normal(size=SCORED)
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


def main():
    archives = {
        "urn, random ranks": (urn_random_ranks, ("first", "best")),
        "urn, ranks by age": (urn_ranks_by_age, ("first", "last")),
        "list, no flicker": (lambda rng: ranked_list(rng, 0.0), ("first",)),
        "list, flicker": (lambda rng: ranked_list(rng, FLICKER), ("first", "best")),
    }
    for name, (make, takes) in archives.items():
        seen, band = make(np.random.default_rng(1))
        histories, elements = np.unique(seen, axis=0, return_counts=True)
        divided = {"": {"all": CaptureHistoryCounts(histories, elements)}}
        divided |= {take: strata_by(take, seen, band) for take in takes}
        for take, strata in divided.items():
            for row in estimates(strata):
                print("|", " | ".join(map(str, (name, take, *row))), "|", flush=True)


if __name__ == "__main__":
    sys.exit(small_strata() if sys.argv[1:] == ["small"] else main())
