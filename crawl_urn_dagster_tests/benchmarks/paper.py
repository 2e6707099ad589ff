"""Go through the claims of the paper and its predecessor: the tables and the figure of docs/paper/README.md.

Run ``python -m crawl_urn_dagster_tests.benchmarks.paper`` to print the tables, or with ``--write`` to write them into
the page and to draw the figure. The numbers that `computed` returns come from formulas and from excerpts in
``crawl_urn_dagster_tests/data``. A test recomputes them and compares the page with the result, so a number that moves
fails the build. Numbers of other data come from pages of the documentation whose own tests recompute them; the table
links to these.
"""

import csv
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from crawl_urn_dagster.figures.style import Colour, in_style, new_figure
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_counts, unions_matrix
from crawl_urn_dagster.urn import CoreShellUrn, CountingError, Urn, find_regimes, recaptures_from_unions
from crawl_urn_dagster.urn.curves.conversions import core_share_from_kappa, kappa_from_core_share
from crawl_urn_dagster.urn.open_population.classes import PopulationClass
from crawl_urn_dagster.urn.open_population.really_new import bound_really_new
from crawl_urn_dagster_tests.benchmarks.ground_truth import fit_between

EXCERPTS = Path(__file__).parents[1] / "data"
PAGE = Path(__file__).parents[2] / "docs" / "paper" / "README.md"
PICTURE = PAGE.with_name("figures.svg")
START, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"
MAP_START, MAP_END = "<!-- begin of the map -->\n", "<!-- end of the map -->\n"
MAP_HEADER = "| figure of the paper | printed | here | figure here | verdict |\n|---|---|---|---|---|\n"
# Figures of this package by the beginning of an item of `CLAIMS`.
DRAWN_BY = {
    "Fig. 1": "`fates_of_an_element`",
    "Fig. 2:": "`dashboard`, sizes",
    "Fig. 2a": "`discovery_heat_map`",
    "Fig. 2b": "`discovery_curves_by_start`",
    "Fig. 3": "`homogeneous_fits`",
    "Fig. 4: both": "`core_shell_fits`, `identifiability`",
    "Fig. 4: c": "`core_shell_fits`, `residuals_by_lag`",
    "Fig. 5a": "`core_shell_fits`, right",
    "Fig. 5b": "`core_shell_fits`, left",
}
KAPPA, ALPHA, COVERAGE = 0.4, 0.75, 0.6
HEADER = "| item | printed | here | data and command | verdict |\n|---|---|---|---|---|\n"


def published():
    """Return tables `crawls` and `discovery_curve` of the 51 crawls of the paper, dated by the week of their label."""
    with (EXCERPTS / "url_last_n_crawls_2020_2025.csv").open() as file:
        header, *rows = csv.reader(file)
    labels = [row[0] for row in rows]
    windows = [
        (labels[end - int(length) + 1], label, int(length), int(cell))
        for end, (label, *cells) in enumerate(rows)
        for length, cell in zip(header[1:], cells, strict=True)
        if cell != "nan" and int(length) <= end + 1
    ]
    frame = pd.DataFrame(windows, columns=["start_crawl", "end_crawl", "window_crawls", "distinct_elements"])
    size = frame[frame["window_crawls"] == 1].set_index("start_crawl")["distinct_elements"]
    weeks = [label.removeprefix("CC-MAIN-") for label in labels]
    started = [pd.Timestamp.fromisocalendar(int(week[:4]), int(week[5:]), 1) for week in weeks]
    dated = {"crawl": labels, "started_at": started, "elements": size.loc[labels].to_numpy(), "dated_by": "iso_week"}
    crawls = crawls_table(pd.DataFrame(dated))
    return crawls, tables_from_counts(crawls, None, frame, CountingError(0.008))["discovery_curve"]


