"""What ``metajudge clash`` reads and writes: prompts or items in, judgments out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metajudge.clashes.record import ClashRecord, JudgeVote
from metajudge.errors import InputError
from metajudge.readers.items import open_items
from metajudge.readers.jsonl import write_jsonl
from metajudge.readers.lines import Reject
from metajudge.readers.questions import Question, names_file, open_questions
from metajudge.types import Item, Judgment


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
