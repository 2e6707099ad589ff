"""Compare the quoted numbers of the scenarios of the shared simulator with the truth.

Run ``python -m crawl_urn_dagster_tests.benchmarks.scenarios --seeds 10``. It needs the shared folder next to the
checkout, and prints a Markdown table: for each of kappa, completeness and population, how often it is given, how often
its interval leaves the truth out, and how often it is not reported.

The truths refer to the assessed crawls: the core's fraction of all eligible elements at the middle crawl, the
captures of all crawls but the first divided by the known eligible elements, and the known eligible elements at the last
crawl. An eligible element is known once a crawl has captured it.
"""

from __future__ import annotations

import argparse
import collections
import itertools
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crawl_urn_dagster.estimates.assessment.assess import assess_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster_tests.conftest import SHARED
from crawl_urn_dagster_tests.estimates.observed import collection_data

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.estimates.assessment.result import Assessment

COMPARED = ("kappa", "completeness", "population")
#: Scenarios of a truncated first or last crawl: a scenario of the simulator, and the settings that differ.
TRUNCATED_ENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "truncated_last": ("truncated_4", {"truncated": (29, 0.05)}),
    "truncated_first": ("truncated_4", {"truncated": (0, 0.5)}),
    "no_core_truncated_last": ("no_core_noise", {"N": 5_000, "truncated": (23, 0.2)}),
    "dormancy_truncated_last": ("dormancy_no_core", {"N": 3_000, "truncated": (23, 0.05)}),
    "dormancy_truncated_first": ("dormancy_no_core", {"N": 3_000, "logit_sd": 0.3, "truncated": (0, 0.3)}),
}
# The simulator returns captures only: these additions make it return its population, and change no random number.
_ADDITIONS = (
    ("    for t in range(T):\n", "    states = []\n    for t in range(T):\n"),
    (
        "        if t == T - 1:\n",
        "        states.append((alive.copy(), alive & (cls == -1)))\n        if t == T - 1:\n",
    ),
    ("    return seen[seen.any(1)]\n", "    return seen, states\n"),
)


class Collection(NamedTuple):
    """A simulated collection: captures of the captured elements, and the population at each crawl.

    Attributes
    ----------
    seen
        Captures, shape (elements, crawls).
    core_fraction
        Core elements divided by eligible elements, shape (crawls,).
    known
        Eligible elements that some crawl so far has captured, shape (crawls,).
    really_new
        Share of the first captures of all crawls but the first that appeared since the crawl before.
    """

    seen: npt.NDArray[np.bool_]
    core_fraction: npt.NDArray[np.float64]
    known: npt.NDArray[np.int64]
    really_new: float


def simulator(*, returns_population: bool = False) -> ModuleType:
    """Load the simulator, which is not part of the package.

    Parameters
    ----------
    returns_population
        Whether its function ``simulate`` also returns the eligible elements and the core elements at each crawl, and
        keeps elements that no crawl captured.
    """
    path = SHARED / "scenarios" / "simulator.py"
    source = path.read_text(encoding="utf-8")
    for before, after in _ADDITIONS if returns_population else ():
        if source.count(before) != 1:
            raise ValueError(f"{path}: found {before!r} {source.count(before)} times, expected it once")
        source = source.replace(before, after)
    module = ModuleType("simulator")
    exec(compile(source, path, "exec"), module.__dict__)  # a file of the shared folder
    for name, (of, differing) in TRUNCATED_ENDS.items():
        settings, kappa = module.SCENARIOS[of]
        module.SCENARIOS[name] = (settings | differing, kappa)
    return module


def simulate_collection(module: ModuleType, settings: dict[str, Any], seed: int) -> Collection:
    """Simulate a scenario."""
    seen, states = module.simulate(np.random.default_rng(seed), **settings)
    known_so_far = np.maximum.accumulate(seen, axis=1)
    known = [(alive & known_so_far[: len(alive), t]).sum() for t, (alive, _) in enumerate(states)]
    # Elements are in the order of their births.
    born = [range(len(before), len(now)) for (before, _), (now, _) in itertools.pairwise(states)]
    new = sum(seen[elements, t].sum() for t, elements in enumerate(born, 1))
    first_captures = (seen.any(axis=1) & ~seen[:, 0]).sum()
    return Collection(
        seen[seen.any(axis=1)],
        np.array([core.sum() / alive.sum() for alive, core in states]),
        np.array(known),
        float(new / first_captures),
    )


def truths(collection: Collection, crawls: npt.NDArray[np.int64]) -> dict[str, float]:
    """Return the true values of the compared quantities for the assessed crawls."""
    later, sizes = crawls[1:], collection.seen.sum(axis=0)
    return {
        "kappa": float(collection.core_fraction[crawls[len(crawls) // 2]]),
        "completeness": float(sizes[later].sum() / collection.known[later].sum()),
        "population": float(collection.known[crawls[-1]]),
    }


def outcome(found: Assessment, name: str, truth: float) -> str:
    """Return ``right`` if the interval of a quantity contains the truth, else ``wrong``, or ``not reported``.

    A limit of the core fraction stands for an interval from 0.
    """
    one = found.quantities.get(name)
    limit = found.estimate("core_limit") if name == "kappa" else None
    if limit is not None:
        return "right" if truth <= limit else "wrong"
    if one is None or one.value is None or one.interval is None:
        return "not reported"
    return "right" if one.interval.low <= truth <= one.interval.high else "wrong"


def compare(module: ModuleType, settings: dict[str, Any], seed: int) -> tuple[Assessment, dict[str, str]]:
    """Assess a scenario, and return the outcome of each compared quantity."""
    collection = simulate_collection(module, settings, seed)
    rows, elements = np.unique(collection.seen, axis=0, return_counts=True)
    counts = CaptureHistoryCounts(rows, elements)
    data = collection_data(counts)
    found = assess_histories(data, counts, seed=seed)
    crawls = [data.labels.index(str(row["crawl"])) for row in found.population] or range(len(data.labels))
    true = truths(collection, np.array(crawls))
    return found, {name: outcome(found, name, true[name]) for name in COMPARED}


def main() -> None:
    """Assess every scenario, and print the table."""
    module = simulator(returns_population=True)
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="seeds of a scenario")
    parser.add_argument("--first-seed", type=int, default=1, help="first seed")
    parser.add_argument("--scenarios", nargs="+", default=list(module.SCENARIOS), help="names of scenarios")
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    print("| scenario | verdicts | κ | completeness | population | set aside |")
    print("|---|---|---|---|---|---|")
    for name in arguments.scenarios:
        settings, _ = module.SCENARIOS[name]
        found = [compare(module, settings, seed) for seed in seeds]
        verdicts = collections.Counter(one.verdict.name.value for one, _ in found).most_common()
        set_aside = collections.Counter(crawl for one, _ in found for crawl in one.set_aside).most_common()
        outcomes = [collections.Counter(each[quantity] for _, each in found) for quantity in COMPARED]
        cells = [
            name,
            ", ".join(f"{verdict} {count}" for verdict, count in verdicts),
            *(f"{len(seeds) - each['not reported']}, {each['wrong']}, {each['not reported']}" for each in outcomes),
            ", ".join(f"{crawl} {count}" for crawl, count in set_aside) or "none",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
