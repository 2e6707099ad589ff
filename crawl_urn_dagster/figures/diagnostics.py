"""Figures of how far the fits can be trusted, and of what varies from crawl to crawl.

Here: the profile and the ridge of κ, residuals by lag, estimates of every crawl. Not here: the fits' curves (`fitted`),
or how statistics are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crawl_urn_dagster.figures.axes import crawl_ticks, date_axis, figure_of_nothing, say
from crawl_urn_dagster.figures.labels import limits_note, span, with_limits
from crawl_urn_dagster.figures.style import (
    CONTAINMENT_COLOUR,
    DISCOVERY_COLOUR,
    JOINT_COLOUR,
    MISSING_COLOUR,
    elements,
    in_style,
    is_narrow,
    new_figure,
    panels,
    plain_text,
    tint,
)
from crawl_urn_dagster.formatting import count_noun, format_share
from crawl_urn_dagster.urn.fits.status import FITTED_MOVE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PROFILES = {
    "containment": (CONTAINMENT_COLOUR, "o", "containment alone"),
    "discovery_curve": (DISCOVERY_COLOUR, "s", "discovery curve alone"),
    "joint": (JOINT_COLOUR, "D", "both, joint fit"),
}
_KINDS = {
    "overlap": (CONTAINMENT_COLOUR, "o", "pairs: {elements} in both crawls"),
    "recapture": (DISCOVERY_COLOUR, "s", "recaptures: {elements} next seen after the lag"),
    "window": (DISCOVERY_COLOUR, "^", "windows: distinct {elements}"),
}


@in_style
def identifiability(profile: pd.DataFrame, *, title: str) -> Figure:
    """Draw the misfit that is left at each κ, and the μ and c that go with it, for each observable.

    A valley says that an observable tells κ; a flat line is a ridge along which it does not. Among μ and c the ridge is
    drawn thick where the observable is missed by at most 1 % of a crawl more than by the best fit: containment tells
    its floor, μ, so that its ridge is level there; the discovery curve's leads across.

    Parameters
    ----------
    profile
        Table `kappa_profile`; may have no row.
    title
        The collection, for example ``us_gov_hosts (host)``.
    """
    heading = "what the observables tell of κ"
    if profile.empty:
        return figure_of_nothing(title, heading, "no joint fit")
    figure = new_figure(
        height=6.6 if is_narrow() else 3.2,
        title=title,
        heading=f"{heading}\nα and c fitted anew at each κ; ringed: the best fit; thick: within 1 % of a crawl of it",
    )
    misfit, floor, ridge = all_axes = panels(figure, 3)
    for projection, (colour, marker, label) in _PROFILES.items():
        rows = profile[profile["projection"] == projection].sort_values("kappa")
        if rows.empty:
            continue
        runs, best = _runs_as_good(rows), _best(rows)
        for axes, column in zip(all_axes, ("standardised_rms", "core_share", "coverage"), strict=True):
            axes.plot(rows["kappa"], rows[column], color=colour, linewidth=0.8, marker=marker, markersize=2.5)
            for run in runs:
                # One value alone is no line.
                dot = "o" if len(run) == 1 else ""
                thick: dict[str, Any] = {
                    "linewidth": 4,
                    "solid_capstyle": "round",
                    "marker": dot,
                    "markersize": 6,
                    "zorder": 1,
                }
                axes.plot(run["kappa"], run[column], color=tint(colour), **thick)
            axes.plot(best["kappa"], best[column], color=colour, marker=marker, markersize=8, markerfacecolor="none")
        misfit.plot([], [], color=colour, linewidth=0.8, marker=marker, markersize=2.5, label=label)
    _tick_misfit(misfit)
    misfit.set_ylabel("root mean square residual\nover its standard deviation")
    floor.plot([0, 1], [0, 1], color=MISSING_COLOUR, linestyle=":", linewidth=0.8)
    floor.set_ylabel("core's share of a crawl, μ\n(dotted: μ = κ)")
    ridge.set_ylabel("coverage of the shell, c")
    for axes in all_axes:
        axes.set_xlabel("core's share of the urn, κ (held)")
    for axes in (floor, ridge):
        axes.set_ylim(-0.03, 1.03)  # a core that is held too large has a μ above 1, which no urn has
    figure.legend(loc="outside lower left", ncols=1 if is_narrow() else 3)
    return figure


def identifiability_caption(profile: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    if profile.empty:
        found = "There is no joint fit, so that nothing is drawn."
        return found, found
    told = []
    for projection, (_, _, label) in _PROFILES.items():
        rows = profile[profile["projection"] == projection].sort_values("kappa")
        if len(rows):
            spans = [dict.fromkeys(map(format_share, run["kappa"].iloc[[0, -1]])) for run in _runs_as_good(rows)]
            held = " and ".join(" to ".join(ends) for ends in spans)
            told.append(f"{label}, κ {held}, best {format_share(_best(rows)['kappa'].iloc[0])}")
    found = f"As good as the best, to 1 % of a crawl, of the values of κ that were held: {'; '.join(told)}."
    text = (
        f"α and c are fitted anew at each κ. {found} 1 % of a crawl is a coarse yardstick, the same for all: no "
        "interval. A wide range is a ridge along which an observable does not tell κ. Ringed: the best fit; thick: as "
        "good as it. Where the ridges of containment and of the discovery curve cross, both are explained: "
        "containment fixes the core's share of a crawl, μ, and the discovery curve a curve across."
    )
    return text, f"Three panels over κ: the misfit, μ and c, with a curve per observable. {found}"


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.nsmallest(1, "standardised_rms")


def _runs_as_good(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Give the runs of rows, ordered by κ, that miss the observable by hardly more than the best."""
    is_good = rows["residual_rms"] <= rows["residual_rms"].min() + FITTED_MOVE
    return [run for _, run in rows[is_good].groupby((is_good != is_good.shift()).cumsum()[is_good])]


