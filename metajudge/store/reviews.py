"""The review queue's tables.

Every change is one transaction that locks its reviews, so that no review is given to two people.
"""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

import orjson
from pydantic import ValidationError

from metajudge.decision import Policy
from metajudge.decision.load import spellings
from metajudge.errors import InputError, ReviewError
from metajudge.reviews.deciding import check_corrections, in_kind_of
from metajudge.reviews.queue import LEASE_S, LONGEST_LEASE_S, Page, Progress, ReviewFilter
from metajudge.reviews.review import (
    Claim,
    Comment,
    HumanDecision,
    Review,
    ReviewRow,
    ReviewState,
    ReviewStatus,
    reviewer_name,
)
from metajudge.store.sql import Ask, Connection, Dialect, add_numbered, only_row

_HELD: Final = """
    c.expires_at > $1 AND NOT EXISTS (SELECT 1 FROM review_claims l
        WHERE l.review_id = c.review_id AND l.reviewer = c.reviewer AND l.claim_id > c.claim_id)
    AND NOT EXISTS (SELECT 1 FROM review_decisions d WHERE d.review_id = c.review_id AND d.reviewer = c.reviewer)
"""
_GIVEN: Final = """
    e.kind = 'assign' AND NOT EXISTS (SELECT 1 FROM review_events l WHERE l.review_id = e.review_id
        AND l.reviewer = e.reviewer AND l.kind IN ('assign', 'unassign') AND l.event_id > e.event_id)
"""
# $1 is the time, $2 a person, $3 whom a review is assigned to. Of the claims of a person on a review the newest counts.
_STATES: Final = f"""
    WITH decided AS (
        SELECT review_id, count(*) AS n, count(*) FILTER (WHERE reviewer = $2) AS own
        FROM review_decisions GROUP BY review_id
    ), held AS (
        SELECT review_id, count(*) AS n, count(*) FILTER (WHERE reviewer = $2) AS own
        FROM review_claims c WHERE {_HELD} GROUP BY review_id
    ), given AS (
        SELECT review_id, count(*) FILTER (WHERE reviewer = $2) AS own, count(*) FILTER (WHERE reviewer = $3) AS wanted
        FROM review_events e WHERE {_GIVEN} GROUP BY review_id
    ), states AS (
        SELECT r.*, coalesce(decided.n, 0) + coalesce(held.n, 0) AS hands, coalesce(decided.own, 0) > 0 AS said,
            coalesce(held.own, 0) > 0 AS has, given.review_id IS NOT NULL AS assigned,
            coalesce(given.own, 1) > 0 AS offered, coalesce(given.wanted, 0) > 0 AS wanted,
            CASE WHEN coalesce(decided.n, 0) >= r.reviewers THEN 'decided'
                WHEN held.review_id IS NOT NULL THEN 'claimed' ELSE 'open' END AS status
        FROM reviews r LEFT JOIN decided ON decided.review_id = r.review_id
            LEFT JOIN held ON held.review_id = r.review_id LEFT JOIN given ON given.review_id = r.review_id
    )
"""  # noqa: S608 - our own text
_ORDER: Final = "states.priority, states.margin IS NULL, coalesce(states.margin, 0), states.opened_at, states.review_id"
_MATCHES: Final = """
    ($3::VARCHAR IS NULL OR wanted) AND ($4::VARCHAR IS NULL OR states.judge = $4)
    AND ($5::VARCHAR IS NULL OR states.policy_digest = $5) AND ($6::VARCHAR IS NULL OR states.item_id = $6)
    AND ($7::BOOLEAN OR lower(states.category) = ANY($8::VARCHAR[]))
"""
_FREE: Final = "status <> 'decided' AND (has OR hands < states.reviewers) AND NOT said AND offered"
_COLUMNS: Final = (*ReviewRow._fields, "redacted")
_ENDED: Final = ("decision_id", "review_id", "reviewer", "outcome", "decided_at", "payload", "redacted")
_CLAIMED: Final = ("claim_id", "review_id", "reviewer", "claimed_at", "expires_at")
_HAPPENED: Final = ("event_id", "review_id", "kind", "reviewer", "recorded_at", "payload", "redacted")
"""The columns of ``reviews``, ``review_decisions``, ``review_claims`` and ``review_events``."""
Kind = Literal["amend", "comment", "assign", "unassign"]


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
        return await self.open_rows([review.row for review in reviews])

    async def open_rows(self, rows: Sequence[ReviewRow]) -> int:
        new = [(*row, False) for row in sorted({row.review_id: row for row in rows}.values())]
        if not new:
            return 0
        ending = "ON CONFLICT DO NOTHING"
        return await self._write(lambda c: self._dialect.insert(c, "reviews", _COLUMNS, new, ending))

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
        return await self._read(lambda cursor: _states(cursor, [review_id], now).get(review_id))

    async def page(self, wanted: ReviewFilter, *, now: float, limit: int = 50, cursor: str | None = None) -> Page:
        return await self._read(lambda connection: _page(connection, wanted, now, limit, cursor))

    async def counts(self, *, now: float) -> dict[ReviewStatus, int]:
        query = f"{_STATES} SELECT status, count(*) FROM states GROUP BY status"  # noqa: S608 - our own text
        rows = await self._read(lambda cursor: cursor.execute(query, [now, None, None]).fetchall())
        return dict.fromkeys(ReviewStatus, 0) | {ReviewStatus(status): count for status, count in rows}


