"""Map each column of the schema to the columns that it is computed from.

Does not define the columns (`schema`) or compute them (`tables`, `estimates`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.observables.schema import ELEMENT_LISTS, FILES, TABLES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_Source = tuple[str, str]

_LABEL: tuple[_Source, ...] = (("crawls", "crawl"),)
_INDEX: tuple[_Source, ...] = (("crawls", "crawl_index"),)
_YEARS: tuple[_Source, ...] = (("crawls", "years"),)
_HISTORIES: tuple[_Source, ...] = (("capture_history_counts", "history"), ("capture_history_counts", "elements"))
_OBSERVED: tuple[_Source, ...] = (("containment", "intersection"), ("discovery_curve", "distinct_elements"))
_SIZE: tuple[_Source, ...] = (("crawls", "elements"),)

_SOURCES: Mapping[str, Mapping[str, tuple[_Source, ...]]] = {
    "capture_history_counts": {"history": _LABEL},
    "discovery_curve": {
        **dict.fromkeys(("start_crawl", "end_crawl"), _LABEL),
        "window_crawls": _INDEX,
        "elapsed_years": _YEARS,
        **dict.fromkeys(("distinct_elements", "ratio"), _HISTORIES),
    },
    "containment": {
        **dict.fromkeys(("crawl_i", "crawl_j"), _LABEL),
        "lag_crawls": _INDEX,
        "lag_years": _YEARS,
        **dict.fromkeys(("size_i", "size_j"), _SIZE),
        **dict.fromkeys(("intersection", "containment", "containment_reverse"), _HISTORIES),
    },
    "m_array": {**dict.fromkeys(("released_crawl", "recaptured_crawl"), _LABEL), "elements": _HISTORIES},
    "first_returns": {"lag_crawls": _INDEX, **dict.fromkeys(("fraction", "fraction_se"), _HISTORIES)},
    "parameters": {
        **dict.fromkeys(("first_crawl", "last_crawl"), _LABEL),
        **dict.fromkeys(("share", "kappa", "core_share", "alpha", "coverage", "residual_rms", "status"), _OBSERVED),
    },
    "parameter_history": {
        **dict.fromkeys(("first_crawl", "last_crawl"), _LABEL),
        **dict.fromkeys(("share", "kappa", "core_share", "alpha", "coverage", "residual_rms", "status"), _OBSERVED),
    },
    "window_lengths": {
        **dict.fromkeys(("first_crawl", "last_crawl"), _LABEL),
        **dict.fromkeys(("kappa", "core_share", "status"), _OBSERVED),
    },
    "operator_terms": {
        **dict.fromkeys(("first_crawl", "last_crawl"), _LABEL),
        **dict.fromkeys(
            (
                "life_expectancy",
                "sampled_time",
                "hidden_time",
                "half_life",
                "hiding_time",
                "nu_inf",
                "rho_inf",
                "status",
            ),
            _OBSERVED,
        ),
    },
    "headline": {
        column: (("parameters", column),) for column in TABLES["parameters"].column_names if column != "headline"
    },
    "drift": {
        **dict.fromkeys(("last_crawl", "value_first_crawl", "since_crawl"), _LABEL),
        **dict.fromkeys(("reference_value", "value", "difference", "statistic", "drifted"), _OBSERVED),
    },
    "control_chart": {"crawl": _LABEL, **dict.fromkeys(("value", "average", "statistic", "p_value"), _OBSERVED)},
    "forecast": {**dict.fromkeys(("origin_crawl", "start_crawl"), _LABEL), "value": _OBSERVED},
    "last_crawl": {
        "crawl": _LABEL,
        **dict.fromkeys(("expected", "expected_low", "expected_high"), (("forecast", "value"),)),
    },
    "planning": dict.fromkeys(("coverage", "crawls_to_seen", "nu_inf", "cost_per_new"), _OBSERVED),
    "equal_budget": dict.fromkeys(("coverage", "new_per_time", "new_change"), _OBSERVED),
}


_ELEMENT: Mapping[str, tuple[_Source, ...]] = {
    **dict.fromkeys(("first_crawl", "last_crawl"), _LABEL),
    **dict.fromkeys(
        (
            *("captures", "absent_crawls", "score", "expected_yield", "p_core", "p_eligible", "p_missed", "p_dormant"),
            *("p_captured_next", "expected_captures", "p_expected"),
        ),
        _HISTORIES,
    ),
}
_ELEMENT_SOURCES: Mapping[str, Mapping[str, tuple[_Source, ...]]] = {
    **dict.fromkeys(("elements", *(table.name for table in ELEMENT_LISTS)), _ELEMENT),
    "element_scores": dict.fromkeys(("predictions", "brier", "log_loss", "calibration_error"), _HISTORIES),
    "element_calibration": dict.fromkeys(("predictions", "predicted", "observed"), _HISTORIES),
    "losses_by_group": dict.fromkeys(("expected", "lost", "p_value", "concentrated"), _HISTORIES),
}


def column_sources(table: str, present: Collection[str]) -> dict[str, list[_Source]]:
    """Return the columns from which each column of a table is computed.

    The ends of a confidence interval have the sources of the estimate.

    Parameters
    ----------
    table
        Name of the table, or of the view headline.
    present
        Tables that the collection has; sources in other tables are left out.

    Returns
    -------
    Pairs of table and column, by column; columns without a source are left out.

    Examples
    --------
    >>> column_sources("m_array", ["crawls"])["released_crawl"]
    [('crawls', 'crawl')]
    """
    sources = _SOURCES.get(table) or _ELEMENT_SOURCES.get(table, {})
    found = {}
    for column in (TABLES | FILES)["parameters" if table == "headline" else table].column_names:
        estimate = column.removesuffix("_low").removesuffix("_high")
        pairs = [pair for pair in sources.get(column) or sources.get(estimate, ()) if pair[0] in present]
        if pairs:
            found[column] = pairs
    return found
