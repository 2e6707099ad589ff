"""Measure how the selected model of real lists predicts, projects, and depends on the length of the window.

Run ``python -m crawl_urn_dagster_tests.benchmarks.real_lists``. It needs the shared folder next to the checkout, and
prints two Markdown tables: log-loss of the next crawls with the root mean squares of the misses of both curves, and the
stable share of windows of the first crawls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from crawl_urn_dagster.estimates.assessment.memory import fit_memory, uneven_gaps
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.window_lengths import LENGTHS, window_lengths_table
from crawl_urn_dagster.reading import read_presence
from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.family import misses_of_curves, projections
from crawl_urn_dagster.urn.state_space.likelihood import Likelihood
from crawl_urn_dagster.urn.state_space.prediction import hold_out
from crawl_urn_dagster_tests.conftest import SHARED

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.reading import Crawls
    from crawl_urn_dagster.urn import CaptureHistoryCounts
    from crawl_urn_dagster.urn.state_space.family import Family, Projections

#: Lists, with the column of their crawls.
LISTS = {"us_gov_hosts": "snapshot", "cc_webgraph_top1000": "snapshot"}
_SEED = 1


def read_list(name: str) -> Crawls:
    """Read a list of the shared folder."""
    return read_presence(SHARED / "data" / "presence" / f"{name}.csv.gz", crawl_column=LISTS[name])


def data_of(crawls: Crawls) -> CollectionData:
    """Return the data of crawls that were read."""
    tables = crawls.tables
    return CollectionData(
        tables["crawls"], tables["containment"], tables["discovery_curve"], crawls.error, crawls.histories
    )


def projections_by_crawl(family: Family, histories: CaptureHistoryCounts) -> Projections:
    """Return the misses of the selected model with the share of each class in every crawl as its histories give it.

    `projections` takes the shares of the classes as constant. Their changes add up in the discovery curve.
    """
    fit, data, n = family.selected, family.data, histories.n_crawls
    posterior = Likelihood(data, fit.layout)(fit.point).posterior[data.row]
    captures = histories.seen.T @ (histories.elements[:, None] * posterior)
    shares = captures / captures.sum(axis=1, keepdims=True)
    gaps = np.ones(n - 1) if data.gaps is None else data.gaps
    times = np.append(0.0, np.cumsum(gaps))
    classes = [Mixture((one,), (1.0,)) for one in fit.mixture.classes]
    containment = sum(
        share[:, None] * one.containment(np.triu(times - times[:, None]))
        for share, one in zip(shares.T, classes, strict=True)
    )
    first_returns = sum(
        share[:, None] * one.first_returns_between(n, gaps) for share, one in zip(shares.T, classes, strict=True)
    )
    return misses_of_curves(np.asarray(containment), np.asarray(first_returns), histories)


def core_shell_projections(histories: CaptureHistoryCounts) -> Projections:
    """Return the misses of the core-shell urn with the least squares of both mean curves."""

    def misses(point: npt.NDArray[np.float64]) -> Projections:
        core_share, alpha, coverage = expit(point)
        shell = StateSpaceClass.shell(survival=alpha, coverage=coverage)
        return projections(Mixture((StateSpaceClass.core(), shell), (core_share, 1 - core_share)), histories)

    # The tolerance of the squares is far below those of a miss of 0.001.
    options = {"xatol": 1e-5, "fatol": 1e-9, "maxiter": 2_000}
    start = np.array([0.0, 2.0, 0.0])
    found = minimize(lambda point: sum(np.square(misses(point))), start, method="Nelder-Mead", options=options)
    return misses(found.x)


def main() -> None:
    """Print the tables."""
    print("Misses: constant shares of the classes, shares of every crawl, least squares of a core and a shell.\n")
    print("| list | model | log-loss 1, 3, 6 ahead | last four crawls | containment, rms | discovery curve, rms |")
    print("|---|---|---|---|---|---|")
    selected = {}
    for name in LISTS:
        data = data_of(read_list(name))
        histories = data.counted_histories
        assert histories is not None
        gaps = uneven_gaps(data.times("year"))
        found = fit_memory(histories, gaps, seed=_SEED)
        assert found is not None
        selected[name] = data, found.model
        scores = hold_out(histories, [found.model], gaps=gaps, seed=_SEED)
        half = len(scores) // 2
        losses = (", ".join(f"{score.log_loss:.3f}" for score in part) for part in (scores[:half], scores[half:]))
        ours = projections(found.family.selected.mixture, histories, gaps)
        by_crawl, theirs = projections_by_crawl(found.family, histories), core_shell_projections(histories)
        misses = (", ".join(f"{one:.4f}" for one in each) for each in zip(ours, by_crawl, theirs, strict=True))
        print(f"| {name} | {found.model} | {' | '.join([*losses, *misses])} |", flush=True)
    print("\n| list | crawls | stable share (95 % CI) | joint core-shell κ (95 % CI) |")
    print("|---|---|---|---|")
    for name, (data, model) in selected.items():
        observed = data.crawls, data.containment, data.discovery_curve
        settings = {"histories": data.histories, "model": model, "error": data.error}
        for row in window_lengths_table(*observed, None, **settings).to_dict("records"):
            if row["window_crawls"] in LENGTHS:
                cells = (
                    f"{row[column]:.3f} ({row[f'{column}_low']:.3f} to {row[f'{column}_high']:.3f})"
                    for column in ("stable_share", "kappa")
                )
                print(f"| {name} | {row['window_crawls']} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
