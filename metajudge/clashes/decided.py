"""What is kept of a clash's verdict in the store, for outcomes: numbers and names, no text."""

from collections.abc import Iterable
from typing import Any

from metajudge.clashes.record import ClashRecord
from metajudge.store.protocol import Store
from metajudge.types import digest
from metajudge.types.decision import Action

KIND = "clash"
"""What the records of decided clashes are called in the store's audit log."""


def subject_of(record: ClashRecord) -> str:
    """Digest of what a clash is about: its answers and the judges' rankings of them, at whatever cost."""
    votes = [[vote.judge, None if vote.groups is None else str(vote.groups)] for vote in record.votes]
    return digest([record.key, sorted(record.answered.items()), votes])


def wants_person(record: ClashRecord) -> bool:
    """Whether a person has to make the call: two answers or more, and no panel that the triage rule accepts."""
    return len(record.answered) >= 2 and (record.tally is None or record.tally.triage != "accept")


async def keep_clashes(store: Store | None, records: Iterable[ClashRecord], *, now: float) -> int:
    """Records what became of clashes; the same verdict again adds nothing. Returns how many are new.

    Clashes with fewer than two answers compare nothing and have no outcome.
    """
    if store is None:
        return 0
    added = 0
    for record in records:
        subject = subject_of(record)
        if len(record.answered) < 2 or await store.audit_log.entries(KIND, subject, limit=1):
            continue
        await store.audit_log.append(KIND, subject, decided_data(record), now=now)
        added += 1
    return added


def decided_data(record: ClashRecord) -> dict[str, Any]:
    """What is kept of a verdict."""
    tally = record.tally
    return {
        "clash_id": record.id,
        "subject_digest": subject_of(record),
        "item_id": record.item_id,
        "category": record.category,
        "action": Action.REVIEW.value if wants_person(record) else Action.APPROVE.value,
        "status": record.status,
        "winner": record.winner,
        "ranking": None if tally is None or not tally.ranking else [list(group) for group in tally.ranking],
        "margin": None if tally is None else tally.margin,
        "unanimous": tally is not None and tally.unanimous,
        "judges": list(record.panel),
    }
