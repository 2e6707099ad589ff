"""Define what a module of this room states about its fit.

Does not import numpy or pandas: the code location reads the registry when it loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Bootstrap, Clock, Counts
    from crawl_urn_dagster.urn.results.result import AnyFit, FitKind

Fit = Callable[["CollectionData", "Clock"], "AnyFit"]
Refit = Callable[["AnyFit", "CollectionData", "Counts"], Mapping[str, Any]]
SupplementaryFits = Callable[["CollectionData", "Clock", "Bootstrap | None"], "Sequence[AnyFit]"]


@dataclass(frozen=True, kw_only=True)
class FitDefinition:
    """A fit that every collection gets whose tables allow it.

    Attributes
    ----------
    projection, model, form
        What is fitted to what; with the clock they identify the fit in the tables.
    label
        What it is, as a noun phrase for legends and captions.
    """

    projection: str
    model: str
    label: str
    form: str = "exact"

    @property
    def name(self) -> tuple[str, str, str]:
        """Projection, model and form."""
        return self.projection, self.model, self.form

    def is_of(self, kind: FitKind) -> bool:
        """Whether a fit is of this definition."""
        return (kind.projection, kind.model, kind.form) == self.name


@dataclass(frozen=True, kw_only=True)
class PrimaryFit(FitDefinition):
    """A fit that is checked, drawn and repeated in rolling windows and strata, and may give the headline.

    Attributes
    ----------
    fit
        Fit the data on a clock.
    refit
        Estimates of each bootstrap replicate by name, shape (replicates,); None for a joint fit, whose replicates are
        refitted by the bootstrap itself.
    needs
        Observable tables without which there is no such fit.
    clocks
        Clocks on which there is such a fit.
    parameters
        Names of the estimates that it reports.
    headline_rank
        Place among the candidates for the headline, the smallest first; None: never the headline.
    """

    fit: Fit
    parameters: tuple[str, ...]
    refit: Refit | None = None
    needs: frozenset[str] = frozenset()
    clocks: tuple[str, ...] = ("crawl", "year")
    headline_rank: int | None = None

    def is_available(self, observables: Collection[str]) -> bool:
        """Whether a collection with these observable tables has such a fit."""
        return self.needs <= set(observables)

    def check_name(self, clock: str) -> str:
        """Return the name of the asset check on this fit."""
        return f"{self.projection}_{self.model}_{self.form}_per_{clock}"


@dataclass(frozen=True, kw_only=True)
class SupplementaryFit(FitDefinition):
    """A fit of a richer urn, or of whole capture histories, that stands next to the primary fits.

    Attributes
    ----------
    fit
        Fit the data, with intervals; the clock is that of the headline, the bootstrap that of the joint fit on clock
        ``crawl``, None where there is none. An empty sequence when the data do not allow such a fit.
    is_urn
        Whether it assumes coverage constant over time, so that the violation rule refutes it.
    """

    fit: SupplementaryFits
    is_urn: bool = True


AnyDefinition = PrimaryFit | SupplementaryFit
