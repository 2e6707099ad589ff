"""Draw the figures of a fit by name, with names that shells complete.

Does not define figures; see `catalogue`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from crawl_urn_dagster.figures.catalogue import CATALOGUE, draw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure


class Plots:
    """Figures of a fit: ``plots(name)`` draws one, and so does a method with its name.

    Parameters
    ----------
    tables
        Tables of the contract by name.
    names
        Names of the figures that these tables allow.
    clock
        Clock of the headline.
    unreported
        Why no parameters are reported; None if they are.

    Examples
    --------
    >>> from crawl_urn_dagster.figures.plots import Plots
    >>> "containment_by_lag" in dir(Plots({}, ["containment_by_lag"], "crawl", None))
    True
    """

    def __init__(
        self, tables: Mapping[str, pd.DataFrame], names: Sequence[str], clock: str, unreported: str | None
    ) -> None:
        self._tables, self._names, self._clock, self._unreported = tables, tuple(names), clock, unreported

    def __call__(self, name: str = "core_shell_fits", *, title: str = "crawls") -> Figure:
        """Draw a figure.

        Parameters
        ----------
        name
            One of `CrawlFit.figures`.
        title
            Name of the crawls, for the first line of the figure.

        Raises
        ------
        ValueError
            When there is no such figure of these crawls, or its parameters are not reported.
        """
        if name not in self._names:
            why = f" because {self._unreported}" if self._unreported and name in CATALOGUE else ""
            raise ValueError(f"{name!r} is not drawn{why}; the figures of these crawls are {', '.join(self._names)}")
        figure = draw(name, self._tables, title=title, clock=self._clock)
        # The caller saves it with other settings, whose ticks need other margins.
        figure.set_layout_engine("constrained")
        return figure

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names]

    def __getattr__(self, name: str) -> Callable[..., Figure]:
        # Python looks up private names while it copies an object that has no attributes yet.
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"{name!r} is not a figure of these crawls")
        return partial(self, name)
