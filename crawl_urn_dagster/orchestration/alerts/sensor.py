"""Define the sensor that sends the alerts of a collection.

Does not find events (`alerts.events`) or send anything itself (`alerts.delivery`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.alerts.delivery import deliver, targets_without_scheme
from crawl_urn_dagster.orchestration.alerts.events import new_alerts
from crawl_urn_dagster.orchestration.asset_keys import asset_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.config.collection import Collection


def alert_sensor(
    collection: Collection, targets: Sequence[str], *, ui_url: str | None, figure: str
) -> dg.SensorDefinition:
    """Define the sensor that sends alerts, the oldest first, and repeats those that a target did not accept.

    Parameters
    ----------
    targets
        Apprise URLs. Without targets the sensor is off, and a tick is skipped with that reason.
    ui_url
        Address of the UI, for links. None: alerts name runs and assets without links.
    figure
        Figure that alerts link to if no failed check names another.

    Raises
    ------
    ValueError
        If a target is not a URL. Apprise checks the scheme later because loading Apprise takes long.
    """
    invalid = targets_without_scheme(targets)
    if invalid:
        raise ValueError("; ".join(f"alerts, {error}" for error in invalid))

    @dg.sensor(
        name=f"{collection.name}_alerts",
        description=f"Sends alerts on drift, failed fits, failed runs and a stale source of {collection.name}.",
        default_status=dg.DefaultSensorStatus.RUNNING if targets else dg.DefaultSensorStatus.STOPPED,
        # The sensor requests no run, but Dagster requires a target.
        asset_selection=dg.AssetSelection.assets(asset_key(collection, "report")),
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        if not targets:
            return dg.SkipReason("No alert target is configured.")
        alerts = new_alerts(context.instance, collection, ui_url=ui_url, figure=figure)
        count = deliver(context.instance, targets, alerts)
        return dg.SkipReason(f"Sent {count_noun(count, 'alert')}." if count else "No new event.")

    return alerts
