"""Outcomes in a store: made from stored decisions, listed, counted; and the events on their way to receivers.

Nothing is lost when a process is killed: a decision is stored first, and whatever stands in the store and is no outcome
yet becomes one when anybody collects next, under an id that follows from the decisions alone.

An event is claimed before it is sent and removed from the claims after the receiver accepted it. What a killed process
had claimed is claimed again, under the same event id, by the next sender.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson

from metajudge.outcomes.model import (
    Callback,
    FinalOutcome,
    Finding,
    OutcomeCount,
    OutcomeFilter,
    QueuedEvent,
    ReceiverState,
    Sent,
    outcome_after,
)
from metajudge.store.outcome_sources import COLUMNS, MACHINE, PEOPLE, findings, newest, newest_number, taken, waiting
from metajudge.store.sql import Ask, Asks, Connection, reads, writes

BATCH: Final = 1_000
"""Decisions that become outcomes in one transaction."""

AT_ONCE: Final = 5 * BATCH
"""Decisions that become outcomes before a list is shown; a service goes on with the rest in the background."""

CLAIM_S: Final = 600.0
"""After this long a claim is void even if its holder is still there."""

WAITS_S: Final = (5.0, 60.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0)
"""Seconds between tries to send an event; after the last one it is given up, some 52 hours after the first."""

_KINDS: Final = "kind IN ('judgment', 'clash', 'case')"
_MATCHES: Final = f"""
    {_KINDS} AND ($1::VARCHAR IS NULL OR kind = $1) AND ($2::VARCHAR IS NULL OR outcome = $2)
    AND ($3::VARCHAR IS NULL OR decided_by = $3) AND ($4::VARCHAR IS NULL OR policy = $4 OR policy_digest = $4)
    AND ($5::FLOAT8 IS NULL OR decided_at >= $5)