def _claim(connection: Connection, dialect: Dialect, claim: Claim, wanted: ReviewFilter) -> ReviewState | None:
    name: str | None = claim.review_id
    if claim.review_id:
        _check_free(_locked(connection, dialect, claim.review_id, claim.claimed_at), claim.reviewer)
    else:
        name = _next(connection, dialect, claim, wanted)
    if name is None:
        return None
    _add_claim(connection, dialect, name, claim.reviewer, claim.claimed_at, claim.expires_at)
    return _known(connection, name, claim.claimed_at)


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
    rows = connection.execute(
        f"""{_STATES} SELECT states.review_id FROM states JOIN reviews kept ON kept.review_id = states.review_id
        WHERE ($9::VARCHAR IS NULL OR states.review_id = $9) AND {_FREE} AND {_MATCHES}
        ORDER BY has DESC, NOT assigned, {_ORDER} LIMIT 1 {ending}""",  # noqa: S608 - our own text
        [*_values(connection, wanted, claim.claimed_at, claim.reviewer), only],
    ).fetchall()
    return rows[0][0] if rows else None


def _values(connection: Connection, wanted: ReviewFilter, now: float, person: str | None) -> list[Any]:
    """The values of ``_STATES`` and ``_MATCHES``."""
    names = [] if wanted.category is None else spellings_in(connection, wanted.category)
    given = [wanted.assigned, wanted.judge, wanted.policy_digest, wanted.item_id]
    return [now, person, *given, wanted.category is None, names]


def spellings_in(connection: Connection, category: str) -> list[str]:
    """The names, in lower case, that a category goes by: its own and those of every profile for it.

    Every version of a policy that decided something counts, so that what an earlier one decided is still found.
    """
    rows = connection.execute(
        "SELECT payload FROM audit_log WHERE kind = 'policy' AND strpos(payload, '\"profiles\":[') > 0"
    ).fetchall()
    policies = []
    for (payload,) in rows:
        try:
            policies.append(Policy.model_validate(orjson.loads(payload)["policy"]))
        except (KeyError, ValidationError):  # another version's, or altered: it is not used for decisions either
            continue
    return list(spellings(category, policies))


def _lock(connection: Connection, dialect: Dialect, names: Sequence[str]) -> None:
    """Keeps these reviews from others until the transaction ends."""
    connection.execute(
        f"SELECT 1 FROM reviews WHERE review_id = ANY($1::VARCHAR[]) ORDER BY review_id {dialect.for_update}",  # noqa: S608
        [list(names)],
    ).fetchall()


