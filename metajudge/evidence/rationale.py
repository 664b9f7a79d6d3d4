"""Rationale-verdict agreement: does the text end with the verdict that was recorded?"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from metajudge.evidence.text_verdict import (
    NoTextVerdict,
    TextVerdict,
    marks_in,
    places_of,
    read_favoured,
    read_marks,
    read_sentences,
)
from metajudge.types import AnyVerdict, Category, Grade, Judgment, is_right, kind_of, parse_verdict
from metajudge.types.label import passing
from metajudge.types.right import DEFAULTS

Stated: TypeAlias = tuple[float | None, str, str]
"""Value, state and detail of a signal."""

Shown: TypeAlias = tuple[tuple[str, str], ...]
"""See :attr:`metajudge.types.Judgment.shown`."""


def stated_agreement(judgment: Judgment) -> Stated:
    """Compares the winner the rationale names with the recorded verdict's.

    Recorded verdicts come from other parsers, and parsers err: the published one of LLMBar contradicts the
    text in up to one judgment of six. The text speaks of the labels the judge saw
    (:attr:`~metajudge.types.Judgment.shown_labels`); they are mapped back to response ids. A verdict given as
    ``meta["text_verdict"]``, in terms of response ids as the verdict itself, is used instead of reading the text.
    Of a judge that gives its verdict in a field of its own (``metajudge judge``), the last sentences are read
    (:func:`~metajudge.evidence.text_verdict.read_favoured`).
    Strength plays no part; a ranking is compared by its first place. A grade or a category is compared with what the
    last phrase such as "score: 4" or "the verdict is fail" names.

    Returns:
        1 ``agree`` or -1 ``contradict``; absent as ``no_rationale``, ``no_text_verdict`` (none in a known form),
        ``conflicting`` (marks for different winners), ``bad_text_verdict`` (``meta["text_verdict"]`` is no verdict
        on these responses, or of another kind) or ``no_verdict``.
    """
    verdict = judgment.verdict
    if verdict is None:
        return (None, "no_verdict", "the judge gave no verdict")
    meta, rationale = judgment.meta, judgment.rationale
    if (given := meta.get("text_verdict")) is not None:
        return _of_given(judgment, given, verdict)
    if not rationale.strip():
        return (None, "no_rationale", "no rationale was recorded")
    if isinstance(verdict, _OF_ONE_RESPONSE):
        return _of_answer(judgment, verdict)
    if meta and meta.keys() >= _OF_GAMES:
        detail = "the rationale has the texts of several games, in which a label stands for different responses"
        return (None, "no_text_verdict", detail)
    shown, marks = judgment.shown, marks_in(rationale)
    found = _of_marks(marks, shown, verdict) if marks else None
    return _of_sentences(rationale, shown, verdict) if found is None else found


def _of_marks(marks: tuple[str, ...], shown: Shown, verdict: AnyVerdict) -> Stated | None:
    """The agreement by marks, None where they name nothing; judges repeat few short marks many times."""
    make = _made_of_marks if sum(map(len, marks)) <= _REMEMBERED else _made_of_marks.__wrapped__
    return make(marks, shown, verdict)


@lru_cache(maxsize=4_096)
def _made_of_marks(marks: tuple[str, ...], shown: Shown, verdict: AnyVerdict) -> Stated | None:
    found = read_marks(marks, shown)
    return None if found is None else _agreement(found, verdict)


def _of_sentences(text: str, shown: Shown, verdict: AnyVerdict) -> Stated:
    found = read_sentences(text, shown)
    if isinstance(found, NoTextVerdict):
        found = read_favoured(text, shown) or found
    return _agreement(found, verdict)


def _agreement(stated: TextVerdict | NoTextVerdict, verdict: AnyVerdict) -> Stated:
    if isinstance(stated, NoTextVerdict):
        return (None, stated.state, stated.detail)
    quote = f'the text says "{_short(stated.quote)}"'
    if stated.winner == verdict.winner:
        return (1.0, "agree", quote)
    text = f"response {stated.winner}" if stated.winner else "a tie"
    return (-1.0, "contradict", f"{quote}, that is {text}; the recorded verdict is {verdict}")


_OF_ONE_RESPONSE = (Grade, Category)
_REMEMBERED = 200
"""Characters of the marks of a text up to which what they say is remembered."""

_OF_GAMES = {"rule", "games"}
"""What the records of games that a rule combined say in ``meta`` (``metajudge judge --combined``)."""

_NAMING = ("score", "rating", "grade", "verdict", "judgment", "decision")
_NAMED = re.compile(
    r"\b(?:" + "|".join(_NAMING) + r")\b[\s*_:\"'=]{0,8}(?:(?:is|of)\b[\s*_:\"'=]{0,8})?"
    r"(?:\[\[|\()?(?P<value>-?\d{1,9}(?:\.\d{1,9})?|[A-Za-z][A-Za-z_-]{0,40})",
    re.IGNORECASE,
)
"""A grade or a category where it is named as such; every repetition is bounded, so that reading takes linear time."""


def _of_given(judgment: Judgment, given: object, verdict: AnyVerdict) -> Stated:
    """The agreement with a verdict that was given in place of the text's."""
    try:
        stated = parse_verdict(given)
        if isinstance(verdict, _OF_ONE_RESPONSE):
            if kind_of(stated) != kind_of(verdict):
                raise ValueError(f"{stated} is no {kind_of(verdict)}")
        elif isinstance(stated, _OF_ONE_RESPONSE) or not set(stated.ids) <= set(judgment.order):
            raise ValueError(f"{stated} does not compare the responses {', '.join(judgment.order)}")
    except ValueError as error:
        return (None, "bad_text_verdict", f"meta.text_verdict: {error}")
    if isinstance(verdict, _OF_ONE_RESPONSE):
        return _compared(verdict, stated, f'the text says "{stated}"')
    return _agreement(TextVerdict(stated.winner, str(stated)), verdict)


