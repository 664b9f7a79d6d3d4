"""Outcomes in a store: made from stored decisions, listed, counted. SQL for both databases.

Nothing is lost when a process is killed: a decision is stored first, and whatever stands in the store and is no outcome
yet becomes one when anybody collects next, under an id that follows from the decisions alone.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from metajudge.outcomes.model import FinalOutcome, Finding, OutcomeCount, OutcomeFilter, outcome_after
from metajudge.store.outbox import Outbox, callbacks_of, outcome_of
from metajudge.store.outcome_reviews import between
from metajudge.store.outcome_sources import COLUMNS, MACHINE, PEOPLE, findings, newest_number, subject_key
from metajudge.store.sql import Connection

BATCH: Final = 1_000
"""Decisions that become outcomes in one transaction."""

AT_ONCE: Final = 5 * BATCH
"""Decisions that become outcomes before a list is shown; a service goes on with the rest in the background."""

_KINDS: Final = "kind IN ('judgment', 'clash', 'case')"
_LATER: Final = "EXISTS (SELECT 1 FROM events l WHERE l.follows IS NOT NULL AND l.follows = e.event_id)"
_MATCHES: Final = f"""
    {_KINDS} AND ($1::VARCHAR IS NULL OR kind = $1) AND ($2::VARCHAR IS NULL OR outcome = $2)
    AND ($3::VARCHAR IS NULL OR decided_by = $3) AND ($4::VARCHAR IS NULL OR policy = $4 OR policy_digest = $4)
    AND ($5::FLOAT8 IS NULL OR decided_at >= $5) AND (NOT $6::BOOLEAN OR NOT {_LATER})