def _locked(connection: Connection, dialect: Dialect, review_id: str, now: float) -> ReviewState:
    _lock(connection, dialect, [review_id])
    return _known(connection, review_id, now)


def _check_free(state: ReviewState, reviewer: str) -> None:
    review = state.review
    name = review.review_id
    if any(one.reviewer == reviewer for one in state.decisions):
        raise ReviewError(
            f"{reviewer} has already decided review {name}: amend the decision instead (`metajudge review amend`)",
            "decided",
        )
    if state.status is ReviewStatus.DECIDED:
        raise ReviewError(f"review {name} is already decided ({_by(state.decisions)})", "decided")
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
    if not any(one.reviewer == reviewer for one in _locked(connection, dialect, review_id, now).claims):
        raise ReviewError(f"{reviewer} has not claimed review {review_id}: nothing to release", "not_claimed")
    _add_claim(connection, dialect, review_id, reviewer, now, now)


def _decide(connection: Connection, dialect: Dialect, decision: HumanDecision, now: float) -> ReviewState:
    name, reviewer = decision.review_id, decision.reviewer
    state = _locked(connection, dialect, name, now)
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
        raise ReviewError(f"review {name} is already decided ({_by(state.decisions)})", "decided")
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
    state = _locked(connection, dialect, name, now)
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
    _add_event(connection, dialect, name, "amend", reviewer, now, amended.model_dump_json())
    return _known(connection, name, now)


def _comment(connection: Connection, dialect: Dialect, comment: Comment) -> ReviewState:
    _known(connection, comment.review_id, comment.at)
    payload = comment.model_dump_json()
    _add_event(connection, dialect, comment.review_id, "comment", comment.author, comment.at, payload)
    return _known(connection, comment.review_id, comment.at)


def _assign(
    connection: Connection, dialect: Dialect, review_ids: Sequence[str], reviewer: str, by: str, now: float, on: bool
) -> int:
    kind: Kind = "assign" if on else "unassign"
    payload = orjson.dumps({"by": by}).decode()
    names = sorted(set(review_ids))
    _lock(connection, dialect, names)
    changed = [name for name in names if (reviewer in _known(connection, name, now).assigned) != on]
    for name in changed:
        _add_event(connection, dialect, name, kind, reviewer, now, payload)
    return len(changed)


