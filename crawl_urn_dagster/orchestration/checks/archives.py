"""Check what other archives of the same web show of a collection.

Does not compute it; see `estimates.cross_archive`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.checks.results import WARN, TableCheck, check_result, not_assessed

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome

# Median distance of the collection's own completeness from the counted coverage up to which there is no warning.
_LARGEST_DIFFERENCE = 0.05


def archive_checks(collection: Collection) -> list[TableCheck]:
    """Return the checks of a collection that is compared with other archives."""
    checks = [
        TableCheck(
            "cross_archive",
            "lists_are_near_independent",
            "The lists of the latest match share elements, come from different crawlers and are near independent.",
            _near_independent,
        )
    ]
    if collection.cross_archive and collection.cross_archive.frame:
        checks += [
            TableCheck(
                "cross_archive",
                "no_crawl_is_missing",
                "Every crawl of the register has a crawl of each list.",
                _none_missing,
            ),
            TableCheck(
                "cross_archive",
                "completeness_agrees_with_register",
                "The completeness from the collection's own crawls is near the coverage counted in the register.",
                _agrees,
            ),
        ]
    return checks


def _near_independent(home: CollectionHome) -> dg.AssetCheckResult:
    from crawl_urn_dagster.estimates.cross_archive import latest_match

    rows = latest_match(home.observables.read("cross_archive"))
    rows = rows[(rows["quantity"] == "population") & rows["sensitivity_low"].notna()]
    if rows.empty:
        return not_assessed("No two lists match.")
    last = rows.iloc[-1]
    return check_result(
        passed=last["status"] == "ok",
        severity=WARN,
        observed=last["status"],
        threshold="ok",
        reason=f"{last['lists']}: {last['reason'] or 'the lists are near independent.'}",
        todo="Use the bound and the range over odds ratios, or add a register or a third list.",
    )


def _none_missing(home: CollectionHome) -> dg.AssetCheckResult:
    frame = home.observables.read("cross_archive")
    rows = frame[frame["quantity"] == "missing_crawl"]
    found = ", ".join(f"{row['lists']} {row['match']}" for row in rows.head(5).to_dict("records"))
    return check_result(
        passed=rows.empty,
        severity=WARN,
        observed=len(rows),
        threshold=0,
        reason=f"Crawls that the register has and a list lacks: {len(rows)}{f' ({found})' if found else ''}.",
        todo="These crawls failed or were not published; ask the operator of the list.",
    )


def _agrees(home: CollectionHome) -> dg.AssetCheckResult:
    from crawl_urn_dagster.estimates.cross_archive import coverage_pairs

    pairs = coverage_pairs(home.observables.read("cross_archive"))
    if pairs.empty:
        return not_assessed("The collection's own crawls give no completeness.")
    difference = float((pairs["estimate"] - pairs["counted"]).abs().median())
    return check_result(
        passed=difference <= _LARGEST_DIFFERENCE,
        severity=WARN,
        observed=difference,
        threshold=_LARGEST_DIFFERENCE,
        reason=f"The completeness differs from the counted coverage by {difference:.3f} in the median of "
        f"{len(pairs)} matches.",
        todo="The register may hold elements that are no longer eligible, or elements that no crawl ever captures.",
    )
