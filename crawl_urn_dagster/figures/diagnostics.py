"""Draw how reliable the fits are, and how survival and coverage vary from crawl to crawl.

Does not draw the curves of the fits (`fitted`) or compute the statistics (`estimates`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.figures.axes import crawl_ticks, date_axis, message_figure, show_message
from crawl_urn_dagster.figures.labels import crawl_range, with_interval
from crawl_urn_dagster.figures.style import Colour, elements, in_style, is_narrow, new_figure, panels, plain_text, tint
from crawl_urn_dagster.formatting import count_noun, format_share
from crawl_urn_dagster.urn.fits.identification import FITTED_MOVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PROFILES = {
    "containment": (Colour.CONTAINMENT, "o", "containment alone"),
    "discovery_curve": (Colour.DISCOVERY, "s", "discovery curve alone"),
    "joint": (Colour.JOINT, "D", "both, joint fit"),
}
#: Colour, marker, offset along the axis of lags and label of the kinds of counts.
_COUNTS = {
    "overlap": (Colour.CONTAINMENT, "o", -0.12, "pairs: {elements} in both crawls"),
    "recapture": (Colour.DISCOVERY, "s", 0.12, "first returns: {elements} by lag of the return"),
    "window": (Colour.DISCOVERY, "^", 0.12, "windows: distinct {elements}"),
}
# Change of μ or c, in changes of κ, beyond which the fits at neighbouring values of κ are different local optima.
_JUMP = 3.0
# Estimates at the end that a poor last crawl moves: it cannot be distinguished from a loss before it.
_ENDS = 2


@in_style
def identifiability(profile: pd.DataFrame, *, title: str) -> Figure:
    """Draw the residuals at each fixed κ, and the μ and c of the refitted model, by observable.

    A distinct minimum means that the observable identifies κ. In the panels of μ and c, a curve is thick where the fit
    is within 1 % of a crawl size of the best fit. Containment determines μ, so its thick part is level in the panel of
    μ. The thick part of the discovery curve slopes across the panel.
    """
    heading = "profile of κ by observable"
    if profile.empty:
        return message_figure(title, heading, "no joint fit")
    figure = new_figure(
        height=6.6 if is_narrow() else 3.2,
        title=title,
        heading=f"{heading}\nα and c refitted at each κ; ringed: best fit; thick: within 1 % of a crawl size of it; "
        "gaps: jumps between local optima",
    )
    all_axes = residual_axes, core_share_axes, coverage_axes = panels(figure, 3)
    for projection, (colour, marker, label) in _PROFILES.items():
        rows = _profile_rows(profile, projection)
        if len(rows):
            for axes, column in zip(all_axes, ("standardised_rms", "core_share", "coverage"), strict=True):
                _draw_profile(axes, rows, column, colour, marker)
            residual_axes.plot([], [], color=colour, linewidth=0.8, marker=marker, markersize=2.5, label=label)
    core_share_axes.plot([0, 1], [0, 1], color=Colour.MISSING, linestyle=":", linewidth=0.8)
    labels = ("RMS standardised residual", "core share of a crawl, μ\n(dotted: μ = κ)", "shell coverage, c")
    for axes, label in zip(all_axes, labels, strict=True):
        axes.set(xlabel="core fraction of the urn, κ", ylabel=label, xlim=(-0.03, 1.03))
    _tick_residuals(residual_axes)
    for axes in (core_share_axes, coverage_axes):
        axes.set_ylim(-0.03, 1.03)  # a κ fixed too high gives an invalid μ above 1
    figure.legend(loc="outside lower left", ncols=1 if is_narrow() else 3)
    return figure


def identifiability_caption(profile: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    if profile.empty:
        found = "No results are shown because the joint fit is missing."
        return found, found
    ranges = []
    for projection, (_, _, label) in _PROFILES.items():
        rows = _profile_rows(profile, projection)
        if len(rows):
            ends = [dict.fromkeys(map(format_share, run["kappa"].iloc[[0, -1]])) for run in _runs_near_best(rows)]
            near = " and ".join(" to ".join(values) for values in ends)
            ranges.append(f"{label}, κ {near}, best {format_share(_best(rows)['kappa'].iloc[0])}")
    found = f"Values of κ within 1 % of a crawl size of the best fit: {'; '.join(ranges)}."
    text = (
        f"α and c are refitted at each κ. {found} The 1 % tolerance is a common rule of thumb, not a confidence "
        "interval. A wide range means that the observable does not identify κ. Ringed: the best fit; thick: within the "
        "tolerance; gaps in lines: jumps from one local optimum to another. Containment determines μ, and the "
        "discovery curve trades κ against c. Both observables together select the point where their thick lines cross."
    )
    return text, f"Three panels over κ: residuals, μ and c, with a curve per observable. {found}"


def _profile_rows(profile: pd.DataFrame, projection: str) -> pd.DataFrame:
    return profile[profile["projection"] == projection].sort_values("kappa")


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.nsmallest(1, "standardised_rms")


def _runs_near_best(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the runs of rows, ordered by κ, whose residuals exceed those of the best fit by at most the tolerance."""
    is_near = rows["residual_rms"] <= rows["residual_rms"].min() + FITTED_MOVE
    return [run for _, run in rows[is_near].groupby((is_near != is_near.shift()).cumsum()[is_near])]


