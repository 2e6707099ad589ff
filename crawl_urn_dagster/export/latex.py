"""Fitted parameters as LaTeX tables.

Here: two tables for a paper. Not here: the numbers (`estimates`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.formatting import format_significant
from crawl_urn_dagster.urn import UNSAID, WITHHELD

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    _Row = Mapping[Hashable, Any]

_ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        **{character: f"\\{character}" for character in "{}$&#_%"},
    }
)
_SYMBOLS = {"kappa": r"$\kappa$", "core_share": r"$\mu$", "alpha": r"$\alpha$", "coverage": r"$c$"}
_TERMS = {
    "life_expectancy": "life expectancy after the present round",
    "sampled_time": "part of it in rounds in which the element is sampled",
    "hidden_time": "part of it in rounds in which it is missed",
    "hiding_time": "time an unseen element stays unseen",
    "nu_inf": "new fraction of a crawl in the long run",
    "rho_inf": "seen fraction of a crawl in the long run",
}
_UNKNOWN = "--"
_INTERVALS = r"Raised and lowered: limits of 95\,\% intervals."


def parameters_tex(parameters: pd.DataFrame, operator_terms: pd.DataFrame, *, name: str) -> str:
    """Tables of every fit's parameters, and of the headline in an operator's terms.

    Of fits that are withheld the status is given and no number. Needs the LaTeX package ``booktabs``.

    Parameters
    ----------
    parameters, operator_terms
        Tables of the contract.
    name
        Name of the collection.
    """
    return "\n".join(
        ["% Needs \\usepackage{booktabs}.", _parameters(parameters, name), _terms(operator_terms, parameters, name)]
    )


def _parameters(parameters: pd.DataFrame, name: str) -> str:
    fits = parameters[parameters["component"] != "core"]
    with_strata = fits["stratum"].notna().any()
    heading = [*(["Stratum"] if with_strata else []), "Fitted", "Urn", "Clock", *_SYMBOLS.values(), "Status"]
    rows = []
    for fit in fits.to_dict("records"):
        stratum = "all" if pd.isna(fit["stratum"]) else fit["stratum"]
        numbers = [_estimate(fit, column) for column in _SYMBOLS]
        texts = [*([stratum] if with_strata else []), _words(fit["projection"]), _urn(fit), fit["clock"]]
        mark = r"$^\ast$" if fit["headline"] else ""
        rows.append([*map(_escape, texts), *numbers, _escape(_words(fit["status"])) + mark])
    caption = (
        f"Urn parameters of {_escape(name)}: core's share of the urn $\\kappa$ and of a crawl $\\mu$, survival "
        f"$\\alpha$ per unit of the clock and coverage $c$ of the shell or the one urn. {_INTERVALS} Numbers that are "
        r"withheld or not part of the urn are left out, and of a fit that is not identified all but the limits. "
        r"$^\ast$: speaks for the collection or its stratum."
    )
    columns = "l" * (len(heading) - len(_SYMBOLS) - 1) + "r" * len(_SYMBOLS) + "l"
    return _table(caption, f"tab:{name}:parameters", columns, heading, rows)


def _terms(operator_terms: pd.DataFrame, parameters: pd.DataFrame, name: str) -> str:
    """Table of the headline's last component: the shell, or the one urn."""
    headline = parameters["headline"].astype(bool) & parameters["stratum"].isna()
    fit = parameters[headline].iloc[-1]
    own = operator_terms["stratum"].isna()
    for column in ("projection", "model", "form", "clock", "component", "first_crawl", "last_crawl"):
        own &= operator_terms[column] == fit[column]
    row = operator_terms[own].to_dict("records")[0]
    units = dict.fromkeys(("nu_inf", "rho_inf"), "fraction")
    rows = [[text, _estimate(row, column), units.get(column, row["unit"])] for column, text in _TERMS.items()]
    caption = (
        f"{_escape(name)} in an operator's terms. Fit: {_escape(_words(fit['projection']))}, {_escape(_urn(row))}, per "
        f"{fit['clock']}; status: {_escape(_words(row['status']))}. {_INTERVALS}"
    )
    return _table(caption, f"tab:{name}:terms", "lrl", ["Term", "Value", "Unit"], rows)


def _table(caption: str, label: str, columns: str, heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" & ".join(row) + r" \\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            r"\footnotesize",
            f"\\caption{{{caption}}}",
            f"\\label{{{label}}}",
            f"\\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(heading) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _urn(row: _Row) -> str:
    form = ", as printed" if row["form"] == "paper" else ""
    part = f", {_words(row['component'])}" if row["component"] in {"shell_1", "shell_2"} else ""
    return f"{_words(row['model'])}{form}{part}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _escape(text: str) -> str:
    """Text from data as LaTeX that prints as it is; what cannot be printed is left out."""
    return "".join(character for character in text if character.isprintable()).translate(_ESCAPED)


def _estimate(row: _Row, column: str) -> str:
    value, low, high = (row[name] for name in (column, f"{column}_low", f"{column}_high"))
    if row["status"] in WITHHELD or pd.isna(value):
        return _UNKNOWN
    if row["status"] in UNSAID:
        return _UNKNOWN if pd.isna(low) else f"${_number(low)}$ to ${_number(high)}$"
    limits = "" if pd.isna(low) or pd.isna(high) else f"_{{{_number(low)}}}^{{{_number(high)}}}"
    return f"${_number(value)}{limits}$"


def _number(value: float) -> str:
    return r"\infty" if math.isinf(value) else format_significant(value)
