"""The state of a store at a glance: what waits, what changed, what was judged, what failed.

Every query is bounded: by a number of rows, a time, or both.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from metajudge.reviews.review import Review
from metajudge.store.sql import Connection
from metajudge.store.texts import about, as_in_json, contains, excerpt, question_of, questions

RECENT_CALLS: Final = 500_000
"""Requests to models that are looked at, the newest."""

_EXCERPT: Final = 6_000
_OPEN: Final = (
    "r.reviewers > (SELECT count(DISTINCT d.reviewer) FROM review_decisions d WHERE d.review_id = r.review_id) "
    "AND NOT EXISTS (SELECT 1 FROM review_decisions d WHERE d.review_id = r.review_id AND d.reviewer = $1)"
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Reviews that a person can still decide.

    Attributes:
        by_priority: priority (0 first) -> reviews.
        mine: those claimed by the person now.
        oldest: id of the one that waits longest, None if none waits; ``since`` when it was opened.
    """

    by_priority: dict[int, int]
    mine: int
    oldest: str | None
    since: float | None

    @property
    def total(self) -> int:
        return sum(self.by_priority.values())


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the audit log; ``text`` is its content as JSON, cut after 6,000 characters if ``is_cut``."""

    entry_id: int
    kind: str
    subject: str
    recorded_at: float
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """Requests to one model since some time; ``unpriced`` have no cost."""

    model: str
    attempts: int
    failed: int
    cost_usd: float
    unpriced: int


@dataclass(frozen=True, slots=True)
class Judged:
    """What was judged since some time besides judgments.

    Attributes:
        actions: a policy's action -> cases.
        clashes: whoever asked for them, each once; ``divided``: those that the triage rule sends to people.
    """

    cases: int
    actions: dict[str, int]
    clashes: int
    divided: int = 0


@dataclass(frozen=True, slots=True)
class DecidedClash:
    """A clash as the audit log keeps it, without texts.

    Attributes:
        number: of the record; grows with time.
        subject: digest of what the clash is about, by which its review is found.
        winner: the candidate that the panel put first alone; None for a tie and without a verdict.
        status: ``ok``, ``tie``, ``no_verdict`` or ``error``.
    """

    number: int
    subject: str
    clash_id: str
    item_id: str
    category: str | None
    decided_at: float
    action: str
    status: str
    winner: str | None
    unanimous: bool
    judges: tuple[str, ...]


def waiting(connection: Connection, reviewer: str | None, now: float) -> Waiting:
    """The reviews that a person can still decide; None for a person without a name, who has decided nothing."""
    rows = connection.rows(
        f"SELECT r.review_id, r.opened_at, r.priority FROM reviews r WHERE {_OPEN} ORDER BY r.opened_at, r.review_id",  # noqa: S608
        [reviewer or ""],
    )
    (mine,) = connection.row(
        """SELECT count(*) FROM review_claims c WHERE c.reviewer = $1 AND c.expires_at > $2 AND NOT EXISTS (SELECT
            1 FROM review_claims l WHERE l.review_id = c.review_id AND l.reviewer = $1 AND l.claim_id > c.claim_id) AND
            NOT EXISTS (SELECT 1 FROM review_decisions d WHERE d.review_id = c.review_id AND d.reviewer = $1)""",
        [reviewer or "", now],
    )
    name, since = rows[0][:2] if rows else (None, None)
    return Waiting(dict(sorted(Counter(row[2] for row in rows).items())), int(mine), name, since)


def entries(
    connection: Connection,
    *,
    kinds: Sequence[str] | None = None,
    without: Sequence[str] = (),
    subject: str | None = None,
    person: str | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[Entry]:
    """Records of the audit log, newest first.

    Args:
        kinds: only these; None: every kind but those of ``without``.
        subject: a part of the subject, upper and lower case alike.
        person: whoever is recorded as ``by`` or ``reviewer``.
        before: only records with smaller ids.
    """
    named = None if person is None else as_in_json(person)
    rows = connection.rows(
        f"""SELECT entry_id, kind, subject, recorded_at, substr(payload, 1, {_EXCERPT + 1}) FROM audit_log
            WHERE kind {"NOT IN" if kinds is None else "IN"} (SELECT unnest($1::VARCHAR[]))
            AND ($2::VARCHAR IS NULL OR strpos(lower(subject), $2) > 0)
            AND ($3::VARCHAR IS NULL OR strpos(payload, $3) > 0 OR strpos(payload, $4) > 0)
            AND ($5::BIGINT IS NULL OR entry_id < $5) ORDER BY entry_id DESC LIMIT {int(limit)}""",  # noqa: S608
        [
            list(without) if kinds is None else [kind for kind in kinds if kind not in without],
            None if subject is None else subject.lower(),
            *((None, None) if named is None else (f'"by":"{named}"', f'"reviewer":"{named}"')),
            before,
        ],
    )
    return [
        Entry(number, kind, about, at, text[:_EXCERPT], len(text) > _EXCERPT) for number, kind, about, at, text in rows
    ]


def entry_kinds(connection: Connection) -> dict[str, int]:
    """The kinds of records in the audit log -> how many."""
    return connection.pairs("SELECT kind, count(*) FROM audit_log GROUP BY kind ORDER BY kind")


def model_calls(connection: Connection, since: float) -> list[ModelCalls]:
    """Requests by model since a time, among the newest :data:`RECENT_CALLS`; the most expensive first."""
    rows = connection.rows(
        f"""SELECT model, count(*), count(*) FILTER (WHERE status <> 'ok'), coalesce(sum(cost_usd), 0),
            count(*) FILTER (WHERE cost_usd IS NULL AND status = 'ok') FROM calls
            WHERE call_id > (SELECT coalesce(max(call_id), 0) - {RECENT_CALLS} FROM calls) AND started_at >= $1
            GROUP BY model ORDER BY 4 DESC, model""",  # noqa: S608
        [since],
    )
    return [ModelCalls(model, int(n), int(failed), float(cost), int(bare)) for model, n, failed, cost, bare in rows]


def judged(connection: Connection, since: float) -> Judged:
    """Cases that were judged since a time, each once by its newest record, and clashes, each once.

    A clash counts by the record that every run and request leaves, or as a review where a file of clashes was added.
    """
    rows = connection.rows(
        """SELECT CASE WHEN strpos(payload, '"action":"APPROVE"') > 0 THEN 'APPROVE'
            WHEN strpos(payload, '"action":"REVIEW_PRIORITY"') > 0 THEN 'REVIEW_PRIORITY'
            WHEN strpos(payload, '"action":"REVIEW"') > 0 THEN 'REVIEW'
            WHEN strpos(payload, '"action":"REJECT"') > 0 THEN 'REJECT' ELSE 'none' END AS action, count(*)
            FROM audit_log WHERE entry_id IN (SELECT max(entry_id) FROM audit_log WHERE kind = 'case' GROUP BY subject)
            AND recorded_at >= $1 GROUP BY 1 ORDER BY 1""",
        [since],
    )
    clashes = connection.pairs(
        """SELECT subject, strpos(payload, '"action":"REVIEW"') > 0 FROM audit_log
            WHERE kind = 'clash' AND recorded_at >= $1""",
        [since],
    )
    added = connection.rows(
        """SELECT review_id, strpos(payload, '"action":"REVIEW"') > 0 FROM reviews
            WHERE judge = 'clash panel' AND opened_at >= $1""",
        [since],
    )
    known = {Review.id_for(subject, None) for subject in clashes}
    others = [divided for review_id, divided in added if review_id not in known]
    actions = {action: int(n) for action, n in rows}
    divided = sum(clashes.values()) + sum(others)
    return Judged(sum(actions.values()), actions, len(clashes) + len(others), divided)


def decided_clashes(
    connection: Connection, *, text: str = "", before: int | None = None, limit: int = 25
) -> list[DecidedClash]:
    """Clashes of runs and requests that are in no review, newest first: those that the panel decided alone.

    Args:
        text: a part of the clash's or its item's id, upper and lower case alike; empty for all.
        before: only records with smaller numbers.
    """
    found: list[DecidedClash] = []
    while len(found) < limit:
        rows = connection.rows(
            """SELECT entry_id, subject, recorded_at, payload FROM audit_log WHERE kind = 'clash'
                AND ($1::BIGINT IS NULL OR entry_id < $1) AND ($2::VARCHAR = '' OR strpos(lower(payload), $2) > 0)
                ORDER BY entry_id DESC LIMIT 200""",
            [before, as_in_json(text).lower()],
        )
        if not rows:
            break
        before = rows[-1][0]
        made = [_clash(*row) for row in rows]
        reviewed = _reviewed(connection, [one.subject for one in made])
        found += [
            one
            for one in made
            if one.subject not in reviewed and any(contains(name, text) for name in (one.clash_id, one.item_id))
        ]
    return found[:limit]


def _clash(number: int, subject: str, at: float, payload: str) -> DecidedClash:
    record = orjson.loads(payload)
    return DecidedClash(
        number,
        subject,
        record["clash_id"],
        record["item_id"],
        record.get("category"),
        at,
        record["action"],
        record["status"],
        record.get("winner"),
        bool(record.get("unanimous")),
        tuple(record.get("judges") or ()),
    )


def _reviewed(connection: Connection, subjects: Sequence[str]) -> set[str]:
    """The clashes that are reviews."""
    names = {Review.id_for(subject, None): subject for subject in subjects}
    query = "SELECT review_id FROM reviews WHERE review_id IN (SELECT unnest($1::VARCHAR[]))"
    return {names[name] for name in connection.column(query, [list(names)])}


def decided_by(connection: Connection, policy: str) -> dict[str, int]:
    """Actions of a policy, of any version -> judgments whose current decision that is."""
    return connection.pairs(
        "SELECT action, count(*) FROM lines WHERE policy = $1 GROUP BY action ORDER BY action", [policy]
    )


def number_before(connection: Connection, newest: int) -> int:
    """The number of the last current version before the newest ones; 0 if there are no more than those."""
    query = "SELECT number FROM lines ORDER BY number DESC LIMIT 1 OFFSET $1"
    return sum(connection.column(query, [newest]))


def first_questions(connection: Connection, run_ids: Sequence[str]) -> dict[str, str]:
    """The first question of each run that vetted some; left out where its texts were deleted."""
    began = connection.pairs(
        """SELECT run_id, min(assessment_id) FROM assessments WHERE run_id IN (SELECT unnest($1::VARCHAR[]))
            GROUP BY run_id""",
        [list(run_ids)],
    )
    first = about(connection, list(began.values()))
    found = {run_id: question_of(first[number].item) for run_id, number in began.items()}
    return {run_id: excerpt(question) for run_id, question in found.items() if question is not None}


def run_judges(connection: Connection, run_ids: Sequence[str]) -> dict[str, list[str]]:
    """The judges whose judgments each run vetted, the most frequent first."""
    found: dict[str, list[str]] = {}
    query = """SELECT run_id, judge FROM assessments WHERE run_id IN (SELECT unnest($1::VARCHAR[])) GROUP BY run_id,
        judge ORDER BY run_id, count(*) DESC, judge"""
    for run_id, judge in connection.rows(query, [list(run_ids)]):
        found.setdefault(run_id, []).append(judge)
    return found


def questions_by_digest(connection: Connection, judgment_digests: Sequence[str]) -> dict[str, str]:
    """First words of the questions of some judgments, by the judgment's digest; deleted texts are left out."""
    return {digest: excerpt(question) for digest, question in questions(connection, judgment_digests).items()}


@dataclass(frozen=True, slots=True)
class Undecided:
    """Ids of the subjects (judgments, cases) of open reviews that a person has not decided, and of their items.

    Attributes:
        blind: the subjects whose policy wants the decision before the machine's result is shown.
    """

    subjects: frozenset[str]
    items: frozenset[str]
    blind: frozenset[str] = frozenset()


def undecided_by(connection: Connection, reviewer: str | None) -> Undecided:
    """The subjects and items that a person can still decide.

    Args:
        reviewer: their name; None for a person without one, who has decided nothing.
    """
    rows = connection.rows(
        f"""SELECT r.subject_id, r.item_id, strpos(r.payload, '"blind":true') > 0 FROM reviews r WHERE {_OPEN}""",  # noqa: S608
        [reviewer or ""],
    )
    return Undecided(
        frozenset(subject for subject, _, _ in rows),
        frozenset(item for _, item, _ in rows),
        frozenset(subject for subject, _, blind in rows if blind),
    )
