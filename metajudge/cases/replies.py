"""From a case judge's reply to criterion results, strictly: no score is ever guessed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from metajudge.agents import ReplyProblemsError
from metajudge.agents.parse import load_object, name_problems, shortened
from metajudge.agents.schema import object_schema
from metajudge.providers.model import OutputSchema
from metajudge.rubric import Rubric

MAX_ENTRIES = 50
"""More pieces of evidence, or weaknesses, of one criterion are a reply gone wrong."""


@dataclass(frozen=True, slots=True)
class CriterionReply:
    """A judge's reply on one criterion; ``score`` and ``confidence`` are None where it does not apply."""

    score: float | None
    confidence: float | None
    comment: str
    evidence: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()


def fields_of(rubric: Rubric) -> tuple[str, ...]:
    """The properties of each criterion's answer, in the order of asking: reasons before the score."""
    return (
        "comment",
        *(name for name in ("evidence", "weaknesses") if name in rubric.asks),
        "score",
        *(name for name in ("confidence",) if name in rubric.asks),
    )


def case_schema(rubric: Rubric) -> OutputSchema:
    """The answer's JSON Schema: one required property a criterion, scores as an enumeration of the scale's points."""
    properties = {criterion.name: object_schema(_entry(rubric, criterion.optional)) for criterion in rubric.criteria}
    return OutputSchema("case_evaluation", object_schema(properties))


def parse_case_reply(text: str, rubric: Rubric) -> dict[str, CriterionReply]:
    """Reads one entry for each criterion of a rubric, in rubric order.

    Raises:
        ReplyProblemsError: with every problem found: missing or unknown criteria and properties, a score off the scale,
            a confidence outside 0..1.
    """
    answer = load_object(text)
    names = [criterion.name for criterion in rubric.criteria]
    problems = [f"unknown property {name!r}" for name in answer if name not in names]
    found: dict[str, CriterionReply] = {}
    for criterion in rubric.criteria:
        if criterion.name not in answer:
            problems.append(f"{criterion.name} is missing")
            continue
        entry = answer[criterion.name]
        wrong = _problems(criterion.name, entry, rubric, criterion.optional)
        problems += wrong
        if not wrong:
            found[criterion.name] = _reply(entry)
    if not problems and all(reply.score is None for reply in found.values()):
        problems.append("every criterion is marked as not applicable: at least one must be scored")
    if problems:
        raise ReplyProblemsError(problems)
    return found


def _reply(entry: dict[str, Any]) -> CriterionReply:
    score, confidence = entry["score"], entry.get("confidence")
    return CriterionReply(
        score=None if score is None else float(score),
        confidence=None if confidence is None or score is None else float(confidence),
        comment=entry["comment"],
        evidence=tuple(entry.get("evidence", ())),
        weaknesses=tuple(entry.get("weaknesses", ())),
    )


def _problems(name: str, entry: Any, rubric: Rubric, optional: bool) -> list[str]:
    if not isinstance(entry, dict):
        return [f"{name} must be an object, not {shortened(entry)}"]
    fields = fields_of(rubric)
    found = name_problems(entry, fields, name)
    if "comment" in entry and not isinstance(entry["comment"], str):
        found.append(f"{name}.comment must be a string")
    for field in ("evidence", "weaknesses"):
        if field in entry and field in fields:
            found += _list_problems(f"{name}.{field}", entry[field])
    if "score" in entry:
        points = ", ".join(f"{point:g}" for point in rubric.scale.points)
        fits, words = rubric.scale.contains, f"one of the numbers {points}"
        found += _number_problems(f"{name}.score", entry["score"], optional, fits, words)
    if "confidence" in entry and "confidence" in fields:
        unscored = optional and entry.get("score", 0) is None
        where = f"{name}.confidence"
        found += _number_problems(
            where, entry["confidence"], unscored, lambda one: 0 <= one <= 1, "a number from 0 to 1"
        )
    return found


def _list_problems(where: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return [f"{where} must be a list of strings"]
    return [f"{where} has {len(value)} entries; at most {MAX_ENTRIES}"] if len(value) > MAX_ENTRIES else []


def _number_problems(where: str, value: Any, optional: bool, fits: Callable[[float], bool], words: str) -> list[str]:
    if value is None and optional:
        return []
    if isinstance(value, bool) or not isinstance(value, int | float) or not fits(value):
        return [f"{where} must be {words}, not {shortened(value)}"]
    return []


def _entry(rubric: Rubric, optional: bool) -> dict[str, Any]:
    points = list(rubric.scale.points)
    score: dict[str, Any] = {
        "type": "integer" if all(isinstance(point, int) for point in points) else "number",
        "enum": points,
    }
    confidence: dict[str, Any] = {"type": "number"}
    texts = {"type": "array", "items": {"type": "string"}}
    kinds: dict[str, dict[str, Any]] = {
        "comment": {"type": "string"},
        "evidence": texts,
        "weaknesses": texts,
        "score": {"anyOf": [score, {"type": "null"}]} if optional else score,
        "confidence": {"anyOf": [confidence, {"type": "null"}]} if optional else confidence,
    }
    return {name: kinds[name] for name in fields_of(rubric)}
