"""List the fits of a collection: the registry that tables, checks, figures and intervals walk.

Does not fit anything. A new fit is one module with a ``DEFINITION`` and one line of `REGISTRY`; `register` adds one
from outside the package.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crawl_urn_dagster.entry_points import load_entry_point
from crawl_urn_dagster.estimates.fits import (
    containment_core_shell,
    containment_core_shell_paper,
    containment_homogeneous,
    curves_beta_shell,
    curves_core_two_shells,
    discovery_core_shell,
    discovery_homogeneous,
    discovery_increments,
    discovery_tail,
    histories_core_shell,
    histories_core_two_shells,
    histories_homogeneous,
    joint_core_shell,
    joint_homogeneous,
    revisit_delay,
)
from crawl_urn_dagster.estimates.fits.definition import FitDefinition, PrimaryFit, SupplementaryFit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from crawl_urn_dagster.estimates.fits.definition import AnyDefinition
    from crawl_urn_dagster.urn.results.result import FitKind

__all__ = [
    "REGISTRY",
    "FitDefinition",
    "PrimaryFit",
    "SupplementaryFit",
    "definition_of",
    "primary_fits",
    "register",
    "register_entry_points",
]

#: In the order of the rows of table `parameters`.
REGISTRY: list[AnyDefinition] = [
    joint_core_shell.DEFINITION,
    joint_homogeneous.DEFINITION,
    containment_core_shell.DEFINITION,
    containment_core_shell_paper.DEFINITION,
    containment_homogeneous.DEFINITION,
    discovery_core_shell.DEFINITION,
    discovery_homogeneous.DEFINITION,
    discovery_tail.DEFINITION,
    discovery_increments.DEFINITION,
    histories_homogeneous.DEFINITION,
    histories_core_shell.DEFINITION,
    histories_core_two_shells.DEFINITION,
    curves_core_two_shells.DEFINITION,
    curves_beta_shell.DEFINITION,
    revisit_delay.DEFINITION,
]


def register(definition: AnyDefinition) -> None:
    """Add a fit to the registry, before definitions are built or data are fitted.

    Raises
    ------
    ValueError
        When a fit of the same projection, model and form is registered.
    """
    if any(known.name == definition.name for known in REGISTRY):
        raise ValueError(
            f"a fit {'/'.join(definition.name)} is registered already; expected another projection or model"
        )
    REGISTRY.append(definition)


def register_entry_points(own_fits: Iterable[str]) -> None:
    """Register the fits that entry points of other packages add, each once.

    Raises
    ------
    ValueError
        If no installed package has one of them, or its object does not define a fit.
    """
    for name in own_fits:
        if all(known.entry_point != name for known in REGISTRY):
            definition = load_entry_point("fits", name, (PrimaryFit, SupplementaryFit))
            register(replace(definition, entry_point=name))


def primary_fits(observables: Collection[str], own_fits: Collection[str] = ()) -> list[PrimaryFit]:
    """Return the primary fits of a collection with these observable tables and entry points of fits."""
    return [
        one
        for one in REGISTRY
        if isinstance(one, PrimaryFit) and one.is_available(observables) and one.is_used_by(own_fits)
    ]


def supplementary_fits(own_fits: Collection[str] = ()) -> list[SupplementaryFit]:
    """Return the supplementary fits of a collection that names these entry points of fits."""
    return [one for one in REGISTRY if isinstance(one, SupplementaryFit) and one.is_used_by(own_fits)]


def definition_of(kind: FitKind) -> AnyDefinition | None:
    """Return the definition of a fit; None when no such fit is registered."""
    return next((definition for definition in REGISTRY if definition.is_of(kind)), None)
