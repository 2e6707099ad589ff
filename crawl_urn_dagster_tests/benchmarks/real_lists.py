"""Measure how the selected model of real lists predicts, projects, and depends on the length of the window.

Run ``python -m crawl_urn_dagster_tests.benchmarks.real_lists``. It needs the shared folder next to the checkout, and
prints two Markdown tables: log-loss of the next crawls with the root mean squares of the misses of both curves, and the
stable share of windows of the first crawls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.assessment.memory import fit_memory, uneven_gaps
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.window_lengths import LENGTHS, window_lengths_table
from crawl_urn_dagster.reading import read_presence
from crawl_urn_dagster.urn import fit_joint
from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.family import projections
from crawl_urn_dagster.urn.state_space.prediction import hold_out
from crawl_urn_dagster_tests.conftest import SHARED

if TYPE_CHECKING:
    from crawl_urn_dagster.reading import Crawls
    from crawl_urn_dagster.urn.state_space.family import Projections

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


def core_shell_projections(data: CollectionData) -> Projections:
    """Return the misses of the joint core-shell fit of both curves, which has the least squares of both."""
    counts, histories = data.counts("crawl"), data.counted_histories
    assert counts is not None
    assert histories is not None
    fit = fit_joint(counts, model="core_shell", clock="crawl")
    core_share, alpha, coverage = (fit.estimates[name] for name in ("core_share", "alpha", "coverage"))
    shell = StateSpaceClass.shell(survival=alpha, coverage=coverage)
    return projections(Mixture((StateSpaceClass.core(), shell), (core_share, 1 - core_share)), histories)


def main() -> None:
    """Print the tables."""
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
        ours, theirs = projections(found.family.selected.mixture, histories), core_shell_projections(data)
        misses = (f"{our:.4f} ({their:.4f})" for our, their in zip(ours, theirs, strict=True))
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
