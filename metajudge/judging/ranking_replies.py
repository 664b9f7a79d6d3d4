"""From a judge's reply to a ranking of labels and to scores, strictly: no place is ever guessed.

A ranking is written ``"A1 > A0 > A2"``; with ties allowed also ``"A1 > A0 = A2"``. Up to :data:`LISTED` different
rankings (:data:`LISTED_COMPACT` in a compact one) the schema lists them all, so that constrained decoding cannot write
anything but a permutation; beyond that it asks for a list of labels. Both forms are always read.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any

from metajudge.agents import ReplyProblemsError
from metajudge.agents.parse import free_text, load_object, name_problems, shortened
from metajudge.agents.schema import ANALYSIS, object_schema
from metajudge.judging.blinding import label_of
from metajudge.providers.model import OutputSchema
from metajudge.types import valid_text
from metajudge.types.frozen import Finite

POINTS = (1, 2, 3, 4, 5)
"""The scale of a criterion."""

REASON_NEEDED = 3
"""A score up to this one needs a reason."""

REASON_WORDS = 15
"""Words a reason may have; what is longer is cut there, and marked."""

LISTED = 120
"""Rankings a schema lists at most: all orders of five responses."""

LISTED_COMPACT = 24
"""The same where the schema is to be compact: all orders of four responses. Beyond it asks for a list of labels."""

Groups = tuple[tuple[str, ...], ...]


class Score(Finite):
    """One score from 1 to 5, with the judge's reason where it gave one."""

    score: int
    reason: str = ""
    notes: tuple[str, ...] = ()  # no_reason where a low score has none, cut where the reason was longer


@dataclass(frozen=True, slots=True)
class RankingReply:
    """A ranking of labels with its reasons and scores.

    Attributes:
        reasons: the free text of the reply: the analysis, or in the first sets the comparison.
        scores: label -> criterion's key -> grade; empty where none were asked for.
    """

    groups: Groups
    reasons: str = ""
    scores: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)


@lru_cache(maxsize=256)
def ranking_schema(
    count: int, criteria: tuple[str, ...] = (), *, ties: bool = False, compact: bool = False, analysis: bool = False
) -> OutputSchema:
    """The shape of a reply: an analysis that is not scored, then scores, then the ranking, which follows from them.

    Args:
        ties: whether responses may share a place.
        compact: list at most :data:`LISTED_COMPACT` rankings, not :data:`LISTED`.
        analysis: False for the form of the first prompt sets: scores first, then a comparison.
    """
    labels = [label_of(place) for place in range(count)]
    text = {"type": "string"}
    properties: dict[str, Any] = {ANALYSIS: text} if analysis else {}
    if criteria:
        grade = object_schema({"reason": {"type": "string"}, "score": {"type": "integer", "enum": list(POINTS)}})
        properties["scores"] = object_schema({label: object_schema(dict.fromkeys(criteria, grade)) for label in labels})
    if not analysis:
        properties["comparison"] = text
    label, listed = {"type": "string", "enum": labels}, LISTED_COMPACT if compact else LISTED
    properties["ranking"] = {"type": "array", "items": {"type": "array", "items": label} if ties else label}
    if math.factorial(count) <= listed:  # with ties there are more
        strict = [" > ".join(order) for order in permutations(labels)]
        orders = sorted(map(written, _weak_orders(tuple(labels)))) if ties else strict
        if len(orders) <= listed:
            properties["ranking"] = {"type": "string", "enum": orders}
    return OutputSchema("ranking", object_schema(properties))


def written(groups: Sequence[Sequence[str]]) -> str:
    """A ranking as it is written: ``A1 > A0 = A2``."""
    return " > ".join(" = ".join(group) for group in groups)


