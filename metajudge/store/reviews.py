"""The review queue's tables, in SQL for both databases.

Every change is one transaction that locks its reviews, so that no review is given to two people.
"""

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

import orjson

from metajudge.errors import InputError, ReviewError
from metajudge.reviews.deciding import check_corrections, in_kind_of
from metajudge.reviews.queue import LEASE_S, LONGEST_LEASE_S, Page, Progress, ReviewFilter
from metajudge.reviews.review import Claim, Comment, HumanDecision, Review, ReviewState, ReviewStatus, reviewer_name
from metajudge.reviews.rows import ReviewRow, row_of
from metajudge.store.review_events import ReviewEvents, add_event, assignment, events_of, newest_decisions, spellings_in
from metajudge.store.sql import Ask, Connection, Dialect

# $1 is the time. A person's newest claim counts.
_STATES: Final = """
    WITH decided AS (SELECT review_id, count(*) AS n FROM review_decisions GROUP BY review_id),
    newest AS (
        SELECT DISTINCT ON (review_id, reviewer) review_id, reviewer, claimed_at, expires_at FROM review_claims
        ORDER BY review_id, reviewer, claim_id DESC
    ),
    held AS (
        SELECT review_id, array_agg(reviewer) AS holders FROM newest
        WHERE expires_at > $1 AND NOT EXISTS (
            SELECT 1 FROM review_decisions d WHERE d.review_id = newest.review_id AND d.reviewer = newest.reviewer
        )
        GROUP BY review_id
    ),
    said AS (
        SELECT DISTINCT ON (review_id, reviewer) review_id, reviewer, kind FROM review_events
        WHERE kind IN ('assign', 'unassign') ORDER BY review_id, reviewer, event_id DESC
    ),
    given AS (SELECT review_id, array_agg(reviewer) AS assigned FROM said WHERE kind = 'assign' GROUP BY review_id),
    states AS (
        SELECT r.*, coalesce(decided.n, 0) AS decisions, held.holders, coalesce(cardinality(held.holders), 0) AS hands,
            given.assigned,
            CASE WHEN coalesce(decided.n, 0) >= r.reviewers THEN 'decided'
                WHEN held.review_id IS NOT NULL THEN 'claimed' ELSE 'open' END AS status
        FROM reviews r LEFT JOIN decided ON decided.review_id = r.review_id
            LEFT JOIN held ON held.review_id = r.review_id LEFT JOIN given ON given.review_id = r.review_id
    )
"""
_ORDER: Final = "states.priority, coalesce(states.margin, 'infinity'::FLOAT8), states.opened_at, states.review_id"
_MATCHES: Final = """
    ($2::VARCHAR IS NULL OR states.judge = $2) AND ($3::VARCHAR[] IS NULL OR lower(states.category) = ANY($3))
    AND ($4::VARCHAR IS NULL OR states.policy_digest = $4) AND ($5::VARCHAR IS NULL OR states.item_id = $5)
    AND ($6::VARCHAR IS NULL OR coalesce($6 = ANY(assigned), false))
"""
_HAS: Final = "(status <> 'decided' AND coalesce({} = ANY(holders), false))"
_SAID: Final = "EXISTS (SELECT 1 FROM review_decisions d WHERE d.review_id = states.review_id AND d.reviewer = {})"
_OFFERED: Final = "(assigned IS NULL OR {} = ANY(assigned))"
_TYPES: Final = dict.fromkeys(
    ("review_id", "subject_id", "item_id", "judge", "category", "policy_digest"), "VARCHAR"
) | {
    "priority": "INTEGER",
    "margin": "FLOAT8",
    "opened_at": "FLOAT8",
    "reviewers": "INTEGER",
    "payload": "VARCHAR",
    "redacted": "BOOLEAN",
}
"""The columns of ``reviews``."""
_ADD_DECISIONS: Final = """
    INSERT INTO review_decisions
    SELECT unnest($1::BIGINT[]), unnest($2::VARCHAR[]), unnest($3::VARCHAR[]), unnest($4::VARCHAR[]),
        unnest($5::FLOAT8[]), unnest($6::VARCHAR[]), unnest($7::BOOLEAN[])
"""


