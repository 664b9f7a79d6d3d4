"""Puts assessments beside the verdicts they are about: each once, whatever ends the run in between."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from metajudge.runs.outputs import AttemptFile
from metajudge.systems.system import Note, System, SystemCallError, Wrote, answers_of
from metajudge.types.frozen import Frozen

MOST_FAILURES_IN_A_ROW = 5
"""So many failures one after the other end a push: the system is away, or the key is wrong."""


class Sent(Frozen):
    """A line of the ledger: one attempt to put one note.

    Attributes:
        address: of the system.
        digest: of the note's content.
        wrote: what became of it; None where it failed, then ``failure`` says why.
        missing: whether it failed because what it is about is not there.
        at: seconds since the epoch.
    """

    address: str
    key: str
    judgment_id: str
    digest: str
    wrote: Wrote | None = None
    failure: str | None = None
    missing: bool = False
    at: float


@dataclass(slots=True)
class PushCounts:
    """What a push did.

    Attributes:
        notes: that were to be put.
        known: of them, those that the ledger says are there with this content; nothing was sent for them.
        missing: of those that failed, the ones about what is not there.
        failures: why notes were not taken, with the judgment's id; the ledger has all of them.
        stopped: why the push ended early; None where it went through.
    """

    notes: int = 0
    known: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    missing: int = 0
    failures: list[str] = field(default_factory=list)
    stopped: str | None = None


def push(
    notes: Iterable[Note],
    system: System,
    ledger: Path,
    *,
    told: Callable[[PushCounts], None] = lambda _: None,
    clock: Callable[[], float] = time.time,
) -> PushCounts:
    """Puts notes into a system, one after the other.

    Args:
        ledger: what was sent already, one line an attempt; the same push goes on from there. Without it nothing is
            put twice either, but every note is looked up in the system again.
        told: called after every note.

    Returns:
        The counts. A note that is not taken does not stop the others; five in a row do, unless they are about what
        is not there.

    Raises:
        InputError: the ledger is something else.
        OutputError: the ledger cannot be written.
    """
    counts, in_a_row = PushCounts(), 0
    with AttemptFile(ledger, Sent, "a line of `metajudge push`", exclude_none=True) as file:
        done = {(one.address, one.key): one.digest for one in file.earlier if one.wrote is not None}
        for note in notes:
            counts.notes += 1
            if done.get((system.address, note.key)) == note.digest:
                counts.known += 1
                continue
            if counts.stopped is not None:
                continue
            sent = _sent(note, system, clock)
            file.append(sent)
            if sent.wrote is not None:
                done[system.address, note.key] = note.digest
            _count(counts, sent)
            in_a_row = 0 if sent.wrote is not None or sent.missing else in_a_row + 1
            if in_a_row >= MOST_FAILURES_IN_A_ROW:
                counts.stopped = f"{in_a_row} notes in a row were not taken, the last because {sent.failure}"
            told(counts)
    return counts


def _sent(note: Note, system: System, clock: Callable[[], float]) -> Sent:
    wrote, failure, missing = None, None, False
    try:
        with answers_of(system.address):
            wrote = system.push(note)
    except SystemCallError as error:
        failure, missing = str(error), error.status == 404
    return Sent(
        address=system.address,
        key=note.key,
        judgment_id=note.about,
        digest=note.digest,
        wrote=wrote,
        failure=failure,
        missing=missing,
        at=clock(),
    )


def _count(counts: PushCounts, sent: Sent) -> None:
    match sent.wrote:
        case Wrote.CREATED:
            counts.created += 1
        case Wrote.UPDATED:
            counts.updated += 1
        case Wrote.UNCHANGED:
            counts.unchanged += 1
        case None:
            counts.failed += 1
            counts.missing += sent.missing
            counts.failures.append(f"{sent.judgment_id}: {sent.failure}")
