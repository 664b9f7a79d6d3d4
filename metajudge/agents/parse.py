"""From an agent's reply to criterion scores, strictly: no score is ever guessed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from metajudge.agents.schema import ANALYSIS, EXPLAINED, VOTES
from metajudge.prompts.reply_form import ReplyForm
from metajudge.providers.thoughts import bare_answer
from metajudge.rubric import Rubric
from metajudge.types import CriterionScore, valid_text


class ReplyProblemsError(ValueError):
    """A reply that is not the JSON object asked for; ``problems`` are sentences the agent can act on."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What an agent's reply says.

    Attributes:
        criteria: one score with its explanation per criterion of the rubric, in rubric order.
        analysis: the text before the scores; None where none was asked for, or none was given.
    """

    criteria: dict[str, CriterionScore]
    analysis: str | None = None


def parse_reply(text: str, rubric: Rubric, form: ReplyForm = EXPLAINED) -> ParsedReply:
    """Reads a reply.

    The reply must be one JSON object and nothing else; a code fence around it and a leading ``<think>`` block
    are tolerated. Scores must be numbers on the rubric's scale (``"5"`` is not), each criterion must be there
    exactly once. A binary rubric's ``correct`` and ``wrong`` become the scale's ends; ``null`` is a score only
    where the criterion is optional. An analysis that is missing or empty refuses no scores.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    answer = load_object(text)
    analysis = free_text(answer.pop(ANALYSIS, None)) if form.analysis else None
    problems = [f"unknown property {name!r}" for name in answer if name not in rubric.scored_names]
    optional = {criterion.name for criterion in rubric.criteria if criterion.optional}
    scores: dict[str, CriterionScore] = {}
    for name in rubric.scored_names:
        if name not in answer:
            problems.append(f"{name} is missing")
            continue
        try:
            scores[name] = _entry(name, answer[name], rubric, form, name in optional)
        except ReplyProblemsError as found:
            problems.extend(found.problems)
    if not problems and all(score.score is None for score in scores.values()):
        problems.append("every criterion is marked as not applicable: at least one must be scored")
    if problems:
        raise ReplyProblemsError(problems)
    return ParsedReply(scores, analysis)


def free_text(value: Any) -> str | None:
    """An analysis, also where it is not a string but, say, a list of steps; None where it is empty."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return valid_text(text.strip()) or None


def load_object(text: str) -> dict[str, Any]:
    """The one JSON object a reply is, with nothing but a code fence or a thought around it.

    Raises:
        ReplyProblemsError: it is something else, or gives a name twice.
    """
    body = bare_answer(text)
    if not body:
        raise ReplyProblemsError(["the reply is empty"])
    try:
        answer = DECODER.decode(body)
    except ReplyProblemsError:
        raise
    except RecursionError:
        raise ReplyProblemsError(["the JSON is nested too deeply"]) from None
    except ValueError as error:
        raise ReplyProblemsError([f"the reply is not one JSON object: {error}"]) from None
    if not isinstance(answer, dict):
        raise ReplyProblemsError([f"the reply is a JSON {type(answer).__name__}, not an object"])
    return answer


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    answer = dict(pairs)
    if len(answer) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise ReplyProblemsError([f"{name} is given more than once" for name in repeated])
    return answer


def _no_constant(name: str) -> NoReturn:
    raise ReplyProblemsError([f"{name} is not a JSON value"])


# Line feeds inside strings, which long texts of models have, change no value (strict=False).
DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, strict=False)


def _entry(name: str, entry: Any, rubric: Rubric, form: ReplyForm, optional: bool) -> CriterionScore:
    if not isinstance(entry, dict):
        raise ReplyProblemsError([f"{name} must be an object, not {shortened(entry)}"])
    field = "verdict" if rubric.kind == "binary" else "score"
    explanation = entry.get("explanation", "" if form.explanations == "none" else None)
    problems = [f"{name} has an unknown property {key!r}" for key in entry if key not in (field, "explanation")]
    if not isinstance(explanation, str):
        problems.append(f"{name}.explanation must be a string")
    if field not in entry:
        problems.append(f"{name}.{field} is missing")
    if problems:
        raise ReplyProblemsError(problems)
    return CriterionScore(score=_score(name, entry[field], rubric, optional), explanation=valid_text(str(explanation)))


def _score(name: str, value: Any, rubric: Rubric, optional: bool) -> float | None:
    if rubric.kind == "binary":
        if value not in VOTES:
            raise ReplyProblemsError([f"{name}.verdict must be 'correct' or 'wrong', not {shortened(value)}"])
        return float(rubric.scale.high if value == "correct" else rubric.scale.low)
    if value is None and optional:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not rubric.scale.contains(value):
        points = ", ".join(f"{point:g}" for point in rubric.scale.points)
        raise ReplyProblemsError([f"{name}.score must be one of the numbers {points}, not {shortened(value)}"])
    return float(value)


def name_problems(answer: Mapping[str, Any], names: Sequence[str], where: str = "") -> list[str]:
    """What is wrong with the names of an object's properties; each of ``names`` is needed, and no other allowed.

    Args:
        where: the object's path in the reply; empty for the reply itself.
    """
    unknown = f"{where} has an unknown property" if where else "unknown property"
    path = f"{where}." if where else ""
    problems = [f"{unknown} {name!r}" for name in answer if name not in names]
    return problems + [f"{path}{name} is missing" for name in names if name not in answer]


def shortened(value: Any) -> str:
    """A value as JSON in at most 60 characters, for a message."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError, TypeError):
        text = type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
