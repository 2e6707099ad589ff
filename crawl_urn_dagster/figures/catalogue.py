"""Which figures there are: what each shows, the tables it is drawn from, and how it is drawn and captioned by name.

Here: one entry per figure, and drawing and captioning through it. Not here: how a figure is drawn or what its caption
says (one module per subject), or files (`files`). Nothing that draws is loaded before something is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Entry:
    """One figure: in its module, a function of its name draws it and one named ``<name>_caption`` describes it.

    Parameters
    ----------
    module
        Of this package.
    shows
        One line, the beginning of the caption.
    tables
        That it is drawn from, in the order of the functions' arguments.
    optional_tables
        That are shown as well where a collection has them; keyword arguments.
    of_parameters
        Whether it shows parameters of the collection: it is withheld together with the headline.
    of_strata
        Whether it is one of collections that have strata.
    of_ranks
        Whether it is one of collections whose strata are bands of ranks.
    on_clock
        Whether the functions take the clock.
    """

    module: str
    shows: str
    tables: tuple[str, ...]
    optional_tables: tuple[str, ...] = ()
    of_parameters: bool = False
    of_strata: bool = False
    of_ranks: bool = False
    on_clock: bool = False


_OBSERVABLES_OF_FITS = ("containment", "discovery_curve", "truth")

#: By name, in the order of a reader: observables, then what is concluded from them.
CATALOGUE = {
    "discovery_heat_map": Entry(
        "observed", "Distinct elements U(s, T) by start crawl and window.", ("crawls", "discovery_curve")
    ),
    "discovery_curves_by_start": Entry(
        "observed",
        "Discovery curves over the size of their start crawl, one line per start crawl.",
        ("crawls", "discovery_curve"),
    ),
    "containment_by_lag": Entry("observed", "Containment of every pair of crawls by lag.", ("crawls", "containment")),
    "survival_and_coverage_by_crawl": Entry(
        "diagnostics", "Survival and coverage of every crawl by Cormack-Jolly-Seber.", ("per_crawl", "crawls")
    ),
    "forecast_fan": Entry(
        "forecast",
        "New and distinct elements of the next crawls, and how the last forecast did.",
        ("forecast", "crawls", "discovery_curve"),
    ),
    "parameters_by_stratum": Entry(
        "strata", "Parameters of each stratum, with 95 % limits and status.", ("parameters",), of_strata=True
    ),
    "rank_profile": Entry(
        "strata", "Parameters of bands of ranks over the rank, with 95 % limits.", ("parameters",), of_ranks=True
    ),
    "fates_of_an_element": Entry(
        "fates", "What becomes of elements in one round, by the headline fit.", ("parameters",), of_parameters=True
    ),
    "homogeneous_fits": Entry(
        "fitted",
        "The homogeneous urn fitted to each observable.",
        ("parameters", "crawls"),
        _OBSERVABLES_OF_FITS,
        of_parameters=True,
        on_clock=True,
    ),
    "core_shell_fits": Entry(
        "fitted",
        "The urn of core and shell fitted to each observable.",
        ("parameters", "crawls"),
        _OBSERVABLES_OF_FITS,
        of_parameters=True,
        on_clock=True,
    ),
    "identifiability": Entry(
        "diagnostics",
        "What each observable tells of the core: the best fit at each κ.",
        ("kappa_profile",),
        of_parameters=True,
    ),
    "residuals_by_lag": Entry(
        "diagnostics",
        "Residuals of the joint fit by lag, with what sampling explains.",
        ("diagnosis",),
        of_parameters=True,
    ),
    "parameters_over_time": Entry(
        "drift",
        "The joint fit in rolling windows of crawls, with 95 % limits and marks of drift.",
        ("parameter_history", "drift", "crawls"),
        of_parameters=True,
    ),
    "control_charts": Entry(
        "drift",
        "What each crawl says of core, survival and coverage, and whether their averages moved.",
        ("control_chart", "drift", "crawls"),
        of_parameters=True,
    ),
    "planning_curves": Entry(
        "forecast",
        "What other coverages and cadences would see, and at which cost.",
        ("planning", "parameters"),
        of_parameters=True,
    ),
}

#: Those that are withheld with the headline.
PARAMETER_FIGURES = tuple(name for name, entry in CATALOGUE.items() if entry.of_parameters)


class Caption(NamedTuple):
    """What is said of a figure.

    Attributes
    ----------
    title
        The collection and what is shown.
    text
        A few sentences with the numbers of this collection, and what the marks mean.
    alt
        One or two sentences for a reader who does not see the figure.
    """

    title: str
    text: str
    alt: str


def drawable(tables: Container[str], *, strata: bool = False, ranks: bool = False) -> list[str]:
    """Names of the figures that can be drawn from some tables, whose strata, if any, may be bands of ranks."""
    return [
        name
        for name, entry in CATALOGUE.items()
        if all(table in tables for table in entry.tables)
        and (strata or not entry.of_strata)
        and (ranks or not entry.of_ranks)
    ]


def draw(
    name: str, frames: Mapping[str, pd.DataFrame], *, title: str, clock: str, noun: str = "element", columns: int = 2
) -> Figure:
    """Draw a figure.

    Parameters
    ----------
    name
        One of `CATALOGUE`.
    frames
        Tables of the contract by name: those of the entry, and its optional ones where the collection has them.
    title
        The collection, for example ``us_gov_hosts (host)``.
    clock
        ``crawl`` or ``year``: which fits are shown.
    noun
        What an element is, in the singular.
    columns
        Of a journal's page, 1 or 2: how wide the figure is.
    """
    from crawl_urn_dagster.figures.style import called, page_columns

    with page_columns(columns), called(noun):
        drawn: Figure = _call(name, name, frames, clock, title=title)
    return drawn


def caption(name: str, frames: Mapping[str, pd.DataFrame], *, title: str, clock: str, noun: str = "element") -> Caption:
    """Describe a figure, as `draw` draws it from the same tables."""
    from crawl_urn_dagster.figures.style import called

    with called(noun):
        text, alt = _call(name, f"{name}_caption", frames, clock)
    shows = CATALOGUE[name].shows.replace("element", noun)
    return Caption(f"{title}: {name.replace('_', ' ')}", f"{shows} {text}", alt)


def _call(name: str, function: str, frames: Mapping[str, pd.DataFrame], clock: str, **options: object) -> Any:
    """Call a function of a figure's module with the figure's tables."""
    entry = CATALOGUE[name]
    optional = {table: frames[table] for table in entry.optional_tables if table in frames}
    on_clock = {"clock": clock} if entry.on_clock else {}
    module = import_module(f"{__package__}.{entry.module}")
    return getattr(module, function)(*(frames[table] for table in entry.tables), **optional, **on_clock, **options)
