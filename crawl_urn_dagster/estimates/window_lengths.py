"""Fit the first crawls of a collection, ever more of them: table `window_lengths`.

Shows how the κ of the paper's reading depends on the length of the window, next to the stable share of a model with
memory, which should not. Does not fit windows of one length at different times; see `parameter_history`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.estimates.assessment.memory import uneven_gaps
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.parameter_history import inputs_sha256, window_tables
from crawl_urn_dagster.observables.schema import WINDOW_LENGTHS
from crawl_urn_dagster.processes import call_each
from crawl_urn_dagster.urn import bootstrap_joint, fit_joint
from crawl_urn_dagster.urn.state_space.fitting import MODELS, fit_model
from crawl_urn_dagster.urn.state_space.intervals import analyse, derive_quantities
from crawl_urn_dagster.urn.state_space.likelihood import observe

if TYPE_CHECKING:
    from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError

#: Numbers of crawls from the first on; all crawls are the last window.
LENGTHS = (8, 13, 20, 26, 39)
_REPLICATES = 60
_SEED = 1


def window_lengths_table(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    known: pd.DataFrame | None,
    *,
    histories: CaptureHistoryCounts | None,
    model: str | None,
    error: CountingError,
) -> pd.DataFrame:
    """Return table `window_lengths`: the fits of the first 8, 13, 20, 26, 39 and of all crawls, per crawl.

    Parameters
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    known
        The table of the previous run; rows of windows with unchanged inputs are kept. None: all windows are fitted.
    histories
        Capture-history counts; None without them.
    model
        The selected model; None: no model is adequate. Only a model with memory has a stable share.
    error
        How the elements were counted.
    """
    rows: list[dict[str, Any]] = []
    new: list[tuple[CollectionData, str | None]] = []
    for length in [*(length for length in LENGTHS if length < len(crawls)), len(crawls)]:
        window = crawls.iloc[:length]
        parts = window_tables(window, containment, discovery_curve)
        inputs = inputs_sha256(parts, f"{error} {model}")
        kept = None if known is None else known[known["inputs_sha256"] == inputs]
        if kept is not None and len(kept):
            rows.append(dict(kept.iloc[0]))
            continue
        rows.append(
            {
                "first_crawl": window["crawl"].iloc[0],
                "last_crawl": window["crawl"].iloc[-1],
                "window_crawls": length,
                "inputs_sha256": inputs,
            }
        )
        selected = None if histories is None else histories.select_crawls(range(length))
        new.append((CollectionData(*parts, error, selected), model))
    fitted = iter(call_each(_fit_window, new))
    rows = [row if "status" in row else {**row, **next(fitted)} for row in rows]
    return pd.DataFrame(rows, columns=list(WINDOW_LENGTHS.column_names))


def _fit_window(data: CollectionData, model: str | None) -> dict[str, Any]:
    return {**_reading(data), **_stable_share(data, model)}


def _reading(data: CollectionData) -> dict[str, Any]:
    """Return κ and the core share of the joint core-shell fit, with intervals and status."""
    counts = data.counts("crawl")
    if counts is None or len(counts.sizes) < 3:
        return {"status": "too_few_points"}
    fit = fit_joint(counts, model="core_shell", clock="crawl")
    if not fit.is_reported:
        return {"status": fit.status.value}
    intervals = bootstrap_joint(fit, seed=_SEED, n_replicates=_REPLICATES).intervals()
    columns: dict[str, Any] = {"status": fit.status.value}
    for name in ("kappa", "core_share"):
        low, high = intervals.get(name, (None, None))
        columns |= {name: fit.estimates[name], f"{name}_low": low, f"{name}_high": high}
    return columns


def _stable_share(data: CollectionData, model: str | None) -> dict[str, Any]:
    """Return the share of a crawl of the most stable class of a model with memory, refitted to the window."""
    counted_data = data.counted_histories
    if counted_data is None or model not in MODELS or counted_data.n_crawls < 3:
        return {}
    observations = observe(counted_data, uneven_gaps(data.times("year")))
    fit = fit_model(model, observations, seed=_SEED)
    derived = derive_quantities(analyse(fit, observations, counted_data), observations, seed=_SEED)
    share = next(one for one in derived if one.name == "share" and one.class_name == fit.mixture.classes[0].name)
    return {"stable_share": share.estimate, "stable_share_low": share.low, "stable_share_high": share.high}
