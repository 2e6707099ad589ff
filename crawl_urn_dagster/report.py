"""The page of a collection, as Markdown.

Here: what the page says and in which order. Not here: numbers (`estimates`), drawing (`figures`), or where the page
is kept (`assets.report`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.estimates.tables import compare_with_truth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from crawl_urn_dagster.estimates.headline import Headline

_WORST_SHOWN = 5
_FIT = ["projection", "model", "form", "clock", "component"]


def render_report(
    name: str,
    granularity: str,
    headline: Headline,
    frames: Mapping[str, pd.DataFrame],
    *,
    broken_rules: Mapping[str, pd.DataFrame],
    figures: Sequence[str],
) -> str:
    """Page of a collection.

    Parameters
    ----------
    name, granularity
        Of the collection.
    headline
        The fit that speaks for it.
    frames
        Tables of the contract by name: crawls, parameters, operator_terms, drift and inputs, with first_returns
        and truth where the collection has them.
    broken_rules
        Rows that break a rule of `observables.quality`, by the rule in words.
    figures
        Names of the figures that the page shows, from ``figures/`` beside it.
    """
    crawls = frames["crawls"]
    first, last = crawls.iloc[0], crawls.iloc[-1]
    parts = [
        f"# {name}",
        headline.sentence,
        f"Fit: {headline.fit_name}. Status: **{headline.status}**. {headline.numbers}",
        f"{len(crawls)} crawls of {granularity} elements, {first['crawl']} ({first['started_at']:%Y-%m-%d}) to "
        f"{last['crawl']} ({last['started_at']:%Y-%m-%d}), between {crawls['elements'].min():,} and "
        f"{crawls['elements'].max():,} elements each.",
    ]
    if headline.withheld:
        parts += [
            "## Why parameters are withheld",
            f"{headline.reason}. The fits are kept in the tables below with their status; none is drawn, and none "
            "may be quoted as a property of the crawl.",
        ]
    parts += [f"![{figure.replace('_', ' ')}](figures/{figure}.png)" for figure in figures]
    parts += ["## Data quality", _quality(broken_rules)]
    parts += ["## Fits", _fits(frames["parameters"])]
    if "truth" in frames:
        parts += [
            "## Estimates against the simulated truth",
            _table(compare_with_truth(frames["parameters"], frames["truth"])),
        ]
    if not headline.withheld:
        parts += ["## In an operator's terms", _OPERATOR_NOTE, _operator_terms(frames)]
    parts += ["## Drift", _drift(frames["drift"])]
    if "first_returns" in frames:
        parts += [
            "## First returns",
            "The mean fraction of a crawl's elements that is next seen after so many crawls. Under any urn whose "
            "coverage is constant in time it does not rise with the lag.",
            _table(frames["first_returns"].head(12)),
        ]
    parts += ["## Read from", _table(frames["inputs"])]
    return "\n\n".join(parts) + "\n"


_OPERATOR_NOTE = (
    "Times count what is left after the present round: life expectancy is the sum of sampled and hidden time. Hiding "
    "time is how long an element not seen yet stays unseen before it is seen or gone. nu_inf is the long-run fraction "
    "of a crawl that was never seen before, rho_inf the rest."
)


def _quality(broken_rules: Mapping[str, pd.DataFrame]) -> str:
    """Show what cannot be true before any number that follows from it."""
    parts = [
        f"**Broken: {rule}.** Rows: {len(rows)}; the worst:\n\n{_table(rows.head(_WORST_SHOWN))}"
        for rule, rows in broken_rules.items()
    ]
    return "\n\n".join(parts) or "Calendar, unions and intersections are all within what is possible."


def _fits(parameters: pd.DataFrame) -> str:
    shown = ["kappa", "core_share", "alpha", "coverage", "residual_rms", "n_points", "status", "reason"]
    last_of_fit = parameters[parameters["component"] != "core"]
    return (
        "One row per fit: the observable (discovery_tail is a straight line through the end of the discovery curve, "
        "discovery_increments a consistency check only), the urn, and the clock that survival counts in. kappa is the "
        "core's share of the urn, core_share its share of one crawl; alpha and coverage are those of the shell, or of "
        "the one urn; residual_rms is by how much the fit misses the observable. Intervals are not computed yet. Under "
        "form `paper`, kappa is the core share. Of a fit that is not ok, believe only what its reason leaves.\n\n"
        + _table(last_of_fit[[*_FIT[:4], *shown]])
    )


def _operator_terms(frames: Mapping[str, pd.DataFrame]) -> str:
    headline = frames["parameters"].loc[lambda rows: rows["headline"].astype(bool), _FIT]
    terms = frames["operator_terms"].merge(headline, on=_FIT)
    shown = ["component", "life_expectancy", "sampled_time", "hidden_time", "hiding_time", "nu_inf", "rho_inf"]
    return _table(terms[[*shown, "unit", "status"]])


def _drift(drift: pd.DataFrame) -> str:
    reasons = drift["reason"].dropna()
    if len(reasons):
        return f"Not judged: {reasons.iloc[0]}."
    return _table(drift[["parameter", "reference_value", "value", "difference", "threshold", "drifted", "since_crawl"]])


def _table(frame: pd.DataFrame) -> str:
    """Markdown table: four significant digits, infinity as ∞, unknown as a dash."""
    shown = frame.copy().astype(object)
    for column in shown.columns:
        shown[column] = [_cell(value) for value in frame[column]]
    return shown.to_markdown(index=False, disable_numparse=True)


def _cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        if np.isnan(value):
            return "–"
        return "∞" if np.isinf(value) else f"{value:.4g}"
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int | np.integer) and not isinstance(value, bool) else str(value)
