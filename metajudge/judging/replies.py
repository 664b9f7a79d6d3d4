"""From a pairwise judge's reply to a verdict, strictly: no verdict is ever guessed."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from metajudge.agents import ReplyProblemsError
from metajudge.agents.parse import load_object, name_problems, shortened
from metajudge.agents.schema import object_schema
from metajudge.providers.model import OutputSchema

V = TypeVar("V")

MARKS = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
"""The five verdicts, in terms of the labels shown."""


def reasoned_schema(name: str, verdict: str, kind: dict[str, Any]) -> OutputSchema:
    """A reply of reasoning and a verdict. Reasoning first: constrained decoding writes properties in this order."""
    return OutputSchema(name, object_schema({"reasoning": {"type": "string"}, verdict: kind}))


SCHEMA = reasoned_schema("pairwise_judgment", "verdict", {"type": "string", "enum": list(MARKS)})

_STATED = re.compile(r"(?:\"verdict\"\s*:\s*\"|\[\[)\s*([AB]\s*(?:>>|>|=)\s*[AB])\s*(?:\"|\]\])")


@dataclass(frozen=True, slots=True)
class Reasoned(Generic[V]):
    """A judge's reasoning, and its verdict: a mark in terms of the labels shown, or a grade."""

    reasoning: str
    verdict: V


def parse_pairwise_reply(text: str) -> Reasoned[str]:
    """Reads ``{"reasoning": string, "verdict": one of the five marks}`` and nothing else.

    A code fence around the object and a leading ``<think>`` block are tolerated.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    return read_reasoned(text, "verdict", _fault)


def _fault(mark: Any) -> str | None:
    return None if mark in MARKS else f"verdict must be one of {', '.join(MARKS)}, not {shortened(mark)}"


def read_reasoned(text: str, verdict: str, fault_of: Callable[[Any], str | None]) -> Reasoned[Any]:
    """The reasoning and the verdict of a reply with exactly these two properties.

    Args:
        fault_of: what is wrong with its value; None for a good one.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    answer = load_object(text)
    problems = name_problems(answer, ("reasoning", verdict))
    if not isinstance(answer.get("reasoning", ""), str):
        problems.append("reasoning must be a string")
    fault = fault_of(answer[verdict]) if verdict in answer else None
    problems += [fault] if fault else []
    if problems:
        raise ReplyProblemsError(problems)
    return Reasoned(answer["reasoning"], answer[verdict])


def stated_marks(text: str) -> Sequence[str]:
    """The different verdicts a text states as a property or in double brackets, in order of appearance."""
    return list(dict.fromkeys(re.sub(r"\s", "", mark) for mark in _STATED.findall(text)))
