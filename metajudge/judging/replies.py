"""From a pairwise judge's reply to a verdict, strictly: no verdict is ever guessed."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from metajudge.agents import ReplyProblemsError
from metajudge.agents.parse import load_object
from metajudge.providers.model import OutputSchema

MARKS = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
"""The five verdicts, in terms of the labels shown."""

SCHEMA = OutputSchema(
    "pairwise_judgment",
    {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "verdict": {"type": "string", "enum": list(MARKS)}},
        "required": ["reasoning", "verdict"],
        "additionalProperties": False,
    },
)
"""Reasoning first: constrained decoding writes properties in this order."""

_STATED = re.compile(r"(?:\"verdict\"\s*:\s*\"|\[\[)\s*([AB]\s*(?:>>|>|=)\s*[AB])\s*(?:\"|\]\])")


@dataclass(frozen=True, slots=True)
class PairwiseReply:
    """A judge's reasoning, and its verdict in terms of the labels shown."""

    reasoning: str
    mark: str


def parse_pairwise_reply(text: str) -> PairwiseReply:
    """Reads ``{"reasoning": string, "verdict": one of the five marks}`` and nothing else.

    A code fence around the object and a leading ``<think>`` block are tolerated.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    answer = load_object(text)
    problems = [f"unknown property {name!r}" for name in answer if name not in ("reasoning", "verdict")]
    problems += [f"{name} is missing" for name in ("reasoning", "verdict") if name not in answer]
    reasoning, mark = answer.get("reasoning", ""), answer.get("verdict", MARKS[0])
    if not isinstance(reasoning, str):
        problems.append("reasoning must be a string")
    if mark not in MARKS:
        problems.append(f"verdict must be one of {', '.join(MARKS)}, not {_short(mark)}")
    if problems:
        raise ReplyProblemsError(problems)
    return PairwiseReply(reasoning, mark)


def stated_marks(text: str) -> Sequence[str]:
    """The different verdicts a text states as a property or in double brackets, in order of appearance."""
    return list(dict.fromkeys(re.sub(r"\s", "", mark) for mark in _STATED.findall(text)))


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