class StoredReviews:
    """A :class:`~metajudge.reviews.queue.ReviewQueue` in a store.

    Args:
        write: runs a function in a transaction, which its error undoes.
        read: runs a function on a reading connection, after everything acknowledged.
    """

    def __init__(self, write: Ask, read: Ask, dialect: Dialect) -> None:
        self._write = write
        self._read = read
        self._dialect = dialect

    async def open(self, reviews: Sequence[Review]) -> int:
        return await self.open_rows([row_of(review) for review in reviews])

    async def open_rows(self, rows: Sequence[ReviewRow]) -> int:
        new = [(*row, False) for row in sorted({row.review_id: row for row in rows}.values())]
        if not new:
            return 0
        return await self._write(lambda connection: self._dialect.add_missing(connection, "reviews", _TYPES, new))

    async def claim(
        self,
        reviewer: str,
        *,
        now: float,
        lease_s: float = LEASE_S,
        review_id: str | None = None,
        wanted: ReviewFilter | None = None,
    ) -> ReviewState | None:
        if not 0 < lease_s <= LONGEST_LEASE_S:
            raise InputError(f"a lease lasts above 0 s and up to {LONGEST_LEASE_S / 86_400:g} days, not {lease_s:g} s")
        name = reviewer_name(reviewer)
        claim = Claim(review_id=review_id or "", reviewer=name, claimed_at=now, expires_at=now + lease_s)
        return await self._write(lambda connection: _claim(connection, self._dialect, claim, wanted or ReviewFilter()))

    async def release(self, review_id: str, reviewer: str, *, now: float) -> None:
        name = reviewer_name(reviewer)
        await self._write(lambda connection: _release(connection, self._dialect, review_id, name, now))

    async def decide(self, decision: HumanDecision, *, now: float) -> ReviewState:
        return await self._write(lambda connection: _decide(connection, self._dialect, decision, now))

    async def amend(self, decision: HumanDecision, *, now: float) -> ReviewState:
        return await self._write(lambda connection: _amend(connection, self._dialect, decision, now))

    async def comment(self, comment: Comment) -> ReviewState:
        return await self._write(lambda connection: _comment(connection, self._dialect, comment))

    async def assign(self, review_ids: Sequence[str], reviewer: str, *, by: str, now: float, on: bool = True) -> int:
        name = reviewer_name(reviewer)
        return await self._write(lambda c: _assign(c, self._dialect, review_ids, name, by, now, on))

    async def progress(self, reviewer: str, *, now: float, wanted: ReviewFilter | None = None) -> Progress:
        return await self._read(lambda c: _progress(c, reviewer, wanted or ReviewFilter(), now))

    async def import_decisions(self, decisions: Sequence[HumanDecision]) -> int:
        return await self._write(lambda connection: _import(connection, self._dialect, decisions))

    async def get(self, review_id: str, *, now: float) -> ReviewState | None:
        return await self._read(lambda cursor: _state(cursor, review_id, now))

    async def page(self, wanted: ReviewFilter, *, now: float, limit: int = 50, cursor: str | None = None) -> Page:
        return await self._read(lambda connection: _page(connection, wanted, now, limit, cursor))

    async def counts(self, *, now: float) -> dict[ReviewStatus, int]:
        query = f"{_STATES} SELECT status, count(*) FROM states GROUP BY status"  # noqa: S608 - our own text
        rows = await self._read(lambda cursor: cursor.execute(query, [now]).fetchall())
        return {ReviewStatus.OPEN: 0, ReviewStatus.CLAIMED: 0, ReviewStatus.DECIDED: 0} | {
            ReviewStatus(status): count for status, count in rows
        }


def _claim(connection: Connection, dialect: Dialect, claim: Claim, wanted: ReviewFilter) -> ReviewState | None:
    if claim.review_id:
        dialect.lock_reviews(connection, [claim.review_id])
        state = _known(connection, claim.review_id, claim.claimed_at)
        _check_free(state, claim.reviewer)
        review_id = claim.review_id
    else:
        found = _next(connection, dialect, claim, wanted)
        if found is None:
            return None
        review_id = found
    _add_claim(connection, dialect, review_id, claim.reviewer, claim.claimed_at, claim.expires_at)
    return _state(connection, review_id, claim.claimed_at)


def _next(connection: Connection, dialect: Dialect, claim: Claim, wanted: ReviewFilter) -> str | None:
    """The review that the person has already claimed, else the first one that needs another reviewer.

    Another person may take it between the choice and the lock, so it is checked again under the lock.
    """
    while (found := _first_free(connection, claim, wanted, dialect.skip_locked)) is not None:
        if not dialect.skip_locked or found == _first_free(connection, claim, wanted, "", found):
            return found
    return None


