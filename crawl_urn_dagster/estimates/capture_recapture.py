"""Apply capture-recapture estimators to histories: tables `capture_recapture`, `per_crawl` and `comparators`.

Selects the estimators, and scales estimates from a sample to all elements. Does not estimate; see
`urn.capture_recapture`. Does not fit urns; see `fits`.

If only a sample of the elements was counted, the estimators are applied to the sample. Estimated shares then need no
change. Estimated numbers of elements are multiplied, and their standard errors include the error of the sample's size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.collection_data import times_of
from crawl_urn_dagster.observables.schema import CAPTURE_RECAPTURE, COMPARATORS, PER_CRAWL
from crawl_urn_dagster.urn import Interval
from crawl_urn_dagster.urn.capture_recapture.comparators import comparators
from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.jolly_seber import jolly_seber
from crawl_urn_dagster.urn.capture_recapture.mixtures import fit_core_and_shell, fit_two_classes
from crawl_urn_dagster.urn.goodness_of_fit.release_recapture import release_recapture_tests
from crawl_urn_dagster.urn.results.reasons import join_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.observables.schema import Table
    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock
    from crawl_urn_dagster.urn.capture_recapture.jolly_seber import JollySeber
    from crawl_urn_dagster.urn.optimise.maximum_likelihood import MaximumLikelihoodFit

_SHARES, _NUMBERS = ("alpha", "coverage"), ("marked", "population", "births")
_ESTIMATE = ["estimate", "se", "estimate_low", "estimate_high"]


def capture_recapture_tables(
    crawls: pd.DataFrame, counts: CaptureHistoryCounts, *, clock: Clock, one_in: int
) -> dict[str, pd.DataFrame]:
    """Return tables `capture_recapture`, `per_crawl` and `comparators` by name.

    Parameters
    ----------
    crawls
        Table `crawls`.
    counts
        Capture-history counts of the same crawls, multiplied by `one_in`.
    clock
        Unit of time of survival.
    one_in
        Number of all elements divided by the number of counted elements; 1 if all elements were counted.
    """
    sample, times = counts.divided_by(one_in), times_of(crawls, clock)
    sizes, recaptures, losses = np.diagonal(sample.intersections()), sample.recaptures(), sample.losses()
    # A test without degrees of freedom has no c-hat, and one below 1 is an accident.
    dispersion = max(1.0, float(np.nan_to_num(release_recapture_tests(sample).c_hat)))
    models = [
        fit_cormack_jolly_seber(sizes, recaptures, times=times, losses=losses, dispersion=dispersion, clock=clock),
        fit_two_classes(sample, times, clock=clock),
        fit_core_and_shell(sample, times, clock=clock),
    ]
    varying = fit_cormack_jolly_seber(
        sizes, recaptures, times=times, survival="crawl", coverage="crawl", losses=losses, clock=clock
    )
    labels = crawls["crawl"].tolist()
    per_crawl = [_by_maximum_likelihood(varying, labels)]
    per_crawl += _in_closed_form(jolly_seber(sizes, recaptures, times, losses), labels, one_in)
    return {
        "capture_recapture": _table(pd.concat([_estimates(fit) for fit in models]), CAPTURE_RECAPTURE, clock),
        "per_crawl": _table(pd.concat(per_crawl), PER_CRAWL, clock),
        "comparators": _comparators_table(sample, one_in),
    }


def _estimates(fit: MaximumLikelihoodFit) -> pd.DataFrame:
    """Return one row per parameter of a model; unknown values are NaN."""
    details, unknown = fit.details, Interval(np.nan, np.nan)
    rows = [
        (fit.estimates.get(name), details.standard_errors.get(name), *fit.intervals.get(name, unknown))
        for name in details.parameters
    ]
    return pd.DataFrame(rows, columns=_ESTIMATE, dtype=np.float64).assign(
        model=fit.kind.model,
        parameter=details.parameters,
        minus_two_log_likelihood=details.minus_two_log_likelihood,
        aicc=details.aicc,
        dispersion=details.dispersion,
        qaicc=details.qaicc,
        sample_size=details.sample_size,
        status=fit.status.value,
        reason=fit.reason,
        reason_code=join_codes(fit.reasons),
    )


def _by_maximum_likelihood(fit: MaximumLikelihoodFit, labels: Sequence[str]) -> pd.DataFrame:
    """Return the estimates of a fit whose parameters are named after a crawl, as rows of table `per_crawl`."""
    rows = _estimates(fit)
    named = [name.rpartition("_") for name in fit.details.parameters]
    rows["quantity"] = [quantity for quantity, _, _ in named]
    rows["crawl"] = [labels[int(position)] for _, _, position in named]
    rows["status"] = _status(rows)
    rows["reason"] = rows["reason"].where(rows["status"] != "ok", None)
    return rows.assign(estimator="cormack_jolly_seber")


def _in_closed_form(found: JollySeber, labels: Sequence[str], one_in: int) -> list[pd.DataFrame]:
    """Return the closed-form estimates as rows of table `per_crawl`, one frame per quantity."""
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
    # An exponent never has a standard error, so a missing one does not mean that it is at a bound.
    is_at_bound = rows["se"].isna() & (rows["unit"] != "exponent")
    rows["status"] = np.select([rows["estimate"].isna(), is_at_bound], ["too_few_points", "at_bound"], "ok")
    is_number = rows["unit"] == "elements"
    rows.loc[is_number, _ESTIMATE] = _multiplied(rows.loc[is_number, _ESTIMATE], one_in)
    return rows[list(COMPARATORS.column_names)]


def _multiplied(rows: pd.DataFrame, one_in: int) -> pd.DataFrame:
    """Scale estimated numbers from the sample to all elements, and add the binomial error of the sample's size."""
    estimate, se = rows["estimate"], rows["se"]
    widening = np.sqrt(1 + estimate.abs() * (1 - 1 / one_in) / se**2).where(se > 0, 1.0)
    return pd.DataFrame(
        {
            "estimate": estimate * one_in,
            "se": se * widening * one_in,
            "estimate_low": (estimate - (estimate - rows["estimate_low"]) * widening) * one_in,
            "estimate_high": (estimate + (rows["estimate_high"] - estimate) * widening) * one_in,
        }
    )


def _status(rows: pd.DataFrame) -> npt.NDArray[np.str_]:
    """Return the status of each row of table `per_crawl`, from the values that it lacks."""
    return np.select([rows["estimate"].isna(), rows["se"].isna()], ["not_identified", "at_bound"], "ok")


def _table(rows: pd.DataFrame, table: Table, clock: Clock) -> pd.DataFrame:
    return rows.assign(clock=clock)[list(table.column_names)].reset_index(drop=True)
