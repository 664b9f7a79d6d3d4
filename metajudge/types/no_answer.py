"""Words of verdicts and labels: those that say pass or fail, and those, and numbers, that stand for no answer."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from metajudge.types.verdict import AnyVerdict, Category

_NEVER: Final = frozenset(
    (
        *("na", "n/a", "nan", "nat", "null", "nil", "none", "parse_error", "parsing_error", "parse_failure"),
        *("parse_failed", "parsing_failed", "unparsable", "unparseable", "unparsed", "not_parsed", "timeout"),
        *("timed_out", "time_out", "exception", "api_error", "server_error", "request_error", "judge_error"),
        *("rate_limit", "rate_limited", "rate_limit_error", "no_answer", "no_verdict", "no_response", "no_output"),
        *("no_decision", "no_label", "no_score", "no_grade", "no_rating", "not_rated", "not_labelled", "not_labeled"),
        *("not_answered", "not_applicable", "unrated", "unanswered", "unlabelled", "unlabeled", "unscored"),
        *("unsure", "not_sure", "im_not_sure", "i_am_not_sure", "skip", "skipped", "cant_tell", "cannot_tell"),
        *("can_not_tell", "couldnt_tell", "cant_say", "cannot_say", "cant_decide", "cannot_decide", "dont_know"),
        *("do_not_know", "i_dont_know", "i_do_not_know", "idk", "abstain", "abstained", "abstention"),
    )
)
"""Words that are no verdict on anything, with ``_`` between their parts."""
_DOUBTFUL: Final = frozenset(
    ("unknown", "uncertain", "unclear", "undecided", "undetermined", "inconclusive", "missing", "pending")
)
"""Words that are a category among categories, and no answer beside numbers or words that say pass and fail."""
_FAILURES: Final[Mapping[str, frozenset[str]]] = {
    "error": frozenset(("no_error",)),
    "errors": frozenset(("no_errors",)),
    "failed": frozenset(("passed",)),
    "failure": frozenset(("success",)),
    "invalid": frozenset(("valid",)),
}
"""Words for a failed call or a failed response, and what stands beside the latter."""
_SIGNS: Final = re.compile(r"[-\u2010-\u2015_?./~ ]+|#(?:n/a|ref!|value!|name\?|div/0!|num!|null!|error!)|__.+__", re.I)
_MARKED: Final = re.compile(r"[$\[<{(]{1,8}([^$\])}>]*)[$\])}>]+.*", re.S)
_MESSAGE: Final = re.compile(r"\w*(?:error|exception|timeout)(?:\s*:.+|\s+\d{3}\b.*)|traceback\b.*", re.I | re.S)
_READ: Final = 200
"""Characters of a text that are looked at."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})")
_CODES: Final = frozenset((-1, -9, -99, -999, -9999, 99, 999, 9999))
"""Numbers by which files of answers say that there is none."""
_GAP: Final = 9
"""A code of nines is more than so many times the highest grade beside it; else it may be a grade."""


def no_answer(
    key: str, beside: Collection[str] = (), scale: tuple[float, float] | None = None, *, several: bool = False
) -> bool | None:
    """Whether a value stands for no answer.

    A word does if no verdict is called so, or if it begins an error's message. ``error``, ``failed`` and the like do
    beside numbers and beside another word for a fail; beside their opposite (``no_error``, ``passed``) they are
    answers. A number does if it is one of -1, -9, ..., 99, 999, ... and lies outside the scale declared, or far outside
    what stands beside it. -1 beside numbers up to 2, or either beside one other number, may be a grade.

    Args:
        key: the value as text.
        beside: the values of its column, as text; empty where they are not known: then only a word that is no
            verdict anywhere stands for no answer.
        scale: the lowest and the highest grade, where declared.
        several: whether it is about several responses, on which a word for a failure is no verdict.

    Returns:
        None where it may be either: a person must say.
    """
    if _NUMBER.fullmatch(key):
        return _no_grade(float(key), beside, scale)
    if never_an_answer(key):
        return key.strip() != "-" or "+" not in beside
    word = _folded(key)
    if word in _FAILURES and several:
        return True
    if not beside or not (word in _DOUBTFUL or word in _FAILURES):
        return False
    numbers = any(_NUMBER.fullmatch(one) for one in beside)
    words = {_folded(one) for one in beside if not _NUMBER.fullmatch(one) and not never_an_answer(one)} - {word}
    sides = {passing(Category(one)) for one in words - _FAILURES.keys() - _DOUBTFUL}
    if word in _DOUBTFUL:
        return bool(sides - {None}) or (numbers and not words)
    if words & _FAILURES[word]:
        return False
    if False in sides or (numbers and not words):
        return True
    return False if word == "failed" and True in sides else None


@lru_cache(maxsize=10_000)
def never_an_answer(key: str) -> bool:
    """Whether a text is no verdict anywhere."""
    text = key[:_READ].strip()
    if _SIGNS.fullmatch(text) or _folded(text) in _NEVER or _MESSAGE.fullmatch(text):
        return True
    marked = _MARKED.fullmatch(text)
    return marked is not None and (_folded(marked[1]) in _FAILURES or _folded(marked[1]) in _NEVER)


def _folded(text: str) -> str:
    """A word without case, dots and apostrophes, with ``_`` between its parts."""
    return re.sub(r"[\s_-]+", "_", re.sub(r"['\u2019.]", "", text[:_READ].casefold()).strip())


def _no_grade(number: float, beside: Collection[str], scale: tuple[float, float] | None) -> bool | None:
    if number not in _CODES or not (beside or scale):
        return False
    if scale is not None:
        return not scale[0] <= number <= scale[1]
    others = {float(one) for one in beside if _NUMBER.fullmatch(one)} - _CODES
    if not others:
        return None if number < 0 else False
    if min(others) < 0 or (number > 0 and number <= _GAP * max(others)):
        return False
    return None if len(others) < 2 or (number == -1 and max(others) <= 2) else True


def passing(value: AnyVerdict) -> bool | None:
    """Whether a category says that a response passes; None for a word that says neither."""
    if not isinstance(value, Category):
        return None
    if isinstance(value.value, bool):
        return value.value
    word = value.value.casefold().strip().replace("-", "_").replace(" ", "_")
    return True if word in _PASS else False if word in _FAIL else None


_PASS = frozenset(
    (
        *("pass", "passed", "true", "yes", "y", "correct", "right", "c", "good", "relevant", "valid", "accept"),
        *("accepted", "acceptable", "safe", "supported", "faithful", "no_error", "ok", "success", "positive", "1"),
    )
)
_FAIL = frozenset(
    (
        *("fail", "failed", "false", "no", "n", "incorrect", "wrong", "i", "bad", "irrelevant", "not_relevant"),
        *("invalid", "reject", "rejected", "unacceptable", "unsafe", "unsupported", "unfaithful", "error"),
        *("failure", "negative", "0"),
    )
)
