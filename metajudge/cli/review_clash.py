"""Reviews of clashes in the terminal: answers under labels, and the verdict a person gives on them."""

from collections.abc import Callable
from typing import Any

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.reviews import clash_of, outcome_of, panel_verdict
from metajudge.clashes.showing import blind_texts, labels_of, ranking_by_label
from metajudge.cli.clash_report import verdict_lines
from metajudge.errors import InputError
from metajudge.reviews import HumanDecision, Outcome, Review, ReviewState
from metajudge.reviews.deciding import decision_from


def print_clash_review(state: ReviewState, say: Callable[[str], None], *, blind: bool) -> None:
    """Prints question, answers and criteria; names, votes and the panel's verdict only to one who is not blind."""
    review, record = state.review, clash_of(state.review)
    say(f"Review {review.review_id} ({state.status.value}), clash {review.subject_id}")
    if record is None:
        say("\nIts texts are not in the store (forgotten).")
        return
    labels = labels_of(record, review.review_id)
    texts = blind_texts(record) if blind else record.answered
    say(f"\nQuestion\n{record.question}")
    for label, name in labels.items():
        say(f"\nAnswer {label}{'' if blind else f' ({name})'}\n{texts[name]}")
    if record.reference:
        say(f"\nReference\n{record.reference}")
    if record.criteria is not None:
        say("\nCriteria")
        for one in record.criteria.criteria:
            say(f"  {one.name} ({one.weight:.0%}){': ' if one.asks else ''}{one.asks}")
    if not blind:
        say("\nPanel")
        for line in verdict_lines(record):
            say(line)
        for made in state.decisions:
            say(f"Decided: {made.outcome.value} by {made.reviewer}{': ' if made.reason else ''}{made.reason}")
    command = f"metajudge review decide {review.review_id} --reviewer NAME"
    say(f'\nDecide: {command} --verdict "{">".join(labels)}"')
    say(f"        your own ranking, best first (= for equals), or the best alone, such as {next(iter(labels))}")
    say(f"Or:     {command} --outcome {'cannot_tell --blind' if blind else 'approve|modify|reject|cannot_tell'}")


def clash_row(review: Review, *, blind: bool) -> dict[str, Any]:
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
