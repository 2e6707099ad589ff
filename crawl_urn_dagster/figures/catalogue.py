"""List the figures of a collection, and draw and caption them by name.

The modules that draw (one per subject) are imported when a figure is drawn. Does not write files (`files`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from crawl_urn_dagster.entry_points import load_entry_point
from crawl_urn_dagster.observables.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from crawl_urn_dagster.config.collection import Collection


@dataclass(frozen=True)
class Entry:
    """Description of a figure; in its module, ``<name>`` draws it and ``<name>_caption`` describes it.

    Both functions take the tables in order. The first also takes ``title``, the name of the collection, and returns the
    figure. The second returns the caption and the alternative text.

    Parameters
    ----------
    module
        Module of this package; the absolute name of a module of another package, if the figure is its own.
    shows
        First sentence of the caption.
    tables
        Tables that the figure needs, in the order of the functions' arguments.
    optional_tables
        Tables that the figure also shows if the collection has them; keyword arguments.
    has_parameters
        Whether the figure shows parameters; if so, it is not drawn if the headline is not reported.
    needs_strata
        Whether the figure is drawn only for collections with strata.
    needs_ranks
        Whether the figure is drawn only for collections whose strata are rank bands.
    has_clock
        Whether the functions take the clock as an argument.
    entry_point
        Entry point of another package that adds the figure; only collections that name it have the figure. None: a
        figure of this package.
    """

    module: str
    shows: str
    tables: tuple[str, ...]
    optional_tables: tuple[str, ...] = ()
    has_parameters: bool = False
    needs_strata: bool = False
    needs_ranks: bool = False
    has_clock: bool = False
    entry_point: str | None = None


_FIT_OPTIONS: dict[str, Any] = {
    "optional_tables": ("containment", "discovery_curve", "truth"),
    "has_parameters": True,
    "has_clock": True,
}

#: Figures by name, in reading order: observables, then estimates.
CATALOGUE = {
    "discovery_heat_map": Entry(
        "observed", "Distinct elements U(s, T) by start crawl and window length.", ("crawls", "discovery_curve")
    ),
    "discovery_curves_by_start": Entry(
        "observed",
        "Discovery curves divided by the size of their start crawl, one line per start crawl.",
        ("crawls", "discovery_curve"),
    ),
    "containment_by_lag": Entry("observed", "Containment of every pair of crawls by lag.", ("crawls", "containment")),
    "overlap_matrix": Entry("overlaps", "Overlap of every pair of crawls.", ("crawls", "containment")),
    "losses_by_crawl": Entry(
        "overlaps",
        "Elements of the crawl before that each crawl lacks: some are gone, and it only missed the others.",
        ("containment", "crawls", "quantities", "population"),
    ),
    "completeness_by_crawl": Entry(
        "population", "Known eligible elements, and the part that each crawl captured.", ("population", "crawls")
    ),
    "survival_and_coverage_by_crawl": Entry(
        "diagnostics", "Cormack-Jolly-Seber estimates of survival and coverage of every crawl.", ("per_crawl", "crawls")
    ),
    "element_reliability": Entry(
        "elements",
        "Predicted and observed captures of single elements in held-out crawls.",
        ("element_calibration", "element_scores"),
    ),
    "archive_overlap": Entry("archives", "Overlap with other archives, and the coverage of each.", ("cross_archive",)),
    "ground_truth_by_window": Entry(
        "ground_truth",
        "Eligible elements and coverage by rolling window, next to the operator's counters.",
        ("ground_truth_comparison", "parameters", "crawls"),
    ),
    "forecast_fan": Entry(
        "forecast",
        "Forecast of new and distinct elements, and outcome of an earlier forecast.",
        ("forecast", "crawls", "discovery_curve"),
        optional_tables=("adequacy_tests",),
    ),
    "parameters_by_stratum": Entry(
        "strata",
        "Parameters of each stratum, with 95 % confidence intervals and status.",
        ("parameters",),
        needs_strata=True,
    ),
    "rank_profile": Entry(
        "strata",
        "Parameters of rank bands by rank, with 95 % confidence intervals, alone and partially pooled.",
        ("parameters",),
        optional_tables=("stratum_profile",),
        needs_ranks=True,
    ),
    "fates_of_an_element": Entry(
        "fates", "Captured, missed and replaced elements in the selected fit.", ("parameters",), has_parameters=True
    ),
    "homogeneous_fits": Entry(
        "fitted", "The homogeneous urn fitted to each observable.", ("parameters", "crawls"), **_FIT_OPTIONS
    ),
    "core_shell_fits": Entry(
        "fitted", "The core–shell urn fitted to each observable.", ("parameters", "crawls"), **_FIT_OPTIONS
    ),
    "identifiability": Entry(
        "diagnostics", "Profile of κ: best fit at each fixed κ, by observable.", ("kappa_profile",), has_parameters=True
    ),
    "residuals_by_lag": Entry(
        "diagnostics",
        "Residuals of the joint fit by lag, compared with their expected variation.",
        ("diagnosis",),
        has_parameters=True,
    ),
    "parameters_over_time": Entry(
        "drift",
        "Joint fit in rolling windows of crawls, with 95 % confidence intervals and drift.",
        ("parameter_history", "drift", "crawls"),
        has_parameters=True,
    ),
    "control_charts": Entry(
        "drift",
        "Control charts of core, survival, coverage, completeness and population.",
        ("control_chart", "drift", "crawls"),
        optional_tables=("population",),
        has_parameters=True,
    ),
    "planning_curves": Entry(
        "forecast",
        "Captured share of the shell and cost at other coverages and cadences.",
        ("planning", "parameters"),
        has_parameters=True,
    ),
}


def own_figure(entry_point: str) -> str:
    """Return the name of the figure that an entry point of another package adds: what follows the last dot."""
    return entry_point.rpartition(".")[2]


def register_entry_points(own_figures: Iterable[str]) -> None:
    """Add the figures of entry points of other packages to the catalogue, each once.

    Raises
    ------
    ValueError
        If no installed package has one of them, its object is not an `Entry`, or its name is taken.
    """
    for entry_point in own_figures:
        name = own_figure(entry_point)
        entry = replace(load_entry_point("figures", entry_point, Entry), entry_point=entry_point)
        if CATALOGUE.setdefault(name, entry) != entry or name in TABLES:
            raise ValueError(f"names {entry_point!r}, but there is another {name}; give the figure another name")


#: Names of the figures that are not drawn if the headline is not reported.
PARAMETER_FIGURES = tuple(name for name, entry in CATALOGUE.items() if entry.has_parameters)


class Caption(NamedTuple):
    """Description of a figure.

    Attributes
    ----------
    title
        The collection and the name of the figure.
    text
        A few sentences with the numbers of the collection and the meaning of the marks.
    alt
        One or two sentences for a reader who cannot see the figure.

    Examples
    --------
    >>> from crawl_urn_dagster.figures import Caption
    >>> Caption("demo: containment", "Containment by lag. Mean at lag 1: 0.741.", "A falling curve.").alt
    'A falling curve.'
    """

    title: str
    text: str
    alt: str


def drawable(tables: Container[str], *, strata: bool = False, ranks: bool = False) -> list[str]:
    """Return the names of the figures that can be drawn from some tables.

    Parameters
    ----------
    tables
        Names of the tables, or a mapping from names to tables.
    strata
        Whether the collection has strata.
    ranks
        Whether its strata are rank bands.

    Returns
    -------
    list of str
        Names in `CATALOGUE`, in its order.

    Examples
    --------
    >>> from crawl_urn_dagster.figures import drawable
    >>> drawable({"crawls", "containment"})
    ['containment_by_lag', 'overlap_matrix']
    """
    return [
        name
        for name, entry in CATALOGUE.items()
        if entry.entry_point is None
        and all(table in tables for table in entry.tables)
        and (strata or not entry.needs_strata)
        and (ranks or not entry.needs_ranks)
    ]


class FigureLabels(TypedDict):
    """Keyword arguments of `draw`, `caption` and `inputs_digest` that a collection determines."""

    title: str
    clock: str
    noun: str


def figure_labels(collection: Collection) -> FigureLabels:
    """Return the labels that the figures of a collection share."""
    return {
        "title": f"{collection.name} ({collection.granularity})",
        "clock": collection.clock,
        "noun": collection.noun,
    }


def draw(
    name: str, frames: Mapping[str, pd.DataFrame], *, title: str, clock: str, noun: str = "element", columns: int = 2
) -> Figure:
    """Draw a figure.

    Parameters
    ----------
    name
        Name in `CATALOGUE`.
    frames
        Tables by name: those of the entry, and its optional ones if the collection has them.
    title
        Name of the collection, for example ``us_gov_hosts (host)``.
    clock
        ``crawl`` or ``year``: which fits are shown.
    noun
        Noun for an element, in the singular.
    columns
        Width of the figure in columns of a journal page, 1 or 2.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from crawl_urn_dagster.figures import draw
    >>> frames = {
    ...     "crawls": pd.DataFrame({"started_at": pd.to_datetime(["2024-01-01", "2024-02-01"]), "years": [0, 0.085]}),
    ...     "containment": pd.DataFrame({"lag_crawls": [1], "lag_years": [0.085], "containment": [0.74]}),
    ... }
    >>> figure = draw("containment_by_lag", frames, title="demo", clock="crawl")
    >>> figure.axes[0].get_xlabel()
    'lag (years)'
    """
    from crawl_urn_dagster.figures.style import page_columns, replace_element_noun

    with page_columns(columns), replace_element_noun(noun):
        drawn: Figure = _call(name, name, frames, clock, title=title)
    return drawn


def caption(name: str, frames: Mapping[str, pd.DataFrame], *, title: str, clock: str, noun: str = "element") -> Caption:
    """Describe a figure that `draw` draws from the same tables.

    Parameters
    ----------
    name, frames, title, clock, noun
        As in `draw`.

    Returns
    -------
    Caption

    Examples
    --------
    >>> import pandas as pd
    >>> from crawl_urn_dagster.figures import caption
    >>> frames = {
    ...     "crawls": pd.DataFrame({"started_at": pd.to_datetime(["2024-01-01", "2024-02-01"]), "years": [0, 0.085]}),
    ...     "containment": pd.DataFrame({"lag_crawls": [1], "containment": [0.74]}),
    ... }
    >>> caption("containment_by_lag", frames, title="demo", clock="crawl").alt
    'Pairs of crawls as points by lag in years, with a curve of means. Mean containment is 0.740 at lag 1 (1 pair).'
    """
    from crawl_urn_dagster.figures.style import replace_element_noun

    with replace_element_noun(noun):
        text, alt = _call(name, f"{name}_caption", frames, clock)
    shows = CATALOGUE[name].shows.replace("element", noun)
    return Caption(f"{title}: {name.replace('_', ' ')}", f"{shows} {text}", alt)


def inputs_digest(
    name: str, frames: Mapping[str, pd.DataFrame], *, title: str, clock: str, noun: str = "element"
) -> str:
    """Return a digest of the version of the package and of everything that `draw` draws a figure from.

    Parameters
    ----------
    name, frames, title, clock, noun
        As in `draw`.
    """
    import pandas as pd

    digest = sha256(repr((version("crawl-urn-dagster"), name, title, clock, noun)).encode())
    entry = CATALOGUE[name]
    for table in (*entry.tables, *(table for table in entry.optional_tables if table in frames)):
        digest.update(repr((table, list(frames[table].columns))).encode())
        digest.update(pd.util.hash_pandas_object(frames[table], index=False).to_numpy().tobytes())
    return digest.hexdigest()


def _call(name: str, function: str, frames: Mapping[str, pd.DataFrame], clock: str, **options: object) -> Any:
    """Call a function of a figure's module with the tables of the figure."""
    entry = CATALOGUE[name]
    optional = {table: frames[table] for table in entry.optional_tables if table in frames}
    clock_option = {"clock": clock} if entry.has_clock else {}
    module = import_module(f"{__package__}.{entry.module}" if entry.entry_point is None else entry.module)
    return getattr(module, function)(*(frames[table] for table in entry.tables), **optional, **clock_option, **options)
