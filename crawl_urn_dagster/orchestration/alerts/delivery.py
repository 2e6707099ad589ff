"""Send alerts to targets, which are Apprise URLs.

Does not find events; see `alerts.events`. No message contains a target's URL, which may contain a secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawl_urn_dagster.orchestration.alerts.records import SETTLED, delivered_targets, record_delivered_targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import dagster as dg
    from apprise import NotifyBase

    from crawl_urn_dagster.orchestration.alerts.records import Alert


class AlertError(RuntimeError):
    """An alert was not delivered; the message does not contain the target's URL, which may contain a secret."""


class _Target(NamedTuple):
    #: Hash of the URL, too short to recover a secret from it.
    identity: str
    service: NotifyBase
    #: Description for messages.
    description: str


def _read_targets(urls: Sequence[str]) -> tuple[list[_Target], list[str]]:
    """Return the valid targets, and an error message per invalid target."""
    import logging

    import apprise

    # Apprise logs whole URLs.
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    targets, errors = [], []
    for index, url in enumerate(urls):
        service = apprise.Apprise.instantiate(url)
        if isinstance(service, apprise.NotifyBase):
            identity = str(service.url_id())  # type: ignore[no-untyped-call]
            targets.append(_Target(identity, service, f"{_position(urls, index)} ({service.service_name})"))
        else:
            errors.append(_invalid_target(urls, index))
    return targets, errors


def invalid_targets(urls: Sequence[str]) -> list[str]:
    """Return an error message per target that Apprise does not accept."""
    return _read_targets(urls)[1]


def targets_without_scheme(urls: Sequence[str]) -> list[str]:
    """Return an error message per target that is not a URL; does not load Apprise, which takes long."""
    return [_invalid_target(urls, index) for index, url in enumerate(urls) if "://" not in url]


def _position(urls: Sequence[str], index: int) -> str:
    return f"target {index + 1} of {len(urls)}"


def _invalid_target(urls: Sequence[str], index: int) -> str:
    return (
        f"{_position(urls, index)}: not a valid Apprise URL; expected for example slack://..., mailto://... or "
        "json://host/path"
    )


def deliver(instance: dg.DagsterInstance, urls: Sequence[str], alerts: Iterable[Alert]) -> int:
    """Send alerts to the targets that have not received them, and return the number of alerts.

    If a target does not accept an alert, later alerts are not tried on it. All other targets receive all alerts.

    Raises
    ------
    AlertError
        If a target is invalid, or did not accept an alert. The alert is sent to it again at the next call.
    """
    import apprise

    targets, invalid = _read_targets(urls)
    refused: dict[str, str] = {}
    count = 0
    for alert in alerts:
        delivered = delivered_targets(instance, alert.event)
        for target in targets:
            if target.identity in delivered or target.identity in refused:
                continue
            sender = apprise.Apprise()
            sender.add(target.service)
            if sender.notify(title=alert.title, body=alert.body, notify_type=apprise.NotifyType(alert.severity)):
                delivered.add(target.identity)
                record_delivered_targets(instance, alert.event, delivered)
            else:
                refused[target.identity] = (
                    f"{target.description} did not accept the alert {alert.title!r}; it is sent again later"
                )
        if not invalid and all(target.identity in delivered for target in targets):
            record_delivered_targets(instance, alert.event, delivered | {SETTLED})
        count += 1
    failures = [*invalid, *refused.values()]
    if failures:
        raise AlertError("; ".join(f"alerts, {failure}" for failure in failures))
    return count
