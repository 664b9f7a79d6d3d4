"""Clashes as reviews: what ``metajudge clash`` wrote, put into the store so that people make the final call.

A clash is a review of its own kind of case: its content is the whole record, so that forgetting an item reaches its
texts; claims, decisions and history are those of every review. The triage rule says how soon: what a panel was divided
on is looked at like any other doubtful verdict, what it was unanimous on comes last.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import orjson
from pydantic import ValidationError

from metajudge.clashes.concordance import Call, CallSource
from metajudge.clashes.record import ClashRecord, subject_of, wants_person
from metajudge.clashes.run import counting_records
from metajudge.clashes.sheet import labels_of, ranking_by_label
from metajudge.errors import InputError
from metajudge.reading.reasons import reason_of
from metajudge.reviews.agreement import Ruling, settlement_of
from metajudge.reviews.deciding import decision_from
from metajudge.reviews.opening import AUDIT_PRIORITY, PRIORITY
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import CLASH_PANEL, HumanDecision, Outcome, Review, ReviewOrigin, ReviewState
from metajudge.store import Store
from metajudge.types import AnyVerdict, Ranking, digest
from metajudge.types.decision import Action

KEY = "clash"
MOST = 500
"""Evaluations taken from one file."""


def read_clashes(content: bytes, name: str, *, limited: bool = True) -> list[ClashRecord]:
    """The evaluations in a file of ``metajudge clash``: ``--json`` (one document) or ``--out`` (attempts, one a line).

    Of several attempts at one evaluation the one that counts is taken.

    Args:
        content: of the file.
        name: of the file, for messages.
        limited: whether more than :data:`MOST` evaluations are refused.

    Raises:
        InputError: it is neither, or it contains no evaluation, or too many; the message names the place.
    """
    records = []
    for where, data in _records(content, name):
        try:
            records.append(ClashRecord.model_validate(data))
        except ValidationError as error:
            raise InputError(f"{where} is no record of `metajudge clash`: {reason_of(error)}") from None
    counting = counting_records(records)
    if not counting:
        raise InputError(f"{name} contains no evaluation: choose a file written by `metajudge clash --json` or `--out`")
    if limited and len(counting) > MOST:
        raise InputError(f"{name} contains {len(counting)} evaluations; at most {MOST} are allowed: split the file")
    return counting


def _records(content: bytes, name: str) -> Iterator[tuple[str, object]]:
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError:
        for number, line in enumerate(content.splitlines(), 1):
            if line.strip():
                try:
                    yield f"{name}:{number}", orjson.loads(line)
                except orjson.JSONDecodeError as error:
                    raise InputError(f"{name}:{number}: not valid JSON: {error}") from None
        return
    if isinstance(data, dict) and "evaluations" in data:
        data = data["evaluations"]
    for number, one in enumerate(data if isinstance(data, list) else [data], 1):
        yield f"{name}: evaluation {number}", one


def review_of_clash(record: ClashRecord, *, now: float, sampled: float | None = None) -> Review:
    """The review of an evaluation; the same answers ranked alike again, at whatever cost, are the same review.

    Args:
        sampled: probability with which it was drawn from what the triage rule accepts; None where it was not drawn.

    Raises:
        InputError: fewer than two candidates answered, so that there is nothing to compare.
    """
    if len(record.answered) < 2:
        raise InputError(f"evaluation {record.id}: {record.why or 'there is nothing to compare'}")
    unanimous = record.tally is not None and record.tally.triage == "accept"
    content = record.model_dump(mode="json")
    verdict = panel_verdict(record)
    label = None if record.label is None else record.label.winner
    subject = subject_of(record)
    return Review(
        review_id=Review.id_for(subject, None),
        subject="case",
        subject_id=record.id,
        subject_digest=subject,
        item_id=record.item_id,
        judge=CLASH_PANEL,
        category=record.category,
        action=Action.APPROVE if unanimous else Action.REVIEW,
        priority=AUDIT_PRIORITY if unanimous else PRIORITY[Action.REVIEW],
        margin=None if record.tally is None else record.tally.margin,
        origin=ReviewOrigin.REQUEST if sampled is None else ReviewOrigin.AUDIT,
        inclusion=1.0 if sampled is None else sampled,
        opened_at=now,
        verdict=verdict,
        truth=None if label is None or verdict is None else verdict.winner == label,
        question=digest([record.question, sorted(record.answered.items())]),
        blind=True,  # decisions on clashes are labels
        content={KEY: content},
    )


async def open_review(store: Store | None, record: ClashRecord) -> Review | None:
    """Puts an evaluation that wants a person into the store; None where it does not, or is there already."""
    if store is None or not wants_person(record):
        return None
    review = review_of_clash(record, now=time.time())
    return review if await store.reviews.open([review]) else None


async def open_reviews(
    store: Store | None, records: Sequence[ClashRecord], *, sample: float = 0.0, adding: Collection[str] | None = None
) -> dict[str, str]:
    """Puts evaluations that want a person into the store, and a share of the rest, each once.

    Without a share of those that the triage rule accepts nobody learns whether it is right to accept them.

    Args:
        sample: of the accepted ones, drawn by key alone, in [0, 1].
        adding: keys of the records that are added; of others it is only found out whether they are there. None adds
            all.

    Returns:
        Evaluation's id -> review's id, of all that are in the queue now.
    """
    if store is None:
        return {}
    now = time.time()
    made = {}
    for record in records:
        if wants_person(record):
            made[record.id] = review_of_clash(record, now=now)
        elif len(record.answered) >= 2 and int(digest(["review sample", record.key])[:12], 16) < sample * 16**12:
            made[record.id] = review_of_clash(record, now=now, sampled=sample)
    keys = {record.id: record.key for record in records}
    new = [review for name, review in made.items() if adding is None or keys[name] in adding]
    await store.reviews.open(new)
    ids = {name: review.review_id for name, review in made.items()}
    return {name: one for name, one in ids.items() if await store.reviews.get(one, now=now) is not None}


async def clashes_in(store: Store) -> list[ReviewState]:
    """All reviews of clashes in a store."""
    reviews = store.reviews.every(ReviewFilter(judge=CLASH_PANEL), now=time.time())
    return [state async for state in reviews if state.review.kind == "clash"]


def calls_of(states: Sequence[ReviewState]) -> list[Call]:
    """People's calls on clashes, one a review that is decided; reviews that are open have none.

    The newest decision of each person counts; several people settle it by majority
    (:func:`~metajudge.reviews.agreement.settlement_of`).
    """
    calls = []
    for state in states:
        review = state.review
        newest = {one.reviewer: one for one in sorted(state.decisions, key=lambda one: one.decided_at)}
        found = settlement_of(list(newest.values()), review.verdict, review.reviewers)
        if review.kind != "clash" or found is None:
            continue
        source: CallSource = "blind" if all(one.blind for one in newest.values()) else "seen"
        panel: Literal["unanimous", "divided"] = "unanimous" if review.action == Action.APPROVE else "divided"
        reasons = {Ruling.DIVIDED: "people are divided", Ruling.CANNOT_TELL: "people could not tell"}
        if review.verdict is None:
            calls.append(Call(review.item_id, None, "none", source, "the panel has no verdict"))
        elif (why := reasons.get(found.ruling)) is not None:
            calls.append(Call(review.item_id, None, panel, source, why))
        else:
            calls.append(Call(review.item_id, found.ruling is Ruling.RIGHT, panel, source))
    return calls


def labelled_calls(records: Sequence[ClashRecord]) -> list[Call]:
    """The labels that the prompts brought with them, as calls."""
    found = []
    for record in records:
        if record.label is None:
            continue
        verdict = panel_verdict(record)
        if verdict is None:
            found.append(Call(record.item_id, None, "none", "label", "the panel has no verdict"))
            continue
        panel: Literal["unanimous", "divided"] = "divided" if wants_person(record) else "unanimous"
        found.append(Call(record.item_id, verdict.winner == record.label.winner, panel, "label"))
    return found


def panel_verdict(record: ClashRecord) -> Ranking | None:
    """The panel's ranking; None where it came to none."""
    return Ranking(record.tally.ranking) if record.tally is not None and record.tally.ranking else None