def _branches(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the runs of rows, ordered by κ, along which μ and c change steadily."""
    step = rows[["core_share", "coverage"]].diff().abs().max(axis=1)
    return [branch for _, branch in rows.groupby((step > _JUMP * rows["kappa"].diff()).cumsum())]


def _draw_profile(axes: Axes, rows: pd.DataFrame, column: str, colour: str, marker: str) -> None:
    """Draw a column over κ: thick near the best fit, which is ringed, and with gaps between local optima."""
    near = pd.concat(_runs_near_best(rows)).index
    for branch in _branches(rows):
        axes.plot(branch["kappa"], branch[column], color=colour, linewidth=0.8, marker=marker, markersize=2.5)
        is_near = branch.index.isin(near)
        for _, run in branch[is_near].groupby((~is_near).cumsum()[is_near]):
            axes.plot(
                *(run["kappa"], run[column]),
                color=tint(colour),
                linewidth=4,
                solid_capstyle="round",
                marker="o" if len(run) == 1 else "",  # a line of one point would be invisible
                markersize=6,
                zorder=1,
            )
    best = _best(rows)
    axes.plot(best["kappa"], best[column], color=colour, marker=marker, markersize=8, markerfacecolor="none")


def _tick_residuals(axes: Axes) -> None:
    """Label a logarithmic axis with plain numbers."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    ticks = [step * 10.0**power for power in range(-3, 6) for step in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


@in_style
def residuals_by_lag(diagnosis: pd.DataFrame, *, title: str) -> Figure:
    """Draw the joint fit's mean standardised residual at each lag, with 95 % confidence intervals."""
    rows = _residual_rows(diagnosis)
    heading = "residuals of the joint fit by lag"
    if rows.empty:
        return message_figure(title, heading, "no joint fit with replicates")
    failing = int((rows["verdict"] == "fails").sum())
    explained = f"ringed: {count_noun(failing, 'point')} not explained" if failing else "all explained"
    figure = new_figure(
        height=3.4,
        title=title,
        heading=f"{heading}, in standard deviations of counting\n"
        f"bars: 95 % confidence intervals of sampling and crawl-to-crawl variation; {explained}",
    )
    axes = figure.subplots()
    axes.axhline(0, color=Colour.MISSING, linewidth=0.8)
    limit = _axis_limit(rows)
    for kind, (colour, marker, shift, label) in _COUNTS.items():
        some = rows[rows["kind"] == kind]
        if some.empty:
            continue
        lag, observed, half = some["lag"] + shift, some["observed"], some["half_width"]
        axes.errorbar(
            *(lag, observed, half),
            color=colour,
            ecolor=tint(colour),
            fmt=marker,
            markersize=3.5,
            linewidth=0.9,
            label=label.format(elements=elements()),
        )
        for sign, triangle in ((1, "^"), (-1, "v")):
            at = lag[sign * observed + half > limit]
            axes.plot(at, np.full(len(at), sign * limit), triangle, color=tint(colour), markersize=4, clip_on=False)
        is_off = some["verdict"] == "fails"
        axes.plot(lag[is_off], observed[is_off], "o", markersize=9, markerfacecolor="none", color=colour)
    axes.set(xlabel="lag (crawls)", ylabel="mean standardised residual", ylim=(-limit, limit))
    crawl_ticks(axes)
    figure.legend(loc="outside lower left", ncols=1 if is_narrow() else 2)
    return figure


def residuals_by_lag_caption(diagnosis: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    rows = _residual_rows(diagnosis)
    if rows.empty:
        found = "No results are shown because a joint fit with replicates is missing."
        return found, found
    failing = rows[rows["verdict"] == "fails"].sort_values("observed", key=abs)
    found = f"{len(failing)} of {count_noun(len(rows), 'point')} are not explained by the fit."
    ringed = ""
    if len(failing):
        worst = failing.iloc[-1]
        found += f" Largest residual: {worst['observed']:.1f} standard deviations of counting ({worst['subject']})."
        ringed = " Ringed: not explained by the fit."
    cut = int((rows["observed"].abs() + rows["half_width"] > _axis_limit(rows)).sum())
    triangles = f" Triangles: {count_noun(cut, 'bar')} beyond the axes." if cut else ""
    text = (
        f"{found} Bars: 95 % confidence intervals of sampling and crawl-to-crawl variation.{triangles}{ringed} Markers "
        "at the same lag are drawn side by side."
    )
    return text, f"Mean standardised residuals around zero by lag in crawls, with a marker per kind of count. {found}"


def _axis_limit(rows: pd.DataFrame) -> float:
    """Return the upper limit of the axis, which includes all points but not the widest bars (lags with few pairs)."""
    residuals = rows["observed"].abs()
    return float(max(1.2 * residuals.max(), (residuals + rows["half_width"]).quantile(0.9)))


def _residual_rows(diagnosis: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of test ``lack_of_fit`` with their kind, lag and half the width of their interval."""
    rows = diagnosis[diagnosis["test"] == "lack_of_fit"]
    parts = rows["subject"].str.extract(r"^(?P<kind>\w+), lag (?P<lag>\d+)$")
    half_width = (rows["difference_high"] - rows["difference_low"]) / 2
    return rows.assign(kind=parts["kind"], lag=parts["lag"].astype(float), half_width=half_width)


@in_style
def survival_and_coverage_by_crawl(per_crawl: pd.DataFrame, crawls: pd.DataFrame, *, title: str) -> Figure:
    """Draw Cormack-Jolly-Seber estimates of survival and coverage of every crawl, with 95 % confidence intervals."""
    rows = per_crawl[per_crawl["estimator"] == "cormack_jolly_seber"].merge(crawls, on="crawl")
    clock = rows["clock"].iloc[0] if len(rows) else "crawl"
    figure = new_figure(
        height=4.2,
        title=title,
        heading=f"survival and coverage of every crawl, by Cormack-Jolly-Seber\n{crawl_range(crawls)}; one class of "
        f"{elements()}, so both include any core",
    )
    quantities = (
        ("alpha", Colour.CONTAINMENT, f"survival, α (per {clock})\nfrom the crawl to the next"),
        ("coverage", Colour.DISCOVERY, "coverage, c"),
    )
    for axes, (quantity, colour, name) in zip(figure.subplots(2, 1, sharex=True), quantities, strict=True):
        some = rows[(rows["quantity"] == quantity) & rows["estimate"].notna()]
        known = some.dropna(subset="se")
        bars = np.abs(known[["estimate_low", "estimate_high"]].to_numpy().T - known["estimate"].to_numpy())
        axes.errorbar(
            known["years"], known["estimate"], yerr=bars, color=colour, ecolor=tint(colour), fmt="o-", markersize=3
        )
        axes.plot(
            *(known.sort_values("years")[name].tail(_ENDS) for name in ("years", "estimate")),
            "o",
            color="white",
            markeredgecolor=colour,
            markersize=4,
            zorder=3,
        )
        bound = some[some["se"].isna()]
        axes.plot(bound["years"], bound["estimate"], "x", color=colour, label="at bound, no interval")
        axes.set_ylabel(name)
        if len(bound):
            axes.legend(loc="best")
        if some.empty:
            show_message(axes, "not identified")
    date_axis(axes, crawls)
    return figure


def survival_and_coverage_by_crawl_caption(per_crawl: pd.DataFrame, crawls: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    rows = per_crawl[per_crawl["estimator"] == "cormack_jolly_seber"]
    ranges = []
    for quantity, name, preposition in (("alpha", "Survival α", "after"), ("coverage", "Coverage c", "in")):
        known = rows[(rows["quantity"] == quantity) & rows["se"].notna()].merge(crawls[["crawl", "years"]], on="crawl")
        known = known.sort_values("years")
        known = (known.head(-_ENDS) if len(known) > _ENDS else known).sort_values("estimate")
        ends = (
            [
                f"{with_interval(row, 'estimate')} {preposition} {plain_text(row['crawl'])}"
                for row in known.iloc[[0, -1]].to_dict("records")
            ]
            if len(known)
            else []
        )
        if ends:
            ranges.append(f"{name} ranges from {' to '.join(ends)}.")
    found = " ".join(ranges) or "Survival and coverage are not identified, so no estimates are reported."
    crosses = " Crosses: at bound, no interval." if rows.loc[rows["se"].isna(), "estimate"].notna().any() else ""
    hollow = (
        f" Hollow: the last {_ENDS} estimates, where a poor last crawl looks like a fall in survival; the ranges leave "
        "them out."
    )
    bars = f" Bars and parentheses: 95 % confidence intervals.{hollow}{crosses}" if ranges else ""
    text = f"{crawl_range(crawls)}. {found}{bars} The model has one class of {elements()}, so both include any core."
    return text, f"Two panels over time, survival and coverage of every crawl with error bars. {found}"
