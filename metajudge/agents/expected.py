"""The expected score of a criterion, from the probabilities of the tokens its score was written with.

``E = sum_k k p(k) / sum_k p(k)`` over the points ``k`` of the scale, as in "G-Eval: NLG Evaluation using GPT-4 with
Better Human Alignment" (arXiv 2303.16634), section 2.3; the denominator is the digit mass. A binary rubric's two
words are points like any other.

A point may take several tokens (``1`` and ``0``), and one token may begin several points (``1`` begins ``10``). Along
the tokens the model wrote, probabilities multiply, so that both points get their exact share. Where the model did
not continue after such a token, what would have followed is unknown: that probability goes to no point, and too much
of it means that there is no expected score. One thing is taken for granted: a tokeniser that has written a number of
``d`` digits as one token anywhere in the reply does so for all numbers of up to ``d`` digits.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from metajudge.agents.schema import VOTES
from metajudge.providers.json_spans import TextSpan
from metajudge.rubric import Rubric
from metajudge.types import TokenChoice

MIN_DIGIT_MASS = 0.8
"""With less probability on the scale's points the rest could move the expected score by more than a fifth of the
scale."""

MAX_AMBIGUOUS = 0.01
"""Most probability that may be on tokens of which it is unknown which point they begin."""

_DIGITS = re.compile(r"\s*([0-9]+)\s*\Z")
_NUMBER = re.compile(r"-?[0-9]*(?:\.[0-9]*)?")
_MAX_TOTAL = 1.01  # rounded logarithms may add up to a little more than one


class NoExpectedScoreError(ValueError):
    """The token probabilities do not determine an expected score; the message says why."""


@dataclass(frozen=True, slots=True)
class Expected:
    """An expected score.

    Attributes:
        score: in the range of the scale.
        digit_mass: probability on the scale's points, in (0, 1], before it was renormalised.
    """

    score: float
    digit_mass: float


def literals_of(rubric: Rubric) -> dict[str, float]:
    """How an answer writes each point of the scale: as a number, or as the words of a binary rubric."""
    if rubric.kind == "binary":
        return dict(zip(VOTES, (float(rubric.scale.high), float(rubric.scale.low)), strict=True))
    return {f"{point:.9f}".rstrip("0").rstrip("."): float(point) for point in rubric.scale.points}


def expected_score(
    text: str, span: TextSpan, tokens: Sequence[TokenChoice], points: Mapping[str, float], longest_number: int = 1
) -> Expected:
    """The expected value of the value in a span of a reply.

    Args:
        text: the reply.
        span: the score as written: a number, or a string with its quotes.
        tokens: of the reply, in order; those that overlap the span, and the next one, are looked at.
        points: literal -> point, see :func:`literals_of`.
        longest_number: digits of the longest number that is one token in this reply, see :func:`longest_number`.

    Raises:
        NoExpectedScoreError: the probabilities do not determine one.
    """
    word = text[span.start] == '"'
    inner = TextSpan(span.start + 1, span.end - 1) if word else span
    walk = _Walk(points, word, longest_number)
    path = [token for token in tokens if token.start + len(token.text) > inner.start and token.start <= inner.end]
    if not path or path[0].start > inner.start:
        raise NoExpectedScoreError("there are no token probabilities at the score")
    lead = text[max(path[0].start, 0) : inner.start]
    for token in path:
        if text[max(token.start, 0) : token.start + len(token.text)] != token.text[max(-token.start, 0) :]:
            raise NoExpectedScoreError("the token at the score does not spell it")
        if walk.step(token, lead):
            return walk.result()
        lead = ""
    raise NoExpectedScoreError("the tokens returned end before the score does")


def longest_number(tokens: Iterable[TokenChoice]) -> int:
    """Digits of the longest whole number that is one token, chosen or not."""
    texts = (text for token in tokens for text in (token.text, *(other for other, _ in token.alternatives)))
    return max((len(found[1]) for text in texts if (found := _DIGITS.match(text))), default=1)


@dataclass(slots=True)
class _Walk:
    """Goes along the tokens written and shares out the probability of every way that leaves there."""

    points: Mapping[str, float]
    word: bool
    longest_number: int
    mass: dict[float, float] = field(default_factory=lambda: defaultdict(float))
    ambiguous: float = 0.0
    reached: float = 1.0
    prefix: str = ""

    def step(self, token: TokenChoice, lead: str) -> bool:
        """Takes one token of the reply; ``lead`` is its text before the score. True at the score's end."""
        ways = [(token.text, token.logprob), *token.alternatives]
        if math.fsum(math.exp(logprob) for _, logprob in ways) > _MAX_TOTAL:
            raise NoExpectedScoreError("the probabilities of a token's alternatives add up to more than one")
        for text, logprob in token.alternatives:
            rest = self._rest(lead, text)
            if rest:
                self._leave(self.prefix + rest, self.reached * math.exp(logprob))
        self.prefix += self._rest(lead, token.text) or ""
        self.reached *= math.exp(token.logprob)
        point, open_end = self._read(self.prefix)
        if point is not None and not open_end:
            self.mass[point] += self.reached
            return True
        if not open_end and self.prefix:
            raise NoExpectedScoreError(f"{self.prefix[:20]!r} is not a usual spelling of a point of the scale")
        return False

    def result(self) -> Expected:
        total = math.fsum(self.mass.values())
        if self.ambiguous > MAX_AMBIGUOUS:
            raise NoExpectedScoreError(
                f"{self.ambiguous:.1%} of the probability is on tokens that begin several points of the scale"
            )
        if total < MIN_DIGIT_MASS:
            raise NoExpectedScoreError(
                f"only {total:.1%} of the probability is on points of the scale ({MIN_DIGIT_MASS:.0%} are needed)"
            )
        if total > _MAX_TOTAL:
            raise NoExpectedScoreError("the probabilities of the scale's points add up to more than one")
        score = math.fsum(point * mass for point, mass in self.mass.items()) / total
        low, high = min(self.points.values()), max(self.points.values())
        return Expected(round(min(max(score, low), high), 9), round(min(total, 1.0), 9))

    def _rest(self, lead: str, text: str) -> str | None:
        """The part of the value that a token adds."""
        return text if self.prefix else _after(lead, text, self.word)

    def _leave(self, prefix: str, mass: float) -> None:
        point, open_end = self._read(prefix)
        if open_end and not self._is_whole(prefix, point):
            self.ambiguous += mass
        elif point is not None:
            self.mass[point] += mass

    def _read(self, prefix: str) -> tuple[float | None, bool]:
        """The point that was written, if any, and whether what follows could still make another one of it."""
        value, ended = self._value(prefix)
        if ended:
            return self._point(value), False
        begun = [point for literal, point in self.points.items() if literal.startswith(value)]
        if self.word:  # the beginning of one word alone is that word
            return (begun[0], False) if len(begun) == 1 else (None, bool(begun))
        if value.endswith("."):
            return None, True
        point = self._point(value)
        return point, any(other != point for other in begun)

    def _value(self, prefix: str) -> tuple[str, bool]:
        """The value's text so far, and whether the value ends within it."""
        if self.word:
            value, quote, _ = prefix.partition('"')
            return value, bool(quote)
        found = _NUMBER.match(prefix)
        value = "" if found is None else found[0]
        return value, len(value) < len(prefix)

    def _point(self, value: str) -> float | None:
        if self.word or value in self.points:
            return self.points.get(value)
        try:
            number = float(value)
        except ValueError:
            return None
        return next((point for point in self.points.values() if point == round(number, 9)), None)

    def _is_whole(self, prefix: str, point: float | None) -> bool:
        """Whether a number that others begin with is known to be no beginning: they would be one token."""
        if point is None or self.word or not prefix.isdigit():
            return False
        longer = [literal for literal in self.points if literal.startswith(prefix) and literal != prefix]
        return all(literal.isdigit() and len(literal) <= self.longest_number for literal in longer)


def _after(lead: str, text: str, word: bool) -> str | None:
    """A token's part of the value, without the text before the value; None where that text differs.

    White space between JSON's signs may differ from what was written.
    """
    at = 0
    for sign in "".join(lead.split()):
        at += len(text[at:]) - len(text[at:].lstrip())
        if text[at : at + 1] != sign:
            return None
        at += 1
    return text[at:] if word else text[at:].lstrip()
