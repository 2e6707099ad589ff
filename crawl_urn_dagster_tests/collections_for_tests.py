"""Write small simulated collections to disk, one for each kind of source.

Does not run or assert anything.
"""

import datetime as dt

import numpy as np
import pandas as pd

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster.urn.simulation import SimulatedHistories

KAPPA, ALPHA, COVERAGE = 0.4, 0.75, 0.6
N_CRAWLS, URN = 24, 5_000


LARGEST_SINCE_2020 = 80


def labels(n_crawls=N_CRAWLS):
    # A list of many crawls starts earlier, because no crawl may start in the future.
    first = dt.date(2020, 1, 6) if n_crawls <= LARGEST_SINCE_2020 else dt.date(2010, 1, 4)
    return [(first + dt.timedelta(days=28 * k)).isoformat() for k in range(n_crawls)]


def histories(n_crawls=N_CRAWLS, *, urn=URN, kappa=KAPPA, coverage=COVERAGE, seed=7):
    core = round(kappa * urn)
    return simulate(times=np.arange(n_crawls), core=core, shell=urn - core, alpha=ALPHA, coverage=coverage, seed=seed)


def presence_of(simulated):
    """Elements by crawl, as texts."""
    return {
        label: np.char.add("e", simulated.captured(crawl).astype(str)).astype(object)
        for crawl, label in enumerate(labels(simulated.n_crawls))
    }


def presence_frame(simulated):
    return pd.DataFrame(
        [(crawl, element) for crawl, elements in presence_of(simulated).items() for element in elements],
        columns=["crawl", "element"],
    )


def dated_crawls(sizes):
    """Input of table `crawls`, for crawls of some sizes."""
    names = labels(len(sizes))
    return pd.DataFrame({"crawl": names, "started_at": pd.to_datetime(names), "elements": sizes, "dated_by": "label"})


def presence_collection(folder, simulated=None, *, name="listed", **settings):
    """A collection that reads one gzip CSV of crawls and elements."""
    path = folder / f"{name}.csv.gz"
    presence_frame(simulated or histories()).to_csv(path, index=False)
    return Collection.model_validate(
        {
            "name": name,
            "granularity": "other",
            "source": {"type": "presence_list", "path": str(path)},
            **settings,
        }
    )


def lists_collection(folder, *, name="split", **settings):
    """A collection that reads a CSV file per crawl, see `write_list`."""
    source = {"type": "presence_list", "path": str(folder / "lists" / "*.csv")}
    return Collection.model_validate({"name": name, "granularity": "other", "source": source, **settings})


def write_list(folder, crawl, elements):
    """Write or replace the list of a crawl that `lists_collection` reads."""
    path = folder / "lists" / f"{crawl}.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["element", *elements, ""]))
    return path


def pairs_frame(intersections, n_crawls):
    i, j = np.triu_indices(n_crawls, k=1)
    names = np.array(labels(n_crawls))
    sizes = np.diagonal(intersections)
    return pd.DataFrame(
        {
            "crawl_i": names[i],
            "crawl_j": names[j],
            "size_i": sizes[i],
            "size_j": sizes[j],
            "intersection": intersections[i, j],
        }
    )


def windows_frame(unions, n_crawls):
    i, j = np.triu_indices(n_crawls)
    names = np.array(labels(n_crawls))
    return pd.DataFrame({"start": names[i], "end": names[j], "union": unions[i, j]})


def tables_collection(folder, simulated=None, *, name="tabled", pairs=True, windows=True, **settings):
    """A collection that reads pairs, windows or both."""
    counts = (simulated or histories()).counts()
    source = {"type": "observable_tables"}
    if pairs:
        source["pairs"] = str(folder / f"{name}_pairs.csv")
        pairs_frame(counts.intersections(), counts.n_crawls).to_csv(source["pairs"], index=False)
    if windows:
        source["windows"] = str(folder / f"{name}_windows.csv")
        windows_frame(counts.unions(), counts.n_crawls).to_csv(source["windows"], index=False)
    return Collection.model_validate({"name": name, "granularity": "other", "source": source, **settings})


def avoiding_histories(n_crawls=N_CRAWLS, *, urn=URN, seed=7):
    """Histories of elements that are captured in every second crawl only, which the urn model does not fit."""
    rng = np.random.default_rng(seed)
    phase = rng.integers(0, 2, urn)
    seen = (np.arange(n_crawls)[None, :] + phase[:, None]) % 2 == 0
    seen &= rng.random(seen.shape) < 0.9
    return SimulatedHistories(np.packbits(seen[seen.any(axis=1)], axis=1), n_crawls)