def mean_counter(first, last):
    """Return the mean of fetched plus not modified URLs of the CrawlDB over some crawls, in billions."""
    table = pd.read_csv(EXCERPTS / "crawldb_status_2020_2025.csv").set_index("crawl")
    rows = table.loc[f"CC-MAIN-{first}" : f"CC-MAIN-{last}"]
    return float((rows["fetched"] + rows["notmodified"]).mean() / 1e9)


def formula_numbers():
    """Return numbers that follow from formulas alone, by name."""
    urn, both, t = Urn(ALPHA, COVERAGE), CoreShellUrn(KAPPA, ALPHA, COVERAGE), np.arange(60)
    shell = PopulationClass("shell", np.ones(51), np.full(50, ALPHA), np.full(51, COVERAGE))
    really_new = bound_really_new([shell])
    terms, fates, end = urn.operator_terms(), urn.fates(), urn.asymptote()
    # New elements of each crawl by the recursion: an element was seen before if it was captured since it appeared.
    seen = [0.0]
    for _ in t[1:]:
        seen.append(ALPHA * (seen[-1] + (1 - seen[-1]) * COVERAGE))
    recursion = np.cumsum(1 - np.array(seen))
    resolved = 1 - fates.missed
    steps = np.diff(both.discovery_curve(t)) - (1 - both.core_share) * np.diff(both.shell.discovery_curve(t))
    listed = KAPPA + (1 - KAPPA) * COVERAGE
    return {
        "resolved": f"αc̄ = {fates.missed:.2f}; resolved {resolved:.2f} per crawl, "
        f"{1 - fates.missed**2:.2f} within 2 crawls; followed {_followed(1):.2f} and {_followed(2):.2f}",
        "core_terms": f"survival {both.core.alpha:.0f}, ℓ = {both.core.operator_terms().life_expectancy}",
        "ridge": _ridge(both),
        "increments": "an urn without a core whose crawls have "
        f"{1 - both.core_share:.3f} of the size has the same increments; largest difference {max(abs(steps)):.10f}",
        "petersen": "Petersen on two crawls gives "
        + " and ".join(f"{listed / both.containment(lag):.2f} N at a lag of {lag}" for lag in (1, 10)),
        "half_life": f"{terms.half_life:.2f} crawls of eligibility, residual lifetime {terms.life_expectancy:.2f}",
        "dictionary": f"ℓ = {terms.life_expectancy:.2f}, τ_h = {terms.resolution_time:.2f} crawls, "
        f"ν∞ = {terms.nu_inf:.3f}, ρ∞ = {terms.rho_inf:.3f}",
        "fates": " + ".join(f"{fate:.2f}" for fate in fates) + f" = {sum(fates):.2f}",
        "geometric": f"g(3)/g(2) = {urn.containment(3) / urn.containment(2):.2f} = α",
        "recursion": f"largest difference in 60 crawls {max(abs(recursion - urn.discovery_curve(t))):.10f}",
        "asymptote": f"U(59) = {urn.discovery_curve(59):.3f}; line {end.nu_inf * 59 + end.intercept:.3f}",
        "terms": f"{terms.sampled_time:.2f} + {terms.hidden_time:.2f} = {terms.life_expectancy:.2f} crawls",
        "floor": f"g(59) = {both.containment(59):.3f}; printed form {both.containment(59, 'paper'):.3f}",
        "really_new": f"all of them at most; in the model {really_new.fitted:.2f}, over the assumptions "
        f"{really_new.lowest:.2f} to {really_new.highest:.2f}; `us_gov_hosts` 0.54 (0.11 to 1.00)",
        "share": f"μ = {core_share_from_kappa(KAPPA, COVERAGE):.3f} for κ = 0.4, c = 0.6",
        "mixture": f"U(1)/M = {both.discovery_curve(1):.3f}",
        "kappa_g": f"κ = {kappa_from_core_share(0.4, 0.78):.3f} if the printed 0.4 is μ and c = 0.78",
    }