def _first_free(
    connection: Connection, claim: Claim, wanted: ReviewFilter, ending: str, only: str | None = None
) -> str | None:
    has = _HAS.format("$7")
    rows = connection.execute(
        f"""{_STATES} SELECT states.review_id FROM states JOIN reviews kept ON kept.review_id = states.review_id
        WHERE status <> 'decided' AND ($8::VARCHAR IS NULL OR states.review_id = $8) AND {_MATCHES}
            AND ({has} OR decisions + hands < states.reviewers) AND NOT {_SAID.format("$7")}
            AND {_OFFERED.format("$7")}
        ORDER BY {has} DESC, assigned IS NULL, {_ORDER} LIMIT 1 {ending}""",  # noqa: S608 - our own text
        [*_values(connection, wanted, claim.claimed_at), claim.reviewer, only],
    ).fetchall()
    return rows[0][0] if rows else None


def _values(connection: Connection, wanted: ReviewFilter, now: float) -> list[Any]:
    """The values of ``_STATES`` and ``_MATCHES``."""
    category = None if wanted.category is None else spellings_in(connection, wanted.category)
    return [now, wanted.judge, category, wanted.policy_digest, wanted.item_id, wanted.assigned]


def _check_free(state: ReviewState, reviewer: str) -> None:
    review = state.review
    name = review.review_id
    if any(one.reviewer == reviewer for one in state.decisions):
        raise ReviewError(
            f"{reviewer} has already decided review {name}: amend the decision instead (`metajudge review amend`)",
            "decided",
        )
    if state.status is ReviewStatus.DECIDED:
        raise ReviewError(f"review {name} is already decided ({_by(state)})", "decided")
    if any(one.reviewer == reviewer for one in state.claims):
        return
    if state.assigned and reviewer not in state.assigned:
        raise ReviewError(f"review {name} is assigned to {', '.join(state.assigned)}, not to {reviewer}", "assigned")
    if len(state.decisions) + len(state.claims) >= review.reviewers:
        holders = ", ".join(f"{one.reviewer} until {_utc(one.expires_at)}" for one in state.claims)
        raise ReviewError(
            f"review {name} is claimed by others ({holders}): take another one, or wait", "claimed_by_other"
        )


def _release(connection: Connection, dialect: Dialect, review_id: str, reviewer: str, now: float) -> None:
    dialect.lock_reviews(connection, [review_id])
    state = _known(connection, review_id, now)
    if not any(one.reviewer == reviewer for one in state.claims):
        raise ReviewError(f"{reviewer} has not claimed review {review_id}: nothing to release", "not_claimed")
    _add_claim(connection, dialect, review_id, reviewer, now, now)


def _decide(connection: Connection, dialect: Dialect, decision: HumanDecision, now: float) -> ReviewState:
    name, reviewer = decision.review_id, decision.reviewer
    dialect.lock_reviews(connection, [name])
    state = _known(connection, name, now)
    decision = in_kind_of(state.review, decision)
    earlier = next((one for one in state.decisions if one.reviewer == reviewer), None)
    if earlier is not None:
        if earlier.same_as(decision):
            return state
        raise ReviewError(
            f"{reviewer} has already decided review {name}: {earlier.outcome}. To replace the decision, amend it with "
            "a reason (`metajudge review amend`)",
            "decided",
        )
    if state.status is ReviewStatus.DECIDED:
        raise ReviewError(f"review {name} is already decided ({_by(state)})", "decided")
    claim = next((one for one in state.claims if one.reviewer == reviewer), None)
    if claim is None:
        _refuse_without_claim(connection, name, reviewer)
    else:
        decision = decision.model_copy(update={"seconds": max(0.0, decision.decided_at - claim.claimed_at)})
    check_corrections(state.review, decision)
    _add_decisions(connection, dialect, [decision])
    return _known(connection, name, now)


def _amend(connection: Connection, dialect: Dialect, decision: HumanDecision, now: float) -> ReviewState:
    name, reviewer = decision.review_id, decision.reviewer
    dialect.lock_reviews(connection, [name])
    state = _known(connection, name, now)
    decision = in_kind_of(state.review, decision)
    earlier = next((one for one in state.decisions if one.reviewer == reviewer), None)
    if earlier is None:
        raise ReviewError(f"{reviewer} has not decided review {name}, so there is nothing to amend", "not_decided")
    if earlier.same_as(decision):
        return state
    if not decision.reason.strip():
        raise InputError("an amendment needs a reason: say why the earlier decision is replaced (--reason TEXT)")
    if decision.amends not in (None, earlier.decision_id):
        raise ReviewError(
            f"review {name}: {reviewer} has amended the decision meanwhile ({earlier.outcome}): look at it again",
            "amended",
        )
    amended = decision.model_copy(update={"amends": earlier.decision_id, "policy": state.review.policy})
    check_corrections(state.review, amended)
    add_event(connection, dialect, name, "amend", reviewer, now=now, payload=amended.model_dump_json())
    return _known(connection, name, now)


