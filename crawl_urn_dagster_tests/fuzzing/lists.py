"""Fit small lists of any pattern: every list has a fit, with a status, whatever its crawls contain.

Every reported quantity is finite and inside its interval. Does not compare estimates with a truth. Run ``python -m
crawl_urn_dagster_tests.fuzzing.lists 0 10000`` for the lists of 10,000 seeds; with ``--assess 10``, only the assessment
of lists of 5 to 10 crawls is made, which is faster. It prints the seed and the end of the traceback of each list that
raises an error, and exits with 1 if there is one.
"""

import argparse
import sys
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd

import crawl_urn_dagster as cu
from crawl_urn_dagster.estimates.assessment.assess import assess
from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError

LARGEST_LENGTH, LARGEST_NUMBER = 130, 500


def _lives(rng, n, t):
    """Elements that live for a while and are captured with one probability while they do."""
    birth, life = rng.integers(-t, t, n), rng.geometric(rng.uniform(0.01, 1), n)
    alive = (np.arange(t) >= birth[:, None]) & (np.arange(t) < (birth + life)[:, None])
    return alive & (rng.random((n, t)) < rng.uniform(0.05, 1))


def _runs(rng, n, t):
    """Elements whose captures depend on the crawl before: presence and absence come in runs, or alternate."""
    stay, back = rng.random(2)
    seen = np.zeros((n, t), dtype=bool)
    seen[:, 0] = rng.random(n) < 0.5
    for crawl in range(1, t):
        seen[:, crawl] = rng.random(n) < np.where(seen[:, crawl - 1], stay, back)
    return seen


#: Captures by name of the pattern, shape (elements, crawls), for a generator, a number of elements and of crawls.
PATTERNS = {
    "independent": lambda rng, n, t: rng.random((n, t)) < rng.random(),
    "crawls_differ": lambda rng, n, t: rng.random((n, t)) < rng.random(t) ** 4,
    "elements_differ": lambda rng, n, t: rng.random((n, t)) < rng.random((n, 1)) ** 4,
    "lives": _lives,
    "core_and_lives": lambda rng, n, t: np.r_[np.ones((n // 2 + 1, t), dtype=bool), _lives(rng, n, t)],
    "all_the_same": lambda _, n, t: np.ones((n, t), dtype=bool),
    "runs": _runs,
    "disjoint": lambda rng, n, t: rng.integers(0, t, (n, 1)) == np.arange(t),
    "growing": lambda rng, n, t: rng.integers(0, t, (n, 1)) <= np.arange(t),
    "shrinking": lambda rng, n, t: rng.integers(0, t, (n, 1)) >= np.arange(t),
    "blocks": lambda rng, n, t: rng.integers(0, 4, (n, 1)) == np.arange(t) * 4 // t,
    "alternating": lambda rng, n, t: (rng.integers(0, 2, (n, 1)) + np.arange(t)) % 2 == 0,
    "all_but_one_crawl": lambda rng, n, t: np.tile(np.arange(t) != rng.integers(t), (n, 1)),
    "first_and_last": lambda _, n, t: np.tile(np.isin(np.arange(t), [0, t - 1]), (n, 1)),
}


def random_list(seed, *, least=1, most=LARGEST_LENGTH):
    """Return the name of a pattern and the capture-history counts of a list; some lists have empty or equal crawls."""
    rng = np.random.default_rng(seed)
    name = list(PATTERNS)[rng.integers(len(PATTERNS))]
    ranges = ((least, most), (1, LARGEST_NUMBER))
    t, n = (int(np.rint(np.exp(rng.uniform(np.log(low), np.log(high))))) for low, high in ranges)
    seen = PATTERNS[name](rng, n, t)
    if rng.random() < 0.2:
        seen &= rng.random(t) < 0.8
    if rng.random() < 0.2:
        seen = seen[:, np.sort(rng.integers(0, t, t))]
    histories, elements = np.unique(seen[seen.any(axis=1)], axis=0, return_counts=True)
    lost = rng.integers(0, elements + 1) if rng.random() < 0.2 else None
    return name, CaptureHistoryCounts(histories.reshape(-1, t), elements.astype(np.int64), lost)


def _tables(counts, seed):
    """Return the tables of a list whose gaps are random."""
    days = np.random.default_rng(seed).integers(1, 60, counts.n_crawls).cumsum()
    columns = {
        "crawl": [f"crawl-{k}" for k in range(days.size)],
        "started_at": pd.Timestamp("2015") + pd.to_timedelta(days, "D"),
    }
    sizes = np.diagonal(counts.intersections())
    crawls, exact = crawls_table(pd.DataFrame({**columns, "elements": sizes, "dated_by": "label"})), CountingError()
    return {"crawls": crawls, **tables_from_histories(crawls, counts, exact)}


def fit_list(seed):
    """Fit everything to a list; return the assessment."""
    _, counts = random_list(seed)
    tables, exact = _tables(counts, seed), CountingError()
    for clock in ("crawl", "year"):
        capture_recapture_tables(tables["crawls"], counts, clock=clock, one_in=1)
    return cu.fit(cu.Crawls(tables, counts, exact), n_resamples=20).assessment


def assess_list(seed, most):
    """Assess a list of 5 to `most` crawls by its histories."""
    _, counts = random_list(seed, least=5, most=most)
    tables = _tables(counts, seed)
    data = CollectionData(*(tables[name] for name in ("crawls", "containment", "discovery_curve")), histories=counts)
    if counts.in_all == counts.distinct_elements:
        # Such a list has no histories to compare, and its curves would have to be fitted.
        return None
    return assess(data, None, None, None, seed=1)


def impossible_quantities(assessment):
    """Return the names of the quantities that are not finite or outside their interval."""
    wrong = []
    for name, one in assessment.quantities.items():
        values = [one.value, *(one.interval or ()), *(one.inner or ())]
        known = [value for value in values if value is not None]
        is_inside = one.value is None or one.interval is None or one.interval.low <= one.value <= one.interval.high
        if not np.isfinite(known).all() or not is_inside:
            wrong.append(name)
    return wrong


def error_of(seed, most=None):
    """Return None, or a description of the error that a list raises; with `most`, only its assessment is made."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assessment = fit_list(seed) if most is None else assess_list(seed, most)
            wrong = [] if assessment is None else impossible_quantities(assessment)
        if wrong:
            return f"seed {seed}: {', '.join(f'{name} {assessment.quantities[name]}' for name in wrong)}"
    except Exception as error:
        name, counts = random_list(seed) if most is None else random_list(seed, least=5, most=most)
        where = " < ".join(
            f"{f.filename.rpartition('/')[2]}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)[:-5:-1]
        )
        return f"seed {seed} ({name}, {counts.seen.shape}): {type(error).__name__}: {error} at {where}"
    return None


def main() -> None:
    """Fit the lists of the seeds from the first argument to below the second one, on as many processes as the third."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("first", type=int, help="first seed")
    parser.add_argument("last", type=int, help="seed after the last one")
    parser.add_argument("processes", type=int, nargs="?", default=1, help="processes")
    parser.add_argument("--assess", type=int, help="only assess lists, of 5 to this number of crawls")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.last)
    with ProcessPoolExecutor(arguments.processes) as pool:
        found = pool.map(partial(error_of, most=arguments.assess), seeds, chunksize=20)
        errors = [print(error, flush=True) for error in found if error]
    print(f"{len(seeds)} lists, {len(errors)} errors")
    sys.exit(min(len(errors), 1))


if __name__ == "__main__":
    main()
