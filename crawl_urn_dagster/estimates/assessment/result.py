"""Hold the assessment of a collection, write it as tables, and read it back.

Does not compute it; see `assess`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtri

from crawl_urn_dagster.formatting import format_interval, format_number
from crawl_urn_dagster.observables.schema import ADEQUACY_TESTS, CANDIDATE_MODELS, CLASSES, POPULATION, QUANTITIES
from crawl_urn_dagster.urn import Interval, ReasonCode, Status
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from crawl_urn_dagster.estimates.assessment.verdicts import Verdict

#: Symbol or name, and unit, of every quantity, in the order in which they are shown.
QUANTITY_LABELS = {
    "completeness": ("crawl completeness", "fraction"),
    "population": ("known eligible elements", "elements"),
    "growth": ("growth per crawl", "fraction per crawl"),
    "survival": ("survival per crawl", "fraction"),
    "gone": ("share of a crawl gone by the next", "fraction"),
    "newcomers": ("newcomers per crawl", "elements per crawl"),
    "really_new": ("share of newcomers that appeared since the previous crawl", "fraction"),
    "kappa": ("κ", "fraction"),
    "core_share": ("μ", "fraction"),
    "core_limit": ("largest core fraction", "fraction"),
}
# Ends of an interval of a number of elements whose ratio is above this exclude next to nothing.
_LARGEST_RATIO = 10.0
_SCALES: dict[str, tuple[Any, Any]] = {"fraction": (logit, expit), "elements": (np.log, np.exp)}


class Quantity(NamedTuple):
    """A quantity that may be quoted, with its intervals.

    Attributes
    ----------
    value
        None: not reported; ``reason_code`` states why.
    interval
        95 % confidence interval over the assumption that no test can check; None: unknown.
    inner
        The same interval if the assumption holds; None: there is no such assumption.
    assumption
        ``newborn_coverage``: the coverage of elements in their first crawl; ``entrants``: whether newcomers are
        available at once; ``earlier_crawls``: whether crawls before the first captured elements as the later ones did;
        ``first_captures``: both the coverage of elements in their first crawl and the earlier crawls; None: no such
        assumption.
    status
        Status of the value.
    reason_code
        Why there is no value, as a code.
    """

    value: float | None
    interval: Interval | None = None
    inner: Interval | None = None
    assumption: str | None = None
    status: Status = Status.OK
    reason_code: str | None = None


class ElementClass(NamedTuple):
    """A class of elements of the selected model: estimates by name, each with its interval if known."""

    name: str
    estimates: Mapping[str, float]
    intervals: Mapping[str, Interval]


@dataclass(frozen=True, eq=False)
class Assessment:
    """The numbers that may be quoted for a collection.

    Attributes
    ----------
    verdict
        Overall result of the tests.
    model
        The selected model; None when no model is adequate.
    quantities
        Quantities by name; see table `quantities`.
    classes
        Classes of the selected model, the core first.
    population, candidates, tests
        Rows of the tables `population`, `candidate_models` and `adequacy_tests`.
    refuted
        Models that the tests refute.
    set_aside
        Crawls that were left out because they differ from all others.
    scope_break
        The first crawl after a change of scope, if only one side of it was assessed; None without one.
    """

    verdict: Verdict
    model: str | None = None
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    classes: Sequence[ElementClass] = ()
    population: Sequence[Mapping[str, object]] = ()
    candidates: Sequence[Mapping[str, object]] = ()
    tests: Sequence[Mapping[str, object]] = ()
    refuted: frozenset[str] = frozenset()
    set_aside: tuple[str, ...] = ()
    scope_break: str | None = None

    def estimate(self, name: str) -> float | None:
        """Return the value of a quantity; None when not reported."""
        return self.quantities[name].value if name in self.quantities else None

    @property
    def intervals(self) -> dict[str, Interval]:
        """Confidence intervals by quantity, over the assumptions that no test can check."""
        return {name: one.interval for name, one in self.quantities.items() if one.interval is not None}

    @property
    def has_numbers(self) -> bool:
        """Whether any quantity has a value or an interval that may be quoted."""
        return any(one.value is not None or one.interval is not None for one in self.quantities.values())

    @property
    def status(self) -> Status:
        """Status of the numbers."""
        return self.verdict.status

    def at_level(self, level: float) -> Assessment:
        """Return the assessment with intervals of another confidence level.

        The distance of each end from the value is multiplied by the ratio of normal quantiles: on the logit scale for
        fractions, on the log scale for elements. An interval over an assumption keeps its width beyond the inner one.
        """
        return replace(self, quantities={name: _at_level(name, one, level) for name, one in self.quantities.items()})

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the assessment by name."""
        model = self.model or "none"
        rows: dict[str, Sequence[Mapping[str, object]]] = {
            "quantities": [
                {
                    "quantity": name,
                    **value_columns("value", one.value, one.interval),
                    **({} if one.inner is None else {"inner_low": one.inner.low, "inner_high": one.inner.high}),
                    "assumption": one.assumption,
                    "unit": QUANTITY_LABELS[name][1],
                    "model": model,
                    "status": one.status.value,
                    "reason_code": one.reason_code,
                }
                for name, one in self.quantities.items()
            ],
            "classes": [
                {
                    "class": one.name,
                    **{
                        column: value
                        for name, estimate in one.estimates.items()
                        for column, value in value_columns(name, estimate, one.intervals.get(name)).items()
                    },
                    "model": model,
                }
                for one in self.classes
            ],
            "population": [{**row, "model": model} for row in self.population],
            "candidate_models": self.candidates,
            "adequacy_tests": self.tests,
        }
        schemas = {table.name: table for table in (QUANTITIES, CLASSES, POPULATION, CANDIDATE_MODELS, ADEQUACY_TESTS)}
        return {name: pd.DataFrame(rows[name], columns=list(schemas[name].column_names)) for name in rows}