def _progress(connection: Connection, reviewer: str, wanted: ReviewFilter, now: float) -> Progress:
    values = _values(connection, wanted, now, reviewer)
    query = f"{_STATES} SELECT count(*) FROM states WHERE {_FREE} AND {_MATCHES}"  # noqa: S608 - our own text
    (left,) = only_row(connection, query, values)
    rows = connection.execute(
        f"""{_STATES} SELECT d.payload FROM states JOIN review_decisions d ON d.review_id = states.review_id
        WHERE d.reviewer = $2 AND {_MATCHES}""",  # noqa: S608 - our own text
        values,
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
    _lock(connection, dialect, names)
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
            raise ReviewError(
                f"review {decision.review_id} is already decided ({_by(recorded)}): nothing was imported", "decided"
            )
        check_corrections(state.review, decision)
        recorded.append(decision)
        new.append(decision.model_copy(update={"policy": state.review.policy}))
    _add_decisions(connection, dialect, new)
    return len(new)


def _add_claim(
    connection: Connection, dialect: Dialect, review_id: str, reviewer: str, claimed_at: float, expires_at: float
) -> None:
    add_numbered(connection, dialect, "review_claims", _CLAIMED, [(review_id, reviewer, claimed_at, expires_at)])


def _add_decisions(connection: Connection, dialect: Dialect, decisions: Sequence[HumanDecision]) -> None:
    rows = [
        (one.review_id, one.reviewer, one.outcome.value, one.decided_at, one.model_dump_json(), False)
        for one in decisions
    ]
    add_numbered(connection, dialect, "review_decisions", _ENDED, rows)


def _add_event(
    connection: Connection, dialect: Dialect, review_id: str, kind: Kind, reviewer: str, now: float, payload: str
) -> None:
    add_numbered(connection, dialect, "review_events", _HAPPENED, [(review_id, kind, reviewer, now, payload, False)])


def _page(connection: Connection, wanted: ReviewFilter, now: float, limit: int, cursor: str | None) -> Page:
    if cursor is not None and not _states(connection, [cursor], now):
        raise InputError(f"no page continues at {cursor!r}: use the cursor of the page before")
    rows = connection.execute(
        f"""{_STATES} SELECT review_id FROM states
        WHERE {_MATCHES} AND ($2::VARCHAR IS NULL OR has OR said) AND ($9::VARCHAR IS NULL OR status = $9)
            AND ($10::VARCHAR IS NULL OR ({_ORDER}) > (SELECT {_ORDER} FROM reviews states WHERE review_id = $10))
        ORDER BY {_ORDER} LIMIT {limit + 1}""",  # noqa: S608 - our own text
        [*_values(connection, wanted, now, wanted.reviewer), wanted.status and wanted.status.value, cursor],
    ).fetchall()
    names = [name for (name,) in rows]
    states = _states(connection, names[:limit], now)
    return Page(tuple(states[name] for name in names[:limit]), names[limit - 1] if len(names) > limit else None)


def _known(connection: Connection, review_id: str, now: float) -> ReviewState:
    state = _states(connection, [review_id], now).get(review_id)
    if state is None:
        raise ReviewError(f"there is no review {review_id!r}: `metajudge review list` shows those there are", "unknown")
    return state


def _states(connection: Connection, names: Sequence[str], now: float) -> dict[str, ReviewState]:
    """The existing reviews with these ids, with their claims and decisions."""

    def rows(columns: str, table: str, order: str) -> list[Any]:
        query = f"SELECT review_id, {columns} FROM {table} WHERE review_id = ANY($1::VARCHAR[]) ORDER BY {order}"  # noqa: S608
        return connection.execute(query, [list(names)]).fetchall()

    history: defaultdict[str, list[HumanDecision]] = defaultdict(list)
    for name, payload in rows("payload", "review_decisions", "decision_id"):
        history[name].append(HumanDecision.model_validate_json(payload))
    comments: defaultdict[str, list[Comment]] = defaultdict(list)
    assigned: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for name, kind, reviewer, payload in rows("kind, reviewer, payload", "review_events", "event_id"):
        match kind:
            case "amend":
                history[name].append(HumanDecision.model_validate_json(payload))
            case "comment":
                comments[name].append(Comment.model_validate_json(payload))
            case "assign":
                assigned[name].setdefault(reviewer)
            case "unassign":
                assigned[name].pop(reviewer, None)
    decisions = {name: {one.reviewer: one for one in made} for name, made in history.items()}  # the newest of each
    held = rows("reviewer, claimed_at, expires_at", "review_claims", "claim_id")
    newest = {(name, reviewer): (claimed, expires) for name, reviewer, claimed, expires in held}
    claims: defaultdict[str, list[Claim]] = defaultdict(list)
    for (name, reviewer), (claimed, expires) in newest.items():
        if expires > now and reviewer not in decisions.get(name, ()):
            claim = Claim(review_id=name, reviewer=reviewer, claimed_at=claimed, expires_at=expires)
            claims[name].append(claim)
    states = {}
    for name, payload in rows("payload", "reviews", "review_id"):
        review, said = Review.model_validate_json(payload), decisions.get(name, {})
        status = ReviewStatus.CLAIMED if claims[name] else ReviewStatus.OPEN
        states[name] = ReviewState(
            review=review,
            status=ReviewStatus.DECIDED if len(said) >= review.reviewers else status,
            claims=tuple(claims[name]),
            decisions=tuple(said.values()),
            history=tuple(history[name]),
            comments=tuple(comments[name]),
            assigned=tuple(assigned[name]),
        )
    return states


def _utc(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):  # an older store may have leases without an end
        return "further notice"


def _by(decisions: Sequence[HumanDecision]) -> str:
    return ", ".join(f"{one.outcome} by {one.reviewer}" for one in decisions)
