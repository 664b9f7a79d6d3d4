"""The response that the last sentences of a text favour, where the text ends without a verdict in a fixed form.

A judge that gives its verdict in a field of its own ends its reasoning with a sentence such as "Response A is correct,
while response B makes an error". Such sentences are read conservatively, two from the end: a response must be named
with its noun and label, the sentence may not call both alike, and of a concession only what is said to be right or
wrong counts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TAIL = 600
"""Characters from the end in which sentences are looked for."""

_SENTENCE_END = re.compile(r"[.!?][\"')\]*_]{0,3}\s|\n")
_FINISHED = re.compile(r"[.!?][\"')\]*_]{0,3}\Z")
_ALIKE = re.compile(r"\b(?:both|neither|either|equally|equal|same|similar|similarly|tie|tied|each|on par)\b", re.I)
_CONCESSION = re.compile(r"\b(?:but|however|although|though|yet|despite|while|whereas|even|if|unless|except)\b", re.I)
_NOT = re.compile(
    r"\b(?:not|never|no|nor|hardly|barely|less|least|fails?|lacks?|could|would|might)\b|n['\u2019]t\b", re.I
)
_DENIED = re.compile(r"\b(?:not|never|hardly)\s+(?:\w+\s+){0,3}$|n['\u2019]t\s+(?:\w+\s+){0,3}$", re.I)
_BETTER = re.compile(
    r"\b(?:(?:better|superior|stronger)(?!\s+(?:at|written|formatted|organi[sz]ed|structured|explained|phrased|when|if)\b)|"
    r"preferable|preferred|outperforms|surpasses|more (?:\w+ly )?"
    r"(?:accurate|correct|helpful|complete|comprehensive|precise|useful|relevant|reliable|convincing|appropriate|"
    r"detailed|thorough|informative|effective)|"
    r"the (?:most|only|best|more) (?:\w+ ){0,2}?"
    r"(?:accurate|correct|helpful|complete|right|answer|response|solution))\b",
    re.I,
)
_RIGHT = re.compile(r"\b(?:correct|correctly|right|accurate|accurately|valid)\b", re.I)
_WRONG = re.compile(
    r"\b(?:incorrect|incorrectly|wrong|wrongly|inaccurate|error|errors|mistake|mistakes|flawed|fails|false|invalid)\b",
    re.I,
)
_COMPARED_WITH = re.compile(r"\b(?:than|over|to|with|against|unlike|of|from|by)\s*(?:the\s*|that of\s*)?$", re.I)
_FEW_WORDS = 60
"""Characters behind a response's name in which what is said must begin to be about it."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The favoured response, and the sentence that says so."""

    winner: str
    quote: str


def read_conclusion(text: str, named: re.Pattern[str], ids: dict[str, str]) -> Conclusion | None:
    """Reads which response the end of a text favours.

    Args:
        named: matches a response by noun and label; its group ``label`` is the label.
        ids: label -> response id.

    Returns:
        None where the last sentence that names a response favours none.
    """
    for sentence in _last_sentences(text):
        said = list(_said_of(sentence, named, ids))
        if said:
            winner = _favoured(sentence, said)
            return None if winner is None else Conclusion(winner, sentence)
    return None


def _last_sentences(text: str) -> list[str]:
    """The last two sentences, the last one first; none of a text that breaks off."""
    tail = text.rstrip()[-TAIL:]
    if not _FINISHED.search(tail):
        return []
    parts = [part.strip() for part in _SENTENCE_END.split(tail)]
    return [part for part in parts if part][-2:][::-1]


def _said_of(sentence: str, named: re.Pattern[str], ids: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(response id, what is said of it) for each mention; not of what is denied, or merely compared with."""
    mentions = list(named.finditer(sentence))
    begins = [0, *(found.end() for found in mentions)]
    ends = [*(found.start() for found in mentions), len(sentence)][1:]
    for found, begin, end in zip(mentions, begins, ends, strict=False):
        before, label = sentence[begin : found.start()], found["label"]
        if not _COMPARED_WITH.search(before) and not _DENIED.search(before):
            yield ids.get(label) or ids[label.casefold()], sentence[found.end() : end]


def _favoured(sentence: str, said: list[tuple[str, str]]) -> str | None:
    if _ALIKE.search(sentence):
        return None
    if not _CONCESSION.search(sentence):
        better = {name for name, words in said if _claims(_BETTER, words) and not _WRONG.search(words)}
        if better:
            return better.pop() if len(better) == 1 else None
    right = {name for name, words in said if _claims(_RIGHT, words) and not _WRONG.search(words)}
    wrong = {name for name, words in said if _claims(_WRONG, words) and not _RIGHT.search(words)}
    one_of_two = len(right) == len(wrong) == 1 and right != wrong
    return right.pop() if one_of_two else None


def _claims(pattern: re.Pattern[str], words: str) -> bool:
    found = pattern.search(words)
    return found is not None and found.start() <= _FEW_WORDS and _NOT.search(words, 0, found.start()) is None
