"""Events on their way to receivers: who gets which, what was claimed, what failed. SQL for both databases.

An event is claimed before it is sent and removed from the claims after the receiver accepted it. What a killed process
had claimed is claimed again, under the same event id, by whoever comes next.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson

from metajudge.outcomes.model import Callback, FinalOutcome, Finding, QueuedEvent, ReceiverState, Sent
from metajudge.store.outcome_sources import COLUMNS, Sources, newest_number
from metajudge.store.sql import Ask, Connection, Dialect, only_row

CLAIM_S: Final = 600.0
"""After this long a claim is void even if its holder is still there."""

WAITS_S: Final = (5.0, 60.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0)
"""Seconds between tries to send an event; after the last one it is given up, some 52 hours after the first."""

_OUTCOME_KINDS: Final = "('judgment', 'clash', 'case')"
_ADD: Final = f"""
    INSERT INTO events ({COLUMNS}) SELECT unnest($1::BIGINT[]), unnest($2::VARCHAR[]), unnest($3::VARCHAR[]),
        unnest($4::VARCHAR[]), unnest($5::VARCHAR[]), unnest($6::VARCHAR[]), unnest($7::VARCHAR[]),
        unnest($8::VARCHAR[]), unnest($9::FLOAT8[]), unnest($10::VARCHAR[]), unnest($11::VARCHAR[]),
        unnest($12::VARCHAR[]), unnest($13::BIGINT[]), unnest($14::VARCHAR[]), unnest($15::VARCHAR[]),
        unnest($16::VARCHAR[])
