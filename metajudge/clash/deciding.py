"""A person's decision on a clash, and the clash as a row to decide on elsewhere. Pure."""

from metajudge.clash.record import ClashRecord
from metajudge.clash.reviews import clash_of, outcome_of, panel_verdict
from metajudge.clash.showing import blind_texts, labels_of, ranking_by_label
from metajudge.errors import InputError
from metajudge.reviews import HumanDecision, Outcome, Review
from metajudge.reviews.deciding import decision_from


def clash_row(review: Review, *, blind: bool) -> dict[str, object]:
    """What a row of an export holds of a clash: question and answers, by label without names where it is blind."""
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
        raise InputError("its texts were forgotten: there is nothing to decide on")
    own = None if verdict is None else ranking_by_label(verdict, labels_of(record, review.review_id))
    blind = blind or outcome is None
    if outcome is None:
        if own is None:
            raise InputError(f"say --outcome ({', '.join(Outcome)}), or your own --verdict to decide blind")
        compared = outcome_of(own, panel_verdict(record))
        outcome, own = compared.value, own if compared is Outcome.MODIFY else None
    return decision_from(review, None, reviewer, outcome, own, reason=reason, decided_at=decided_at, blind=blind)


def panel_said(record: ClashRecord, review_id: str) -> str:
    """What a blind reviewer is told after the call: who was who, and what the panel said."""
    who = ", ".join(f"{label} is {name}" for label, name in labels_of(record, review_id).items())
    verdict = panel_verdict(record)
    return f"{who}. The panel's verdict was {verdict if verdict is not None else f'none ({record.why})'}."
