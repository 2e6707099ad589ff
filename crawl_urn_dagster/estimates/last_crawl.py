"""Compare the newest crawl with what the earlier crawls let expect of it: table `last_crawl`.

Does not forecast sizes, new elements and overlaps (see `forecast`) and does not test for lasting changes (see `drift`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from crawl_urn_dagster.estimates.set_aside import Observables, crawls_set_aside
from crawl_urn_dagster.formatting import format_interval, format_number
from crawl_urn_dagster.observables.schema import LAST_CRAWL
from crawl_urn_dagster.observables.tables import unions_matrix
from crawl_urn_dagster.urn.data.distributions import student_quantile
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn import CaptureHistoryCounts

    FloatArray = npt.NDArray[np.float64]

#: Factor by which a number of elements, or the odds of a share, must lie beyond the prediction interval.
RELEVANT_FACTOR = 1.05
# With fewer earlier crawls, their spread is unreliable.
_FEWEST = 6
_LEAST_SHARE = 1e-4
_COUNTS = {"crawl_size", "overlap"}
#: Name of every quantity.
QUANTITY_NAMES = {
    "crawl_size": "crawl size",
    "new_share": "share of new elements",
    "overlap": "elements shared with the previous crawl",
    "coverage": "crawl completeness",
    "survival": "share of the crawl two before that was captured again",
}


class _Expectation(NamedTuple):
    """An observed value, the value that was expected, and its 95 % prediction interval."""

    value: float
    expected: float
    low: float
    high: float


def last_crawl_table(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    *,
    forecast: pd.DataFrame,
    population: pd.DataFrame,
    histories: CaptureHistoryCounts | None = None,
    tests: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return table `last_crawl`: one row for each quantity; empty if there is only one crawl.

    Earlier crawls that were set aside are left out.

    Parameters
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    forecast
        Table `forecast`, with the forecast of the last crawl from the crawls before it.
    population
        Table `population`; empty if no model was selected.
    histories, tests
        As for `forecast_table`.
    """
    last = crawls["crawl"].iloc[-1]
    earlier_set_aside = [label for label in crawls_set_aside(tests) if label != last]
    observed = Observables(crawls, containment, discovery_curve, histories).without(earlier_set_aside)
    crawls, containment, discovery_curve, _ = observed
    labels = crawls["crawl"].tolist()
    if len(labels) < 2:
        return pd.DataFrame(columns=list(LAST_CRAWL.column_names))
    unions = None if discovery_curve is None else unions_matrix(crawls, discovery_curve)
    made = forecast[(forecast["origin_crawl"] == labels[-2]) & (forecast["crawls_ahead"] == 1)]
    is_previous = made["start_crawl"] == labels[-2]
    found = {
        "crawl_size": _forecast(_size(crawls), made[made["quantity"] == "crawl_size"]),
        "new_share": _new_share(crawls, unions, made[made["quantity"] == "new_share"]),
        "overlap": _forecast(_overlap(containment, labels), made[(made["quantity"] == "overlap") & is_previous]),
        "coverage": _coverage(population, labels[-1]),
        "survival": None if unions is None else _survival(unions),
    }
    size = _size(crawls)
    # A share of less than one element counts as zero.
    least = max(_LEAST_SHARE, 1 / size) if size > 0 else _LEAST_SHARE
    rows = [_row(labels[-1], quantity, expectation, least) for quantity, expectation in found.items()]
    return pd.DataFrame(rows, columns=list(LAST_CRAWL.column_names))


