"""What capture-recapture makes of the same histories: tables `capture_recapture`, `per_crawl` and `comparators`.

Here: which estimators are applied, and what a sample of the elements does to their numbers and errors. Not here: the
estimators (`urn`), or the fits of urns (`fitting`).

Of a sample of one element in so many, the estimators see the elements that are in it: shares need no change, numbers
of elements are multiplied and get the error of the sample's size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.collection_data import times_of
from crawl_urn_dagster.observables.schema import CAPTURE_RECAPTURE, COMPARATORS, PER_CRAWL
from crawl_urn_dagster.urn.capture_recapture.comparators import comparators
from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.jolly_seber import jolly_seber
from crawl_urn_dagster.urn.capture_recapture.mixtures import fit_core_and_shell, fit_two_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.observables.schema import Table
    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock
    from crawl_urn_dagster.urn.capture_recapture.jolly_seber import JollySeber
    from crawl_urn_dagster.urn.optimise.maximum_likelihood import Estimates

_SHARES, _NUMBERS = ("alpha", "coverage"), ("marked", "population", "births")
_ESTIMATE = ["estimate", "se", "estimate_low", "estimate_high"]


def capture_recapture_tables(
    crawls: pd.DataFrame, counts: CaptureHistoryCounts, *, clock: Clock, one_in: int
) -> dict[str, pd.DataFrame]:
    """Tables `capture_recapture`, `per_crawl` and `comparators` by name.

    Parameters
    ----------
    crawls
        Table `crawls`.
    counts
        Capture-history counts of the same crawls, multiplied if of a sample.
    clock
        What survival counts in.
    one_in
        Elements of which one was counted; 1: all were.
    """
    counted, times = counts.divided_by(one_in), times_of(crawls, clock)
    sizes, recaptures = np.diagonal(counted.intersections()), counted.recaptures()
    models = {
        "cormack_jolly_seber": fit_cormack_jolly_seber(sizes, recaptures, times=times),
        "two_classes": fit_two_classes(counted, times),
        "core_and_shell": fit_core_and_shell(counted, times),
    }
    varying = fit_cormack_jolly_seber(sizes, recaptures, times=times, survival="crawl", coverage="crawl")
    labels = crawls["crawl"].tolist()
    per_crawl = [_by_maximum_likelihood(varying, labels)]
    per_crawl += _in_closed_form(jolly_seber(sizes, recaptures, times), labels, one_in)
    return {
        "capture_recapture": _table(
            pd.concat([_estimates(fit).assign(model=name) for name, fit in models.items()]), CAPTURE_RECAPTURE, clock
        ),
        "per_crawl": _table(pd.concat(per_crawl), PER_CRAWL, clock),
        "comparators": _comparators_table(counted, one_in),
    }


def _estimates(fit: Estimates) -> pd.DataFrame:
    """One row per parameter of a model."""
    columns = dict(zip(_ESTIMATE, (getattr(fit, name) for name in ("values", "se", "low", "high")), strict=True))
    return pd.DataFrame(columns).assign(
        parameter=fit.names,
        minus_two_log_likelihood=fit.minus_two_log_likelihood,
        aicc=fit.aicc,
        sample_size=fit.sample_size,
        status=fit.status,
        reason=fit.reason,
    )


def _by_maximum_likelihood(fit: Estimates, labels: Sequence[str]) -> pd.DataFrame:
    """Estimates that are named after their crawl, as rows of table `per_crawl`."""
    rows = _estimates(fit)
    named = [name.rpartition("_") for name in fit.names]
    rows["quantity"] = [quantity for quantity, _, _ in named]
    rows["crawl"] = [labels[int(position)] for _, _, position in named]
    rows["status"] = _status(rows)
    rows["reason"] = rows["reason"].where(rows["status"] != "ok", None)
    return rows.assign(estimator="cormack_jolly_seber")


def _in_closed_form(found: JollySeber, labels: Sequence[str], one_in: int) -> list[pd.DataFrame]:
    frames = []
    for quantity in (*_SHARES, *_NUMBERS):
        *columns, reason = getattr(found, quantity)
        rows = pd.DataFrame(np.column_stack(columns), columns=_ESTIMATE)
        rows = rows if quantity in _SHARES else _multiplied(rows, one_in)
        rows = rows.assign(crawl=labels, quantity=quantity, estimator="jolly_seber", reason=reason)
        frames.append(rows.assign(status=_status(rows)))
    return frames


def _comparators_table(counts: CaptureHistoryCounts, one_in: int) -> pd.DataFrame:
    rows = pd.DataFrame([vars(found) for found in comparators(counts)]).rename(
        columns={"name": "estimator", "low": "estimate_low", "high": "estimate_high"}
    )
    unseen = rows["se"].isna() & (rows["unit"] != "exponent")  # of an exponent no error is ever given
    rows["status"] = np.select([rows["estimate"].isna(), unseen], ["too_few_points", "at_bound"], "ok")
    of_elements = rows["unit"] == "elements"
    rows.loc[of_elements, _ESTIMATE] = _multiplied(rows.loc[of_elements, _ESTIMATE], one_in)
    return rows[list(COMPARATORS.column_names)]


def _multiplied(rows: pd.DataFrame, one_in: int) -> pd.DataFrame:
    """Numbers of all elements from those of a sample, whose own size varies as a binomial number does."""
    estimate, se = rows["estimate"], rows["se"]
    wider = np.sqrt(1 + estimate.abs() * (1 - 1 / one_in) / se**2).where(se > 0, 1.0)
    return pd.DataFrame(
        {
            "estimate": estimate * one_in,
            "se": se * wider * one_in,
            "estimate_low": (estimate - (estimate - rows["estimate_low"]) * wider) * one_in,
            "estimate_high": (estimate + (rows["estimate_high"] - estimate) * wider) * one_in,
        }
    )


def _status(rows: pd.DataFrame) -> npt.NDArray[np.str_]:
    unknown, without_error = rows["estimate"].isna(), rows["se"].isna()
    return np.select([unknown, without_error], ["not_identified", "at_bound"], "ok")


def _table(rows: pd.DataFrame, table: Table, clock: Clock) -> pd.DataFrame:
    return rows.assign(clock=clock)[list(table.column_names)].reset_index(drop=True)