def _comment(connection: Connection, dialect: Dialect, comment: Comment) -> ReviewState:
    _known(connection, comment.review_id, comment.at)
    payload = comment.model_dump_json()
    add_event(connection, dialect, comment.review_id, "comment", comment.author, now=comment.at, payload=payload)
    return _known(connection, comment.review_id, comment.at)


def _assign(
    connection: Connection, dialect: Dialect, review_ids: Sequence[str], reviewer: str, by: str, now: float, on: bool
) -> int:
    names = sorted(set(review_ids))
    dialect.lock_reviews(connection, names)
    changed = 0
    for name in names:
        state = _known(connection, name, now)
        if (reviewer in state.assigned) != on:
            kind: Literal["assign", "unassign"] = "assign" if on else "unassign"
            add_event(connection, dialect, name, kind, reviewer, now=now, payload=assignment(by))
            changed += 1
    return changed


def _progress(connection: Connection, reviewer: str, wanted: ReviewFilter, now: float) -> Progress:
    ((left,),) = connection.execute(
        f"""{_STATES} SELECT count(*) FROM states WHERE status <> 'decided' AND {_MATCHES}
            AND NOT {_SAID.format("$7")} AND {_OFFERED.format("$7")}
            AND ({_HAS.format("$7")} OR decisions + hands < states.reviewers)""",  # noqa: S608 - our own text
        [*_values(connection, wanted, now), reviewer],
    ).fetchall()
    rows = connection.execute(
        f"""{_STATES} SELECT d.payload FROM states JOIN review_decisions d ON d.review_id = states.review_id
        WHERE d.reviewer = $7 AND {_MATCHES}""",  # noqa: S608 - our own text
        [*_values(connection, wanted, now), reviewer],
    ).fetchall()
    made = [orjson.loads(payload) for (payload,) in rows]
    times = [one["seconds"] for one in made if one.get("seconds") is not None and not one.get("bulk")]
    return Progress(len(made), len(made) + int(left), statistics.median(times) if times else None, len(times))


def _refuse_without_claim(connection: Connection, review_id: str, reviewer: str) -> None:
    row = connection.execute(
        "SELECT expires_at, claimed_at FROM review_claims WHERE review_id = $1 AND reviewer = $2 "
        "ORDER BY claim_id DESC LIMIT 1",
        [review_id, reviewer],
    ).fetchall()
    if row and row[0][0] > row[0][1]:
        raise ReviewError(
            f"the lease of {reviewer} on review {review_id} expired at {_utc(row[0][0])} and nothing was recorded: "
            "claim it again, then decide",
            "lease_expired",
        )
    raise ReviewError(f"{reviewer} has not claimed review {review_id}: claim it before deciding", "not_claimed")


def _import(connection: Connection, dialect: Dialect, decisions: Sequence[HumanDecision]) -> int:
    names = sorted({one.review_id for one in decisions})
    dialect.lock_reviews(connection, names)
    states = _states(connection, names, 0.0)
    known = {name: list(state.decisions) for name, state in states.items()}
    new: list[HumanDecision] = []
    for given in decisions:
        state = states.get(given.review_id)
        if state is None:
            raise ReviewError(
                f"there is no review {given.review_id!r}, so nothing was imported: `metajudge review list` shows "
                "those there are",
                "unknown",
            )
        decision = in_kind_of(state.review, given)
        recorded = known[decision.review_id]
        earlier = next((one for one in recorded if one.reviewer == decision.reviewer), None)
        if earlier is not None and earlier.same_as(decision):
            continue
        if earlier is not None or len(recorded) >= state.review.reviewers:
            by = ", ".join(f"{one.outcome} by {one.reviewer}" for one in recorded)
            raise ReviewError(f"review {decision.review_id} is already decided ({by}): nothing was imported", "decided")
        check_corrections(state.review, decision)
        recorded.append(decision)
        new.append(decision.model_copy(update={"policy": state.review.policy}))
    if new:
        _add_decisions(connection, dialect, new)
    return len(new)


def _add_claim(
    connection: Connection, dialect: Dialect, review_id: str, reviewer: str, claimed_at: float, expires_at: float
) -> None:
    (number,) = dialect.numbers(connection, "review_claims", "claim_id", 1)
    connection.execute(
        "INSERT INTO review_claims VALUES ($1, $2, $3, $4, $5)", [number, review_id, reviewer, claimed_at, expires_at]
    )


