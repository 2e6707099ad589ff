"""Fit small lists of any pattern: every list has a fit, with a status, whatever its crawls contain.

Does not assess estimates. Run ``python -m crawl_urn_dagster_tests.fuzzing.lists 0 10000`` for the lists of 10,000
seeds. It prints the seed and the end of the traceback of each list that raises an error, and exits with 1 if there
is one.
"""

import sys
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd

import crawl_urn_dagster as cu
from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError

LARGEST_LENGTH, LARGEST_NUMBER = 130, 500


def _lives(rng, n, t):
    """Elements that live for a while and are captured with one probability while they do."""
    birth, life = rng.integers(-t, t, n), rng.geometric(rng.uniform(0.01, 1), n)
    alive = (np.arange(t) >= birth[:, None]) & (np.arange(t) < (birth + life)[:, None])
    return alive & (rng.random((n, t)) < rng.uniform(0.05, 1))


#: Captures by name of the pattern, shape (elements, crawls), for a generator, a number of elements and of crawls.
PATTERNS = {
    "independent": lambda rng, n, t: rng.random((n, t)) < rng.random(),
    "crawls_differ": lambda rng, n, t: rng.random((n, t)) < rng.random(t) ** 4,
    "elements_differ": lambda rng, n, t: rng.random((n, t)) < rng.random((n, 1)) ** 4,
    "lives": _lives,
    "core_and_lives": lambda rng, n, t: np.r_[np.ones((n // 2 + 1, t), dtype=bool), _lives(rng, n, t)],
    "all_the_same": lambda _, n, t: np.ones((n, t), dtype=bool),
    "disjoint": lambda rng, n, t: rng.integers(0, t, (n, 1)) == np.arange(t),
    "growing": lambda rng, n, t: rng.integers(0, t, (n, 1)) <= np.arange(t),
    "shrinking": lambda rng, n, t: rng.integers(0, t, (n, 1)) >= np.arange(t),
    "blocks": lambda rng, n, t: rng.integers(0, 4, (n, 1)) == np.arange(t) * 4 // t,
    "alternating": lambda rng, n, t: (rng.integers(0, 2, (n, 1)) + np.arange(t)) % 2 == 0,
    "all_but_one_crawl": lambda rng, n, t: np.tile(np.arange(t) != rng.integers(t), (n, 1)),
    "first_and_last": lambda _, n, t: np.tile(np.isin(np.arange(t), [0, t - 1]), (n, 1)),
}


def random_list(seed):
    """Return the name of a pattern and the capture-history counts of a list; some lists have empty or equal crawls."""
    rng = np.random.default_rng(seed)
    name = list(PATTERNS)[rng.integers(len(PATTERNS))]
    t, n = (int(np.rint(np.exp(rng.uniform(0, np.log(most))))) for most in (LARGEST_LENGTH, LARGEST_NUMBER))
    seen = PATTERNS[name](rng, n, t)
    if rng.random() < 0.2:
        seen &= rng.random(t) < 0.8
    if rng.random() < 0.2:
        seen = seen[:, np.sort(rng.integers(0, t, t))]
    histories, elements = np.unique(seen[seen.any(axis=1)], axis=0, return_counts=True)
    lost = rng.integers(0, elements + 1) if rng.random() < 0.2 else None
    return name, CaptureHistoryCounts(histories.reshape(-1, t), elements.astype(np.int64), lost)


def fit_list(seed):
    """Fit everything to a list; return the result of `cu.fit`."""
    _, counts = random_list(seed)
    days = np.random.default_rng(seed).integers(1, 60, counts.n_crawls).cumsum()
    columns = {
        "crawl": [f"crawl-{k}" for k in range(days.size)],
        "started_at": pd.Timestamp("2015") + pd.to_timedelta(days, "D"),
    }
    sizes = np.diagonal(counts.intersections())
    crawls, exact = crawls_table(pd.DataFrame({**columns, "elements": sizes, "dated_by": "label"})), CountingError()
    tables = {"crawls": crawls, **tables_from_histories(crawls, counts, exact)}
    for clock in ("crawl", "year"):
        capture_recapture_tables(crawls, counts, clock=clock, one_in=1)
    return cu.fit(cu.Crawls(tables, counts, exact), n_resamples=20)


def error_of(seed):
    """Return None, or a description of the error that a list raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_list(seed)
    except Exception as error:
        name, counts = random_list(seed)
        where = " < ".join(
            f"{f.filename.rpartition('/')[2]}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)[:-5:-1]
        )
        return f"seed {seed} ({name}, {counts.seen.shape}): {type(error).__name__}: {error} at {where}"
    return None


def main() -> None:
    """Fit the lists of the seeds from the first argument to below the second one, on as many processes as the third."""
    first, last, processes = (int(value) for value in (*sys.argv[1:], "1")[:3])
    with ProcessPoolExecutor(processes) as pool:
        errors = [print(error, flush=True) for error in pool.map(error_of, range(first, last)) if error]
    print(f"{last - first} lists, {len(errors)} errors")
    sys.exit(min(len(errors), 1))


if __name__ == "__main__":
    main()
