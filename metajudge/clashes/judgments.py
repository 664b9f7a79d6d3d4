"""The rankings of a clash as judgments, for whatever vets or exports those."""

from metajudge.clashes.record import ClashRecord, JudgeVote
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