def _tick_misfit(axes: Axes) -> None:
    """Write plain numbers along a logarithmic axis."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    ticks = [step * 10.0**power for power in range(-3, 6) for step in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


@in_style
def residuals_by_lag(diagnosis: pd.DataFrame, *, title: str) -> Figure:
    """Draw the joint fit's mean standardised residual at each lag, with 95 % limits.

    Parameters
    ----------
    diagnosis
        Table `diagnosis`; may have no row of test ``lack_of_fit``.
    title
        The collection.
    """
    rows = _by_lag(diagnosis)
    heading = "residuals of the joint fit by lag"
    if rows.empty:
        return figure_of_nothing(title, heading, "no joint fit with replicates")
    failing = int((rows["verdict"] == "fails").sum())
    figure = new_figure(
        height=3.4,
        title=title,
        heading=f"{heading}, in standard deviations of counting\n"
        "bars: 95 % limits, of sampling and of changes from crawl to crawl; "
        + (
            f"ringed: {count_noun(failing, 'point')} that the fit does not explain"
            if failing
            else "the fit explains all"
        ),
    )
    axes = figure.subplots()
    axes.axhline(0, color=MISSING_COLOUR, linewidth=0.8)
    for shift, (kind, (colour, marker, label)) in zip((-0.12, 0.12, 0.12), _KINDS.items(), strict=True):
        some = rows[rows["kind"] == kind]
        if some.empty:
            continue
        axes.errorbar(
            some["lag"] + shift,
            some["observed"],
            yerr=(some["difference_high"] - some["difference_low"]) / 2,
            color=colour,
            ecolor=tint(colour),
            fmt=marker,
            markersize=3.5,
            linewidth=0.9,
            label=label.format(elements=elements()),
        )
        half = (some["difference_high"] - some["difference_low"]) / 2
        for sign, mark in ((1, "^"), (-1, "v")):
            leaves = some[sign * some["observed"] + half > _reach(rows)]
            edge = np.full(len(leaves), sign * _reach(rows))
            axes.plot(leaves["lag"] + shift, edge, mark, color=tint(colour), markersize=4, clip_on=False)
        off = some[some["verdict"] == "fails"]
        axes.plot(off["lag"] + shift, off["observed"], "o", markersize=9, markerfacecolor="none", color=colour)
    axes.set_xlabel("lag (crawls)")
    crawl_ticks(axes)
    axes.set_ylabel("mean standardised residual")
    # Bars of lags with few pairs would flatten all others.
    axes.set_ylim(-_reach(rows), _reach(rows))
    figure.legend(loc="outside lower left", ncols=1 if is_narrow() else 2)
    return figure


def residuals_by_lag_caption(diagnosis: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    rows = _by_lag(diagnosis)
    if rows.empty:
        found = "There is no joint fit with replicates, so that nothing is drawn."
        return found, found
    failing = rows[rows["verdict"] == "fails"]
    found = f"{len(failing)} of {count_noun(len(rows), 'point')} are not explained by the fit"
    if len(failing):
        worst = failing.sort_values("observed", key=abs).iloc[-1]
        found += f", most of all {worst['subject']}: {worst['observed']:.1f} standard deviations of counting"
    half = (rows["difference_high"] - rows["difference_low"]) / 2
    cut = int((rows["observed"].abs() + half > _reach(rows)).sum())
    leave = f" {count_noun(cut, 'bar')} {'leaves' if cut == 1 else 'leave'} the frame, at a triangle." if cut else ""
    ringed = " Ringed: not explained." if len(failing) else ""
    text = (
        f"{found}. Bars: 95 % limits, of sampling and of changes from crawl to crawl.{leave}{ringed} "
        "The two kinds are set a little apart at each lag."
    )
    return text, f"Mean standardised residuals around zero over the lag in crawls, a marker per kind of count. {found}."


def _reach(rows: pd.DataFrame) -> float:
    """Half the height of the frame: every point is in it, and all but the widest bars."""
    half = (rows["difference_high"] - rows["difference_low"]) / 2
    return float(max(1.2 * rows["observed"].abs().max(), (rows["observed"].abs() + half).quantile(0.9)))


def _by_lag(diagnosis: pd.DataFrame) -> pd.DataFrame:
    """Rows of test ``lack_of_fit`` with their kind and lag."""
    rows = diagnosis[diagnosis["test"] == "lack_of_fit"]
    parts = rows["subject"].str.extract(r"^(?P<kind>\w+), lag (?P<lag>\d+)$")
    return rows.assign(kind=parts["kind"], lag=parts["lag"].astype(float))


@in_style
def survival_and_coverage_by_crawl(per_crawl: pd.DataFrame, crawls: pd.DataFrame, *, title: str) -> Figure:
    """Draw survival and coverage of every crawl by Cormack-Jolly-Seber, with 95 % limits.

    Parameters
    ----------
    per_crawl, crawls
        Tables of the contract.
    title
        The collection.
    """
    rows = per_crawl[per_crawl["estimator"] == "cormack_jolly_seber"].merge(crawls, on="crawl")
    clock = rows["clock"].iloc[0] if len(rows) else "crawl"
    figure = new_figure(
        height=4.2,
        title=title,
        heading=f"survival and coverage of every crawl, by Cormack-Jolly-Seber\n{span(crawls)}; one class of "
        f"{elements()}: a core, if there is one, is in both numbers",
    )
    for axes, (quantity, colour, name) in zip(
        figure.subplots(2, 1, sharex=True),
        (
            ("alpha", CONTAINMENT_COLOUR, f"survival, α (per {clock})\nfrom the crawl to the next"),
            ("coverage", DISCOVERY_COLOUR, "coverage, c"),
        ),
        strict=True,
    ):
        some = rows[(rows["quantity"] == quantity) & rows["estimate"].notna()]
        known = some.dropna(subset="se")
        limits = np.abs(known[["estimate_low", "estimate_high"]].to_numpy().T - known["estimate"].to_numpy())
        axes.errorbar(
            known["years"], known["estimate"], yerr=limits, color=colour, ecolor=tint(colour), fmt="o-", markersize=3
        )
        bound = some[some["se"].isna()]
        axes.plot(bound["years"], bound["estimate"], "x", color=colour, label="at its bound, no limits")
        axes.set_ylabel(name)
        if len(bound):
            axes.legend(loc="best")
        if some.empty:
            say(axes, "not identified")
    date_axis(axes, crawls)
    return figure


def survival_and_coverage_by_crawl_caption(per_crawl: pd.DataFrame, crawls: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    rows = per_crawl[(per_crawl["estimator"] == "cormack_jolly_seber") & per_crawl["se"].notna()]
    ranges = []
    for quantity, name in (("alpha", "survival, α,"), ("coverage", "coverage, c,")):
        some = rows[rows["quantity"] == quantity].sort_values("estimate").to_dict("records")
        if some:
            low, high = (
                f"{with_limits(row, 'estimate')} {'after' if quantity == 'alpha' else 'in'} {plain_text(row['crawl'])}"
                for row in (some[0], some[-1])
            )
            ranges.append(f"{name} lies between {low} and {high}")
    found = (
        f"{'; '.join(ranges)}." if ranges else "Survival and coverage are not identified, so that no number is given."
    )
    at_bound = per_crawl[(per_crawl["estimator"] == "cormack_jolly_seber") & per_crawl["se"].isna()]
    crosses = "; crosses: at the bound, without limits" if at_bound["estimate"].notna().any() else ""
    bars = f" Bars: 95 % limits{crosses}." if ranges else ""
    text = (
        f"{span(crawls)}. {found[0].upper()}{found[1:]}{bars} There is one class of {elements()} here: a core, if "
        f"there is one, is in both numbers.{limits_note(found)}"
    )
    return text, f"Two panels over time, survival and coverage of every crawl with bars. {found[0].upper()}{found[1:]}"
