"""Rationale-verdict agreement: does the text end with the verdict that was recorded?"""

from metajudge.evidence.text_verdict import NoTextVerdict, TextVerdict, read_text_verdict
from metajudge.types import Category, Grade, Judgment, SignalValue, parse_verdict


def rationale_agreement(judgment: Judgment) -> SignalValue:
    """Compares the winner the rationale names with the recorded verdict's.

    Recorded verdicts come from other parsers, and parsers err: the published one of LLMBar contradicts the
    text in up to one judgment of six. The text speaks of the labels the judge saw
    (:attr:`~metajudge.types.Judgment.shown_labels`); they are mapped back to response ids. A verdict given as
    ``meta["text_verdict"]``, in terms of response ids as the verdict itself, is used instead of reading the text.
    Strength plays no part; a ranking is compared by its first place.

    Returns:
        1 ``agree`` or -1 ``contradict``; absent as ``no_rationale``, ``no_text_verdict`` (none in a known form),
        ``conflicting`` (marks for different winners), ``bad_text_verdict`` (``meta["text_verdict"]`` is no verdict
        on these responses), ``grade``, ``category`` or ``no_verdict``.
    """
    verdict = judgment.verdict
    if verdict is None:
        return SignalValue(value=None, state="no_verdict", detail="the judge gave no verdict")
    if isinstance(verdict, Grade):
        return SignalValue(value=None, state="grade", detail="a grade compares no responses")
    if isinstance(verdict, Category):
        return SignalValue(value=None, state="category", detail="a category compares no responses")
    stated = _stated(judgment)
    if isinstance(stated, SignalValue):
        return stated
    quote = f'the text says "{_short(stated.quote)}"'
    if stated.winner == verdict.winner:
        return SignalValue(value=1.0, state="agree", detail=quote)
    text = f"response {stated.winner}" if stated.winner else "a tie"
    return SignalValue(
        value=-1.0, state="contradict", detail=f"{quote}, that is {text}; the recorded verdict is {verdict}"
    )


def _stated(judgment: Judgment) -> TextVerdict | SignalValue:
    given = judgment.meta.get("text_verdict")
    if given is not None:
        return _given(judgment, given)
    if not judgment.rationale.strip():
        return SignalValue(value=None, state="no_rationale", detail="no rationale was recorded")
    found = read_text_verdict(judgment.rationale, tuple(zip(judgment.shown_labels, judgment.order, strict=True)))
    if isinstance(found, NoTextVerdict):
        return SignalValue(value=None, state=found.state, detail=found.detail)
    return found


def _given(judgment: Judgment, given: object) -> TextVerdict | SignalValue:
    try:
        verdict = parse_verdict(given)
        if isinstance(verdict, Grade | Category) or not set(verdict.ids) <= set(judgment.order):
            raise ValueError(f"{verdict} does not compare the responses {', '.join(judgment.order)}")
    except ValueError as error:
        return SignalValue(value=None, state="bad_text_verdict", detail=f"meta.text_verdict: {error}")
    return TextVerdict(verdict.winner, "mark", str(verdict))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:97] + "..."
