"""Define what a module of `estimates.fits` states about its fit.

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
    """Definition of a fit.

    Attributes
    ----------
    projection, model, form
        Fitted projection of the data, model, and form of containment. With the clock they identify the fit in tables.
    label
        Name of the fit for legends and captions, as a noun phrase.
    entry_point
        Entry point of another package that adds the fit; only collections that name it have the fit. None: a fit of
        every collection whose tables allow it.
    """

    projection: str
    model: str
    label: str
    form: str = "exact"
    entry_point: str | None = None

    @property
    def name(self) -> tuple[str, str, str]:
        """Projection, model and form."""
        return self.projection, self.model, self.form

    def is_used_by(self, own_fits: Collection[str]) -> bool:
        """Whether a collection that names these entry points has the fit."""
        return self.entry_point is None or self.entry_point in own_fits

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
        Observable tables that the fit needs.
    clocks
        Clocks that the fit supports.
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
        Fit the data, with intervals, given the clock of the headline and the bootstrap of the joint fit on clock
        ``crawl`` (None if that fit is not reported). Return an empty sequence if the data do not allow the fit.
    is_urn
        Whether the model assumes constant coverage. If it does, the violation rule applies to the fit.
    """

    fit: SupplementaryFits
    is_urn: bool = True


AnyDefinition = PrimaryFit | SupplementaryFit