def _of_answer(judgment: Judgment, verdict: Grade | Category) -> Stated:
    phrase, stated = _named_answer(judgment, verdict)
    if stated is None:
        return (None, "no_text_verdict", f"the text names no {kind_of(verdict)}")
    return _compared(verdict, stated, f'the text says "{_short(phrase)}"')


def _named_answer(judgment: Judgment, verdict: Grade | Category) -> tuple[str, AnyVerdict | None]:
    """The last phrase that names an answer of the verdict's kind, and the answer."""
    scale = {str(name).casefold() for name in judgment.item.scale or ()}
    phrase = ""
    stated: AnyVerdict | None = None
    for found in _naming(judgment.rationale):
        word = found["value"]
        if isinstance(verdict, Grade):
            if word[-1].isdigit():
                phrase, stated = found[0], Grade(float(word))
        elif not word[-1].isdigit():
            named = Category(word)
            if passing(named) is not None or word.casefold() in scale | {str(verdict).casefold()}:
                phrase, stated = found[0], named
    return phrase, stated


def _naming(text: str) -> Iterator[re.Match[str]]:
    """The matches of :data:`_NAMED`, tried only where one of its words stands."""
    if not text.isascii():  # in lower case letters may take more places
        yield from _NAMED.finditer(text)
        return
    lower, end = text.lower(), 0
    for start in sorted(found for word in _NAMING for found in places_of(lower, word)):
        match = _NAMED.match(text, start) if start >= end else None
        if match is not None:
            end = match.end()
            yield match


def _compared(verdict: Grade | Category, stated: AnyVerdict, quote: str) -> Stated:
    if is_right(stated, verdict, DEFAULTS[kind_of(verdict)]):
        return (1.0, "agree", quote)
    return (-1.0, "contradict", f"{quote}; the recorded verdict is {verdict}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:97] + "..."