def _at_level(name: str, quantity: Quantity, level: float) -> Quantity:
    if quantity.interval is None or quantity.value is None:
        return quantity
    factor = float(ndtri((1 + level) / 2)) / NORMAL_QUANTILE
    inner = quantity.inner or quantity.interval
    stretched = widened(name, quantity.value, inner, factor)
    if quantity.inner is None:
        return quantity._replace(interval=stretched)
    beyond = [end - inner_end for end, inner_end in zip(quantity.interval, quantity.inner, strict=True)]
    most = np.inf if QUANTITY_LABELS[name][1] == "elements" else 1.0
    outer = Interval(*(float(np.clip(end + more, 0, most)) for end, more in zip(stretched, beyond, strict=True)))
    return quantity._replace(interval=outer, inner=stretched)


def widened(name: str, value: float, interval: Interval, factor: float) -> Interval:
    """Return an interval whose ends are farther from the value by a factor, on the scale of the quantity.

    The scale is the logit for fractions and the logarithm for elements; ends at 0 or 1 stay.

    Examples
    --------
    >>> interval = widened("population", 100.0, Interval(50.0, 200.0), 2)
    >>> round(interval.low, 6), round(interval.high, 6)
    (25.0, 400.0)
    """
    unit = QUANTITY_LABELS[name][1]
    has_scale = unit in _SCALES and value > 0 and (unit == "elements" or value < 1)
    scale, back = _SCALES[unit] if has_scale else (np.positive, np.positive)
    middle = scale(value)
    with np.errstate(divide="ignore"):
        low, high = (float(back(middle + factor * (scale(end) - middle))) for end in interval)
    return Interval(low, high)


def without_uninformative(quantities: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Return the quantities, those whose interval excludes next to nothing without a value.

    The interval of a fraction is uninformative if it is wider than 0.9, that of elements if its ends differ by a factor
    of more than 10, and that of a growth if it is wider than 1.

    Examples
    --------
    >>> quantities = {"population": Quantity(100.0, Interval(5.0, 2000.0)), "survival": Quantity(0.9, Interval(0.8, 1))}
    >>> [one.value for one in without_uninformative(quantities).values()]
    [None, 0.9]
    """
    return {name: one if _is_informative(name, one) else _withheld(one) for name, one in quantities.items()}


def _is_informative(name: str, quantity: Quantity) -> bool:
    if quantity.interval is None:
        return True
    low, high = quantity.interval
    unit = QUANTITY_LABELS[name][1]
    if unit == "elements":
        return bool(high <= _LARGEST_RATIO * low)
    return unit == "elements per crawl" or not (quantity.interval.is_uninformative or high - low > 1)


def _withheld(quantity: Quantity) -> Quantity:
    code = ReasonCode.UNINFORMATIVE_INTERVAL.value
    return quantity._replace(value=None, status=Status.NOT_IDENTIFIED, reason_code=code)


def value_columns(name: str, value: float | None, interval: Interval | None) -> dict[str, float | None]:
    """Return the columns of a value and its interval; infinity stays, NaN becomes null."""
    known = (
        {name: value} if interval is None else {name: value, f"{name}_low": interval[0], f"{name}_high": interval[1]}
    )
    return {column: None if one is None or np.isnan(one) else float(one) for column, one in known.items()}


def read_quantities(table: pd.DataFrame) -> dict[str, Quantity]:
    """Return the quantities of table `quantities` by name."""
    return {row["quantity"]: _read_quantity(row) for row in table.to_dict("records")}


def _read_quantity(row: Mapping[Hashable, Any]) -> Quantity:
    def number(name: str) -> float | None:
        value: Any = row[name]
        return None if pd.isna(value) else float(value)

    def interval(prefix: str) -> Interval | None:
        low, high = number(f"{prefix}_low"), number(f"{prefix}_high")
        return None if low is None or high is None else Interval(low, high)

    def text(name: str) -> str | None:
        value = row[name]
        return value if isinstance(value, str) else None

    return Quantity(
        number("value"),
        interval("value"),
        interval("inner"),
        text("assumption"),
        Status(row["status"]),
        text("reason_code"),
    )


def format_quantity(name: str, quantity: Quantity) -> str:
    """Return a quantity with its label and interval, as in "κ 0.44 (0.39 to 0.48)".

    Examples
    --------
    >>> format_quantity("kappa", Quantity(0.4441, Interval(0.394, 0.4803)))
    'κ 0.44 (0.39 to 0.48)'
    >>> format_quantity("population", Quantity(1402.2, Interval(1390.4, 1415.1)))
    'known eligible elements 1,402 (1,390 to 1,415)'
    >>> format_quantity("gone", Quantity(0.0, Interval(0.0, 0.0005)))
    'share of a crawl gone by the next 0 (upper limit 0.0005)'
    >>> format_quantity("kappa", Quantity(None))
    'κ not reported'
    """
    label, unit = QUANTITY_LABELS[name]
    if quantity.interval is None:
        return f"{label} {'not reported' if quantity.value is None else format_number(quantity.value)}"
    middle = float(np.mean(quantity.interval)) if quantity.value is None else quantity.value
    value, low, high = format_interval(middle, *quantity.interval)
    if quantity.value == quantity.interval.low == 0:
        return f"{label} 0 (upper limit {format_number(quantity.interval.high)})"
    if unit == "fraction" and quantity.value == quantity.interval.high == 1:
        return f"{label} 1 (lower limit {low})"
    if value == low == high:
        return f"{label} {value}"
    return f"{label} between {low} and {high}" if quantity.value is None else f"{label} {value} ({low} to {high})"
