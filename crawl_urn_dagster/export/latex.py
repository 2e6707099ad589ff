"""Format fitted parameters as two LaTeX tables for a paper.

Does not compute numbers; see `estimates`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.estimates.assessment.reading import curves_withheld_reason
from crawl_urn_dagster.estimates.assessment.result import QUANTITY_LABELS
from crawl_urn_dagster.estimates.headline import read_headline
from crawl_urn_dagster.formatting import format_significant
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from crawl_urn_dagster.estimates.assessment.result import Assessment, Quantity

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
# Names of quantities that differ from their labels.
_QUANTITIES = {"kappa": _SYMBOLS["kappa"], "core_share": _SYMBOLS["core_share"]}
_TERMS = {
    "life_expectancy": "residual lifetime after the present crawl",
    "sampled_time": "captured time",
    "hidden_time": "missed time",
    "hiding_time": "time to resolution",
    "nu_inf": "long-run share of a crawl that is new",
    "rho_inf": "long-run share of a crawl captured before",
}
_FIT_KEY = ["projection", "model", "form", "clock", "component", "first_crawl", "last_crawl"]
_UNKNOWN = "--"
_INTERVALS = r"Subscripts and superscripts: 95\,\% confidence intervals."


def parameters_tex(assessment: Assessment, parameters: pd.DataFrame, operator_terms: pd.DataFrame, *, name: str) -> str:
    """Return LaTeX tables: what may be quoted, the parameters of all fits, and operator terms of the selected fit.

    Numbers of fits that are not reported are left out, and so are the operator terms if the fit is refuted or no number
    may be quoted. The tables need the LaTeX
    package ``booktabs``.

    Parameters
    ----------
    assessment
        The numbers that may be quoted for the collection.
    parameters, operator_terms
        Tables of the same name.
    name
        Name of the collection.
    """
    tables = [
        _quantities_table(assessment, name),
        _parameters_table(parameters, name),
        _terms_table(assessment, operator_terms, parameters, name),
    ]
    return "\n".join(["% Needs \\usepackage{booktabs}.", *tables])


def _quantities_table(assessment: Assessment, name: str) -> str:
    rows = [
        (_QUANTITIES.get(key, label), _quantity(one), unit)
        for key, one in assessment.quantities.items()
        for label, unit in [QUANTITY_LABELS[key]]
    ]
    verdict = assessment.verdict
    caption = (
        f"{_escape(name)}: what may be quoted. Verdict: {_words(verdict.name.value)}; numbers may be quoted: "
        f"{verdict.quotable.value}; model: {_words(assessment.model or 'none')}. {_INTERVALS} They cover the "
        "assumption that no test can check, where there is one."
    )
    frame = pd.DataFrame(rows, columns=["Quantity", "Value", "Unit"])
    return _table(frame, caption, f"tab:{name}:quantities", right_aligned=["Value"])


def _quantity(quantity: Quantity) -> str:
    if quantity.interval is None:
        return _UNKNOWN if quantity.value is None else f"${_number(quantity.value)}$"
    low, high = map(_number, quantity.interval)
    return f"${low}$ to ${high}$" if quantity.value is None else f"${_number(quantity.value)}_{{{low}}}^{{{high}}}$"


def _parameters_table(parameters: pd.DataFrame, name: str) -> str:
    fits = parameters[parameters["component"] != "core"]
    rows = [
        {
            "Stratum": "all" if pd.isna(fit["stratum"]) else _escape(fit["stratum"]),
            "Observable": _words(fit["projection"]),
            "Model": _model(fit),
            "Clock": _escape(fit["clock"]),
            **{symbol: _estimate(fit, column) for column, symbol in _SYMBOLS.items()},
            "Status": _words(fit["status"]) + (r"$^\ast$" if fit["headline"] else ""),
        }
        for fit in fits.to_dict("records")
    ]
    frame = pd.DataFrame(rows)
    if fits["stratum"].isna().all():
        frame = frame.drop(columns="Stratum")
    caption = (
        f"Urn parameters of {_escape(name)}: core fraction of the urn $\\kappa$, core share of a crawl $\\mu$, "
        "survival $\\alpha$ per unit of the clock and coverage $c$ of the shell, or of the urn if the model has no "
        f"core. {_INTERVALS} Numbers that are not reported or not part of the model are left out; if a fit is not "
        "identified, only its intervals are given. Status refuted: tests of the collection refute the model. "
        r"$^\ast$: selected fit of the curves, of the collection or of its stratum."
    )
    return _table(frame, caption, f"tab:{name}:parameters", right_aligned=_SYMBOLS.values())


def _terms_table(assessment: Assessment, operator_terms: pd.DataFrame, parameters: pd.DataFrame, name: str) -> str:
    """Return the terms of the headline's last component: the shell, or the urn if the model has no core."""
    headline = parameters["headline"].astype(bool) & parameters["stratum"].isna()
    fit = parameters[headline].iloc[-1]
    is_of_fit = operator_terms["stratum"].isna() & (operator_terms[_FIT_KEY] == fit[_FIT_KEY]).all(axis=1)
    row = operator_terms[is_of_fit].to_dict("records")[0]
    units = dict.fromkeys(("nu_inf", "rho_inf"), "fraction")
    is_withheld = curves_withheld_reason(read_headline(parameters), assessment.verdict) is not None
    rows = [
        (term, _UNKNOWN if is_withheld else _estimate(row, column), units.get(column, row["unit"]))
        for column, term in _TERMS.items()
    ]
    caption = (
        f"{_escape(name)}: quantities for operators. Fit: {_words(fit['projection'])}, {_model(row)}, per "
        f"{fit['clock']}; status: {_words(row['status'])}. {_INTERVALS}"
    )
    frame = pd.DataFrame(rows, columns=["Quantity", "Value", "Unit"])
    return _table(frame, caption, f"tab:{name}:terms", right_aligned=["Value"])


def _table(frame: pd.DataFrame, caption: str, label: str, *, right_aligned: Any) -> str:
    """Return a LaTeX table of a frame whose cells are LaTeX."""
    styler = frame.style.hide(axis="index").set_table_styles([{"selector": "footnotesize", "props": ":{};"}])
    columns = "".join("r" if column in right_aligned else "l" for column in frame.columns)
    return styler.to_latex(column_format=columns, caption=caption, label=label, position_float="centering", hrules=True)


def _model(row: _Row) -> str:
    form = ", as printed" if row["form"] == "paper" else ""
    part = f", {_words(row['component'])}" if row["component"] in {"shell_1", "shell_2"} else ""
    return f"{_words(row['model'])}{form}{part}"


def _words(name: str) -> str:
    return _escape(name.replace("_", " "))


def _escape(text: str) -> str:
    """Escape text from data for LaTeX and drop its unprintable characters."""
    return "".join(character for character in text if character.isprintable()).translate(_ESCAPED)


def _estimate(row: _Row, column: str) -> str:
    value, low, high = (row[name] for name in (column, f"{column}_low", f"{column}_high"))
    if row["status"] in UNREPORTED_STATUSES or pd.isna(value):
        return _UNKNOWN
    if row["status"] in NO_POINT_ESTIMATE_STATUSES:
        return _UNKNOWN if pd.isna(low) else f"${_number(low)}$ to ${_number(high)}$"
    interval = "" if pd.isna(low) or pd.isna(high) else f"_{{{_number(low)}}}^{{{_number(high)}}}"
    return f"${_number(value)}{interval}$"


def _number(value: float) -> str:
    return r"\infty" if math.isinf(value) else format_significant(value)
