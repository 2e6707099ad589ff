"""State why a fit has its status, as codes with their numbers, and word them for people.

Does not decide which reasons hold; see the fits and `identification`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crawl_urn_dagster.formatting import state_p_value
from crawl_urn_dagster.urn.results.codes import Code

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class ReasonCode(Code):
    """Why a fit has its status, or what qualifies it; stored in column ``reason_code``.

    Examples
    --------
    >>> ReasonCode("all_core") is ReasonCode.ALL_CORE
    True
    """

    MODEL_VIOLATION = "model_violation"
    NO_COUNTS = "no_counts"
    TOO_FEW_LAGS = "too_few_lags"
    TOO_FEW_POINTS = "too_few_points"
    TOO_FEW_CELLS = "too_few_cells"
    TOO_FEW_ELEMENTS = "too_few_elements"
    TOO_FEW_START_CRAWLS = "too_few_start_crawls"
    NO_RECAPTURES = "no_recaptures"
    NOT_CONVERGED = "not_converged"
    NO_CORE_NEEDED = "no_core_needed"
    ALL_CORE = "all_core"
    NO_SURVIVAL = "no_survival"
    NO_LOSSES = "no_losses"
    VANISHING_COVERAGE = "vanishing_coverage"
    FULL_COVERAGE = "full_coverage"
    AT_BOUND = "at_bound"
    AT_BOUND_WITHOUT_ERROR = "at_bound_without_error"
    UNCHANGED_FIT = "unchanged_fit"
    WIDE_INTERVAL = "wide_interval"
    FLAT_LIKELIHOOD = "flat_likelihood"
    ONE_CLASS_SUFFICES = "one_class_suffices"
    NOTHING_RECAPTURED = "nothing_recaptured"
    OUTSIDE_UNIT_INTERVAL = "outside_unit_interval"
    UNINFORMATIVE_INTERVAL = "uninformative_interval"
    INTERVAL_ENDS_AT_ESTIMATE = "interval_ends_at_estimate"
    CORE_NOT_PERMANENT = "core_not_permanent"
    CORE_TOO_SMALL = "core_too_small"
    STRATUM_CHANGES_SIZE = "stratum_changes_size"
    REFUTED = "refuted"


class Reason(NamedTuple):
    """One reason, with the numbers that its sentence quotes.

    Attributes
    ----------
    code
        Code of the reason.
    values
        Numbers and names by placeholder of the sentence.

    Examples
    --------
    >>> reason = Reason(ReasonCode.NOT_CONVERGED, {"search": "least-squares"})
    >>> explain([reason])
    'The least-squares search did not converge.'
    """

    code: ReasonCode
    values: Mapping[str, Any] = {}


_SENTENCES: dict[ReasonCode, str] = {
    ReasonCode.MODEL_VIOLATION: "{explanation}",
    ReasonCode.NO_COUNTS: "The joint fit needs two crawls or more, and the size of every crawl.",
    ReasonCode.TOO_FEW_LAGS: (
        "The number of distinct lags and window lengths is {found}; {n_parameters} parameters need at least {needed}."
    ),
    ReasonCode.TOO_FEW_POINTS: (
        "The number of points of the curves is {found}; {n_parameters} parameters need at least {needed}."
    ),
    ReasonCode.TOO_FEW_CELLS: (
        "The capture histories fill {found} cells (first capture, last capture, number of captures); "
        "{n_parameters} parameters need at least {needed}."
    ),
    ReasonCode.TOO_FEW_ELEMENTS: (
        "The stratum has {elements:,} elements, {in_crawl:,} of them in crawl {crawl}; every crawl needs {needed:,}."
    ),
    ReasonCode.TOO_FEW_START_CRAWLS: "A comparison by prediction needs {needed} start crawls; there are {found}.",
    ReasonCode.NO_RECAPTURES: "No element was captured in two crawls.",
    ReasonCode.NOT_CONVERGED: "The {search} search did not converge.",
    ReasonCode.AT_BOUND: "Parameter {parameter} is at its bound {bound:.0f}.",
    ReasonCode.NO_CORE_NEEDED: "Parameter kappa is at its bound 0: the homogeneous urn suffices.",
    ReasonCode.ALL_CORE: "Parameter kappa is at its bound 1: all elements belong to the core.",
    ReasonCode.NO_SURVIVAL: "Parameter alpha is at its bound 0: no element survives to the next crawl.",
    ReasonCode.NO_LOSSES: "Parameter alpha is at its bound 1: no element leaves the {part} within the window.",
    ReasonCode.VANISHING_COVERAGE: (
        "Parameter coverage is at its bound 0: a crawl captures a vanishing share of the {part}."
    ),
    ReasonCode.FULL_COVERAGE: "Parameter coverage is at its bound 1: {crawl} captures the whole {part}.",
    ReasonCode.AT_BOUND_WITHOUT_ERROR: "These parameters are at a bound and have no standard error: {parameters}.",
    ReasonCode.UNCHANGED_FIT: (
        "Parameter {parameter} is not identified by the {fit} fit: changing it by {change} and refitting the other "
        "parameters moves no fitted value by more than {moved:.4f} crawl sizes."
    ),
    ReasonCode.WIDE_INTERVAL: (
        "Parameter {parameter} is not identified by the capture histories (95 % CI {low:.3f} to {high:.3f})."
    ),
    ReasonCode.FLAT_LIKELIHOOD: "The likelihood does not identify each of these parameters on its own: {parameters}.",
    ReasonCode.ONE_CLASS_SUFFICES: "Two classes fit no better than one.",
    ReasonCode.NOTHING_RECAPTURED: (
        "The tail of the discovery curve rises by one crawl size per crawl: no element is recaptured, so every "
        "coverage fits."
    ),
    ReasonCode.OUTSIDE_UNIT_INTERVAL: (
        "The line implies alpha {alpha:.4g} and coverage {coverage:.4g}; an urn has both between 0 and 1."
    ),
    ReasonCode.UNINFORMATIVE_INTERVAL: "These 95 % confidence intervals are uninformative: {intervals}.",
    ReasonCode.INTERVAL_ENDS_AT_ESTIMATE: (
        "Fits to the bootstrap replicates are biased to one side, so the intervals of {parameters} are extended to "
        "the estimate."
    ),
    ReasonCode.CORE_NOT_PERMANENT: (
        "The core is not permanent: {in_all:,.0f} elements are in every crawl, {expected:,.0f} are expected "
        "({p_value}); kappa and mu describe the longest-lived part."
    ),
    ReasonCode.CORE_TOO_SMALL: (
        "More elements are permanent than the fitted core holds: {in_all:,.0f} elements are in every crawl, "
        "{expected:,.0f} are expected ({p_value})."
    ),
    ReasonCode.STRATUM_CHANGES_SIZE: (
        "The stratum {trend}: a crawl has {first:,.0f} of its elements on average over the first {crawls} crawls and "
        "{last:,.0f} over the last {crawls}. The urn model assumes a constant size, so survival, coverage and core "
        "describe a part that {trend}."
    ),
    ReasonCode.REFUTED: (
        "Tests of the collection refute this model (see diagnosis and adequacy_tests); its numbers describe the curves "
        "only."
    ),
}
_BOUNDS = {
    ("kappa", 0): ReasonCode.NO_CORE_NEEDED,
    ("kappa", 1): ReasonCode.ALL_CORE,
    ("alpha", 0): ReasonCode.NO_SURVIVAL,
    ("alpha", 1): ReasonCode.NO_LOSSES,
    ("coverage", 0): ReasonCode.VANISHING_COVERAGE,
    ("coverage", 1): ReasonCode.FULL_COVERAGE,
}


def explain(reasons: Iterable[Reason]) -> str | None:
    """Return the sentences of some reasons; None without reasons.

    Examples
    --------
    >>> explain([]) is None
    True
    """
    return " ".join(_SENTENCES[code].format(**_formatted(values)) for code, values in reasons) or None


def _formatted(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: state_p_value(value) if name == "p_value" else value for name, value in values.items()}


def too_few(code: ReasonCode, found: int, n_parameters: int) -> Reason:
    """Return the reason that data have too few points, lags or cells for the parameters of a model."""
    return Reason(code, {"found": found, "n_parameters": n_parameters, "needed": n_parameters + 1})


def at_bound(parameter: str, bound: float, *, part: str | None = None, crawl: str = "every crawl") -> Reason:
    """Return the reason that a parameter is at a bound.

    Parameters
    ----------
    parameter, bound
        Its name, and 0 or 1.
    part
        ``urn`` or ``shell`` where the bound has a meaning for that part; None: the bound alone is stated.
    crawl
        The crawl that captures the whole part at coverage 1.

    Examples
    --------
    >>> at_bound("kappa", 0, part="shell").code.value
    'no_core_needed'
    """
    if part is None:
        return Reason(ReasonCode.AT_BOUND, {"parameter": parameter, "bound": bound})
    return Reason(_BOUNDS[parameter, int(bound)], {"part": part, "crawl": crawl})


def join_codes(reasons: Sequence[Reason]) -> str | None:
    """Return the codes of some reasons for column ``reason_code``, separated by commas; None without reasons."""
    return ",".join(reason.code for reason in reasons) or None


def split_codes(codes: object) -> tuple[ReasonCode, ...]:
    """Return the codes of a value of column ``reason_code``, the inverse of `join_codes`.

    Examples
    --------
    >>> [code.value for code in split_codes("no_core_needed,unchanged_fit")]
    ['no_core_needed', 'unchanged_fit']
    >>> split_codes(None)
    ()
    """
    return tuple(map(ReasonCode, codes.split(","))) if isinstance(codes, str) and codes else ()