def _followed(n_crawls):
    """Return the share of missed elements that are captured or lost in some crawls, followed one crawl at a time."""
    missed, resolved = 1.0, 0.0
    for _ in range(n_crawls):
        lost = missed * (1 - ALPHA)
        captured = (missed - lost) * COVERAGE
        missed, resolved = missed - lost - captured, resolved + lost + captured
    return resolved


def _ridge(urn):
    """Return how closely the discovery curve is fitted with half the core."""
    t = np.arange(51)
    curve, kappa = urn.discovery_curve(t), KAPPA / 2

    def misses(parameters):
        return CoreShellUrn(kappa, *parameters).discovery_curve(t) - curve

    fit = least_squares(misses, (ALPHA, COVERAGE), bounds=(0.01, 0.99), xtol=1e-12, ftol=1e-12)
    return (
        f"κ = {kappa:.1f} instead of {KAPPA:.1f} moves no point of U over 51 crawls by more than "
        f"{max(abs(misses(fit.x))):.3f} crawl sizes (α {fit.x[0]:.2f}, c {fit.x[1]:.2f})"
    )


def crawl_numbers():
    """Return numbers of the 51 crawls of 2020 to 2025, by name."""
    crawls, curve = published()
    size = crawls["elements"].astype(float) / 1e9
    near = curve[(curve["elapsed_years"] >= 0.85) & (curve["elapsed_years"] <= 1.0)]["ratio"]
    unions = unions_matrix(crawls, curve)
    regimes = find_regimes(np.diagonal(unions), recaptures_from_unions(unions))
    first, last = regimes[0], regimes[-1]
    found = {
        "sizes": f"{len(crawls)} crawls, {size.min():.2f} to {size.max():.2f} billion URLs, mean {size.mean():.2f}",
        "collapse": f"{near.min():.2f} to {near.max():.2f} crawl sizes in {len(near)} windows of 0.85 to 1.0 year",
        "returns": f"h(1) = {first.fraction[0]:.3f}, h(2) = {first.fraction[1]:.3f} until {_week(crawls, first.last)}; "
        f"h(3) = {last.fraction[2]:.3f} is the largest since",
    }
    for name, window in (("early", ("2020-05", "2021-49")), ("late", ("2023-50", "2025-51"))):
        _, urn = fit_between(*window, (crawls, curve))
        found[name] = (
            f"{window[0]} to {window[1]}: N = {urn['urn_size']:.2f} ({urn['urn_size_low']:.2f} to "
            f"{urn['urn_size_high']:.2f}) billion; CrawlDB {mean_counter(*window):.2f}"
        )
    return found


def _week(crawls, position):
    return crawls["crawl"].iloc[position].removeprefix("CC-MAIN-")


def computed():
    """Return every number that the page recomputes, by name."""
    return formula_numbers() | crawl_numbers()