def parse_ranking_reply(
    text: str, labels: Sequence[str], criteria: Sequence[str] = (), *, ties: bool = False, analysis: bool = False
) -> RankingReply:
    """Reads a reply of the shape of :func:`ranking_schema` and nothing else.

    A code fence around the object and a leading ``<think>`` block are tolerated. A ranking that misses a label, names
    one twice or knows another one is a problem, never mended. An analysis that is missing refuses no ranking.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    answer = load_object(text)
    reasons: Any = answer.get("comparison", "")
    if analysis:  # the text of the former form is read, too: neither of them is scored
        reasons = free_text(answer.pop(ANALYSIS, answer.pop("comparison", None))) or ""
    known = ("scores", "ranking") if criteria else ("ranking",)
    problems = name_problems(answer, known if analysis else (*known[:-1], "comparison", "ranking"))
    if not isinstance(reasons, str):
        problems.append("comparison must be a string")
    groups = _groups(answer["ranking"], labels, ties, problems) if "ranking" in answer else ()
    scores = _scores(answer["scores"], labels, criteria, problems) if criteria and "scores" in answer else {}
    if problems:
        raise ReplyProblemsError(problems)
    return RankingReply(groups, valid_text(reasons), scores)


def _groups(value: object, labels: Sequence[str], ties: bool, problems: list[str]) -> Groups:
    if isinstance(value, str):
        groups: list[Any] = [[label.strip() for label in group.split("=")] for group in value.split(">")]
    elif isinstance(value, list):
        groups = [group if isinstance(group, list) else [group] for group in value]
    else:
        problems.append(f"ranking must be written like {' > '.join(labels)!r}, not {_short(value)}")
        return ()
    given = [label for group in groups for label in group]
    wrong = [label for label in given if label not in labels]
    if wrong:
        names = ", ".join(_short(one) or "an empty label" for one in wrong)
        problems.append(f"ranking names {names}; the labels are {', '.join(labels)}")
    repeated = [label for label in labels if given.count(label) > 1]
    if repeated:
        problems.append(f"ranking names {', '.join(repeated)} more than once")
    missing = [label for label in labels if label not in given]
    if missing:
        problems.append(f"ranking leaves out {', '.join(missing)}: it must name each of the {len(labels)} labels once")
    if not all(groups):
        problems.append("ranking holds an empty place")
    if not ties and any(len(group) > 1 for group in groups):
        problems.append("ranking holds a tie: every response needs a place of its own")
    return tuple(tuple(map(str, group)) for group in groups)


def _scores(
    value: object, labels: Sequence[str], criteria: Sequence[str], problems: list[str]
) -> dict[str, dict[str, Score]]:
    found: dict[str, dict[str, Score]] = {}
    for label, row in _rows(value, labels, "scores", problems):
        found[label] = {}
        for key, entry in _rows(row, criteria, f"scores.{label}", problems):
            grade = _grade(entry, f"scores.{label}.{key}", problems)
            if grade is not None:
                found[label][key] = grade
    return found


def _rows(value: object, names: Sequence[str], where: str, problems: list[str]) -> list[tuple[str, object]]:
    """The entries of an object that must have exactly these names."""
    if not isinstance(value, dict):
        problems.append(f"{where} must be an object, not {_short(value)}")
        return []
    problems += name_problems(value, names, where)
    return [(name, value[name]) for name in names if name in value]


def _grade(entry: object, where: str, problems: list[str]) -> Score | None:
    fields = dict(_rows(entry, ("reason", "score"), where, problems))
    score, reason = fields.get("score"), fields.get("reason")
    if isinstance(score, bool) or not isinstance(score, int | float) or score not in POINTS:
        if "score" in fields:
            problems.append(f"{where}.score must be one of {', '.join(map(str, POINTS))}, not {_short(score)}")
        return None
    if not isinstance(reason, str):
        if "reason" in fields:
            problems.append(f"{where}.reason must be a string")
        return None
    words = valid_text(reason).split()
    marks = {"no_reason": score <= REASON_NEEDED and not words, "cut": len(words) > REASON_WORDS}
    notes = tuple(name for name, holds in marks.items() if holds)
    return Score(score=int(score), reason=" ".join(words[:REASON_WORDS]), notes=notes)


def _weak_orders(labels: tuple[str, ...]) -> Iterator[Groups]:
    if not labels:
        yield ()
        return
    for size in range(1, len(labels) + 1):
        for first in combinations(labels, size):
            rest = tuple(label for label in labels if label not in first)
            yield from ((first, *tail) for tail in _weak_orders(rest))


def _short(value: object) -> str:
    plain = isinstance(value, str) and value and value.isprintable() and len(value) <= 60
    return str(value) if plain else shortened(value)
