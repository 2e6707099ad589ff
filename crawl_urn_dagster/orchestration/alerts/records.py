"""Define an alert, and record in the Dagster instance which targets received it.

Does not find events (`alerts.events`) or send alerts (`alerts.delivery`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    import dagster as dg

#: Recorded next to the targets of an event that no target is to receive any more, not even one added later.
SETTLED = "-"
#: Largest length of the part of a message that quotes errors or checks.
MAX_CHARACTERS = 4000


@dataclass(frozen=True)
class Alert:
    """Message about one event, or about all events of one run.

    Attributes
    ----------
    event
        Name of the event; it is used again only after the event is over.
    title, body
        Plain text.
    severity
        ``success``, ``warning`` or ``failure``.
    """

    event: str
    title: str
    body: str
    severity: str


def delivered_targets(instance: dg.DagsterInstance, event: str) -> set[str]:
    """Return the targets that received the alert of an event."""
    return delivered_targets_by_event(instance, {event})[event]


def delivered_targets_by_event(instance: dg.DagsterInstance, events: set[str]) -> dict[str, set[str]]:
    """Return the targets that received the alerts of some events, in one query."""
    kept = instance.daemon_cursor_storage.get_cursor_values(events) if events else {}
    return {event: set(kept[event].split()) if event in kept else set() for event in events}


def record_delivered_targets(instance: dg.DagsterInstance, event: str, targets: AbstractSet[str]) -> None:
    """Replace the recorded targets of an event."""
    instance.daemon_cursor_storage.set_cursor_values({event: " ".join(sorted(targets))})