"""
_REPLACED: Final = " AND event_id IN (SELECT follows FROM events WHERE follows IS NOT NULL)"
_MATCHES_FROM: Final = _MATCHES.replace("l.follows IS NOT NULL", "l.number > $7 AND l.follows IS NOT NULL")
"""The same among outcomes from number $7 on."""


class StoredOutcomes(Outbox):
    """The outcomes of a store, and the events that receivers are to get; see :class:`Outbox`."""

    async def collect(self, limit: int = BATCH) -> int:
        """Turns stored decisions into outcomes, oldest first; returns how many were looked at, 0 if none was left."""
        made: list[FinalOutcome] = []

        def change(connection: Connection) -> int:
            made.clear()  # a change may be tried again
            looked_at, new = self._collect(connection, limit)
            made.extend(new)
            return looked_at

        async with self._collecting:  # the next batch must know what this one made
            looked_at = await self._write(change)
            self._sources.added(made)
        return looked_at

    async def collect_all(self, most: int | None = None) -> int:
        """Turns every stored decision into an outcome; returns how many were looked at.

        Args:
            most: stop after a batch once so many were looked at, for a reader who waits; None for no end.
        """
        looked_at = 0
        while (most is None or looked_at < most) and (some := await self.collect()):
            looked_at += some
        return looked_at

    async def page(
        self, wanted: OutcomeFilter | None = None, *, before: int | None = None, limit: int = 50
    ) -> list[FinalOutcome]:
        """A page, newest first.

        Args:
            before: the number of the last outcome of the page before.
        """
        return await self._read(lambda connection: _newest_page(connection, _values(wanted), before, limit))

    async def since(self, number: int, wanted: OutcomeFilter | None = None, *, limit: int = 500) -> list[FinalOutcome]:
        """Outcomes above a number, oldest first."""
        values = [*_values(wanted), number, limit]
        return await self._read(
            lambda connection: _outcomes(connection, f"{_MATCHES} AND number > $7", "number LIMIT $8", values)
        )

    async def about(self, name: str) -> list[FinalOutcome]:
        """All outcomes of a judgment, clash, case or item with this id, or the one with this event id; oldest first."""
        condition = f"{_KINDS} AND (subject_id = $1 OR item_id = $1 OR event_id = $1 OR subject_digest = $1)"
        return await self._read(lambda connection: _outcomes(connection, condition, "number", [name]))

    async def current(self, subjects: Sequence[tuple[str, str]]) -> list[FinalOutcome]:
        """The newest outcome on each of these contents, given as (kind, digest), that has one."""
        names = [subject_key(*one) for one in subjects]
        rows = await self._write(lambda connection: self._sources.newest(connection, names))
        found = [outcome_of(row, is_current=True) for row in rows]
        wanted = set(names)
        return [one for one in found if subject_key(one.kind, one.subject_digest) in wanted]

    async def counts(self, wanted: OutcomeFilter | None = None) -> list[OutcomeCount]:
        """How many outcomes ended alike, by kind and by who decided."""
        found = await self._read(lambda connection: _counted(connection, wanted or OutcomeFilter()))
        return [
            OutcomeCount(kind=kind, outcome=outcome, by=by, count=count)
            for (kind, outcome, by), count in sorted(found.items())
            if count
        ]

    async def newest_number(self) -> int:
        """The number of the newest event, 0 without one."""
        return await self._read(newest_number)

    def _collect(self, connection: Connection, limit: int) -> tuple[int, list[FinalOutcome]]:
        """One batch; machines' decisions first, as people judge decisions that were stored before.

        People's rows are looked for before the machines': whatever they judged is then seen, too.
        """
        self._sources.lock(connection)
        said = {source: self._sources.waiting(connection, source, limit) for source in reversed(PEOPLE)}
        for source in MACHINE:
            if numbers := self._sources.waiting(connection, source, limit):
                return len(numbers), self._turned(connection, source, numbers)
        for source in PEOPLE:
            if said[source]:
                return len(said[source]), self._turned(connection, source, said[source])
        return 0, []

    def _turned(self, connection: Connection, source: str, numbers: Sequence[int]) -> list[FinalOutcome]:
        found = findings(connection, source, numbers)
        callbacks = callbacks_of(found) if source in PEOPLE else []
        new = self._append(connection, self._new(connection, found), callbacks)
        self._sources.taken(connection, source, numbers)
        return new

    def _new(self, connection: Connection, found: Sequence[Finding]) -> list[FinalOutcome]:
        names = [subject_key(one.kind, one.subject_digest) for one in found]
        rows = self._sources.newest(connection, names) if names else []
        newest = {subject_key(one.kind, one.subject_digest): one for one in map(outcome_of, rows)}
        new = []
        for name, finding in zip(names, found, strict=True):
            outcome = outcome_after(finding, newest.get(name))
            if outcome is not None:
                newest[name] = outcome
                new.append(outcome)
        return new


def _values(wanted: OutcomeFilter | None) -> list[Any]:
    one = wanted or OutcomeFilter()
    outcome = None if one.outcome is None else one.outcome.value
    return [one.kind, outcome, one.by, one.policy, one.since, one.current]


def _counted(connection: Connection, wanted: OutcomeFilter) -> Counter[tuple[Any, ...]]:
    """(kind, outcome, who decided) -> outcomes that fit: all of them, less those that a later one replaced.

    The replaced ones are found from what replaced them, so that nothing is looked for at each of the others.
    """
    values = _values(wanted.model_copy(update={"current": False}))

    def counted(condition: str) -> Counter[tuple[Any, ...]]:
        rows = connection.execute(
            f"SELECT kind, outcome, decided_by, count(*) FROM events e WHERE {condition} "  # noqa: S608 - our own text
            "GROUP BY kind, outcome, decided_by",
            values,
        ).fetchall()
        return Counter({tuple(group): int(count) for *group, count in rows})

    found = counted(_MATCHES)
    if wanted.current:
        found.subtract(counted(_MATCHES + _REPLACED))
    return found


def _newest_page(connection: Connection, values: Sequence[Any], before: int | None, limit: int) -> list[FinalOutcome]:
    """The newest outcomes that fit, below a number.

    Looked for in growing ranges of numbers from above, so that the newest page of a large store reads little: what
    replaces an outcome has a larger number.
    """
    high = newest_number(connection) + 1 if before is None else before
    found: list[int] = []
    width = 20 * limit
    while len(found) < limit and high > 1:
        low = max(1, high - width)
        rows = connection.execute(
            f"SELECT number FROM events e WHERE {_MATCHES_FROM} AND number >= $7 AND number < $8 "  # noqa: S608
            "ORDER BY number DESC LIMIT $9",
            [*values, low, high, limit - len(found)],
        ).fetchall()
        found += [number for (number,) in rows]
        high, width = low, 8 * width
    return _with_numbers(connection, found)


def _outcomes(connection: Connection, condition: str, ending: str, values: Sequence[Any]) -> list[FinalOutcome]:
    """Outcomes that fit. First their numbers, then the rows: whole rows of all that fit are never read."""
    found = connection.execute(
        f"SELECT number FROM events e WHERE {condition} ORDER BY {ending}",  # noqa: S608 - our own names
        list(values),
    ).fetchall()
    return _with_numbers(connection, [number for (number,) in found])


def _with_numbers(connection: Connection, numbers: Sequence[int]) -> list[FinalOutcome]:
    """The outcomes with these numbers, in this order."""
    order = {number: place for place, number in enumerate(numbers)}
    if not order:
        return []
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM events WHERE {between('number')}",  # noqa: S608 - our own names
        [list(order), min(order), max(order)],
    ).fetchall()
    later = connection.execute(
        "SELECT follows FROM events WHERE number > $2 AND follows IN (SELECT unnest($1::VARCHAR[]))",
        [[row[1] for row in rows], min(order)],
    ).fetchall()
    replaced = {name for (name,) in later}
    outcomes = [outcome_of(row, is_current=row[1] not in replaced) for row in rows]
    return sorted(outcomes, key=lambda one: order[one.number])
