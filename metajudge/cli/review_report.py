"""Reviews, for people."""

from collections.abc import Callable, Iterator

from rich.console import Console

from metajudge.clashes.reviews import is_clash
from metajudge.cli.review_clash import print_clash_review
from metajudge.reviews import ReviewState, ReviewStatus
from metajudge.reviews.agreement import ReviewerAgreement
from metajudge.stats.agreement import Agreement, landis_koch
from metajudge.types import Category, Grade, Judgment
from metajudge.types.judgment import Scale


def print_review(state: ReviewState, judgment: Judgment | None, *, blind: bool) -> None:
    """Prints a review; judged texts are printed unchanged."""
    console = Console(highlight=False)
    review = state.review

    def say(text: str = "") -> None:
        console.print(text, markup=False, soft_wrap=True)

    if is_clash(review):
        print_clash_review(state, say, blind=blind)
        return
    action = "" if blind else f": {review.action}"
    say(f"Review {review.review_id} ({state.status.value}), {review.subject} {review.subject_id}{action}")
    if judgment is not None:
        _print_judgment(say, judgment, blind)
    elif review.content is not None:
        for name, value in review.content.items():
            say("\n" + "\n".join(_described(name, value)))
    else:
        say("\nIts texts are not in the store (forgotten, or vetted without keeping them).")
    if not blind:
        numbers = {"score": review.score, "probability": review.probability, "confidence": review.confidence}
        given = [f"{name} {value:.4g}" for name, value in numbers.items() if value is not None]
        say(f"\nMachine: {review.action}{', ' if given else ''}{', '.join(given)}")
        for one in state.decisions:
            say(f"Decided: {one.outcome.value} by {one.reviewer}{': ' if one.reason else ''}{one.reason}")
    say(f"\nDecide: metajudge review decide {review.review_id} --reviewer NAME " + _how(blind, judgment))


def _print_judgment(say: Callable[[str], None], judgment: Judgment, blind: bool) -> None:
    say(f"\nQuestion\n{judgment.item.question}")
    for name in judgment.order:
        say(f"\nResponse {name}\n{judgment.item.responses[name]}")
    if judgment.item.reference:
        say(f"\nReference\n{judgment.item.reference}")
    if not blind:
        say(f"\nVerdict of {judgment.judge}: {judgment.verdict}\n{judgment.rationale}")


def _described(name: str, value: object, depth: int = 0) -> Iterator[str]:
    """Plain data as lines, nested values indented."""
    indent = "  " * depth
    nested = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        nested = [(str(place), one) for place, one in enumerate(value, start=1)]
    if nested:
        yield f"{indent}{name}"
        for inner, one in nested:
            yield from _described(str(inner), one, depth + 1)
        return
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    first, *rest = text.split("\n")
    yield f"{indent}{name}: {first}" if not rest else f"{indent}{name}:"
    if rest:
        yield from (f"{indent}  {line}" for line in (first, *rest))


def _how(blind: bool, judgment: Judgment | None) -> str:
    if not blind:
        return "--outcome approve|modify|reject|cannot_tell [--reason TEXT]"
    if judgment is None or judgment.verdict is None:  # no verdict to compare the reviewer's own with
        return "--outcome approve|modify|reject|cannot_tell --blind [--reason TEXT]"
    if isinstance(judgment.verdict, Grade | Category):
        return f"--verdict {_answer(judgment.verdict, judgment.item.scale)}"
    return f'--verdict "{">".join(judgment.order[:2])}"'


def _answer(verdict: Grade | Category, scale: Scale | None) -> str:
    """What to write, without giving the judge's answer away."""
    if isinstance(verdict, Grade):
        return "GRADE" if scale is None or isinstance(scale[0], str) else f"GRADE ({scale[0]:g} to {scale[1]:g})"
    if isinstance(verdict.value, bool):
        return "true|false"
    return "|".join(map(str, scale)) if scale is not None and isinstance(scale[0], str) else "CATEGORY"


def print_stats(counts: dict[ReviewStatus, int], found: ReviewerAgreement) -> None:
    """Prints counts and agreement."""
    console = Console(highlight=False)
    for status, count in counts.items():
        console.print(f"{status.value:<9}{count:>7}", markup=False)
    for name, outcomes in found.by_reviewer.items():
        given = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        console.print(f"{name}: {given}", markup=False)
    console.print(f"Reviews with several decisions: {found.shared}, unanimous: {found.unanimous}", markup=False)
    if found.alpha is not None:
        console.print(f"Krippendorff's alpha: {_agreement(found.alpha)}", markup=False)
    for (first, second), kappa in found.pairs.items():
        console.print(f"Cohen's kappa {first}, {second}: {_agreement(kappa)}", markup=False)


def agreement_data(found: ReviewerAgreement) -> dict[str, object]:
    """The same as plain data."""

    def data(one: Agreement | None) -> dict[str, object] | None:
        if one is None:
            return None
        kept = ("estimate", "low", "high", "n", "confidence", "method", "reason")
        return {name: getattr(one, name) for name in kept}

    return {
        "shared": found.shared,
        "unanimous": found.unanimous,
        "alpha": data(found.alpha),
        "kappa": [{"first": a, "second": b, **(data(one) or {})} for (a, b), one in found.pairs.items()],
        "by_reviewer": found.by_reviewer,
    }


def _agreement(one: Agreement) -> str:
    if one.estimate is None:
        return f"undefined ({one.reason}), n {one.n}"
    interval = "" if one.low is None else f", {100 * one.confidence:g} % interval {one.low:.2f} to {one.high:.2f}"
    return f"{one.estimate:.2f} ({landis_koch(one.estimate)}{interval}), n {one.n}"
