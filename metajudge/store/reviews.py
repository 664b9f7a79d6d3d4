"""The review queue's tables.

Every change is one transaction that locks its reviews, so that no review is given to two people.
"""

import statistics
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

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
from metajudge.store.sql import Asks, Connection, reads, writes

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
"""  # noqa: S608
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


class StoredReviews(Asks):
    """Reviews in a store: append-only, every change atomic among all who use the store.

    The order is priority, then smallest margin (absent ones last), then age. ``now`` is seconds since the epoch and is
    given by the caller.
    """

    async def open(self, reviews: Sequence[Review]) -> int:
        """Adds reviews; one that is there already stays as it is. Returns how many are new."""
        return await self.open_rows([review.row for review in reviews])

    async def open_rows(self, rows: Sequence[ReviewRow]) -> int:
        """The same of reviews as rows; of several with one id the last one counts."""
        new = [(*row, False) for row in sorted({row.review_id: row for row in rows}.values())]
        if not new:
            return 0
        return await self._write(lambda c: c.insert("reviews", _COLUMNS, new, "ON CONFLICT DO NOTHING"))

    @writes
    def claim(
        self,
        connection: Connection,
        reviewer: str,
        *,
        now: float,
        lease_s: float = LEASE_S,
        review_id: str | None = None,
        wanted: ReviewFilter | None = None,
    ) -> ReviewState | None:
        """Takes the next review this person can decide, or a given one; None if there is none left.

        What the person has in hand already comes first, with a new lease. A review that several people are to decide
        can be in as many hands.

        Raises:
            InputError: a lease that does not last or lasts longer than :data:`LONGEST_LEASE_S`, or a blank name.
            ReviewError: the given review is unknown, decided, or claimed by another person.
        """
        if not 0 < lease_s <= LONGEST_LEASE_S:
            raise InputError(f"a lease lasts above 0 s and up to {LONGEST_LEASE_S / 86_400:g} days, not {lease_s:g} s")
        person = reviewer_name(reviewer)
        name = review_id or _next(connection, person, wanted or ReviewFilter(), now)
        if name is None:
            return None
        if review_id:
            _check_free(_locked(connection, name, now), person)
        connection.add_numbered("review_claims", _CLAIMED, [(name, person, now, now + lease_s)])
        return _known(connection, name, now)

    @writes
    def release(self, connection: Connection, review_id: str, reviewer: str, *, now: float) -> None:
        """Gives a claimed review back.

        Raises:
            ReviewError: the person does not have it.
        """
        person = reviewer_name(reviewer)
        if _locked(connection, review_id, now).claim_of(person) is None:
            raise ReviewError(f"{person} has not claimed review {review_id}: nothing to release", "not_claimed")
        connection.add_numbered("review_claims", _CLAIMED, [(review_id, person, now, now)])

    @writes
    def decide(self, connection: Connection, decision: HumanDecision, *, now: float) -> ReviewState:
        """Records a decision by the person who claimed the review; repeating it changes nothing.

        Raises:
            ReviewError: the review is unknown, was decided, is not in this person's hands, or the lease has expired.
        """
        name, reviewer = decision.review_id, decision.reviewer
        state = _locked(connection, name, now)
        decision = in_kind_of(state.review, decision)
        earlier = state.decision_of(reviewer)
        if earlier is not None:
            if earlier.same_as(decision):
                return state
            raise ReviewError(
                f"{reviewer} has already decided review {name}: {earlier.outcome}. To replace the decision, amend it "
                "with a reason (`metajudge review amend`)",
                "decided",
            )
        if state.status is ReviewStatus.DECIDED:
            raise _decided(name, state.decisions)
        claim = state.claim_of(reviewer)
        if claim is None:
            _refuse_without_claim(connection, name, reviewer)
        else:
            decision = decision.model_copy(update={"seconds": max(0.0, decision.decided_at - claim.claimed_at)})
        check_corrections(state.review, decision)
        _add_decisions(connection, [decision])
        return _known(connection, name, now)

    @writes
    def amend(self, connection: Connection, decision: HumanDecision, *, now: float) -> ReviewState:
        """Replaces the person's newest decision by another one, which keeps it in the history; needs no claim.

        The same decision again changes nothing.

        Raises:
            InputError: there is no reason.
            ReviewError: the review is unknown, the person has not decided it, or has amended it since the decision
                that ``decision.amends`` names.
        """
        name, reviewer = decision.review_id, decision.reviewer
        state = _locked(connection, name, now)
        decision = in_kind_of(state.review, decision)
        earlier = state.decision_of(reviewer)
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
        _add_event(connection, name, "amend", reviewer, now, amended.model_dump_json())
        return _known(connection, name, now)

    @writes
    def comment(self, connection: Connection, comment: Comment) -> ReviewState:
        """Adds a remark.

        Raises:
            ReviewError: the review is unknown.
        """
        name, at = comment.review_id, comment.at
        _known(connection, name, at)
        _add_event(connection, name, "comment", comment.author, at, comment.model_dump_json())
        return _known(connection, name, at)

    @writes
    def assign(
        self, connection: Connection, review_ids: Sequence[str], reviewer: str, *, by: str, now: float, on: bool = True
    ) -> int:
        """Gives reviews to a person, or takes them back (``on`` False); returns how many that changed.

        A review that is assigned is offered to those alone to whom it is.

        Raises:
            ReviewError: a review is unknown; nothing is changed.
        """
        person = reviewer_name(reviewer)
        kind, payload = "assign" if on else "unassign", orjson.dumps({"by": by}).decode()
        names = sorted(set(review_ids))
        _lock(connection, names)
        changed = [name for name in names if (person in _known(connection, name, now).assigned) != on]
        for name in changed:
            _add_event(connection, name, kind, person, now, payload)
        return len(changed)

    @reads
    def progress(
        self, connection: Connection, reviewer: str, *, now: float, wanted: ReviewFilter | None = None
    ) -> Progress:
        values = _values(connection, wanted or ReviewFilter(), now, reviewer)
        (left,) = connection.row(f"{_STATES} SELECT count(*) FROM states WHERE {_FREE} AND {_MATCHES}", values)  # noqa: S608
        query = f"""{_STATES} SELECT d.payload FROM states JOIN review_decisions d ON d.review_id = states.review_id
            WHERE d.reviewer = $2 AND {_MATCHES}"""  # noqa: S608
        made = [orjson.loads(payload) for (payload,) in connection.rows(query, values)]
        times = [one["seconds"] for one in made if one.get("seconds") is not None and not one.get("bulk")]
        return Progress(len(made), len(made) + int(left), statistics.median(times) if times else None, len(times))

    @writes
    def import_decisions(self, connection: Connection, decisions: Sequence[HumanDecision]) -> int:
        """Adds decisions made elsewhere, all or none, without claims; those already there are skipped.

        Raises:
            ReviewError: a review is unknown, was decided, or by the same person differently; nothing is added.
        """
        names = sorted({one.review_id for one in decisions})
        _lock(connection, names)
        states = _states(connection, names, 0.0)
        known = {name: list(state.decisions) for name, state in states.items()}
        new: list[HumanDecision] = []
        for given in decisions:
            state = states.get(given.review_id)
            if state is None:
                raise _unknown(given.review_id, ", so nothing was imported")
            decision = in_kind_of(state.review, given)
            recorded = known[decision.review_id]
            earlier = next((one for one in recorded if one.reviewer == decision.reviewer), None)
            if earlier is not None and earlier.same_as(decision):
                continue
            if earlier is not None or len(recorded) >= state.review.reviewers:
                raise _decided(decision.review_id, recorded, ": nothing was imported")
            check_corrections(state.review, decision)
            recorded.append(decision)
            new.append(decision.model_copy(update={"policy": state.review.policy}))
        _add_decisions(connection, new)
        return len(new)

    @reads
    def get(self, connection: Connection, review_id: str, *, now: float) -> ReviewState | None:
        return _states(connection, [review_id], now).get(review_id)

    @reads
    def page(
        self, connection: Connection, wanted: ReviewFilter, *, now: float, limit: int = 50, cursor: str | None = None
    ) -> Page:
        if cursor is not None and not _states(connection, [cursor], now):
            raise InputError(f"no page continues at {cursor!r}: use the cursor of the page before")
        names = connection.column(
            f"""{_STATES} SELECT review_id FROM states
            WHERE {_MATCHES} AND ($2::VARCHAR IS NULL OR has OR said) AND ($9::VARCHAR IS NULL OR status = $9)
                AND ($10::VARCHAR IS NULL OR ({_ORDER}) > (SELECT {_ORDER} FROM reviews states WHERE review_id = $10))
            ORDER BY {_ORDER} LIMIT {limit + 1}""",  # noqa: S608
            [*_values(connection, wanted, now, wanted.reviewer), wanted.status and wanted.status.value, cursor],
        )
        states = _states(connection, names[:limit], now)
        return Page(tuple(states[name] for name in names[:limit]), names[limit - 1] if len(names) > limit else None)

    async def every(self, wanted: ReviewFilter | None = None, *, now: float) -> AsyncIterator[ReviewState]:
        """All reviews that match, in the order of the queue, read a page at a time."""
        page: Page | None = None
        while page is None or page.next_cursor is not None:
            cursor = None if page is None else page.next_cursor
            page = await self.page(wanted or ReviewFilter(), now=now, limit=1000, cursor=cursor)
            for state in page.reviews:
                yield state

    @reads
    def counts(self, connection: Connection, *, now: float) -> dict[ReviewStatus, int]:
        query = f"{_STATES} SELECT status, count(*) FROM states GROUP BY status"  # noqa: S608
        found = {ReviewStatus(status): count for status, count in connection.rows(query, [now, None, None])}
        return dict.fromkeys(ReviewStatus, 0) | found


def _next(connection: Connection, person: str, wanted: ReviewFilter, now: float) -> str | None:
    """The review that the person has already claimed, else the first one that needs another reviewer.

    Another person may take it between the choice and the lock, so it is checked again under the lock.
    """
    values = _values(connection, wanted, now, person)
    query = f"""{_STATES} SELECT states.review_id FROM states JOIN reviews kept ON kept.review_id = states.review_id
        WHERE ($9::VARCHAR IS NULL OR states.review_id = $9) AND {_FREE} AND {_MATCHES}
        ORDER BY has DESC, NOT assigned, {_ORDER} LIMIT 1"""  # noqa: S608
    while found := connection.column(f"{query} {connection.skip_locked}", [*values, None]):
        if not connection.skip_locked or connection.column(query, [*values, *found]):
            return str(found[0])
    return None


def _values(connection: Connection, wanted: ReviewFilter, now: float, person: str | None) -> list[Any]:
    """The values of ``_STATES`` and ``_MATCHES``."""
    names = [] if wanted.category is None else spellings_in(connection, wanted.category)
    given = [wanted.assigned, wanted.judge, wanted.policy_digest, wanted.item_id]
    return [now, person, *given, wanted.category is None, names]


def spellings_in(connection: Connection, category: str) -> list[str]:
    """The names, in lower case, that a category goes by: its own and those of every profile for it.

    Every version of a policy that decided something counts, so that what an earlier one decided is still found.
    """
    policies = []
    for payload in connection.column(
        "SELECT payload FROM audit_log WHERE kind = 'policy' AND strpos(payload, '\"profiles\":[') > 0"
    ):
        try:
            policies.append(Policy.model_validate(orjson.loads(payload)["policy"]))
        except (KeyError, ValidationError):  # another version's, or altered: it is not used for decisions either
            continue
    return list(spellings(category, policies))


def _lock(connection: Connection, names: Sequence[str]) -> None:
    """Keeps these reviews from others until the transaction ends."""
    chosen = "review_id = ANY($1::VARCHAR[]) ORDER BY review_id"
    connection.rows(f"SELECT 1 FROM reviews WHERE {chosen} {connection.for_update}", [list(names)])  # noqa: S608


def _locked(connection: Connection, review_id: str, now: float) -> ReviewState:
    _lock(connection, [review_id])
    return _known(connection, review_id, now)


def _check_free(state: ReviewState, reviewer: str) -> None:
    review = state.review
    name = review.review_id
    if state.decision_of(reviewer) is not None:
        raise ReviewError(
            f"{reviewer} has already decided review {name}: amend the decision instead (`metajudge review amend`)",
            "decided",
        )
    if state.status is ReviewStatus.DECIDED:
        raise _decided(name, state.decisions)
    if state.claim_of(reviewer) is not None:
        return
    if state.assigned and reviewer not in state.assigned:
        raise ReviewError(f"review {name} is assigned to {', '.join(state.assigned)}, not to {reviewer}", "assigned")
    if len(state.decisions) + len(state.claims) >= review.reviewers:
        holders = ", ".join(f"{one.reviewer} until {_utc(one.expires_at)}" for one in state.claims)
        raise ReviewError(
            f"review {name} is claimed by others ({holders}): take another one, or wait", "claimed_by_other"
        )


def _refuse_without_claim(connection: Connection, review_id: str, reviewer: str) -> None:
    newest = "review_id = $1 AND reviewer = $2 ORDER BY claim_id DESC LIMIT 1"
    rows = connection.rows(f"SELECT expires_at, claimed_at FROM review_claims WHERE {newest}", [review_id, reviewer])  # noqa: S608
    if rows and rows[0][0] > rows[0][1]:
        raise ReviewError(
            f"the lease of {reviewer} on review {review_id} expired at {_utc(rows[0][0])} and nothing was recorded: "
            "claim it again, then decide",
            "lease_expired",
        )
    raise ReviewError(f"{reviewer} has not claimed review {review_id}: claim it before deciding", "not_claimed")


def _add_decisions(connection: Connection, decisions: Sequence[HumanDecision]) -> None:
    rows = [
        (one.review_id, one.reviewer, one.outcome.value, one.decided_at, one.model_dump_json(), False)
        for one in decisions
    ]
    connection.add_numbered("review_decisions", _ENDED, rows)


def _add_event(connection: Connection, review_id: str, kind: str, reviewer: str, now: float, payload: str) -> None:
    connection.add_numbered("review_events", _HAPPENED, [(review_id, kind, reviewer, now, payload, False)])


def _known(connection: Connection, review_id: str, now: float) -> ReviewState:
    state = _states(connection, [review_id], now).get(review_id)
    if state is None:
        raise _unknown(review_id)
    return state


def _unknown(review_id: str, so: str = "") -> ReviewError:
    return ReviewError(
        f"there is no review {review_id!r}{so}: `metajudge review list` shows those there are", "unknown"
    )


def _states(connection: Connection, names: Sequence[str], now: float) -> dict[str, ReviewState]:
    """The existing reviews with these ids, with their claims and decisions."""

    def rows(columns: str, table: str, order: str) -> list[Any]:
        return connection.rows(
            f"SELECT review_id, {columns} FROM {table} WHERE review_id = ANY($1::VARCHAR[]) ORDER BY {order}",  # noqa: S608
            [list(names)],
        )

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
    newest = {row[:2]: Claim(**dict(zip(Claim.model_fields, row, strict=True))) for row in held}
    claims: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in newest.values():
        if claim.expires_at > now and claim.reviewer not in decisions.get(claim.review_id, ()):
            claims[claim.review_id].append(claim)
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


def _decided(review_id: str, decisions: Sequence[HumanDecision], ending: str = "") -> ReviewError:
    by = ", ".join(f"{one.outcome} by {one.reviewer}" for one in decisions)
    return ReviewError(f"review {review_id} is already decided ({by}){ending}", "decided")
