"""Build the definition and the result of an asset check.

Does not decide what a check tests; see the modules of the subjects.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import PartErrors, asset_key, pool
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.observables.database import ObservablesFile

WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR
_MAX_ROWS_SHOWN = 10


@dataclass(frozen=True)
class TableCheck:
    """One check of a table.

    Attributes
    ----------
    asset, name, description
        Asset that is checked, and name and description of the check.
    evaluate
        Takes the collection's home and returns the result.
    """

    asset: str
    name: str
    description: str
    evaluate: Callable[[CollectionHome], dg.AssetCheckResult]


def checks_step(
    collection: Collection, home: CollectionHome, step: str, checks: Sequence[TableCheck], *, blocking: bool = False
) -> dg.AssetChecksDefinition:
    """Define the step that evaluates some checks; the UI can evaluate each of them alone.

    An error in one check fails the step after the other checks were evaluated.
    """
    by_key = {dg.AssetCheckKey(asset_key(collection, check.asset), check.name): check for check in checks}

    @dg.multi_asset_check(
        name=f"{collection.name}__{step}_checks",
        specs=[
            dg.AssetCheckSpec(key.name, asset=key.asset_key, description=check.description, blocking=blocking)
            for key, check in by_key.items()
        ],
        can_subset=True,
        pool=pool(collection),
    )
    def evaluate_checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        errors = PartErrors()
        for key in sorted(context.selected_asset_check_keys):
            with errors.keep(key.name):
                yield by_key[key].evaluate(home)._replace(check_name=key.name, asset_key=key.asset_key)
        errors.raise_kept()

    return evaluate_checks


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
    asset: str,
    name: str,
    description: str,
    find: Callable[[Any, "ObservablesFile"], tuple[str, "pd.DataFrame"]],
    *,
    severity: dg.AssetCheckSeverity = ERROR,
) -> TableCheck:
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

    return TableCheck(asset, name, description, evaluate)


def not_assessed(reason: str) -> dg.AssetCheckResult:
    """Return the result of a check that cannot be evaluated on this collection; it passes."""
    return dg.AssetCheckResult(passed=True, severity=WARN, description=reason)
