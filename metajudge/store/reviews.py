"""The review queue's tables; every change is one transaction of the writer thread, so no two people get one review."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import duckdb

from metajudge.errors import InputError, ReviewError
from metajudge.reviews.deciding import check_corrections
from metajudge.reviews.queue import LEASE_S, Page, ReviewFilter
from metajudge.reviews.review import Claim, HumanDecision, Review, ReviewState, ReviewStatus
from metajudge.store.database import only_row

Connection = duckdb.DuckDBPyConnection
T = TypeVar("T")
Reader = Callable[[Callable[[Connection], T]], Awaitable[T]]

_STATES: Final = """
    WITH decided AS (SELECT review_id, count(*) AS n FROM review_decisions GROUP BY review_id),
    newest AS (
        SELECT review_id, reviewer, arg_max(expires_at, claim_id) AS expires_at FROM review_claims GROUP BY ALL
    ),
    held AS (
        SELECT review_id, list(reviewer) AS holders FROM newest
        WHERE expires_at > $now AND NOT EXISTS (
            SELECT 1 FROM review_decisions d WHERE d.review_id = newest.review_id AND d.reviewer = newest.reviewer
        )
        GROUP BY review_id
    ),
    states AS (
        SELECT r.*, coalesce(decided.n, 0) AS decisions, coalesce(holders, []) AS holders,
            CASE WHEN coalesce(decided.n, 0) >= reviewers THEN 'decided'
                WHEN len(coalesce(holders, [])) > 0 THEN 'claimed' ELSE 'open' END AS status
        FROM reviews r LEFT JOIN decided USING (review_id) LEFT JOIN held USING (review_id)
    )
"""
_ORDER: Final = "priority, coalesce(margin, 'infinity'::DOUBLE), opened_at, review_id"
_MATCHES: Final = """
    ($judge IS NULL OR judge = $judge) AND ($category IS NULL OR category = $category)
    AND ($policy IS NULL OR policy_digest = $policy)
"""
_ADD_REVIEWS: Final = """
    INSERT INTO reviews
    SELECT unnest($1::VARCHAR[]), unnest($2::VARCHAR[]), unnest($3::VARCHAR[]), unnest($4::VARCHAR[]),
        unnest($5::VARCHAR[]), unnest($6::VARCHAR[]), unnest($7::INTEGER[]), unnest($8::DOUBLE[]),
        unnest($9::DOUBLE[]), unnest($10::INTEGER[]), unnest($11::VARCHAR[]), unnest($12::BOOLEAN[])
    ON CONFLICT DO NOTHING
"""
_ADD_DECISIONS: Final = """
    INSERT INTO review_decisions
    SELECT unnest($1::BIGINT[]), unnest($2::VARCHAR[]), unnest($3::VARCHAR[]), unnest($4::VARCHAR[]),
        unnest($5::DOUBLE[]), unnest($6::VARCHAR[]), unnest($7::BOOLEAN[])