# Item, what is printed, name in `computed` or text, data and command, verdict.
CLAIMS = (
    ("Fig. 1: fates of an element", "αc + αc̄ + ᾱ = 1", "fates", "formula, α = 0.75, c = 0.6", "confirmed"),
    ("persists unseen, resolved rate", "αc̄, 1 − αc̄", "resolved", "formula, and missed elements followed by crawl",
     "confirmed"),
    ("eq. 1: containment", "g = cα^Δ, a line on a logarithmic axis", "geometric", "formula", "confirmed"),
    ("recurrence of ρ, closed form of U", "boxed", "recursion", "recursion against `Urn.discovery_curve`", "confirmed"),
    ("asymptote, intercept, τ_h and their inversion", "U → ν∞ t + I", "asymptote", "formula", "confirmed"),
    ("ℓ, η, η̄ and identities", "cℓ + (1−c)ℓ = ℓ", "terms", "`Urn.operator_terms`", "confirmed"),
    ("containment of core and shell", "κ + (1−κ)cα^Δ, floor κ", "floor", "formula and [simulation](../mathematics.md)",
     "refuted: the floor is the core share μ"),
    ("core share", "not separated from κ", "share", "formula", "corrected"),
    ("U of core and shell", "boxed", "mixture", "formula and [simulation](../mathematics.md)", "confirmed"),
    ("core in operator terms", "ℓ of the core is infinite", "core_terms", "formula; table `operator_terms`",
     "confirmed"),
    ("identifiability", "a ridge", "ridge",
     "least squares; table `kappa_profile`, figure `identifiability`", "confirmed"),
    ("increments of U give κ → 0", "a check", "increments",
     "formula; projection `discovery_increments`", "corrected"),
    ("transient against tail as the first sign of a misfit", "stated",
     "found in 7 of 8 urns with a core fitted without one, in 0 of 8 with two shells; `lack_of_fit` in all 16",
     "test `transient_tail`, [diagnosis.md](../diagnosis.md)",
     "corrected: a sign of a missing core, not the first sign of an uneven shell"),
    ("Fig. 2: 51 crawls of 2 to 3 billion URLs", "2020 to 2025", "sizes", "excerpt of `url_last_n_crawls.csv`",
     "confirmed for the mean; single crawls are larger"),
    ("Fig. 2a: distinct URLs by window", "heat map", "same table, figure `discovery_heat_map`",
     "`examples/common_crawl_urls.yaml`", "confirmed"),
    ("Fig. 2b: scaling collapses the curves of all starts", "one curve", "collapse",
     "excerpt of `url_last_n_crawls.csv`", "refuted"),
    ("constant coverage of URLs", "urn", "returns", "excerpt of `url_last_n_crawls.csv`",
     "refuted: the crawler skips URLs that it fetched recently"),
    ("no external ground truth is needed", "stated", "early", "excerpts; [ground_truth.md](../ground_truth.md)",
     "refuted for this window, unless the counter includes URLs that are no longer eligible"),
    ("no external ground truth is needed", "stated", "late", "excerpts; [ground_truth.md](../ground_truth.md)",
     "confirmed for this window"),
    ("Fig. 3: domains follow a homogeneous urn", "both projections", "–",
     "`examples/common_crawl_domains.yaml`", "not testable here: it needs a domain list or a sketch of every crawl"),
    ("Fig. 4: both projections give κ ≈ 0.4 for domains", "0.4 and 0.4", "kappa_g", "formula",
     "corrected: if κ_g is a μ, the two are 0.34 and 0.4"),
    ("Fig. 4: c ≈ 0.78 and a gap in c", "0.78", "–", "–",
     "not testable here: it needs domain lists of the 51 crawls"),
    ("Fig. 5a: U of the German Academic Web", "curve", "–", "–",
     "not testable here: only pairs are published, it needs lists"),
    ("Fig. 5b: (κ, α, c) of the German Academic Web", "(0.06, 0.62, 0.51)", "gaw",
     "`gaw` pairs, [fits.md](../fits.md)", "confirmed within wide intervals; κ of the printed form is a μ"),
    ("predecessor (arXiv 2603.15416): c of the German Academic Web", "0.46, 15 crawls",
     "0.510 (0.160 to 0.850), homogeneous, 10 crawls", "`gaw` pairs", "confirmed within a wide interval"),
    ("α belongs to the web, c to the operator", "conjecture", "table and page of `comparison` show both", "–",
     "not testable here: it needs two operators that crawl one web"),
    ("no rebirth; dormancy belongs to hidden time", "assumption",
     "`us_gov_hosts`: verdict `temporary_absence`, model `markov_3`", "[python.md](../python.md)",
     "refuted for the lists examined"),
    ("heterogeneous shell", "follow-up", "two shells, beta shell, unequal coverage in histories",
     "[fits.md](../fits.md)", "corrected where lists exist"),
    ("rank-resolved κ(r)", "follow-up", "by bands of rank, partially pooled; cutting by rank selects",
     "table `stratum_profile`, [strata.md](../strata.md)", "not testable here beyond the 1,000 best ranks"),
    ("change of rank, drift μ(r), diffusion D(r), balance of flux", "follow-up",
     "best 1,000 domains: flux balanced, D from 0.32 (ranks 1 to 50) to 0.04 (201 to 500)",
     "table `rank_changes`, [strata.md](../strata.md)",
     "not testable here beyond the 1,000 best ranks: it needs ranks of all domains"),
    ("data: CC index, host index, counts, sketches, ranks", "named", "a source for each",
     "[sources.md](../sources.md)", "confirmed in form; layouts are tested on simulated files"),
    ("levers: host budget, threshold, deletion", "named", "changes of the CrawlDB are found when they happen",
     "[ground_truth.md](../ground_truth.md)", "not testable here: it needs the crawler's settings"),
    ("Petersen, Lincoln, Chapman, Schnabel, Chao, Good–Turing, Heaps", "related work",
     "petersen", "formula; table `comparators`", "confirmed as related, biased here"),
    ("two engines (Bharat–Broder, Lawrence–Giles)", "related work",
     "Petersen on 78 pairs of lists is 0.27 to 0.85 of the truth, median 0.60", "[archives.md](../archives.md)",
     "refuted as an estimate, useful as a bound"),
    ("Pólya, Kolchin, Vanni: occupancy", "related work", "closed forms only", "–", "not a claim on data"),
    ("Common Crawl statistics: hosts, language, suffixes, overlap", "related work", "domains, hosts and suffixes",
     "`common_crawl_statistics`", "not testable here for languages and page overlap: not in the tables"),
    ("exclusion and skew (Stolz–Hepp, Baack, Dodge)", "related work", "–", "–",
     "not testable here: it needs content or policies"),
    ("comparability of crawls (Thompson)", "related work", "`comparison` lists what makes a comparison unfair",
     "report", "confirmed in part"),
    ("change and freshness (Cho, Brewington, Olston)", "related work", "–", "–",
     "not testable here: it needs digests of every crawl"),
    ("really new pages (Toyoda–Kitsuregawa)", "related work",
     "really_new", "formula, α = 0.75, c = 0.6, 51 crawls; quantity `really_new`, [python.md](../python.md)",
     "confirmed as bounds: the data determine which elements a crawl captures first, not which are really new"),
    ("half-life of URLs (Koehler, Gomes)", "related work", "half_life",
     "formula; column `half_life` of table `operator_terms`",
     "not testable here: it needs dates of death"),
    ("corpora (C4, Pile, OSCAR, RefinedWeb, RedPajama, Dolma, FineWeb, DCLM, Nemotron-CC, CommonLID)", "motivation",
     "–", "–", "not testable here: it needs the URLs of the corpora"),
    ("dictionary of the conclusion", "crawl terms", "dictionary",
     "formula; tables `operator_terms`, `comparison`", "confirmed"),
)  # fmt: skip


