"""The figures: frames of the contract in, a matplotlib Figure out.

Here: one function per figure, and how a figure becomes a file. Not here: computing what is shown.
"""

from crawl_urn_dagster.figures.fates import fates_of_an_element
from crawl_urn_dagster.figures.fitted import core_shell_fits, homogeneous_fits
from crawl_urn_dagster.figures.observed import (
    containment_by_lag,
    discovery_curves_by_start,
    discovery_heat_map,
)
from crawl_urn_dagster.figures.style import preview_png, save_figure

__all__ = [
    "containment_by_lag",
    "core_shell_fits",
    "discovery_curves_by_start",
    "discovery_heat_map",
    "fates_of_an_element",
    "homogeneous_fits",
    "preview_png",
    "save_figure",
]
