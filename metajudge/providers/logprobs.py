"""Token probabilities as chat completions return them, reduced to the tokens of a reply's values.

A reply of four hundred tokens comes with eight thousand alternatives, of which a score needs some twenty. What is
kept are the tokens of numbers and single words in the reply's JSON, each with the token after it, which tells where
a number ends.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from metajudge.providers.json_spans import TextSpan, value_spans
from metajudge.types import TokenChoice, TokenProbabilities

TOP_LOGPROBS = 20
"""Alternatives asked for at each token: the most that OpenAI gives."""

FEWER_TOP_LOGPROBS = 5
"""Alternatives asked for where a server refuses that many."""

NOT_RETURNED = "the server returned no token probabilities"

_LONGEST_WORD = 16
_ROUNDED_ZERO = 1e-6


@dataclass(frozen=True, slots=True)
class _Token:
    raw: bytes
    logprob: float
    top: Any


def read_logprobs(logprobs: Any, text: str) -> TokenProbabilities:
    """Reads ``choices[0].logprobs`` of an answer whose text is ``text``.

    Tokens may stand before and after the text (thoughts, an end token), and several may share a character (each then
    contains some of its bytes). Nothing is guessed: tokens that do not spell the text are as good as none.
    """
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not content:
        return TokenProbabilities(absent=NOT_RETURNED)
    tokens = [_token(entry) for entry in content]
    known = [token for token in tokens if token is not None]
    if len(known) < len(tokens):
        return TokenProbabilities(absent="the server returned token probabilities in a form that cannot be read")
    ends = list(accumulate(len(token.raw) for token in known))
    spelled, wanted = b"".join(token.raw for token in known), text.encode("utf-8", "surrogatepass")
    at = spelled.find(wanted)
    if at < 0 or spelled.find(wanted, at + 1) >= 0:
        return TokenProbabilities(absent="the tokens returned do not spell the reply")
    chosen = sorted({index for span in _wanted_spans(text) for index in _covering(span, text, at, ends)})
    return TokenProbabilities(tuple(_choice(known[i], ends[i] - len(known[i].raw) - at, wanted) for i in chosen))


def _token(entry: Any) -> _Token | None:
    if not isinstance(entry, dict):
        return None
    raw, logprob = _raw(entry), _logprob(entry.get("logprob"))
    return None if raw is None or logprob is None else _Token(raw, logprob, entry.get("top_logprobs"))


def _raw(entry: dict[str, Any]) -> bytes | None:
    """The token's bytes; ``token`` alone cannot show a part of a character."""
    given, token = entry.get("bytes"), entry.get("token")
    if isinstance(given, list):
        try:
            return bytes(given)
        except (ValueError, TypeError):
            return None
    return token.encode("utf-8", "surrogatepass") if isinstance(token, str) else None


def _logprob(value: Any) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and value <= _ROUNDED_ZERO
    return min(float(value), 0.0) if usable else None


def _wanted_spans(text: str) -> list[TextSpan]:
    """Numbers and short strings; the character after a number is part of what tells its value."""
    spans = []
    for span in value_spans(text).values():
        if text[span.start] != '"':
            spans.append(TextSpan(span.start, min(span.end + 1, len(text))))
        elif span.end - span.start - 2 <= _LONGEST_WORD:
            spans.append(span)
    return spans


def _covering(span: TextSpan, text: str, at: int, ends: list[int]) -> range:
    """Indices of the tokens that contain some of the span's bytes."""
    start = at + len(text[: span.start].encode("utf-8", "surrogatepass"))
    end = start + len(text[span.start : span.end].encode("utf-8", "surrogatepass"))
    return range(bisect_right(ends, start), bisect_right(ends, end - 1) + 1)


def _choice(token: _Token, start: int, text: bytes) -> TokenChoice:
    """The token with its offset in characters; alternatives that cannot be read are left out."""
    alternatives = []
    for entry in token.top if isinstance(token.top, list) else ():
        other = _token(entry)
        if other is not None and other.raw != token.raw:
            alternatives.append((_shown(other.raw), other.logprob))
    before = len(text[: max(start, 0)].decode("utf-8", "ignore"))
    return TokenChoice(min(start, before), _shown(token.raw), token.logprob, tuple(alternatives))


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
