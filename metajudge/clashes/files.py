"""What ``metajudge clash`` reads and writes: prompts or items in, judgments out, and what is kept of a verdict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metajudge.clashes.record import ClashRecord, JudgeVote
from metajudge.errors import InputError
from metajudge.readers.items import open_items
from metajudge.readers.jsonl import write_jsonl
from metajudge.readers.lines import Reject
from metajudge.readers.questions import Question, names_file, open_questions
from metajudge.store.protocol import Store
from metajudge.types import Item, Judgment, digest
from metajudge.types.decision import Action

KIND = "clash"
"""What the records of decided clashes are called in the store's audit log."""


def subject_of(record: ClashRecord) -> str:
    """Digest of what a clash is about: its answers and the judges' rankings of them, at whatever cost."""
    votes = [[vote.judge, None if vote.groups is None else str(vote.groups)] for vote in record.votes]
    return digest([record.key, sorted(record.answered.items()), votes])


def wants_person(record: ClashRecord) -> bool:
    """Whether a person has to make the call: two answers or more, and no panel that the triage rule accepts."""
    return len(record.answered) >= 2 and (record.tally is None or record.tally.triage != "accept")


async def keep_clashes(store: Store | None, records: Iterable[ClashRecord], *, now: float) -> int:
    """Records what became of clashes; the same verdict again adds nothing. Returns how many are new.

    Clashes with fewer than two answers compare nothing and have no outcome.
    """
    if store is None:
        return 0
    added = 0
    for record in records:
        subject = subject_of(record)
        if len(record.answered) < 2 or await store.audit_log.entries(KIND, subject, limit=1):
            continue
        await store.audit_log.append(KIND, subject, decided_data(record), now=now)
        added += 1
    return added


def decided_data(record: ClashRecord) -> dict[str, Any]:
    """What is kept of a verdict."""
    tally = record.tally
    return {
        "clash_id": record.id,
        "subject_digest": subject_of(record),
        "item_id": record.item_id,
        "category": record.category,
        "action": Action.REVIEW.value if wants_person(record) else Action.APPROVE.value,
        "status": record.status,
        "winner": record.winner,
        "ranking": None if tally is None or not tally.ranking else [list(group) for group in tally.ranking],
        "margin": None if tally is None else tally.margin,
        "unanimous": tally is not None and tally.unanimous,
        "judges": list(record.panel),
    }


def judgments_of_clash(record: ClashRecord) -> list[Judgment]:
    """The rankings of one evaluation as judgments, observers' included; each says its judge's role in ``meta``.

    The item is the question with the answers as they were given; where cycles made them anew, its id names the cycle.
    A judge that could not be asked makes no judgment. Neither does anybody where fewer than two candidates answered: a
    ranking compares at least two.
    """
    texts = record.answered
    if len(texts) < 2:
        return []
    models = {one.name: one.model for one in record.candidates if one.model is not None and one.name in texts}
    cycle = f"/c{record.cycle}" if f"/c{record.cycle}" in record.id else ""
    item = Item(
        id=f"{record.item_id}{cycle}",
        question=record.question,
        responses=texts,
        category=record.category,
        label=record.label,
        reference=record.reference,
        models=models or None,
    )
    return [_judgment_of_vote(record, vote, item) for vote in record.votes if vote.failure is None or vote.replied]


def _judgment_of_vote(record: ClashRecord, vote: JudgeVote, item: Item) -> Judgment:
    meta = {
        "model": vote.model,
        "reported_model": vote.reported_model,
        "role": vote.role,
        "weight": vote.weight,
        "own": vote.own,
        "evaluation": record.id,
        "attempt": record.attempt,
        "seed": record.seed,
        "criteria": None if record.criteria is None else [one.text for one in record.criteria.criteria],
        "scores": {name: {key: one.score for key, one in row.items()} for name, row in vote.scores.items()},
        "prompt_digest": record.prompt_digests["ranking"],
        "request_digest": vote.request_digest,
        "attempts": vote.replies,
        "cost_usd": vote.cost_usd,
        "metajudge_version": record.metajudge_version,
    }
    return Judgment(
        id=f"{record.id}/{vote.judge}",
        item=item,
        judge=vote.judge,
        verdict=vote.ranking,
        no_verdict=None if vote.failure is None else vote.failure.message,
        rationale=_rationale(record, vote),
        order=vote.order,
        labels=tuple(vote.label_map),
        instruction=vote.instruction,
        meta=meta,
    )


def _rationale(record: ClashRecord, vote: JudgeVote) -> str:
    """The comparison, and the scores with their reasons, by the labels the judge used."""
    if record.criteria is None or not vote.scores:
        return vote.comparison
    names = {one.key: one.name for one in record.criteria.criteria}
    lines = [vote.comparison]
    for label, candidate in vote.label_map.items():
        for key, score in vote.scores.get(candidate, {}).items():
            lines.append(f"{label}, {names[key]}: {score.score}" + (f" ({score.reason})" if score.reason else ""))
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a clash is about: questions for its candidates, or items with their responses.

    Attributes:
        rejects: lines that are neither, with the reason.
        from_file: False for a prompt given as text.
    """

    items: Sequence[Question | Item]
    rejects: Sequence[Reject]
    from_file: bool


def open_asked(prompt: str, *, given: bool, limit: int | None = None) -> Asked:
    """Reads a literal prompt, or a file: of questions, or of items where the responses are given.

    Raises:
        InputError: no such file, nothing in it, an id given to two prompts, or no responses where they should be given.
    """
    if not given:
        found = open_questions(prompt, limit=limit)
        return Asked(found.items, found.rejects, found.from_file)
    if not names_file(prompt):
        raise InputError("--responses given takes the responses from a file of items: give the file as the prompt")
    source = open_items([prompt], limit=limit)
    items = tuple(source)
    if not items:
        reason = f": {source.rejects[0]}" if source.rejects else ""
        raise InputError(f"{prompt} contains no item with responses{reason}")
    return Asked(items, tuple(source.rejects), from_file=True)


def write_judgments(path: Path, records: Iterable[ClashRecord]) -> int:
    """Writes the rankings of the records that count as judgments; returns how many."""
    return write_jsonl(path, (judgment for record in records for judgment in judgments_of_clash(record)))
