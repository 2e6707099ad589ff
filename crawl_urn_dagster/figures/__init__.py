"""The figures: frames of the contract in, a matplotlib Figure and its caption out.

Here: the catalogue by which figures are drawn, and one module per subject with a function per figure. Not here:
computing what is shown.
"""

from crawl_urn_dagster.figures.catalogue import CATALOGUE, PARAMETER_FIGURES, Caption, caption, draw, drawable

__all__ = ["CATALOGUE", "PARAMETER_FIGURES", "Caption", "caption", "draw", "drawable"]
