"""Configure strata, the groups into which a column of the source divides the elements, and assign values to them.

Does not read values (`sources`), store codes (`presence`), count (`stratum_counts`) or estimate (`estimates.strata`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

#: Stratum of elements without a value.
UNKNOWN = "unknown"
#: Largest number of strata, without `UNKNOWN`.
MAX_STRATA = 64


class StratumSettings(BaseModel):
    """Definition of the strata.

    Parameters
    ----------
    column
        Name of the source's column.
    bands
        Upper bounds of bands of ranks, ascending; ranks are whole numbers from 1. [50, 200] defines ``1-50``,
        ``51-200`` and ``201+``. None: each value of the column is a stratum, up to 64.
    take
        Value that counts if an element's value changes: ``first`` is the value in the first crawl that captured it,
        ``best`` the lowest band over all crawls. Only ``first`` is independent of how long an element remains
        eligible.

    Examples
    --------
    >>> StratumSettings(column="rank", bands=[50, 200]).in_order(["201+", "1-50"])
    ['1-50', '201+', 'unknown']
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    column: str = Field(min_length=1)
    bands: list[int] | None = Field(default=None, min_length=1, max_length=MAX_STRATA - 1)
    take: Literal["first", "best"] = "first"

    @model_validator(mode="after")
    def _sensible_bands(self) -> Self:
        if self.bands is None and self.take == "best":
            raise ValueError(
                "has take: best, which needs bands, because values have no order: give bands, or take: first"
            )
        limits = [0, *(self.bands or [])]
        if any(low >= high for low, high in pairwise(limits)):
            raise ValueError(f"has bands {self.bands}, expected ascending upper limits from 1, such as [50, 200, 1000]")
        return self

    @property
    def partitioned_by(self) -> str:
        """Settings on which the strata of a presence partition depend."""
        return f"{self.column} {self.bands or 'values'}"

    @property
    def upper_bounds(self) -> dict[str, float] | None:
        """Highest rank of each band, infinite for the last, in order; None without bands."""
        if self.bands is None:
            return None
        return dict(zip(self._band_labels, [*map(float, self.bands), float("inf")], strict=True))

    @property
    def _band_labels(self) -> list[str]:
        limits = [0, *(self.bands or [])]
        return [*(f"{low + 1}-{high}" for low, high in pairwise(limits)), f"{limits[-1] + 1}+"]

    def encode(self, values: npt.NDArray[np.object_]) -> tuple[npt.NDArray[np.intp], list[str]]:
        """Return the stratum of each value.

        Parameters
        ----------
        values
            Texts as the source gives them, NaN or None if missing; with bands, whole numbers from 1.

        Returns
        -------
        For each value a position in the list of strata, and this list.
        """
        import numpy as np
        import pandas as pd

        if self.bands is None:
            position, found = pd.factorize(values)
            labels = [str(label) for label in found]
        else:
            rank = pd.to_numeric(pd.Series(values, dtype=object)).to_numpy(dtype=np.float64, na_value=np.nan)
            position = np.where(np.isnan(rank), -1, np.searchsorted(self.bands, rank))
            labels = self._band_labels
        return np.where(position < 0, len(labels), position).astype(np.intp), [*labels, UNKNOWN]

    def in_order(self, labels: Iterable[str]) -> list[str]:
        """Return strata in order: bands ascending or values by name, then always `UNKNOWN`.

        Raises
        ------
        ValueError
            If there are more than `MAX_STRATA`.
        """
        known = sorted(set(labels) - {UNKNOWN}, key=self._band_labels.index if self.bands else None)
        if len(known) > MAX_STRATA:
            raise ValueError(
                f"stratum.column {self.column!r} has more than {MAX_STRATA} values ({', '.join(known[:3])}, ...): give "
                "stratum.bands if they are ranks, or choose a column with fewer values"
            )
        return [*known, UNKNOWN]
