"""Clashes as reviews: what ``metajudge clash`` wrote, put into the store so that people make the final call.

A clash is a review of its own kind of case: its content is the whole record, so that forgetting an item reaches its
texts; claims, decisions and history are those of every review. The triage rule says how soon: what a panel was divided
on is looked at like any other doubtful verdict, what it was unanimous on comes last.
"""

import time
from collections.abc import Iterator

import orjson
from pydantic import ValidationError

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.run import counting_records
from metajudge.clashes.showing import blind_texts, labels_of, ranking_by_label
from metajudge.errors import InputError
from metajudge.readers.reasons import reason_of
from metajudge.reviews import HumanDecision, Outcome, Review, ReviewOrigin
from metajudge.reviews.deciding import decision_from
from metajudge.reviews.opening import AUDIT_PRIORITY, PRIORITY
from metajudge.store.protocol import Store
from metajudge.types import AnyVerdict, Ranking, digest
from metajudge.types.decision import Action

PANEL = "clash panel"
"""Whose verdict a clash's review is about; finds clashes among reviews."""
KEY = "clash"
MOST = 500
"""Evaluations taken from one file."""


def read_clashes(content: bytes, name: str) -> list[ClashRecord]:
    """The evaluations in a file of ``metajudge clash``: ``--json`` (one document) or ``--out`` (attempts, one a line).

    Of several attempts at one evaluation the one that counts is taken.

    Raises:
        InputError: it is neither, or it contains no evaluation, or more than :data:`MOST`; the message names the place.
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
    if len(counting) > MOST:
        raise InputError(f"{name} contains {len(counting)} evaluations; at most {MOST} are allowed: split the file")
    return counting


def _records(content: bytes, name: str) -> Iterator[tuple[str, object]]:
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError:
        yield from _lines(content, name)
        return
    if isinstance(data, dict) and "evaluations" in data:
        data = data["evaluations"]
    for number, one in enumerate(data if isinstance(data, list) else [data], 1):
        yield f"{name}: evaluation {number}", one


def _lines(content: bytes, name: str) -> Iterator[tuple[str, object]]:
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                yield f"{name}:{number}", orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise InputError(f"{name}:{number}: not valid JSON: {error}") from None


def review_of_clash(record: ClashRecord, *, now: float) -> Review:
    """The review of an evaluation; the same answers ranked alike again, at whatever cost, are the same review.

    Raises:
        InputError: fewer than two candidates answered, so that there is nothing to compare.
    """
    if len(record.answered) < 2:
        raise InputError(f"evaluation {record.id}: {record.why or 'there is nothing to compare'}")
    unanimous = record.tally is not None and record.tally.triage == "accept"
    content = record.model_dump(mode="json")
    verdict = panel_verdict(record)
    label = None if record.label is None else record.label.winner
    votes = [[vote.judge, None if vote.groups is None else str(vote.groups)] for vote in record.votes]
    subject = digest([record.key, sorted(record.answered.items()), votes])
    return Review(
        review_id=Review.id_for(subject, None),
        subject="case",
        subject_id=record.id,
        subject_digest=subject,
        item_id=record.item_id,
        judge=PANEL,
        category=record.category,
        action=Action.APPROVE if unanimous else Action.REVIEW,
        priority=AUDIT_PRIORITY if unanimous else PRIORITY[Action.REVIEW],
        margin=None if record.tally is None else record.tally.margin,
        origin=ReviewOrigin.REQUEST,
        opened_at=now,
        verdict=verdict,
        truth=None if label is None or verdict is None else verdict.winner == label,
        question=digest([record.question, sorted(record.answered.items())]),
        content={KEY: content},
    )


def wants_person(record: ClashRecord) -> bool:
    """Whether a person has to make the call: two answers or more, and no panel that the triage rule accepts."""
    return len(record.answered) >= 2 and (record.tally is None or record.tally.triage != "accept")


async def open_review(store: Store | None, record: ClashRecord) -> Review | None:
    """Puts an evaluation that wants a person into the store; None where it does not, or is there already."""
    if store is None or not wants_person(record):
        return None
    review = review_of_clash(record, now=time.time())
    return review if await store.reviews.open([review]) else None


def panel_verdict(record: ClashRecord) -> Ranking | None:
    """The panel's ranking; None where it came to none."""
    return Ranking(record.tally.ranking) if record.tally is not None and record.tally.ranking else None


def is_clash(review: Review) -> bool:
    """Whether a review is about a clash, its texts forgotten or not."""
    return review.subject == "case" and review.judge == PANEL


def clash_of(review: Review) -> ClashRecord | None:
    """The record a review is about; None where its texts were forgotten."""
    data = (review.content or {}).get(KEY)
    return None if data is None else ClashRecord.model_validate(data)


def outcome_of(own: AnyVerdict, panel: AnyVerdict | None) -> Outcome:
    """What a person's own verdict says of the panel's: the same winner (or a tie, too) approves, another modifies.

    Where the panel came to no verdict there is nothing to approve.
    """
    return Outcome.APPROVE if panel is not None and own.winner == panel.winner else Outcome.MODIFY


def clash_row(review: Review, *, blind: bool) -> dict[str, object]:
    """A clash in a row of an export: question and answers, by label without names where it is blind."""
    record = clash_of(review)
    if record is None:
        return {}
    if not blind:
        verdict = panel_verdict(record)
        return {
            "question": record.question,
            "responses": record.answered,
            "verdict": None if verdict is None else str(verdict),
        }
    texts = blind_texts(record)
    labelled = {label: texts[name] for label, name in labels_of(record, review.review_id).items()}
    return {"question": record.question, "responses": labelled}


def clash_decision(
    review: Review,
    reviewer: str,
    outcome: str | None,
    verdict: str | None,
    *,
    reason: str,
    decided_at: float,
    blind: bool = False,
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
    blind = blind or outcome is None
    if outcome is None:
        if own is None:
            raise InputError(f"say --outcome ({', '.join(Outcome)}), or your own --verdict to decide blind")
        compared = outcome_of(own, panel_verdict(record))
        outcome, own = compared.value, own if compared is Outcome.MODIFY else None
    return decision_from(review, None, reviewer, outcome, own, reason=reason, decided_at=decided_at, blind=blind)


def panel_said(record: ClashRecord, review_id: str) -> str:
    """Shown to a blind reviewer after the decision: the names behind the labels, and the panel's verdict."""
    who = ", ".join(f"{label} is {name}" for label, name in labels_of(record, review_id).items())
    verdict = panel_verdict(record)
    return f"{who}. The panel's verdict was {verdict if verdict is not None else f'none ({record.why})'}."