"""
_CURRENT: Final = "NOT EXISTS (SELECT 1 FROM events l WHERE l.follows = e.event_id)"
_FOR_RECEIVER: Final = f"number > $1 AND ($2::BOOLEAN OR {_KINDS})"
_FIELDS: Final = COLUMNS.replace("decided_by", "by").split(", ")[:-1]
"""Fields of an outcome by column, without the last, ``details``."""
_SENDS: Final = ("receiver", "number", "state", "failures", "due_at", "holder")


class StoredOutcomes(Asks):
    """The outcomes of a store, and the events that receivers are to get.

    Args:
        write, read: as for :class:`~metajudge.store.sql.Asks`; what is read follows everything acknowledged.
        holder: names this opening of the store among those that send.
    """

    def __init__(self, write: Ask, read: Ask, holder: str) -> None:
        super().__init__(write, read)
        self._holder = holder
        self._collecting = asyncio.Lock()

    async def collect(self, limit: int = BATCH) -> int:
        """Turns stored decisions into outcomes, oldest first; returns how many were looked at, 0 if none was left."""
        async with self._collecting:  # the next batch must know what this one made
            return await self._collect(limit)

    async def collect_all(self, most: int | None = None) -> int:
        """Turns every stored decision into an outcome; returns how many were looked at.

        Args:
            most: stop after a batch once so many were looked at, for a reader who waits; None for no end.
        """
        looked_at = 0
        while (most is None or looked_at < most) and (some := await self.collect()):
            looked_at += some
        return looked_at

    @reads
    def page(
        self, connection: Connection, wanted: OutcomeFilter | None = None, *, before: int | None = None, limit: int = 50
    ) -> list[FinalOutcome]:
        """A page, newest first.

        Args:
            before: the number of the last outcome of the page before.
        """
        fitting = _fitting(wanted, "" if before is None else "number < $6", before)
        return _outcomes(connection, f"number DESC LIMIT {int(limit)}", *fitting)

    @reads
    def since(
        self, connection: Connection, number: int, wanted: OutcomeFilter | None = None, *, limit: int = 500
    ) -> list[FinalOutcome]:
        """Outcomes above a number, oldest first."""
        return _outcomes(connection, f"number LIMIT {int(limit)}", *_fitting(wanted, "number > $6", number))

    @reads
    def about(self, connection: Connection, name: str) -> list[FinalOutcome]:
        """All outcomes of a judgment, clash, case or item with this id, or the one with this event id; oldest first."""
        condition = f"{_KINDS} AND (subject_id = $1 OR item_id = $1 OR event_id = $1 OR subject_digest = $1)"
        return _outcomes(connection, "number", condition, [name])

    @reads
    def current(self, connection: Connection, subjects: Sequence[tuple[str, str]]) -> list[FinalOutcome]:
        """The newest outcome on each of these contents, given as (kind, digest), that has one."""
        found = map(outcome_of, newest(connection, (digest for _, digest in subjects)))
        wanted = set(subjects)
        return [one for one in found if (one.kind, one.subject_digest) in wanted]

    @reads
    def counts(self, connection: Connection, wanted: OutcomeFilter | None = None) -> list[OutcomeCount]:
        """How many outcomes ended alike, by kind and by who decided."""
        condition, values = _fitting(wanted)
        grouped = "kind, outcome, decided_by"
        found = sorted(
            connection.rows(f"SELECT {grouped}, count(*) FROM events e WHERE {condition} GROUP BY {grouped}", values)  # noqa: S608
        )
        return [OutcomeCount(**dict(zip(OutcomeCount.model_fields, row, strict=True))) for row in found]

    @writes
    def _collect(self, connection: Connection, limit: int) -> int:
        """One batch; machines' decisions first, as people judge decisions that were stored before.

        People's rows are looked for before the machines': whatever they judged is then seen, too.
        """
        connection.take_turns("events")
        said = {source: waiting(connection, source, limit) for source in reversed(PEOPLE)}
        for source in (*MACHINE, *PEOPLE):
            if numbers := said[source] if source in said else waiting(connection, source, limit):
                found = findings(connection, source, numbers)
                callbacks = callbacks_of(found) if source in PEOPLE else []
                self._append(connection, _new(connection, found), callbacks)
                taken(connection, source, numbers)
                return len(numbers)
        return 0

    @writes
    def call_back(self, connection: Connection, callbacks: Sequence[Callback]) -> int:
        """Adds events that are no outcomes; one that is there already stays as it is. Returns how many are new."""
        connection.take_turns("events")
        return self._append(connection, [], callbacks)

    @writes
    def register(
        self, connection: Connection, receiver: str, host: str, *, now: float, callbacks: bool = False
    ) -> None:
        """Makes a receiver known: it gets what is decided from now on. One that is known already keeps its place.

        Args:
            receiver: digest of its address.
            callbacks: whether it gets ``job.ended`` and ``review.decided``, too.
        """
        connection.take_turns("events")
        claimed = _claimed(connection, receiver)
        if claimed is None:
            connection.execute(
                "INSERT INTO receivers VALUES ($1, $2, $3, $4, $4, $5)",
                [receiver, host, callbacks, newest_number(connection), now],
            )
        elif callbacks and not claimed[1]:
            connection.execute("UPDATE receivers SET callbacks = true WHERE receiver = $1", [receiver])

    @writes
    def wish(self, connection: Connection, receiver: str, numbers: Sequence[int]) -> int:
        """Queues outcomes that were decided before the receiver was known; returns how many it has accepted already."""
        connection.take_turns("events")
        claimed = _claimed(connection, receiver)
        past = {number for number in numbers if claimed is not None and number <= claimed[0]}
        delivered = "SELECT number FROM event_deliveries WHERE receiver = $1 AND delivered"
        accepted = set(connection.column(f"{delivered} AND number = ANY($2::BIGINT[])", [receiver, list(past)]))
        self._hold(connection, receiver, sorted(past - accepted), "waiting", 0.0)
        return len(accepted)

    @writes
    def claim(self, connection: Connection, receiver: str, *, now: float, limit: int) -> list[QueuedEvent]:
        """Takes the next events to send: those whose next try is due or whose sender was killed, then new ones."""
        connection.take_turns("events")
        due = self._due(connection, receiver, now, limit)
        claimed = _claimed(connection, receiver)
        if claimed is None:
            return []
        new = _above(connection, claimed[0], claimed[1], limit - len(due))
        connection.execute(
            """UPDATE event_sends SET state = 'sending', holder = $1, due_at = $2
                WHERE receiver = $3 AND number = ANY($4::BIGINT[])""",
            [self._holder, now + CLAIM_S, receiver, list(due)],
        )
        self._hold(connection, receiver, new, "sending", now + CLAIM_S)
        if new:
            connection.execute("UPDATE receivers SET claimed = $1 WHERE receiver = $2", [new[-1], receiver])
        return _queued(connection, dict.fromkeys(new, 0) | due)

    @writes
    def sent(self, connection: Connection, number: int, how: Sent, failures: int = 0) -> bool:
        """Records how a try to send ended; returns whether the event was given up.

        Args:
            failures: tries in vain before this one.
        """
        connection.execute(
            "INSERT INTO event_deliveries VALUES ($1, $2, $3, $4, $5, $6, $7)",
            [number, how.receiver, how.delivered, how.attempts, how.status, how.reason, how.ended_at],
        )
        of_event = "WHERE receiver = $1 AND number = $2"
        if how.delivered:
            connection.execute(f"DELETE FROM event_sends {of_event}", [how.receiver, number])  # noqa: S608
            return False
        waits = failures < len(WAITS_S)
        state, due = ("waiting", how.ended_at + WAITS_S[failures]) if waits else ("given_up", how.ended_at)
        connection.execute(
            f"UPDATE event_sends SET state = $3, failures = $4, due_at = $5, reason = $6 {of_event}",  # noqa: S608
            [how.receiver, number, state, failures + 1, due, how.reason],
        )
        return not waits

    @writes
    def release(self, connection: Connection, receiver: str, numbers: Sequence[int]) -> None:
        """Gives back claimed events that were not tried."""
        connection.execute(
            """UPDATE event_sends SET state = 'waiting', due_at = 0 WHERE receiver = $1 AND state = 'sending'
                AND holder = $2 AND number = ANY($3::BIGINT[])""",
            [receiver, self._holder, list(numbers)],
        )

    @writes
    def resume(self, connection: Connection, receiver: str) -> int:
        """Makes everything that waits or was given up due now; returns how many events."""
        return connection.execute(
            """UPDATE event_sends SET state = 'waiting', failures = 0, due_at = 0
                WHERE receiver = $1 AND state <> 'sending'""",
            [receiver],
        ).rowcount

    @reads
    def deliveries(self, connection: Connection, number: int) -> list[Sent]:
        """How each try to send an event ended, oldest first."""
        fields = ", ".join(Sent.model_fields)
        return [
            Sent(**dict(zip(Sent.model_fields, row, strict=True)))
            for row in connection.rows(
                f"SELECT {fields} FROM event_deliveries WHERE number = $1 ORDER BY ended_at",  # noqa: S608
                [number],
            )
        ]

    @reads
    def receivers(self, connection: Connection) -> list[ReceiverState]:
        """Every receiver and how far it is."""
        return [_receiver(connection, row) for row in connection.rows(_RECEIVERS)]

    def _due(self, connection: Connection, receiver: str, now: float, limit: int) -> dict[int, int]:
        there = [str(number) for number in connection.alive()]
        return connection.pairs(
            """SELECT number, failures FROM event_sends WHERE receiver = $1 AND (state = 'waiting' AND due_at <= $2
                OR state = 'sending' AND (due_at <= $2 OR holder NOT IN (SELECT unnest($3::VARCHAR[]))))
                ORDER BY number LIMIT $4""",
            [receiver, now, there, limit],
        )

    def _hold(self, connection: Connection, receiver: str, numbers: Sequence[int], state: str, due_at: float) -> None:
        rows = [(receiver, number, state, 0, due_at, self._holder) for number in numbers]
        connection.insert("event_sends", _SENDS, rows, "ON CONFLICT DO NOTHING")

    def _append(self, connection: Connection, outcomes: Sequence[FinalOutcome], callbacks: Sequence[Callback]) -> int:
        """Adds events with new numbers; one that is there stays as it is. Returns how many are new."""
        rows = [_outcome_row(one) for one in outcomes] + [_callback_row(one) for one in callbacks]
        ending = "ON CONFLICT DO NOTHING"
        return connection.add_numbered("events", COLUMNS.split(", "), rows, ending) if rows else 0


def _new(connection: Connection, found: Sequence[Finding]) -> list[FinalOutcome]:
    """The outcomes of findings; one that changes nothing has none."""
    rows = newest(connection, (one.subject_digest for one in found))
    last = {(one.kind, one.subject_digest): one for one in map(outcome_of, rows)}
    new = []
    for finding in found:
        name = finding.kind, finding.subject_digest
        outcome = outcome_after(finding, last.get(name))
        if outcome is not None:
            last[name] = outcome
            new.append(outcome)
    return new


def _fitting(wanted: OutcomeFilter | None, beyond: str = "", number: int | None = None) -> tuple[str, list[Any]]:
    """A condition on events and its values, $1 to $5, or to $6 with a condition on their numbers."""
    one = wanted or OutcomeFilter()
    outcome = None if one.outcome is None else one.outcome.value
    condition = " AND ".join([_MATCHES, *([_CURRENT] if one.current else ()), *([beyond] if beyond else ())])
    return condition, [one.kind, outcome, one.by, one.policy, one.since, *([number] if beyond else ())]


def _outcomes(connection: Connection, ending: str, condition: str, values: Sequence[Any]) -> list[FinalOutcome]:
    """The outcomes that fit."""
    rows = connection.rows(f"SELECT {COLUMNS} FROM events e WHERE {condition} ORDER BY {ending}", list(values))  # noqa: S608
    replaced = set(
        connection.column("SELECT follows FROM events WHERE follows = ANY($1::VARCHAR[])", [[row[1] for row in rows]])
    )
    return [outcome_of(row, is_current=row[1] not in replaced) for row in rows]


def outcome_of(row: Sequence[Any], *, is_current: bool = True) -> FinalOutcome:
    """An outcome from :data:`~metajudge.store.outcome_sources.COLUMNS`."""
    *values, details = row
    fields = dict(zip(_FIELDS, values, strict=True))
    return FinalOutcome(**fields, details=orjson.loads(details), is_current=is_current)


def _outcome_row(one: FinalOutcome) -> tuple[Any, ...]:
    data = one.model_dump(mode="json")
    return (*(data[name] for name in _FIELDS[1:]), orjson.dumps(one.details).decode())


def _callback_row(one: Callback) -> tuple[Any, ...]:
    return (
        *(one.event_id, one.kind, one.subject_id, "", "", one.what, "", one.at, None, None, "callback", 0),
        *(None, None, orjson.dumps(one.data).decode()),
    )


def _event_of(row: Sequence[Any]) -> dict[str, Any]:
    """What a receiver is sent, from :data:`~metajudge.store.outcome_sources.COLUMNS`."""
    if row[2] not in ("job", "review"):
        return outcome_of(row).event
    one = Callback(kind=row[2], what=row[6], subject_id=row[3], event_id=row[1], at=row[8], data=orjson.loads(row[-1]))
    return one.event


def _claimed(connection: Connection, receiver: str) -> tuple[int, bool] | None:
    """The last number that was claimed for a receiver, and whether it gets callbacks."""
    rows = connection.rows("SELECT claimed, callbacks FROM receivers WHERE receiver = $1", [receiver])
    return None if not rows else (int(rows[0][0]), bool(rows[0][1]))


def _above(connection: Connection, number: int, callbacks: bool, limit: int) -> list[int]:
    return connection.column(
        f"SELECT number FROM events WHERE {_FOR_RECEIVER} ORDER BY number LIMIT $3",  # noqa: S608
        [number, callbacks, max(limit, 0)],
    )


def _queued(connection: Connection, failures: dict[int, int]) -> list[QueuedEvent]:
    query = f"SELECT {COLUMNS} FROM events WHERE number = ANY($1::BIGINT[]) ORDER BY number"  # noqa: S608
    return [
        QueuedEvent(number=row[0], event_id=row[1], event=_event_of(row), failures=failures[row[0]])
        for row in connection.rows(query, [list(failures)])
    ]


_RECEIVERS: Final = (
    "SELECT receiver, host, callbacks, registered_at, claimed FROM receivers ORDER BY registered_at, receiver"
)


def _receiver(connection: Connection, row: Sequence[Any]) -> ReceiverState:
    """How far a receiver is, from :data:`_RECEIVERS`."""
    receiver, host, callbacks, registered_at, claimed = row
    sends = connection.rows(
        "SELECT state, reason FROM event_sends WHERE receiver = $1 ORDER BY number DESC", [receiver]
    )
    states = Counter(state for state, _ in sends)
    delivered = "SELECT count(*) FROM event_deliveries WHERE receiver = $1 AND delivered"
    behind = f"SELECT count(*) FROM events WHERE {_FOR_RECEIVER}"  # noqa: S608
    return ReceiverState(
        receiver=receiver,
        host=host,
        callbacks=callbacks,
        registered_at=registered_at,
        delivered=connection.row(delivered, [receiver])[0],
        behind=connection.row(behind, [claimed, callbacks])[0],
        **{state: states[state] for state in ("waiting", "sending", "given_up")},
        last_reason=next((reason for _, reason in sends if reason is not None), None),
    )


def callbacks_of(findings: Iterable[Finding]) -> list[Callback]:
    """The end of each review, amendments included."""
    found = []
    for one in findings:
        review_id = one.details["review_id"]
        data = {
            "review_id": review_id,
            "kind": one.kind,
            "subject_id": one.subject_id,
            "item_id": one.item_id,
            "outcome": one.outcome.value,
            "people": one.people,
        }
        found.append(Callback.of("review", review_id, [one.source, one.source_number], one.decided_at, data))
    return found
