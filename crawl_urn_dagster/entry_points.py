"""Find the sources, fits and figures that other installed packages add, by the names of their entry points.

Does not define what such an object must be; see `sources.interface`, `estimates.fits` and `figures`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = Literal["sources", "fits", "figures"]


@cache
def entry_points_of(kind: Kind) -> dict[str, EntryPoint]:
    """Return the entry points of group ``crawl_urn_dagster.<kind>`` by name.

    Raises
    ------
    ValueError
        If a name has no dot, or two packages use it.
    """
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for one in entry_points(group=f"crawl_urn_dagster.{kind}"):
        package = one.dist.name if one.dist else "a package"
        if "." not in one.name:
            raise ValueError(
                f"{package}: found entry point {one.name!r} of group crawl_urn_dagster.{kind}, expected a name with a "
                "dot, such as my_package.my_name"
            )
        if found.get(one.name, one).value != one.value:
            raise ValueError(f"two packages have the entry point {one.name!r} of group crawl_urn_dagster.{kind}")
        found[one.name] = one
    return found


def check_entry_point(kind: Kind, name: str) -> EntryPoint:
    """Return an entry point without loading its object.

    Raises
    ------
    ValueError
        If no installed package has it.
    """
    known = entry_points_of(kind)
    if name not in known:
        installed = ", ".join(sorted(known)) or "none"
        raise ValueError(
            f"names {name!r}, but no installed package has this entry point of group crawl_urn_dagster.{kind} "
            f"(installed: {installed}); install the package"
        )
    return known[name]


def load_entry_point(kind: Kind, name: str, expected: type | tuple[type, ...]) -> Any:
    """Return the object of an entry point.

    Parameters
    ----------
    kind
        Names to load.
    name
        Name of the entry point, such as ``my_package.my_source``.
    expected
        Class of which the object must be an instance or, if it is a class itself, a subclass.

    Raises
    ------
    ValueError
        If no installed package has the entry point, or its object is of another class.
    """
    found = check_entry_point(kind, name)
    loaded = found.load()
    if not (issubclass(loaded, expected) if isinstance(loaded, type) else isinstance(loaded, expected)):
        classes = expected if isinstance(expected, tuple) else (expected,)
        raise ValueError(
            f"names {name!r}, which is {found.value}; expected {' or '.join(one.__name__ for one in classes)}"
        )
    return loaded
