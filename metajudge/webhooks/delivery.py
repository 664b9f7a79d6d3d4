"""Sends alarms to a webhook, each once to a receiver; the store's audit log has the deliveries."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from metajudge.store.protocol import Store
from metajudge.types import digest
from metajudge.webhooks.webhook import Webhook

KIND = "webhook"
"""What deliveries are called in the store's audit log; their subject is the ``webhook-id``."""

GIVE_UP_AFTER = 3
"""So many failed deliveries in a row end the sending: the rest is left for the next run."""


async def send_events(
    hook: Webhook,
    events: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]],
    store: Store | None,
    say: Callable[[str], None],
) -> dict[str, int]:
    """Sends every event that the store does not record as delivered to this URL; counts the outcomes.

    Args:
        events: what it is called in messages, what is sent, and what is recorded beside the delivery.
    """
    counts = {"delivered": 0, "known": 0, "failed": 0}
    failed_in_a_row = 0
    for name, event, about in events:
        key = digest([hook.url, event])
        if store is not None and await _delivered(store, key):
            counts["known"] += 1
            continue
        if failed_in_a_row >= GIVE_UP_AFTER:
            counts["failed"] += 1
            continue
        delivery = await hook.send(event, key, clock=time.time)
        if store is not None:
            record = {
                **about,
                "host": urlsplit(hook.url).hostname,
                "delivered": delivery.delivered,
                "attempts": delivery.attempts,
                "status": delivery.status,
                "reason": delivery.reason,
            }
            await store.audit_log.append(KIND, key, record, now=time.time())
        counts["delivered" if delivery.delivered else "failed"] += 1
        failed_in_a_row = 0 if delivery.delivered else failed_in_a_row + 1
        if not delivery.delivered:
            say(f"webhook: {name}: {delivery.reason} ({delivery.attempts} attempts)")
    if failed_in_a_row >= GIVE_UP_AFTER:
        say(f"webhook: {GIVE_UP_AFTER} deliveries failed in a row; run the same command again to send the rest")
    return counts


async def _delivered(store: Store, key: str) -> bool:
    entries = await store.audit_log.entries(KIND, key, limit=1)
    return bool(entries) and entries[-1].payload["delivered"] is True