"""


class Outbox:
    """Events of a store and their receivers.

    Args:
        write: runs a function in a transaction, which its error undoes.
        read: runs a function on a reading connection, after everything acknowledged.
        holder: names this opening of the store among those that send.
    """

    def __init__(self, write: Ask, read: Ask, dialect: Dialect, sources: Sources, holder: str) -> None:
        self._write = write
        self._read = read
        self._dialect = dialect
        self._sources = sources
        self._holder = holder
        self._collecting = asyncio.Lock()

    async def call_back(self, callbacks: Sequence[Callback]) -> int:
        """Adds events that are no outcomes; one that is there already stays as it is. Returns how many are new."""

        def change(connection: Connection) -> int:
            self._sources.lock(connection)
            new = [one for one in callbacks if not _known(connection, one)]
            self._append(connection, [], new)
            return len(new)

        return await self._write(change)

    async def register(self, receiver: str, host: str, *, now: float, callbacks: bool = False) -> None:
        """Makes a receiver known: it gets what is decided from now on. One that is known already keeps its place.

        Args:
            receiver: digest of its address.
            callbacks: whether it gets ``job.ended`` and ``review.decided``, too.
        """

        def change(connection: Connection) -> None:
            self._sources.lock(connection)
            rows = connection.execute("SELECT callbacks FROM receivers WHERE receiver = $1", [receiver]).fetchall()
            if not rows:
                newest = newest_number(connection)
                connection.execute(
                    "INSERT INTO receivers VALUES ($1, $2, $3, $4, $4, $5)", [receiver, host, callbacks, newest, now]
                )
            elif callbacks and not rows[0][0]:
                connection.execute("UPDATE receivers SET callbacks = true WHERE receiver = $1", [receiver])

        await self._write(change)

    async def wish(self, receiver: str, numbers: Sequence[int]) -> int:
        """Queues outcomes that were decided before the receiver was known; returns how many it has accepted already."""

        def change(connection: Connection) -> int:
            self._sources.lock(connection)
            claimed = _claimed(connection, receiver)
            past = [number for number in numbers if claimed is not None and number <= claimed[0]]
            accepted = _accepted(connection, receiver, past)
            missing = set(past) - _held(connection, receiver, past) - accepted
            self._hold(connection, receiver, sorted(missing), "waiting", 0.0)
            return len(accepted)

        return await self._write(change) if numbers else 0

    async def claim(self, receiver: str, *, now: float, limit: int) -> list[QueuedEvent]:
        """Takes the next events to send: those whose next try is due or whose sender was killed, then new ones."""

        def change(connection: Connection) -> list[QueuedEvent]:
            self._sources.lock(connection)
            due = self._due(connection, receiver, now, limit)
            claimed = _claimed(connection, receiver)
            if claimed is None:
                return []
            new = _above(connection, claimed[0], claimed[1], limit - len(due))
            connection.execute(
                "UPDATE event_sends SET state = 'sending', holder = $1, due_at = $2 "
                "WHERE receiver = $3 AND number IN (SELECT unnest($4::BIGINT[]))",
                [self._holder, now + CLAIM_S, receiver, list(due)],
            )
            self._hold(connection, receiver, new, "sending", now + CLAIM_S)
            if new:
                connection.execute("UPDATE receivers SET claimed = $1 WHERE receiver = $2", [new[-1], receiver])
            return _queued(connection, dict.fromkeys(new, 0) | due)

        return await self._write(change)

    async def sent(self, number: int, how: Sent, failures: int = 0) -> bool:
        """Records how a try to send ended; returns whether the event was given up.

        Args:
            failures: tries in vain before this one.
        """
        waits = failures < len(WAITS_S)

        def change(connection: Connection) -> bool:
            connection.execute(
                "INSERT INTO event_deliveries VALUES ($1, $2, $3, $4, $5, $6, $7)",
                [number, how.receiver, how.delivered, how.attempts, how.status, how.reason, how.ended_at],
            )
            if how.delivered:
                connection.execute(
                    "DELETE FROM event_sends WHERE receiver = $1 AND number = $2", [how.receiver, number]
                )
                return False
            state, due = ("waiting", how.ended_at + WAITS_S[failures]) if waits else ("given_up", how.ended_at)
            connection.execute(
                "UPDATE event_sends SET state = $3, failures = $4, due_at = $5, reason = $6 "
                "WHERE receiver = $1 AND number = $2",
                [how.receiver, number, state, failures + 1, due, how.reason],
            )
            return not waits

        return await self._write(change)

    async def release(self, receiver: str, numbers: Sequence[int]) -> None:
        """Gives back claimed events that were not tried."""

        def change(connection: Connection) -> None:
            connection.execute(
                "UPDATE event_sends SET state = 'waiting', due_at = 0 WHERE receiver = $1 AND state = 'sending' "
                "AND holder = $2 AND number IN (SELECT unnest($3::BIGINT[]))",
                [receiver, self._holder, list(numbers)],
            )

        if numbers:
            await self._write(change)

    async def resume(self, receiver: str) -> int:
        """Makes everything that waits or was given up due now; returns how many events."""

        def change(connection: Connection) -> int:
            rows = connection.execute(
                "UPDATE event_sends SET state = 'waiting', failures = 0, due_at = 0 "
                "WHERE receiver = $1 AND state <> 'sending' RETURNING number",
                [receiver],
            ).fetchall()
            return len(rows)

        return await self._write(change)

    async def deliveries(self, number: int) -> list[Sent]:
        """How each try to send an event ended, oldest first."""
        rows = await self._read(
            lambda connection: connection.execute(
                "SELECT receiver, delivered, attempts, status, reason, ended_at FROM event_deliveries "
                "WHERE number = $1 ORDER BY ended_at",
                [number],
            ).fetchall()
        )
        return [Sent(**dict(zip(Sent.model_fields, row, strict=True))) for row in rows]

    async def receivers(self) -> list[ReceiverState]:
        """Every receiver and how far it is."""
        return await self._read(_receivers)

    def _due(self, connection: Connection, receiver: str, now: float, limit: int) -> dict[int, int]:
        rows = connection.execute(
            "SELECT number, failures FROM event_sends WHERE receiver = $1 AND (state = 'waiting' AND due_at <= $2 "  # noqa: S608
            f"OR state = 'sending' AND (due_at <= $2 OR {self._sources.is_gone})) AND $3::VARCHAR IS NOT NULL "
            "ORDER BY number LIMIT $4",
            [receiver, now, self._holder, limit],
        ).fetchall()
        return dict(rows)

    def _hold(self, connection: Connection, receiver: str, numbers: Sequence[int], state: str, due_at: float) -> None:
        if numbers:
            connection.execute(
                "INSERT INTO event_sends SELECT $1, unnest($2::BIGINT[]), $3, 0, $4::FLOAT8, $5, NULL",
                [receiver, list(numbers), state, due_at, self._holder],
            )

    def _append(
        self, connection: Connection, outcomes: Sequence[FinalOutcome], callbacks: Sequence[Callback]
    ) -> list[FinalOutcome]:
        """Adds events with new numbers; returns the outcomes with theirs."""
        count = len(outcomes) + len(callbacks)
        if not count:
            return []
        numbers = self._dialect.numbers(connection, "events", "number", count)
        numbered = [one.model_copy(update={"number": n}) for one, n in zip(outcomes, numbers, strict=False)]
        rows = [_outcome_row(one) for one in numbered]
        rows += [_callback_row(one, n) for one, n in zip(callbacks, numbers[len(outcomes) :], strict=True)]
        connection.execute(_ADD + self._sources.if_known, [list(column) for column in zip(*rows, strict=True)])
        return numbered


def outcome_of(row: Sequence[Any], *, is_current: bool = True) -> FinalOutcome:
    """An outcome from :data:`~metajudge.store.outcome_sources.COLUMNS`."""
    number, event_id, kind, subject_id, subject_digest, item_id, outcome, by, at, *rest = row
    policy, policy_digest, source, source_number, follows, amends, details = rest
    return FinalOutcome(
        number=number,
        event_id=event_id,
        kind=kind,
        subject_id=subject_id,
        subject_digest=subject_digest,
        item_id=item_id,
        outcome=outcome,
        by=by,
        decided_at=at,
        policy=policy,
        policy_digest=policy_digest,
        source=source,
        source_number=source_number,
        follows=follows,
        amends=amends,
        is_current=is_current,
        details=orjson.loads(details),
    )


def _outcome_row(one: FinalOutcome) -> tuple[Any, ...]:
    return (
        *(one.number, one.event_id, one.kind, one.subject_id, one.subject_digest, one.item_id, one.outcome.value),
        *(one.by, one.decided_at, one.policy, one.policy_digest, one.source, one.source_number, one.follows),
        *(one.amends, orjson.dumps(one.details).decode()),
    )


def _callback_row(one: Callback, number: int) -> tuple[Any, ...]:
    return (
        *(number, one.event_id, one.kind, one.subject_id, "", "", one.what, "", one.at, None, None, "callback", 0),
        *(None, None, orjson.dumps(one.data).decode()),
    )


def _event_of(row: Sequence[Any]) -> dict[str, Any]:
    """What a receiver is sent, from :data:`~metajudge.store.outcome_sources.COLUMNS`."""
    if row[2] not in ("job", "review"):
        return outcome_of(row).event
    one = Callback(kind=row[2], what=row[6], subject_id=row[3], event_id=row[1], at=row[8], data=orjson.loads(row[-1]))
    return one.event


def _known(connection: Connection, one: Callback) -> bool:
    rows = connection.execute(
        "SELECT 1 FROM events WHERE event_id = $1 AND kind = $2 LIMIT 1", [one.event_id, one.kind]
    ).fetchall()
    return bool(rows)


def _claimed(connection: Connection, receiver: str) -> tuple[int, bool] | None:
    """The last number that was claimed for a receiver, and whether it gets callbacks."""
    rows = connection.execute("SELECT claimed, callbacks FROM receivers WHERE receiver = $1", [receiver]).fetchall()
    return None if not rows else (int(rows[0][0]), bool(rows[0][1]))


def _above(connection: Connection, number: int, callbacks: bool, limit: int) -> list[int]:
    rows = connection.execute(
        f"SELECT number FROM events WHERE number > $1 AND ($2::BOOLEAN OR kind IN {_OUTCOME_KINDS}) "  # noqa: S608
        "ORDER BY number LIMIT $3",
        [number, callbacks, max(limit, 0)],
    ).fetchall()
    return [found for (found,) in rows]


def _held(connection: Connection, receiver: str, numbers: Sequence[int]) -> set[int]:
    rows = connection.execute(
        "SELECT number FROM event_sends WHERE receiver = $1 AND number IN (SELECT unnest($2::BIGINT[]))",
        [receiver, list(numbers)],
    ).fetchall()
    return {number for (number,) in rows}


def _accepted(connection: Connection, receiver: str, numbers: Sequence[int]) -> set[int]:
    rows = connection.execute(
        "SELECT number FROM event_deliveries WHERE receiver = $1 AND delivered "
        "AND number IN (SELECT unnest($2::BIGINT[]))",
        [receiver, list(numbers)],
    ).fetchall()
    return {number for (number,) in rows}


def _queued(connection: Connection, failures: dict[int, int]) -> list[QueuedEvent]:
    numbers = sorted(failures)
    if not numbers:
        return []
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM events WHERE number BETWEEN $2 AND $3 "  # noqa: S608 - our own names
        "AND number IN (SELECT unnest($1::BIGINT[])) ORDER BY number",
        [numbers, numbers[0], numbers[-1]],
    ).fetchall()
    return [
        QueuedEvent(number=row[0], event_id=row[1], event=_event_of(row), failures=failures[row[0]]) for row in rows
    ]


def _receivers(connection: Connection) -> list[ReceiverState]:
    rows = connection.execute(
        "SELECT receiver, host, callbacks, registered_at, claimed FROM receivers ORDER BY registered_at, receiver"
    ).fetchall()
    return [_receiver(connection, *row) for row in rows]


def _receiver(
    connection: Connection, receiver: str, host: str, callbacks: bool, registered_at: float, claimed: int
) -> ReceiverState:
    counted = connection.execute(
        "SELECT state, count(*) FROM event_sends WHERE receiver = $1 GROUP BY state", [receiver]
    ).fetchall()
    states: dict[str, int] = dict(counted)
    (delivered,) = only_row(
        connection, "SELECT count(*) FROM event_deliveries WHERE receiver = $1 AND delivered", [receiver]
    )
    (behind,) = only_row(
        connection,
        f"SELECT count(*) FROM events WHERE number > $1 AND ($2::BOOLEAN OR kind IN {_OUTCOME_KINDS})",  # noqa: S608
        [claimed, callbacks],
    )
    reasons = connection.execute(
        "SELECT reason FROM event_sends WHERE receiver = $1 AND reason IS NOT NULL ORDER BY number DESC LIMIT 1",
        [receiver],
    ).fetchall()
    return ReceiverState(
        receiver=receiver,
        host=host,
        callbacks=callbacks,
        registered_at=registered_at,
        delivered=delivered,
        behind=behind,
        waiting=states.get("waiting", 0),
        sending=states.get("sending", 0),
        given_up=states.get("given_up", 0),
        last_reason=reasons[0][0] if reasons else None,
    )


def callbacks_of(findings: Iterable[Finding]) -> list[Callback]:
    """The end of each review, amendments included."""
    return [_callback_of(one) for one in findings]


def _callback_of(one: Finding) -> Callback:
    review_id = one.details["review_id"]
    data = {
        "review_id": review_id,
        "kind": one.kind,
        "subject_id": one.subject_id,
        "item_id": one.item_id,
        "outcome": one.outcome.value,
        "people": one.people,
    }
    return Callback.of("review", review_id, [one.source, one.source_number], one.decided_at, data)