def unexpected(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of quantities that are not as expected."""
    rows: pd.DataFrame = table[table["verdict"].isin(["below", "above"])]
    return rows


def state_last_crawl(table: pd.DataFrame) -> str | None:
    """Return a sentence on the quantities of the last crawl that are not as expected; None if all are.

    Parameters
    ----------
    table
        Table `last_crawl`.
    """
    rows = unexpected(table)
    if rows.empty:
        return None
    parts = [_state(str(row["quantity"]), *(float(row[name]) for name in _NUMBERS)) for row in rows.to_dict("records")]
    return f"The last crawl, {rows['crawl'].iloc[0]}, is not as expected: {'; '.join(parts)}."


_NUMBERS = ("value", "expected", "expected_low", "expected_high")


def _state(quantity: str, value: float, expected: float, low: float, high: float) -> str:
    scale, unit = (1, "") if quantity in _COUNTS else (100, " %")
    middle, start, end = format_interval(scale * expected, scale * low, scale * high)
    shown = f"{value:,.0f}" if quantity in _COUNTS else format_number(scale * value)
    return f"{QUANTITY_NAMES[quantity]} {shown}{unit}, expected {middle}{unit} (95 % PI {start} to {end})"


def _row(crawl: str, quantity: str, found: _Expectation | None, least: float) -> dict[str, object]:
    row: dict[str, object] = {"crawl": crawl, "quantity": quantity, "unit": _unit(quantity), "verdict": "not_tested"}
    if found is None or not np.isfinite(found).all():
        return row
    factor = _factor_beyond(found, None if quantity in _COUNTS else least)
    is_low, is_high = factor < 1 / RELEVANT_FACTOR, factor > RELEVANT_FACTOR
    verdict = "below" if is_low else "above" if is_high else "expected"
    return row | dict(zip(_NUMBERS, found, strict=True)) | {"factor": factor, "verdict": verdict}


def _unit(quantity: str) -> str:
    return "elements" if quantity in _COUNTS else "fraction"


def _factor_beyond(found: _Expectation, least: float | None) -> float:
    """Return a number, or the odds of a share of at least `least`, divided by the interval's nearest end; 1 inside."""
    if found.low <= found.value <= found.high:
        return 1.0
    end = found.low if found.value < found.low else found.high
    if least is None:
        return found.value / max(end, 1.0)
    shares = np.clip([found.value, end], min(least, 0.5), 1 - min(least, 0.5))
    return float(np.exp(np.subtract(*logit(shares))))


def _size(crawls: pd.DataFrame) -> float:
    size = crawls["elements"].iloc[-1]
    return np.nan if pd.isna(size) else float(size)


def _overlap(containment: pd.DataFrame | None, labels: list[str]) -> float:
    if containment is None:
        return np.nan
    is_last = (containment["crawl_i"] == labels[-2]) & (containment["crawl_j"] == labels[-1])
    return float(containment.loc[is_last, "intersection"].sum()) if is_last.any() else np.nan


def _forecast(value: float, rows: pd.DataFrame) -> _Expectation | None:
    if rows.empty:
        return None
    return _Expectation(value, *(float(rows[name].iloc[0]) for name in ("value", "value_low", "value_high")))


def _new_share(crawls: pd.DataFrame, unions: FloatArray | None, rows: pd.DataFrame) -> _Expectation | None:
    """Return the share of the last crawl that no crawl of the forecast's window captured."""
    if rows.empty or unions is None:
        return None
    start = crawls["crawl"].tolist().index(rows["start_crawl"].iloc[0])
    return _forecast(float(unions[start, -1] - unions[start, -2]) / _size(crawls), rows)


def _coverage(population: pd.DataFrame, last: str) -> _Expectation | None:
    """Return the crawl completeness of the last crawl; its own error widens the interval."""
    if population.empty or population["crawl"].iloc[-1] != last:
        return None
    values, low, high = (
        logit(np.clip(population[name].to_numpy(dtype=np.float64), _LEAST_SHARE, 1 - _LEAST_SHARE))
        for name in ("completeness", "completeness_low", "completeness_high")
    )
    return _next_of(values, float(high[-1] - low[-1]) / (2 * NORMAL_QUANTILE))


def _survival(unions: FloatArray) -> _Expectation | None:
    """Return the share of the elements of each crawl that one of the next two captured."""
    sizes = np.diagonal(unions)
    later_two, with_them = np.diagonal(unions, 1)[1:], np.diagonal(unions, 2)
    share = 1 - (with_them - later_two) / np.where(sizes[:-2] > 0, sizes[:-2], np.nan)
    return _next_of(logit(np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE)))


def _next_of(values: FloatArray, error: float = 0.0) -> _Expectation | None:
    """Return the last of some logits, and the interval of one more value after those before it."""
    earlier = values[:-1][np.isfinite(values[:-1])]
    if len(earlier) < _FEWEST or not np.isfinite([*values[-1:], error]).all():
        return None
    spread = np.hypot(earlier.std(ddof=1) * np.sqrt(1 + 1 / len(earlier)), error)
    half = float(student_quantile(0.975, len(earlier) - 1)) * spread
    middle = float(earlier.mean())
    return _Expectation(*(float(expit(one)) for one in (values[-1], middle, middle - half, middle + half)))
