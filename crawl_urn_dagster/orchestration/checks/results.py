"""Build the definition and the result of an asset check.

Does not decide what a check tests; see the modules of the subjects.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import asset_key, home_key, home_of, pool
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.observables.database import ObservablesFile

WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR
_MAX_ROWS_SHOWN = 10


def table_check(
    collection: Collection,
    asset: str,
    name: str,
    description: str,
    evaluate: Callable[[CollectionHome], dg.AssetCheckResult],
    *,
    blocking: bool = False,
) -> dg.AssetChecksDefinition:
    """Define one check as a separate step.

    Parameters
    ----------
    evaluate
        Takes the collection's home and returns the result.
    """

    @dg.asset_check(
        asset=asset_key(collection, asset),
        name=name,
        description=description,
        blocking=blocking,
        required_resource_keys={home_key(collection)},
        pool=pool(collection),
    )
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        return evaluate(home_of(context, collection))

    return check


def check_result(
    *,
    passed: bool,
    severity: dg.AssetCheckSeverity,
    observed: float | str,
    threshold: float | str,
    reason: str,
    todo: str,
    **metadata: Any,
) -> dg.AssetCheckResult:
    """Return the result of a check.

    Parameters
    ----------
    observed, threshold
        Value found and value allowed.
    reason
        Sentence that states both.
    todo
        Remedy, shown only if the check failed.
    **metadata
        Further entries of the result's metadata.
    """
    return dg.AssetCheckResult(
        passed=passed,
        severity=severity,
        description=reason if passed else f"{reason} {todo}",
        metadata={
            "observed": observed,
            "threshold": threshold,
            **({} if passed else {"reason": reason, "what_to_do": todo}),
            **metadata,
        },
    )


def no_rows_result(
    rows: "pd.DataFrame", *, rule: str, todo: str, severity: dg.AssetCheckSeverity = ERROR, **metadata: Any
) -> dg.AssetCheckResult:
    """Return the result of a check that passes if no row breaks its rule.

    Parameters
    ----------
    rows
        Rows that break the rule, the worst first.
    """
    from crawl_urn_dagster.observables.quality import breach

    if len(rows):
        metadata["worst"] = dg.MetadataValue.md(rows.head(_MAX_ROWS_SHOWN).to_markdown(index=False))
    return check_result(
        passed=rows.empty,
        severity=severity,
        observed=len(rows),
        threshold=0,
        reason=breach(rule, rows) if len(rows) else f"No row breaks the rule: {rule}.",
        todo=todo,
        **metadata,
    )


def rule_check(
    collection: Collection,
    asset: str,
    name: str,
    description: str,
    find: Callable[[Any, "ObservablesFile"], tuple[str, "pd.DataFrame"]],
    *,
    severity: dg.AssetCheckSeverity = ERROR,
) -> dg.AssetChecksDefinition:
    """Define a check that passes if no row breaks a rule of `observables.quality`.

    Parameters
    ----------
    find
        Takes the module `observables.quality`, which is imported by a run only, and the collection's tables. Returns
        the rule and the rows that break it, the worst first.
    """

    def evaluate(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables import quality

        rule, rows = find(quality, home.observables)
        return no_rows_result(rows, rule=rule, todo=quality.WHAT_TO_DO[rule], severity=severity)

    return table_check(collection, asset, name, description, evaluate)


def not_assessed(reason: str) -> dg.AssetCheckResult:
    """Return the result of a check that cannot be evaluated on this collection; it passes."""
    return dg.AssetCheckResult(passed=True, severity=WARN, description=reason)
