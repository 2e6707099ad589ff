"""Define the settings with which a collection is held against other archives of the same web.

Does not read or compare the archives; see `estimates.cross_archive`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

if TYPE_CHECKING:
    from typing_extensions import Self

_MATCH = re.compile(r"date within (\d+(?:\.\d+)?) days?")
_MAX_LISTS = 8


class ArchiveList(BaseModel):
    """One archive of the comparison.

    Parameters
    ----------
    collection
        Name of a collection of lists, of the same granularity and in the same home folder.
    frame
        Whether its lists are a register that holds every element, captured or not.
    crawls_key
        Key of its asset `crawls`, with slashes, if another component renames it. None: renamed like the own assets.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    collection: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    frame: bool = False
    crawls_key: str | None = Field(default=None, min_length=1)


def _as_list(value: object) -> object:
    """Take the name of a collection for a list that is not a frame."""
    return {"collection": value} if isinstance(value, str) else value


class CrossArchiveSettings(BaseModel):
    """Set which archives are held against each other, and how their crawls are matched.

    Parameters
    ----------
    lists
        Names of collections, 2 to 8 with the collection itself; ``{collection: name, frame: true}`` for a register.
    match
        Which crawls are compared: ``date within n days``.
    odds_ratios
        Smallest and largest odds ratio of two archives under which the population is stated; 1: independent. In 78
        pairs of lists with a known register the odds ratio was 3.6 to 55 in nine of ten.

    Examples
    --------
    >>> settings = CrossArchiveSettings.model_validate({"lists": ["mine", "theirs"], "match": "date within 7 days"})
    >>> settings.days, settings.frame
    (7.0, None)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    lists: list[Annotated[ArchiveList, BeforeValidator(_as_list)]] = Field(min_length=1, max_length=_MAX_LISTS)
    match: str = "date within 7 days"
    odds_ratios: list[float] = Field(default=[1.0, 10.0], min_length=2, max_length=2)

    @field_validator("match")
    @classmethod
    def _valid_match(cls, match: str) -> str:
        if not _MATCH.fullmatch(match):
            raise ValueError("is not a rule of matching; expected 'date within n days', such as 'date within 7 days'")
        return match

    @field_validator("odds_ratios")
    @classmethod
    def _valid_odds_ratios(cls, range_: list[float]) -> list[float]:
        if not 0 < range_[0] <= range_[1]:
            raise ValueError("is not a range of odds ratios; expected two ascending numbers above 0, such as [1, 10]")
        return range_

    @model_validator(mode="after")
    def _distinct_lists(self) -> Self:
        repeated = [name for name, times in Counter(self.names).items() if times > 1]
        if repeated:
            raise ValueError(
                f"has {repeated[0]} twice: two crawls of one crawler are not two lists, because they miss the same "
                "elements; name collections of different crawlers"
            )
        if sum(one.frame for one in self.lists) > 1:
            raise ValueError("has more than one list with frame: true; keep one")
        return self

    @property
    def days(self) -> float:
        """Largest number of days between matched crawls."""
        found = _MATCH.fullmatch(self.match)
        return float(found[1]) if found else 0.0

    @property
    def names(self) -> list[str]:
        """Names of the collections."""
        return [one.collection for one in self.lists]

    @property
    def frame(self) -> str | None:
        """Name of the register; None: no list is one."""
        return next((one.collection for one in self.lists if one.frame), None)

    def including(self, name: str) -> CrossArchiveSettings:
        """Return the settings with a collection among the lists, as the first if it is not named."""
        if name in self.names:
            return self
        return self.model_copy(update={"lists": [ArchiveList(collection=name), *self.lists]})


def other_lists(settings: CrossArchiveSettings | None, name: str) -> list[str]:
    """Return the names of the other collections with which a collection is compared."""
    return [] if settings is None else [other for other in settings.names if other != name]


def unusable_lists(collections: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the collections whose lists cannot be compared, each with the reason.

    Parameters
    ----------
    collections
        All collections of one configuration, by name.
    """
    found = []
    for name, collection in collections.items():
        for other in other_lists(collection.cross_archive, name):
            if other not in collections:
                known = ", ".join(sorted(collections))
                found.append((name, f"no collection is named {other!r}; expected one of {known}"))
            elif not collections[other].has_histories:
                found.append((name, f"collection {other} has counts, not lists; name a collection of lists"))
            elif collections[other].granularity != collection.granularity:
                expected = f"{collection.granularity}, not {collections[other].granularity}"
                found.append((name, f"collection {other} must have granularity {expected}"))
    return found