def _add_decisions(connection: Connection, dialect: Dialect, decisions: Sequence[HumanDecision]) -> None:
    numbers = dialect.numbers(connection, "review_decisions", "decision_id", len(decisions))
    rows = [
        (number, one.review_id, one.reviewer, one.outcome.value, one.decided_at, one.model_dump_json(), False)
        for number, one in zip(numbers, decisions, strict=True)
    ]
    connection.execute(_ADD_DECISIONS, [list(column) for column in zip(*rows, strict=True)])


def _page(connection: Connection, wanted: ReviewFilter, now: float, limit: int, cursor: str | None) -> Page:
    status = None if wanted.status is None else wanted.status.value
    values = [*_values(connection, wanted, now), status, wanted.reviewer]
    further = "true"
    if cursor is not None:
        further = f"({_ORDER}) > ($9, $10::FLOAT8, $11::FLOAT8, $12)"
        values += _place(connection, cursor)
    rows = connection.execute(
        f"""{_STATES} SELECT review_id FROM states
        WHERE {_MATCHES} AND ($7::VARCHAR IS NULL OR status = $7) AND {further}
            AND ($8::VARCHAR IS NULL OR coalesce($8 = ANY(holders), false) OR {_SAID.format("$8")})
        ORDER BY {_ORDER} LIMIT {limit + 1}""",  # noqa: S608 - our own text
        values,
    ).fetchall()
    names = [row[0] for row in rows]
    states = _states(connection, names[:limit], now)
    return Page(tuple(states[name] for name in names[:limit]), names[limit - 1] if len(names) > limit else None)


def _place(connection: Connection, review_id: str) -> list[Any]:
    """A review's position in the order of the queue."""
    rows = connection.execute(
        f"SELECT {_ORDER} FROM reviews states WHERE review_id = $1",  # noqa: S608 - our own text
        [review_id],
    ).fetchall()
    if not rows:
        raise InputError(f"no page continues at {review_id!r}: use the cursor of the page before")
    return list(rows[0])


def _known(connection: Connection, review_id: str, now: float) -> ReviewState:
    state = _state(connection, review_id, now)
    if state is None:
        raise ReviewError(f"there is no review {review_id!r}: `metajudge review list` shows those there are", "unknown")
    return state


def _state(connection: Connection, review_id: str, now: float) -> ReviewState | None:
    return _states(connection, [review_id], now).get(review_id)


def _states(connection: Connection, names: Sequence[str], now: float) -> dict[str, ReviewState]:
    """The existing reviews with these ids, with their claims and decisions."""
    wanted = "review_id IN (SELECT unnest($1::VARCHAR[]))"
    reviews = connection.execute(f"SELECT review_id, payload FROM reviews WHERE {wanted}", [names]).fetchall()  # noqa: S608
    decided = connection.execute(
        f"SELECT review_id, payload FROM review_decisions WHERE {wanted} ORDER BY decision_id",  # noqa: S608
        [names],
    ).fetchall()
    held = connection.execute(
        f"SELECT review_id, reviewer, claimed_at, expires_at FROM review_claims WHERE {wanted} ORDER BY claim_id",  # noqa: S608
        [names],
    ).fetchall()
    events = events_of(connection, names)
    newest = {(name, reviewer): (claimed, expires) for name, reviewer, claimed, expires in held}
    decisions: dict[str, list[HumanDecision]] = {}
    for name, payload in decided:
        decisions.setdefault(name, []).append(HumanDecision.model_validate_json(payload))
    claims: dict[str, list[Claim]] = {}
    for (name, reviewer), (claimed, expires) in newest.items():
        done = any(one.reviewer == reviewer for one in decisions.get(name, ()))
        if expires > now and not done:
            claim = Claim(review_id=name, reviewer=reviewer, claimed_at=claimed, expires_at=expires)
            claims.setdefault(name, []).append(claim)
    return {
        name: _with_status(
            Review.model_validate_json(payload),
            claims.get(name, []),
            decisions.get(name, []),
            events.get(name, ReviewEvents()),
        )
        for name, payload in reviews
    }


def _with_status(
    review: Review, claims: Sequence[Claim], decisions: Sequence[HumanDecision], events: ReviewEvents
) -> ReviewState:
    status = ReviewStatus.CLAIMED if claims else ReviewStatus.OPEN
    if len(decisions) >= review.reviewers:
        status = ReviewStatus.DECIDED
    return ReviewState(
        review=review,
        status=status,
        claims=tuple(claims),
        decisions=newest_decisions(decisions, events.amendments),
        history=(*decisions, *events.amendments),
        comments=tuple(events.comments),
        assigned=tuple(events.assigned),
    )


def _utc(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):  # an older store may have leases without an end
        return "further notice"


def _by(state: ReviewState) -> str:
    return ", ".join(f"{one.outcome} by {one.reviewer}" for one in state.decisions)
