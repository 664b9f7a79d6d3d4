"""Words of verdicts and labels: those that say pass or fail, and those, and numbers, that stand for no answer."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from metajudge.types.verdict import AnyVerdict, Category
from metajudge.types.written import LONGEST, WORDS, folded, written

_NEVER: Final = frozenset(WORDS["never"])
"""Words that are no verdict on anything, with ``_`` between their parts."""
_DOUBTFUL: Final = frozenset(WORDS["doubtful"])
"""Words that are a category among categories, and no answer beside numbers or words that say pass and fail."""
_FAILURES: Final[Mapping[str, frozenset[str]]] = {word: frozenset(not_) for word, not_ in WORDS["failures"].items()}
"""Words for a failed call or a failed response, and what stands beside the latter."""
_PASS: Final = frozenset(WORDS["pass"])
_FAIL: Final = frozenset(WORDS["fail"])
_SIGNS: Final = re.compile(r"[-\u2010-\u2015_?./~ ]+|#(?:n/a|ref!|value!|name\?|div/0!|num!|null!|error!)|__.+__", re.I)
_MARKED: Final = re.compile(r"[$\[<{(]{1,8}([^$\])}>]*)[$\])}>]+.*", re.S)
_MESSAGE: Final = re.compile(r"\w*(?:error|exception|timeout)(?:\s*:.+|\s+\d{3}\b.*)|traceback\b.*", re.I | re.S)
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
    if (number := written(key)) is not None:
        return _no_grade(number.value, beside, scale)
    if never_an_answer(key):
        return key.strip() != "-" or "+" not in beside
    word = folded(key)
    if word in _FAILURES and several:
        return True
    if not beside or not (word in _DOUBTFUL or word in _FAILURES):
        return False
    others = [one for one in beside if written(one) is None]
    numbers = len(others) < len(beside)
    words = {folded(one) for one in others if not never_an_answer(one)} - {word}
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
    text = key[:LONGEST].strip()
    if _SIGNS.fullmatch(text) or folded(text) in _NEVER or _MESSAGE.fullmatch(text):
        return True
    marked = _MARKED.fullmatch(text)
    return marked is not None and (folded(marked[1]) in _FAILURES or folded(marked[1]) in _NEVER)


def _no_grade(number: float, beside: Collection[str], scale: tuple[float, float] | None) -> bool | None:
    if number not in _CODES or not (beside or scale):
        return False
    if scale is not None:
        return not scale[0] <= number <= scale[1]
    others = {found.value for one in beside if (found := written(one)) is not None} - _CODES
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
    word = folded(value.value)
    return True if word in _PASS else False if word in _FAIL else None
