"""Format numbers, intervals, shares, counts and units as plain text.

Does not escape text: see `report.markdown` for Markdown and `export.latex` for LaTeX.
"""

from __future__ import annotations

import difflib
import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Stands for a number that is unknown or not reported.
UNKNOWN = "–"
_MOST_DECIMALS = 8
# Numbers below this would otherwise be written with an exponent.
_SMALL = 1e-4
#: Stands for a parameter that the data do not identify.
NOT_IDENTIFIED = "not identified"
_ELEMENT = re.compile(r"\b(an )?([Ee])lement(?=s?\b)")
# Longer lists of options hide the message.
_MAX_OPTIONS = 20
_COUNT_UNITS = ((1e9, "billion "), (1e6, "million "), (1e3, "thousand "))


def count_noun(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun in the singular or plural.

    Parameters
    ----------
    n
        Count.
    noun
        Noun in the singular.
    plural
        Its plural; by default the singular with an s.

    Examples
    --------
    >>> count_noun(1, "pair"), count_noun(1326, "pair"), count_noun(0, "stratum", "strata")
    ('1 pair', '1,326 pairs', '0 strata')
    """
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def format_options(found: str, expected: Iterable[str]) -> str:
    """Format the valid options for a value: the closest match, if any, and the first 20 options."""
    options = list(dict.fromkeys(expected))
    close = difflib.get_close_matches(found, options, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    more = f", ... ({len(options)} in all)" if len(options) > _MAX_OPTIONS else ""
    shown = ", ".join(options[:_MAX_OPTIONS])
    # Names from a file may contain characters that change the state of a terminal.
    return "".join(one if one.isprintable() else "?" for one in f"{hint}expected one of: {shown}{more}")


def replace_element_noun(text: str, noun: str) -> str:
    """Replace "element" in a fixed text by the noun of a collection.

    Parameters
    ----------
    text
        Text of the package; it must not contain text from data.
    noun
        Noun in the singular, such as ``URL``; its plural takes an s.

    Examples
    --------
    >>> replace_element_noun("Elements return; an element's history.", "URL")
    "URLs return; a URL's history."
    """
    if noun == "element":
        return text
    nouns = {"E": f"{noun[:1].upper()}{noun[1:]}", "e": noun}
    return _ELEMENT.sub(lambda found: f"{'a ' if found[1] else ''}{nouns[found[2]]}", text)


def format_count(value: float) -> str:
    """Return a number rounded to a whole one, with thousands separators.

    Examples
    --------
    >>> format_count(1326.4)
    '1,326'
    """
    return f"{round(value):,}"


def count_unit(largest: float) -> tuple[float, str]:
    """Return divisor and name of the unit for counts of up to `largest`; the name ends in a space unless empty.

    Examples
    --------
    >>> count_unit(2_500_000), count_unit(999)
    ((1000000.0, 'million '), (1.0, ''))
    """
    return next((unit for unit in _COUNT_UNITS if largest >= unit[0]), (1.0, ""))


def format_number(value: float) -> str:
    """Return a number with four significant digits, or rounded to a whole one from 1,000.

    A number below 0.0001 has seven decimals, and is 0 if they are.

    Examples
    --------
    >>> [format_number(value) for value in (0.123456, 1761.4, 6.144e-06, 4e-18, math.inf, math.nan)]
    ['0.1235', '1,761', '0.0000061', '0', '∞', '–']
    """
    if math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) < _SMALL:
        text = f"{value:.7f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def format_p_value(value: float) -> str:
    """Return a p-value with two significant digits, or that it is below 0.0001.

    Examples
    --------
    >>> [format_p_value(value) for value in (0.0234, 1e-08, math.nan)]
    ['0.023', '< 0.0001', '–']
    """
    if math.isnan(value):
        return UNKNOWN
    return f"< {_SMALL:.4f}" if value < _SMALL else f"{value:.2g}"


def state_p_value(value: float) -> str:
    """Return a p-value for a sentence.

    Examples
    --------
    >>> state_p_value(0.0234), state_p_value(1e-15)
    ('p = 0.023', 'p < 0.0001')
    """
    text = format_p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def format_significant(value: float, *, digits: int = 3, max_decimals: int = 4) -> str:
    """Return a finite number with a number of significant digits, if `max_decimals` decimals are enough for them.

    Examples
    --------
    >>> [format_significant(value) for value in (0.4, 12.345, 0.00004567, 1761.4)]
    ['0.400', '12.3', '0.0000', '1761']
    """
    before_point = math.floor(math.log10(abs(value))) + 1 if value else 0
    return f"{value:.{min(max_decimals, max(0, digits - before_point))}f}"


def format_share(value: float) -> str:
    """Return a share with three decimals, or up to six if it would otherwise look like 0 or 1.

    Examples
    --------
    >>> format_share(0.4), format_share(0.9996), format_share(1)
    ('0.400', '0.9996', '1.000')
    """
    return _format_inside(value, whole=1, fewest=3, most=6)


def format_percent(percent: float) -> str:
    """Return a percentage, without its unit, with one decimal, or up to four if it would look like 0 or 100.

    Examples
    --------
    >>> format_percent(52.63), format_percent(99.996), format_percent(100)
    ('52.6', '99.996', '100.0')
    """
    return _format_inside(percent, whole=100, fewest=1, most=4)


def _format_inside(value: float, *, whole: float, fewest: int, most: int) -> str:
    """Return a number in [0, whole] with enough decimals to differ from both ends."""
    decimals = fewest
    while decimals < most and value not in {0, whole} and float(f"{value:.{decimals}f}") in {0, whole}:
        decimals += 1
    return f"{value:.{decimals}f}"


def interval_decimals(value: float, low: float, high: float) -> int | None:
    """Return the fewest decimals that show an estimate and its interval; negative if last digits of a count are noise.

    The ends of the interval differ by at least 4 units of the last decimal. The estimate has two significant digits if
    one more decimal is enough for them.

    Returns
    -------
    int or None
        None if the interval is empty, not finite, or too narrow for 8 decimals.

    Examples
    --------
    >>> interval_decimals(0.4, 0.3, 0.5), interval_decimals(22788.2, 22644.4, 22932.6)
    (2, -1)
    """
    if low == high or not all(map(math.isfinite, (value, low, high))):
        return None
    apart = math.ceil(math.log10(4 / abs(high - low)) - 1e-9)
    for_value = 1 - math.floor(math.log10(abs(value))) if value else apart
    decimals = min(max(apart, for_value), apart + 1)
    return None if decimals > _MOST_DECIMALS else decimals


def format_interval(
    value: float, low: float, high: float, otherwise: Callable[[float], str] = format_number
) -> tuple[str, str, str]:
    """Return an estimate and the ends of its interval with as many decimals as `interval_decimals` requires.

    Parameters
    ----------
    value, low, high
        Estimate and interval.
    otherwise
        Formats all three if the interval does not determine a number of decimals.

    Examples
    --------
    >>> format_interval(0.75984, 0.75961, 0.76010)
    ('0.7598', '0.7596', '0.7601')
    """
    decimals = interval_decimals(value, low, high)
    if decimals is None:
        return otherwise(value), otherwise(low), otherwise(high)
    # Adding 0 turns a rounded -0.0 into 0.0.
    first, second, third = (f"{round(one, decimals) + 0.0:,.{max(decimals, 0)}f}" for one in (value, low, high))
    return first, second, third
