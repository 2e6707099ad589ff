"""Check for changes since the reference period: in parameters or, if the urn model does not fit, in observables.

Does not compute the control charts; see `estimates.drift`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.orchestration.asset_keys import numeric_metadata
from crawl_urn_dagster.orchestration.checks.results import WARN, TableCheck, check_result, no_rows_result, not_assessed

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.orchestration.resources import CollectionHome


def drift_checks() -> list[TableCheck]:
    """Return one check per parameter and one for the observables."""
    return [
        *(_parameter_drift(parameter) for parameter in SYMBOLS),
        TableCheck(
            "drift",
            "observed_drift",
            "Completeness and population follow their trend, and the scope has not changed. If the urn model does not "
            "fit: first returns, the revisit delay derived from them, and crawl sizes have not changed either.",
            _observables_are_unchanged,
        ),
    ]


def _parameter_drift(parameter: str) -> TableCheck:
    symbol = SYMBOLS[parameter]

    def evaluate(home: CollectionHome) -> dg.AssetCheckResult:
        table = home.observables.read("drift").set_index("parameter")
        row = cast("dict[str, Any]", table.loc[parameter].to_dict())
        if isinstance(row["reason"], str):
            return not_assessed(f"Drift of {symbol} was not assessed: {row['reason']}.")
        attributed = table["attributed"].fillna(value=False).astype(bool)
        # A chart may raise an alarm because another parameter changed; only the attributed parameter then fails.
        drifted = bool(row["drifted"]) and bool(attributed[parameter] or not attributed.any())
        since = f", since {row['since_crawl']}" if drifted else ""
        note = f" Note: {row['note']}." if isinstance(row["note"], str) else ""
        return check_result(
            passed=not drifted,
            severity=WARN,
            observed=float(row["statistic"]),
            threshold=float(row["threshold"]),
            reason=f"{symbol} changed by {row['difference']:+.3f}, from {row['reference_value']:.3f} to "
            f"{row['value']:.3f}{since}. Its control chart is at {row['statistic']:.3g} standard deviations (alarm "
            f"threshold {row['threshold']:.3g}).{note}",
            todo="Check the crawler's seeds, scope and budget since then.",
            drawn_in="control_charts",
            **numeric_metadata(**{name: float(row[name]) for name in ("reference_value", "value", "difference")}),
        )

    return TableCheck(
        "drift",
        f"{parameter}_drift",
        f"{symbol} has not changed since the reference period.",
        evaluate,
    )


def _observables_are_unchanged(home: CollectionHome) -> dg.AssetCheckResult:
    table = home.observables.read("drift")
    observed = table[~table["parameter"].isin(SYMBOLS) & table["reason"].isna()]
    if observed.empty:
        return not_assessed("No model of the population was selected; drift is tested on the urn's parameters.")
    return no_rows_result(
        observed.loc[
            observed["drifted"].fillna(value=False).astype(bool),
            ["parameter", "since_crawl", "reference_value", "value"],
        ],
        rule="first returns and crawl sizes must not change",
        todo="Check the crawler's revisit policy and budget since then. If the change is permanent, set "
        "drift.reference_from to its first crawl.",
        severity=WARN,
    )