def table(numbers):
    """Return the table of the page as Markdown, with the numbers of `computed`."""
    known = _with_gaw(numbers)
    rows = [
        f"| {item} | {printed} | {known.get(here, here)} | {data} | {verdict} |\n"
        for item, printed, here, data, verdict in CLAIMS
    ]
    return HEADER + "".join(rows)


def figure_map(numbers):
    """Return the claims of the paper's figures as Markdown, with the figure of this package that shows the same."""
    known = _with_gaw(numbers)
    rows = [
        f"| {item} | {printed} | {known.get(here, here)} | {drawn} | {verdict} |\n"
        for start, drawn in DRAWN_BY.items()
        for item, printed, here, _, verdict in CLAIMS
        if item.startswith(start)
    ]
    return MAP_HEADER + "".join(rows)


def _gaw_estimates():
    """Return κ, α and c of the German Academic Web with their intervals, as the page on fits states them."""
    lines = (PAGE.parents[1] / "fits.md").read_text().splitlines()
    row = next(line for line in lines if line.startswith("| exact, per crawl"))
    return [cell.strip() for cell in row.split("|")[2:5]]


def _with_gaw(numbers):
    kappa, alpha, coverage = _gaw_estimates()
    return {**numbers, "gaw": f"κ {kappa}, α {alpha}, c {coverage}; exact, per crawl"}


