"""Alerts: failed checks and failed runs, posted to a webhook.

Here: what is sent, and the sensors that send it when a run has ended. Not here: what failed (`outcomes`), or when
something has drifted (`checks`).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.outcomes import Outcome, read_outcome

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

    from crawl_urn_dagster.collection import Collection

_TIMEOUT_SECONDS = 10
_TRIES = 4


class AlertError(RuntimeError):
    """An alert was not delivered; the message does not hold the address, which may be a secret."""


def alert_sensors(
    collection: Collection, job: UnresolvedAssetJobDefinition, webhook: str | None
) -> list[dg.SensorDefinition]:
    """Sensors that post what a run of the collection's job found, when it has ended well or not.

    Parameters
    ----------
    webhook
        Address that takes a JSON POST; without one the sensors are off, and skip with that reason.
    """
    return [
        _alert_sensor(collection, job, webhook, dg.DagsterRunStatus.SUCCESS),
        _alert_sensor(collection, job, webhook, dg.DagsterRunStatus.FAILURE),
    ]


def _alert_sensor(
    collection: Collection,
    job: UnresolvedAssetJobDefinition,
    webhook: str | None,
    status: dg.DagsterRunStatus,
) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        run_status=status,
        name=f"{collection.name}_alert_on_{status.value.lower()}",
        description=f"Posts failed checks of runs of {job.name} to the webhook, when they end in {status.value}.",
        monitored_jobs=[job],
        default_status=dg.DefaultSensorStatus.RUNNING if webhook else dg.DefaultSensorStatus.STOPPED,
    )
    def alert(context: dg.RunStatusSensorContext) -> dg.SkipReason | None:
        run = context.dagster_run
        outcome = read_outcome(context.instance, run.run_id)
        if not outcome.failed_checks and not outcome.errors:
            return dg.SkipReason(f"Run {run.run_id} failed no check.")
        if webhook is None:
            return dg.SkipReason("No webhook address is set.")
        post_alert(webhook, alert_payload(collection.name, run.run_id, run.job_name, outcome))
        return None

    return alert


def alert_payload(collection: str, run_id: str, job: str, outcome: Outcome) -> dict[str, Any]:
    """Compose what is posted: a text that chat tools show, and the same as data."""
    lines = [f"{collection}: {len(outcome.errors)} errors, {len(outcome.failed_checks)} failed checks"]
    lines += [f"error in {error}" for error in outcome.errors]
    lines += [f"{check.severity} {check.asset} {check.check}: {check.description}" for check in outcome.failed_checks]
    return {
        "text": "\n".join(lines),
        "collection": collection,
        "run_id": run_id,
        "job": job,
        "errors": list(outcome.errors),
        "failed_checks": [asdict(check) for check in outcome.failed_checks],
    }


def post_alert(webhook: str, payload: dict[str, Any]) -> None:
    """Post one alert, again after a pause when the receiver is busy or out of reach.

    Raises
    ------
    AlertError
        When it was not taken.
    """
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    retries = Retry(
        total=_TRIES - 1, backoff_factor=0.5, status_forcelist=[429, 500, 502, 503, 504], allowed_methods=["POST"]
    )
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=retries))
        try:
            response = session.post(webhook, json=payload, timeout=_TIMEOUT_SECONDS)
        except requests.RequestException as error:
            # The cause would carry the address into the log.
            raise AlertError(
                f"the alert of run {payload['run_id']} was not delivered: {type(error).__name__}"
            ) from None
    if not response.ok:
        raise AlertError(
            f"the alert of run {payload['run_id']} was not taken: the receiver answered {response.status_code}"
        )
