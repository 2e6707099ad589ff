"""Fit two columns to many curves by least squares over the triangle of coefficients a >= 0, b >= 0, a + b <= 1.

Does not search for the decay that the columns depend on; see `batched`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

# Columns are collinear if no larger share of the second, in squares, is outside the first: r = 0, or r = 1.
_COLLINEAR = 1e-24


class Columns(NamedTuple):
    """The two columns at each decay, and the slope of the second; shape (points,) or (..., points)."""

    first: FloatArray
    second: FloatArray
    second_slope: FloatArray


class Products(NamedTuple):
    """Dot products of the columns with each other, with their slope and with the curves, of one shape."""

    first_first: FloatArray
    first_second: FloatArray
    second_second: FloatArray
    outside_outside: FloatArray
    first_slope: FloatArray
    second_slope: FloatArray
    first_observed: FloatArray
    second_observed: FloatArray
    outside_observed: FloatArray
    slope_observed: FloatArray


def products_of_rows(columns: Columns, observed: FloatArray, known: BoolArray) -> Products:
    """Return products over the known points of each row."""
    return products_of(Columns(*(known * column for column in columns)), lambda column: _dot(column, observed))


def products_of(columns: Columns, with_observed: Callable[[FloatArray], FloatArray]) -> Products:
    """Return products, given a function that multiplies a column by the curves."""
    first, second, slope = columns
    first_first, first_second = _dot(first, first), _dot(first, second)
    # Inside the triangle b follows from the part of the second column outside the first, which avoids squared rounding.
    outside = second - quotient(first_second, first_first)[..., None] * first
    return Products(
        first_first=first_first,
        first_second=first_second,
        second_second=_dot(second, second),
        outside_outside=_dot(outside, outside),
        first_slope=_dot(first, slope),
        second_slope=_dot(second, slope),
        first_observed=with_observed(first),
        second_observed=with_observed(second),
        outside_observed=with_observed(outside),
        slope_observed=with_observed(slope),
    )


def project(products: Products, *, with_core: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the least-squares coefficients over the triangle, and the slope of the sum of squares in the decay.

    The sum of squares is convex in the coefficients, so its minimum is inside the triangle or is the smallest minimum
    along the three edges. By the envelope theorem only the slope of the columns contributes to its slope.
    """
    if with_core:
        a, b = _over_triangle(products)
    else:
        b = _clipped(products.second_observed, products.second_second)
        a = np.zeros_like(b)
    return a, b, 2 * b * (a * products.first_slope + b * products.second_slope - products.slope_observed)


def _over_triangle(products: Products) -> tuple[FloatArray, FloatArray]:
    first_first, first_second, second_second, outside_outside, *_ = products
    first_observed, second_observed = products.first_observed, products.second_observed
    b_inside = quotient(products.outside_observed, outside_outside)
    a_inside = quotient(first_observed - b_inside * first_second, first_first)
    feasible = (outside_outside > _COLLINEAR * second_second) & (a_inside >= 0) & (b_inside >= 0)
    feasible &= a_inside + b_inside <= 1
    # The minimum along each of the three edges.
    b_only = _clipped(second_observed, second_second)
    a_only = _clipped(first_observed, first_first)
    b_slant = _clipped(
        second_observed - first_observed - first_second + first_first, second_second - 2 * first_second + first_first
    )
    a = np.stack(np.broadcast_arrays(0.0, a_only, 1 - b_slant))
    b = np.stack(np.broadcast_arrays(b_only, 0.0, b_slant))
    cost = a**2 * first_first + 2 * a * b * first_second + b**2 * second_second
    cost -= 2 * (a * first_observed + b * second_observed)
    edge = cost.argmin(axis=0)[None]
    on_edge = np.take_along_axis(a, edge, axis=0)[0], np.take_along_axis(b, edge, axis=0)[0]
    return np.where(feasible, a_inside, on_edge[0]), np.where(feasible, b_inside, on_edge[1])


def _dot(u: FloatArray, v: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("...p,...p->...", u, v))


def quotient(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide; return 0 where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator != 0)


def _clipped(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    return np.clip(quotient(numerator, denominator), 0, 1)
