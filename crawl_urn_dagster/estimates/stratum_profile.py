"""Pool the estimates of strata partially, so small strata borrow from the others: table `stratum_profile`.

Does not fit strata; see `estimates.strata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, are_curves_unreported
from crawl_urn_dagster.observables.schema import STRATUM_PROFILE, SYMBOLS
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, Status
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE
from crawl_urn_dagster.urn.uncertainty.partial_pooling import Slope, pool_partially, slope_of_groups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.urn.data.histories import FloatArray

# An open band is drawn and placed as if it ended at ten times its first rank.
_OPEN_FACTOR = 10.0


def stratum_profile_table(
    parameters: pd.DataFrame,
    upper_bounds: Mapping[str, float] | None = None,
    rank_changes: pd.DataFrame | None = None,
    verdicts: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return table `stratum_profile`.

    Parameters
    ----------
    parameters
        Table of this name, with the fits of the strata.
    upper_bounds
        Highest rank of every configured band, infinite for the last; None if strata are not rank bands.
    rank_changes
        Table of this name; None if strata are not rank bands.
    verdicts
        Table `stratum_verdicts`. A stratum whose verdict does not allow its fits to be reported has no estimate;
        None: no stratum was assessed.
    """
    is_selected = parameters["headline"].astype(bool) & parameters["stratum"].notna()
    rows = parameters[is_selected & (parameters["component"] != "core")].reset_index(drop=True)
    if rows.empty:
        return pd.DataFrame(columns=list(STRATUM_PROFILE.column_names))
    rows["verdict"] = rows["stratum"].map({} if verdicts is None else verdicts.set_index("stratum")["verdict"])
    cut = rows["stratum"].map({} if rank_changes is None else rank_changes.set_index("stratum")["lost_by_cut"])
    # A list that ends at a rank has a gradient even if all ranks follow one process.
    is_followed = upper_bounds is not None and rank_changes is not None and rank_changes["list_end"].isna().all()
    covariate = _log_ranks(rows["stratum"], upper_bounds or {}) if is_followed else np.full(len(rows), np.nan)
    return pd.concat(
        [
            pd.DataFrame(
                {
                    **{name: rows[name] for name in ("stratum", "clock", "status", "verdict")},
                    "parameter": name,
                    "lost_by_cut": cut,
                    **_pooled(rows, name, covariate),
                }
            ).reindex(columns=list(STRATUM_PROFILE.column_names))
            for name in SYMBOLS
        ],
        ignore_index=True,
    )


def _pooled(rows: pd.DataFrame, name: str, covariate: FloatArray) -> dict[str, Any]:
    """Return the columns of one parameter."""
    is_withheld = [isinstance(one, str) and are_curves_unreported(VerdictName(one)) for one in rows["verdict"]]
    has_estimate = ~(rows["status"].isin(NO_POINT_ESTIMATE_STATUSES).to_numpy() | np.array(is_withheld))
    own = {
        f"estimate{end}": np.where(has_estimate, rows[f"{name}{end}"].to_numpy(dtype=np.float64), np.nan)
        for end in ("", "_low", "_high")
    }
    value, error = _log_odds(own["estimate"], own["estimate_low"], own["estimate_high"])
    error = np.hypot(error, _error_of_membership(rows, name, own["estimate"]))
    if np.isfinite(error).sum() < 2:
        return own
    pooled = pool_partially(value, error)
    # A stratum with few elements may borrow everything; of one that a test refutes, nothing is reported.
    borrows = np.isfinite(error) | (rows["status"] == Status.TOO_FEW_POINTS).to_numpy()
    ends = {"": 0.0, "_low": -NORMAL_QUANTILE, "_high": NORMAL_QUANTILE}
    slope = slope_of_groups(covariate, value, error) or Slope(np.nan, np.nan, np.nan)
    return {
        **own,
        **{
            f"pooled{end}": np.where(borrows, expit(pooled.value + factor * pooled.standard_error), np.nan)
            for end, factor in ends.items()
        },
        "mean_weight": np.where(borrows, pooled.weight, np.nan),
        "between_sd": pooled.between_sd,
        "p_value": pooled.p_value,
        **dict(zip(("slope", "slope_low", "slope_high"), slope, strict=True)),
    }


def _log_odds(value: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return estimates and standard errors on the logit scale; NaN where the value is 0 or 1 or has no interval."""
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = logit(value)
        halves = np.array([centre - logit(low), logit(high) - centre])
    halves[~np.isfinite(halves)] = np.nan
    error = np.fmax(*halves) / NORMAL_QUANTILE
    is_known = np.isfinite(centre) & np.isfinite(error) & (error > 0)
    return np.where(is_known, centre, np.nan), np.where(is_known, error, np.nan)


def _error_of_membership(rows: pd.DataFrame, name: str, value: FloatArray) -> FloatArray:
    """Return the error on the logit scale that follows from which elements happened to be in the stratum.

    The intervals of κ and μ refer to the elements of the stratum. Strata of one process differ in them by the binomial
    scatter of core and shell.
    """
    if name not in ("kappa", "core_share"):
        return np.zeros(len(rows))
    size = rows["urn_size"].to_numpy(dtype=np.float64)
    if name == "core_share":
        kappa, coverage = (rows[column].to_numpy(dtype=np.float64) for column in ("kappa", "coverage"))
        size = size * (kappa + (1 - kappa) * coverage)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 / np.sqrt(size * value * (1 - value)))


def _log_ranks(strata: pd.Series[str], upper_bounds: Mapping[str, float]) -> FloatArray:
    """Return the logarithm of the middle rank of each stratum; NaN if it is not a band."""
    high = np.array(list(upper_bounds.values()), dtype=np.float64)
    low = np.concatenate([[1.0], high[:-1] + 1])
    middle = np.log(low * np.where(np.isfinite(high), high, _OPEN_FACTOR * low)) / 2
    return strata.map(dict(zip(upper_bounds, middle, strict=True))).to_numpy(dtype=np.float64)
