"""Whether a judge gave reasons, or its verdict alone."""

import re

from metajudge.types import Judgment

MAX_LABEL_WORDS = 3

_WORD = re.compile(r"[^\W_]+")
_MARK = re.compile(r"\[\[[^\[\]]{0,40}\]\]")
_OF_A_VERDICT = """
    a an analysis and answer answers are as assistant assistants based better both choice conclusion decision draw
    equal equally evaluation final first for good grade i in is it judgement judgment model more much my neither nor
    of on one option out output overall pick preference preferred rating response responses same score second shown
    significantly slightly so than that the then therefore thus tie tied to two verdict winner worse
"""
_last: tuple[Judgment, bool] | None = None
"""The judgment asked about last: all agents ask about one, and each of them twice."""
_KNOWN = frozenset(_OF_A_VERDICT.split())


def gives_reasons(judgment: Judgment) -> bool:
    """Whether the rationale says anything beside the verdict itself.

    It does not where nothing is left without marks such as ``[[A>B]]``, numbers, the responses' labels, the words of
    the verdict, and words that state one (``My final verdict is: Assistant A is slightly better``). Labels and verdicts
    of more than three words are taken for prose and left. The words are English: a verdict stated in another language
    counts as reasons.
    """
    global _last
    known = _last
    if known is None or known[0] is not judgment:
        known = _last = (judgment, _says_more(judgment))
    return known[1]


def _says_more(judgment: Judgment) -> bool:
    text = judgment.rationale.casefold()
    if "[[" in text:
        text = _MARK.sub(" ", text)
    named = (_WORD.findall(name.casefold()) for name in (*judgment.shown_labels, str(judgment.verdict)))
    known = _KNOWN.union(*(words for words in named if len(words) <= MAX_LABEL_WORDS))
    words = (found.group() for found in _WORD.finditer(text))  # mostly one of the first few decides
    return any(not word.isnumeric() and word not in known for word in words)
