"""Figure of what becomes of an element in one round, by the fit that speaks for the collection.

Here: the bars of core and shell, or of the one urn, and their labels. Not here: the choice of that fit, or the
rates' formulas (`urn`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.figures.labels import (
    MODEL_NAMES,
    WITHHELD,
    estimates,
    fit_name,
    glossary,
    is_urn,
    number,
    status_note,
)
from crawl_urn_dagster.figures.style import (
    CONTAINMENT_COLOUR,
    DISCOVERY_COLOUR,
    LINE,
    new_figure,
    plain_text,
    style,
)
from crawl_urn_dagster.urn import Urn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BARS_HEIGHT = 2.4  # inches
_AXES_WIDTH = 4.0  # bars are one wide
_FATES = ("survives and is sampled\nα c", "survives and is missed\nα (1 − c)", "is replaced\n1 − α")
_OPACITIES = (1.0, 0.35, 0.0)
_HATCHES = ("", "", "////")
_LABEL_DISTANCE = 0.22  # least, as a fraction of a bar


@style()
def fates_of_an_element(parameters: pd.DataFrame, *, title: str) -> Figure:
    """Fates of an element over one round: survives and is sampled, survives and is missed, is replaced.

    One bar for the homogeneous urn; core and shell side by side. The colour is that of the projection that was
    fitted. When the headline fit is withheld or gave no urn, the figure says so instead.

    Parameters
    ----------
    parameters
        Table of the contract; the headline rows of all elements are shown.
    title
        The collection, for example ``us_gov_hosts (host)``.
    """
    rows = parameters[parameters["headline"].astype(bool) & parameters["stratum"].isna()].to_dict("records")
    clock = rows[0]["clock"] if rows else "round"
    lines = [f"fates of an element over one {clock}"]
    bars = []
    if not rows:
        lines.append("no fit speaks for the collection")
    else:
        fit = rows[-1]  # of the shell, or of the one urn
        crawls = f"{plain_text(fit['first_crawl'])} to {plain_text(fit['last_crawl'])}"
        lines.append(f"{MODEL_NAMES[fit['model']]}, {fit_name(fit)}, {crawls}")
        if fit["status"] in WITHHELD or not is_urn(fit):
            lines.append("withheld")
        else:
            bars = rows
            lines += [glossary(model=fit["model"], clock=clock), estimates(fit)]
        lines.append(status_note(fit))
