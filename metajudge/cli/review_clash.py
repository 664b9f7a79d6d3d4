"""Reviews of clashes in the terminal: answers under labels, and how to decide on them."""

from collections.abc import Callable

from metajudge.clashes.reviews import clash_of
from metajudge.clashes.showing import blind_texts, labels_of
from metajudge.cli.clash_report import verdict_lines
from metajudge.reviews import ReviewState


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