class Mark(NamedTuple):
    """A quantity of a figure of the paper: the printed range, and the value and range here; NaN where it is unknown."""

    label: str
    printed: tuple[float, float]
    here: tuple[float, float, float]


def share_marks():
    """Return the parameters that the paper prints with Figures 4 and 5."""
    none = (np.nan,) * 3
    gaw = [tuple(float(number) for number in re.findall(r"[\d.]+", text)) for text in _gaw_estimates()]
    return [
        Mark("Fig. 4, κ from containment", (0.4, 0.4), (kappa_from_core_share(0.4, 0.78), np.nan, np.nan)),
        Mark("Fig. 4, κ from U", (0.4, 0.4), none),
        Mark("Fig. 4, c", (0.78, 0.78), none),
        *(
            Mark(f"Fig. 5b, {name}", (printed, printed), here)
            for name, printed, here in zip("καc", (0.06, 0.62, 0.51), gaw, strict=True)
        ),
    ]


def size_marks():
    """Return what Figure 2 shows of the 51 crawls: their sizes, and how far scaled curves of all starts differ."""
    crawls, curve = published()
    size = crawls["elements"].astype(float) / 1e9
    near = curve[(curve["elapsed_years"] >= 0.85) & (curve["elapsed_years"] <= 1.0)]["ratio"]
    return [
        Mark("Fig. 2, billion URLs\nin a crawl", (2, 3), (size.mean(), size.min(), size.max())),
        Mark("Fig. 2b, U after a year\n(printed: one curve)", (np.nan,) * 2, (near.mean(), near.min(), near.max())),
    ]


@in_style
def draw_map():
    """Draw the printed numbers of the paper's figures next to those of this package, and return the figure."""
    figure = new_figure(height=2.8, title="The paper's figures", heading="printed numbers, and those of this package")
    shares, sizes = figure.subplots(1, 2, width_ratios=[3, 2])
    _draw_marks(shares, share_marks(), "fraction")
    _draw_marks(sizes, size_marks(), "billion URLs, or crawl sizes")
    shares.set_xlim(0, 1)
    figure.legend(*shares.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _draw_marks(axes, marks, title):
    """Draw printed ranges as open diamonds above the values and ranges here."""
    for height, mark in enumerate(reversed(marks)):
        first = height == len(marks) - 1
        label = "printed" if first else None
        white = {"markerfacecolor": "white", "markersize": 5}
        axes.plot(mark.printed, [height + 0.15] * 2, "D-", color=Colour.TRUTH, label=label, **white)
        value, *ends = mark.here
        label = "here, with its interval or range" if first else None
        axes.plot(ends, [height - 0.15] * 2, "-", color=Colour.JOINT)
        axes.plot(value, height - 0.15, "o", color=Colour.JOINT, label=label)
        if np.isnan(value):
            axes.text(mark.printed[0], height - 0.25, "not testable here", va="center", ha="center", fontsize="small")
    axes.set_yticks(range(len(marks)), [mark.label for mark in reversed(marks)])
    axes.set_ylim(-0.6, len(marks) - 0.4)
    axes.set_xlim(left=0)
    axes.set_xlabel(title)


def _between(text, start, end, new):
    before, rest = text.split(start)
    return before + start + new + end + rest.split(end)[1]


if __name__ == "__main__":
    found = computed()
    if "--write" in sys.argv:
        page = _between(PAGE.read_text(), MAP_START, MAP_END, figure_map(found))
        PAGE.write_text(_between(page, START, END, table(found)))
        draw_map().savefig(PICTURE, metadata={"Date": None})
    else:
        print(figure_map(found), table(found), sep="\n")
