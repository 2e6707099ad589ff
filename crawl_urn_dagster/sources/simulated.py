"""Simulate a collection with known parameters and uneven gaps between crawls, without network or files.

Does not define the simulated process; see `urn.simulation`.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from crawl_urn_dagster.sources.calendar import DatedCrawl, Selection, select_crawls
from crawl_urn_dagster.sources.input_files import InputFile, fingerprint
from crawl_urn_dagster.sources.interface import Captures, Listing, PresenceSource
from crawl_urn_dagster.sources.transport.duckdb_connection import connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from crawl_urn_dagster.sources.transport.files import Files

_FIRST_CRAWL = datetime(2020, 1, 17)  # noqa: DTZ001 - dates of crawls are UTC without zone
_SHORTEST_GAP_DAYS, _LONGEST_GAP_DAYS = 21, 120
# Mean of the exponential part of a gap. 51 crawls then have a mean gap of 43 days and last 5.9 years.
_MEAN_EXCESS_DAYS = 22.0
_NAME_ELEMENTS = "SELECT 'https://site-' || (number % 1000) || '.example/page-' || number AS element FROM numbers"


class SimulatedSource(PresenceSource):
    """Presence lists simulated from the core–shell urn model, with uneven gaps between crawls.

    Survival is constant per year, so more of the shell is lost over a long gap than over a short one.

    Parameters
    ----------
    kappa
        Core fraction of the urn, in [0, 1).
    alpha
        Shell survival over the mean gap between crawls, in (0, 1].
    coverage
        Shell coverage: probability that one crawl captures an eligible shell element, in (0, 1].
    crawls
        Number of crawls.
    elements
        Size of the eligible population at any time; 51 crawls capture about seven times as many distinct elements.
    seed
        Seed of the gaps and of the process.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import Files, Selection, SimulatedSource
    >>> source = SimulatedSource(crawls=3, elements=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     listing = source.list_crawls(Files(Path(folder)), Selection())
    >>> [crawl.crawl for crawl in listing.crawls]
    ['2020-01-17', '2020-02-13', '2020-04-04']
    """

    type: Literal["simulated"] = "simulated"
    kappa: float = Field(default=0.4, ge=0, lt=1)
    alpha: float = Field(default=0.75, gt=0, le=1)
    coverage: float = Field(default=0.6, gt=0, le=1)
    crawls: int = Field(default=51, ge=3, le=500)
    elements: int = Field(default=30_000, ge=10, le=5_000_000)
    seed: int = Field(default=1, ge=0)

    def list_crawls(self, files: Files, selection: Selection) -> Listing:  # noqa: ARG002 - reads no files
        """List the selected crawls with their expected numbers of captures, without simulating them."""
        crawls = select_crawls(self._calendar(), selection, self._input().location)
        labels = [crawl.crawl for crawl in crawls]
        expected = round(self.elements * (self.kappa + (1 - self.kappa) * self.coverage))
        return Listing(
            tuple(crawls),
            (self._input(),),
            dict.fromkeys(labels, fingerprint((self._input(),))),
            dict.fromkeys(labels, expected),
        )

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Simulate all crawls and return the captures of some."""
        import pandas as pd

        from crawl_urn_dagster.urn.simulation import simulate

        core = round(self.kappa * self.elements)
        histories = simulate(
            times=self._years(),
            core=core,
            shell=self.elements - core,
            alpha=self._alpha_per_year(),
            coverage=self.coverage,
            seed=self.seed,
        )
        with connect(files.cache) as connection:
            for index, crawl in enumerate(self._calendar()):
                if crawl.crawl in crawls:
                    connection.register("numbers", pd.DataFrame({"number": histories.captured(index)}))
                    named = connection.execute(_NAME_ELEMENTS).df()
                    yield Captures(crawl.crawl, named["element"].to_numpy(dtype=object), complete=True)

    def truth(self) -> pd.DataFrame:
        """Return the true parameters, per crawl at the mean gap and per year.

        Returns
        -------
        Columns ``clock, kappa, core_share, alpha, coverage``, one row per clock.
        """
        import pandas as pd

        from crawl_urn_dagster.urn.curves.conversions import core_share_from_kappa

        shared = {
            "kappa": self.kappa,
            "core_share": float(core_share_from_kappa(self.kappa, self.coverage)),
            "coverage": self.coverage,
        }
        return pd.DataFrame(
            [
                {"clock": "crawl", **shared, "alpha": self.alpha},
                {"clock": "year", **shared, "alpha": self._alpha_per_year()},
            ]
        )[["clock", "kappa", "core_share", "alpha", "coverage"]]

    def _input(self) -> InputFile:
        """Return the parameters in place of a file."""
        parameters = ",".join(f"{name}={getattr(self, name)}" for name in type(self).model_fields if name != "type")
        text = f"simulated:{parameters}"
        return InputFile(text, len(text), hashlib.sha256(text.encode()).hexdigest())

    def _calendar(self) -> list[DatedCrawl]:
        """Return crawls labelled by their date; their gaps are shuffled quantiles of a shifted exponential.

        The seed only determines the order of the gaps: the mean gap, and therefore survival per year, is the same for
        all seeds.
        """
        import numpy as np

        quantiles = (np.arange(self.crawls - 1) + 0.5) / (self.crawls - 1)
        gaps = np.minimum(_SHORTEST_GAP_DAYS - _MEAN_EXCESS_DAYS * np.log1p(-quantiles), _LONGEST_GAP_DAYS)
        shuffled = np.random.default_rng(self.seed).permutation(np.rint(gaps))
        starts = [_FIRST_CRAWL + timedelta(days=float(days)) for days in np.cumsum([0, *shuffled])]
        return [DatedCrawl(f"{start:%Y-%m-%d}", start, "label") for start in starts]

    def _years(self) -> list[float]:
        """Return the start of each crawl, in years after the first."""
        from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR

        return [(crawl.started_at - _FIRST_CRAWL).days / DAYS_PER_YEAR for crawl in self._calendar()]

    def _alpha_per_year(self) -> float:
        return float(self.alpha ** ((self.crawls - 1) / self._years()[-1]))