def clash_of(review: Review) -> ClashRecord | None:
    """The record a review is about; None where its texts were forgotten."""
    data = (review.content or {}).get(KEY)
    return None if data is None else ClashRecord.model_validate(data)


def outcome_of(own: AnyVerdict, panel: AnyVerdict | None) -> Outcome:
    """What a person's own verdict says of the panel's: the same winner (or a tie, too) approves, another modifies.

    Where the panel came to no verdict there is nothing to approve.
    """
    return Outcome.APPROVE if panel is not None and own.winner == panel.winner else Outcome.MODIFY


def clash_decision(
    review: Review, reviewer: str, outcome: str | None, verdict: str | None, *, reason: str, decided_at: float
) -> HumanDecision:
    """A decision on a clash.

    A verdict without an outcome is the reviewer's own, given blind: it is compared with the panel's.

    Raises:
        InputError: nothing to decide on, a verdict that does not rank every answer once, or neither it nor an outcome.
    """
    record = clash_of(review)
    if record is None:
        raise InputError("its texts were deleted by `metajudge forget`, so it cannot be decided")
    own = None if verdict is None else ranking_by_label(verdict, labels_of(record, review.review_id))
    blind = outcome is None
    if outcome is None:
        if own is None:
            raise InputError(f"say --outcome ({', '.join(Outcome)}), or your own --verdict to decide blind")
        compared = outcome_of(own, panel_verdict(record))
        outcome, own = compared.value, own if compared is Outcome.MODIFY else None
    return decision_from(review, None, reviewer, outcome, own, reason=reason, decided_at=decided_at, blind=blind)