"""


class DuckDBReviews:
    """A :class:`~metajudge.reviews.queue.ReviewQueue` in a store.

    Args:
        write: runs a function in the store's writer thread, on the connection given.
        read: runs a function on a reading cursor, after everything acknowledged.
    """

    def __init__(self, write: "Reader[Any]", read: "Reader[Any]") -> None:
        self._write = write
        self._read = read

    async def open(self, reviews: Sequence[Review]) -> int:
        rows = {review.review_id: _review_row(review) for review in reviews}
        if not rows:
            return 0
        count: int = await self._write(lambda connection: _open(connection, list(rows.values())))
        return count

    async def claim(
        self,
        reviewer: str,
        *,
        now: float,
        lease_s: float = LEASE_S,
        review_id: str | None = None,
        wanted: ReviewFilter | None = None,
    ) -> ReviewState | None:
        claim = Claim(review_id=review_id or "", reviewer=reviewer, claimed_at=now, expires_at=now + lease_s)
        if lease_s <= 0:
            raise InputError(f"a lease must last longer than {lease_s:g} s")
        found: ReviewState | None = await self._write(
            lambda connection: _claim(connection, claim, wanted or ReviewFilter())
        )
        return found

    async def release(self, review_id: str, reviewer: str, *, now: float) -> None:
        await self._write(lambda connection: _release(connection, review_id, reviewer, now))

    async def decide(self, decision: HumanDecision, *, now: float) -> ReviewState:
        found: ReviewState = await self._write(lambda connection: _decide(connection, decision, now))
        return found

    async def import_decisions(self, decisions: Sequence[HumanDecision]) -> int:
        count: int = await self._write(lambda connection: _import(connection, decisions))
        return count

    async def get(self, review_id: str, *, now: float) -> ReviewState | None:
        found: ReviewState | None = await self._read(lambda cursor: _state(cursor, review_id, now))
        return found

    async def page(self, wanted: ReviewFilter, *, now: float, limit: int = 50, cursor: str | None = None) -> Page:
        found: Page = await self._read(lambda connection: _page(connection, wanted, now, limit, cursor))
        return found

    async def counts(self, *, now: float) -> dict[ReviewStatus, int]:
        query = f"{_STATES} SELECT status, count(*) FROM states GROUP BY status"  # noqa: S608 - our own text
        rows = await self._read(lambda cursor: cursor.execute(query, {"now": now}).fetchall())
        return {ReviewStatus.OPEN: 0, ReviewStatus.CLAIMED: 0, ReviewStatus.DECIDED: 0} | {
            ReviewStatus(status): count for status, count in rows
        }


def _review_row(review: Review) -> tuple[Any, ...]:
    return (
        *(review.review_id, review.subject_id, review.item_id, review.judge, review.category),
        *(None if review.policy is None else review.policy.digest, review.priority, review.margin),
        *(review.opened_at, review.reviewers, review.model_dump_json(), False),
    )


def _open(connection: Connection, rows: list[tuple[Any, ...]]) -> int:
    (before,) = only_row(connection, "SELECT count(*) FROM reviews")
    with _transaction(connection):
        connection.execute(_ADD_REVIEWS, [list(column) for column in zip(*rows, strict=True)])
    (after,) = only_row(connection, "SELECT count(*) FROM reviews")
    return int(after) - int(before)


def _claim(connection: Connection, claim: Claim, wanted: ReviewFilter) -> ReviewState | None:
    if claim.review_id:
        state = _known(connection, claim.review_id, claim.claimed_at)
        _check_free(state, claim.reviewer)
        review_id = claim.review_id
    else:
        found = _next(connection, claim, wanted)
        if found is None:
            return None
        review_id = found
    with _transaction(connection):
        _add_claim(connection, review_id, claim.reviewer, claim.claimed_at, claim.expires_at)
    return _state(connection, review_id, claim.claimed_at)


def _next(connection: Connection, claim: Claim, wanted: ReviewFilter) -> str | None:
    """What the person has in hand already, else the first that has a place left."""
    row = connection.execute(
        f"""{_STATES} SELECT review_id FROM states
        WHERE status != 'decided' AND {_MATCHES}
            AND (list_contains(holders, $reviewer) OR decisions + len(holders) < reviewers)
            AND NOT EXISTS (
                SELECT 1 FROM review_decisions d WHERE d.review_id = states.review_id AND d.reviewer = $reviewer
            )
        ORDER BY list_contains(holders, $reviewer) DESC, {_ORDER} LIMIT 1""",  # noqa: S608 - our own text
        {
            "now": claim.claimed_at,
            "reviewer": claim.reviewer,
            "judge": wanted.judge,
            "category": wanted.category,
            "policy": wanted.policy_digest,
        },
    ).fetchall()
    return row[0][0] if row else None


def _check_free(state: ReviewState, reviewer: str) -> None:
    review = state.review
    name = review.review_id
    if any(one.reviewer == reviewer for one in state.decisions):
        raise ReviewError(f"{reviewer} has decided review {name} already", "decided")
    if state.status is ReviewStatus.DECIDED:
        raise ReviewError(f"review {name} is decided already ({_by(state)})", "decided")
    if any(one.reviewer == reviewer for one in state.claims):
        return
    if len(state.decisions) + len(state.claims) >= review.reviewers:
        holders = ", ".join(f"{one.reviewer} until {_utc(one.expires_at)}" for one in state.claims)
        raise ReviewError(f"review {name} is in other hands ({holders}): take another one, or wait", "claimed_by_other")


def _release(connection: Connection, review_id: str, reviewer: str, now: float) -> None:
    state = _known(connection, review_id, now)
    if not any(one.reviewer == reviewer for one in state.claims):
        raise ReviewError(f"{reviewer} does not have review {review_id}: there is nothing to give back", "not_claimed")
    with _transaction(connection):
        _add_claim(connection, review_id, reviewer, now, now)


def _decide(connection: Connection, decision: HumanDecision, now: float) -> ReviewState:
    name, reviewer = decision.review_id, decision.reviewer
    state = _known(connection, name, now)
    earlier = next((one for one in state.decisions if one.reviewer == reviewer), None)
    if earlier is not None:
        if earlier.same_as(decision):
            return state
        raise ReviewError(f"{reviewer} has decided review {name} already: {earlier.outcome}", "decided")
    if state.status is ReviewStatus.DECIDED:
        raise ReviewError(f"review {name} is decided already ({_by(state)})", "decided")
    if not any(one.reviewer == reviewer for one in state.claims):
        _refuse_without_claim(connection, name, reviewer)
    check_corrections(state.review, decision)
    with _transaction(connection):
        _add_decisions(connection, [decision])
    return _known(connection, name, now)


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
    raise ReviewError(f"{reviewer} does not have review {review_id}: claim it before deciding", "not_claimed")


def _import(connection: Connection, decisions: Sequence[HumanDecision]) -> int:
    states = _states(connection, sorted({one.review_id for one in decisions}), 0.0)
    known = {name: list(state.decisions) for name, state in states.items()}
    new: list[HumanDecision] = []
    for decision in decisions:
        state = states.get(decision.review_id)
        if state is None:
            raise ReviewError(
                f"there is no review {decision.review_id!r}, so nothing was imported: `metajudge review list` shows "
                "those there are",
                "unknown",
            )
        said = known[decision.review_id]
        earlier = next((one for one in said if one.reviewer == decision.reviewer), None)
        if earlier is not None and earlier.same_as(decision):
            continue
        if earlier is not None or len(said) >= state.review.reviewers:
            by = ", ".join(f"{one.outcome} by {one.reviewer}" for one in said)
            raise ReviewError(f"review {decision.review_id} is decided already ({by}): nothing was imported", "decided")
        check_corrections(state.review, decision)
        said.append(decision)
        new.append(decision.model_copy(update={"policy": state.review.policy}))
    if new:
        with _transaction(connection):
            _add_decisions(connection, new)
    return len(new)


def _add_claim(connection: Connection, review_id: str, reviewer: str, claimed_at: float, expires_at: float) -> None:
    connection.execute(
        "INSERT INTO review_claims SELECT (SELECT coalesce(max(claim_id), 0) + 1 FROM review_claims), $1, $2, $3, $4",
        [review_id, reviewer, claimed_at, expires_at],
    )


def _add_decisions(connection: Connection, decisions: Sequence[HumanDecision]) -> None:
    (last,) = only_row(connection, "SELECT coalesce(max(decision_id), 0) FROM review_decisions")
    rows = [
        (number, one.review_id, one.reviewer, one.outcome.value, one.decided_at, one.model_dump_json(), False)
        for number, one in enumerate(decisions, int(last) + 1)
    ]
    connection.execute(_ADD_DECISIONS, [list(column) for column in zip(*rows, strict=True)])


def _page(connection: Connection, wanted: ReviewFilter, now: float, limit: int, cursor: str | None) -> Page:
    conditions = [_MATCHES, "($status IS NULL OR status = $status)"]
    values: dict[str, Any] = {
        "now": now,
        "judge": wanted.judge,
        "category": wanted.category,
        "policy": wanted.policy_digest,
        "status": None if wanted.status is None else wanted.status.value,
    }
    if wanted.reviewer is not None:
        values["reviewer"] = wanted.reviewer
        conditions.append(
            "(list_contains(holders, $reviewer) OR EXISTS (SELECT 1 FROM review_decisions d "
            "WHERE d.review_id = states.review_id AND d.reviewer = $reviewer))"
        )
    if cursor is not None:
        if not connection.execute("SELECT 1 FROM reviews WHERE review_id = $1", [cursor]).fetchall():
            raise InputError(f"no page continues at {cursor!r}: use the cursor of the page before")
        values["cursor"] = cursor
        conditions.append(f"({_ORDER}) > (SELECT ({_ORDER}) FROM reviews WHERE review_id = $cursor)")  # noqa: S608
    query = (
        f"{_STATES} SELECT review_id FROM states WHERE {' AND '.join(conditions)} ORDER BY {_ORDER} LIMIT {limit + 1}"  # noqa: S608
    )
    names = [row[0] for row in connection.execute(query, values).fetchall()]
    states = _states(connection, names[:limit], now)
    return Page(tuple(states[name] for name in names[:limit]), names[limit - 1] if len(names) > limit else None)


def _known(connection: Connection, review_id: str, now: float) -> ReviewState:
    state = _state(connection, review_id, now)
    if state is None:
        raise ReviewError(f"there is no review {review_id!r}: `metajudge review list` shows those there are", "unknown")
    return state


def _state(connection: Connection, review_id: str, now: float) -> ReviewState | None:
    return _states(connection, [review_id], now).get(review_id)


def _states(connection: Connection, names: Sequence[str], now: float) -> dict[str, ReviewState]:
    """The reviews of some ids that there are, with what happened to them."""
    wanted = "review_id IN (SELECT unnest($1::VARCHAR[]))"
    reviews = connection.execute(f"SELECT review_id, payload FROM reviews WHERE {wanted}", [names]).fetchall()  # noqa: S608
    said = connection.execute(
        f"SELECT review_id, payload FROM review_decisions WHERE {wanted} ORDER BY decision_id",  # noqa: S608
        [names],
    ).fetchall()
    held = connection.execute(
        f"""SELECT review_id, reviewer, arg_max(claimed_at, claim_id), arg_max(expires_at, claim_id) FROM review_claims
        WHERE {wanted} GROUP BY review_id, reviewer ORDER BY max(claim_id)""",  # noqa: S608
        [names],
    ).fetchall()
    decisions: dict[str, list[HumanDecision]] = {}
    for name, payload in said:
        decisions.setdefault(name, []).append(HumanDecision.model_validate_json(payload))
    claims: dict[str, list[Claim]] = {}
    for name, reviewer, claimed, expires in held:
        done = any(one.reviewer == reviewer for one in decisions.get(name, ()))
        if expires > now and not done:
            claim = Claim(review_id=name, reviewer=reviewer, claimed_at=claimed, expires_at=expires)
            claims.setdefault(name, []).append(claim)
    return {
        name: _with_status(Review.model_validate_json(payload), claims.get(name, []), decisions.get(name, []))
        for name, payload in reviews
    }


def _with_status(review: Review, claims: Sequence[Claim], decisions: Sequence[HumanDecision]) -> ReviewState:
    status = ReviewStatus.CLAIMED if claims else ReviewStatus.OPEN
    if len(decisions) >= review.reviewers:
        status = ReviewStatus.DECIDED
    return ReviewState(review=review, status=status, claims=tuple(claims), decisions=tuple(decisions))


def _utc(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _by(state: ReviewState) -> str:
    return ", ".join(f"{one.outcome} by {one.reviewer}" for one in state.decisions)


class _transaction:  # noqa: N801 - reads as a function
    """All of a block or nothing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.begin()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self._connection.commit()
        else:
            self._connection.rollback()
