"""A human's basic rubric, refined by a model: descriptions, a text for every level, weights.

After "Leveraging LLMs as Meta-Judges" (arXiv 2504.17087), where a model refines the rubric that people wrote. The reply
is validated against the rubric model, repaired once, and refused otherwise: no criterion is ever made up to fill a gap.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import yaml
from pydantic import ValidationError

from metajudge.agents import ReplyProblemsError
from metajudge.agents.exchange import Answer, ask
from metajudge.agents.parse import load_object
from metajudge.agents.schema import object_schema
from metajudge.errors import RubricError
from metajudge.prompts.writers import render_refining, render_refining_system
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.rubric import Rubric, Scale, validate_rubric_text
from metajudge.types import valid_text

MOST_CRITERIA = 10
MOST_WEIGHT = 10
MOST_CHARACTERS = 20_000
"""Longer notes are no basic rubric."""

SCALE = Scale()

PARAMETERS = Parameters(temperature=0.3, max_tokens=8000)
"""Default parameters of the model call."""

_ITEM = re.compile(r"^\s*(?:[-*+•]|\(?\d{1,2}[.)])\s+(?=\S)")
_HEADING = re.compile(r"^\s*#")


@dataclass(frozen=True, slots=True)
class Notes:
    """A person's notes on what matters in a judgment.

    Attributes:
        text: with a number before each note, where the text is a list.
        count: how many numbered notes there are; 0 for running text.
    """

    text: str
    count: int


def read_notes(text: str, source: str) -> Notes:
    """Recognises lists: in YAML, in Markdown, or a line each with a bullet or a number; all else is running text.

    Raises:
        RubricError: nothing in it, or too much.
    """
    text = valid_text(text).strip()
    if not text:
        raise RubricError(f"{source} is empty: write down what matters in a judgment, one point a line")
    if len(text) > MOST_CHARACTERS:
        raise RubricError(
            f"{source} has {len(text):,} characters, which is no basic rubric: at most {MOST_CHARACTERS:,}, and the "
            "model writes the details"
        )
    notes = _yaml_notes(text) or _listed_notes(text)
    if not notes:
        return Notes(text, 0)
    return Notes("\n".join(f"{number}. {note}" for number, note in enumerate(notes, start=1)), len(notes))


def _yaml_notes(text: str) -> list[str]:
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        return []
    if isinstance(data, dict):
        lists = [value for value in data.values() if isinstance(value, list)]
        data = lists[0] if len(lists) == 1 else [{key: value} for key, value in data.items()]
        if any(len(_one_line(value)) > 2000 for value in data):
            return []
    if not isinstance(data, list) or not data:
        return []
    return [_one_line(value) for value in data]


def _one_line(value: Any) -> str:
    if isinstance(value, dict):
        value = "; ".join(f"{key}: {_one_line(entry)}" for key, entry in value.items())
    elif isinstance(value, list):
        value = ", ".join(_one_line(entry) for entry in value)
    return " ".join(str(value).split())


def _listed_notes(text: str) -> list[str]:
    """The items of a list, each with its continuation lines; text before the first item is ignored."""
    notes: list[str] = []
    for line in text.splitlines():
        if _HEADING.match(line):
            continue
        if _ITEM.match(line):
            notes.append(_ITEM.sub("", line).strip())
        elif notes and line.strip():
            notes[-1] += f" {line.strip()}"
    return notes


def rubric_name(source: str) -> str:
    """A legal name made of a file's."""
    words = re.sub(r"[^a-z0-9]+", "_", PurePath(source).stem.lower()).strip("_")
    return (words if words[:1].isalpha() else f"rubric_{words}").strip("_")[:64]


_SLOTS = tuple(f"c{number}" for number in range(1, MOST_CRITERIA + 1))

_CRITERION = object_schema(
    {
        **{name: {"type": "string"} for name in ("name", "title", "description")},
        "weight": {"type": "integer", "enum": list(range(1, MOST_WEIGHT + 1))},
        "levels": object_schema({str(point): {"type": "string"} for point in SCALE.points}),
        "notes": {"type": "array", "items": {"type": "integer"}},
    }
)
_MORE = {"anyOf": [_CRITERION, {"type": "null"}]}
_TEXTS = {name: {"type": "string"} for name in ("title", "description")}
SCHEMA = OutputSchema(
    "rubric", object_schema({**_TEXTS, **{slot: _CRITERION if slot == "c1" else _MORE for slot in _SLOTS}})
)
"""A property for each criterion: lists with a least and a greatest length are not supported everywhere."""


async def refine_rubric(
    model: Model, notes: Notes, *, name: str, scenario: str | None = None, parameters: Parameters = PARAMETERS
) -> Answer[Rubric]:
    """Asks a model for the rubric behind some notes; the answer contains it, or the failure.

    Raises:
        BudgetExceeded: the run's budget is spent.
    """
    system = render_refining_system(SCALE, MOST_CRITERIA, MOST_WEIGHT)
    request = ModelRequest(system, (Message("user", render_refining(notes.text, scenario)),), SCHEMA, parameters)
    return await ask(model, request, lambda text: parse_rubric(text, name, notes.count), asked=model.name, retry=True)


def parse_rubric(text: str, name: str, notes: int = 0) -> Rubric:
    """Reads a reply as a rubric.

    Args:
        notes: how many numbered notes must be taken up.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    answer = load_object(text)
    problems = [f"unknown property {key!r}" for key in answer if key not in ("title", "description", *_SLOTS)]
    criteria, taken = [], set[int]()
    for slot in _SLOTS:
        entry = answer.get(slot)
        if entry is None:
            continue
        if not isinstance(entry, dict):
            problems.append(f"{slot} must be an object or null")
            continue
        found = dict(entry)
        taken |= _numbers(slot, found.pop("notes", []), notes, problems)
        if found.get("weight") not in range(1, MOST_WEIGHT + 1) or isinstance(found.get("weight"), bool):
            problems.append(f"{slot}.weight must be a whole number from 1 to {MOST_WEIGHT}")
        criteria.append(found)
    missed = sorted(set(range(1, notes + 1)) - taken)
    if missed:
        problems.append(f"note {', '.join(map(str, missed))} is taken up by no criterion")
    if problems:
        raise ReplyProblemsError(problems)
    data = {"name": name, "title": answer.get("title"), "description": answer.get("description"), "criteria": criteria}
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        wrong = []
        for one in error.errors(include_url=False):
            where = ".".join(f"c{part + 1}" if isinstance(part, int) else str(part) for part in one["loc"])
            where = where.replace("criteria.", "") or "the rubric"
            wrong.append(f"{where}: {one['msg'].removeprefix('Value error, ')}")
        raise ReplyProblemsError(wrong) from None


def _numbers(slot: str, given: Any, notes: int, problems: list[str]) -> set[int]:
    if not isinstance(given, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in given):
        problems.append(f"{slot}.notes must be a list of numbers")
        return set()
    unknown = [one for one in given if notes and not 1 <= one <= notes]
    if unknown:
        problems.append(f"{slot}.notes names {', '.join(map(str, unknown))}; the notes are numbered 1 to {notes}")
    return set(given)


def rubric_yaml(rubric: Rubric, provenance: Iterable[str]) -> str:
    """A rubric file, with where it comes from as comments above; it reads back as the same rubric.

    Raises:
        RubricError: it does not.
    """
    data = {
        "version": rubric.version,
        "name": rubric.name,
        "title": rubric.title,
        "description": rubric.description,
        "kind": rubric.kind,
        "scale": {"low": int(rubric.scale.low), "high": int(rubric.scale.high), "step": int(rubric.scale.step)},
        "criteria": [
            {
                "name": one.name,
                "title": one.title,
                "description": one.description,
                "weight": one.weight,
                "levels": {int(point): text for point, text in sorted(one.levels.items())},
            }
            for one in rubric.criteria
        ],
    }
    comments = "".join(f"# {' '.join(line.split())}\n" for line in provenance)
    text = comments + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
    again = validate_rubric_text(text, "the refined rubric")
    if again.digest != rubric.digest:
        raise RubricError("the refined rubric does not survive being written as YAML: is there a control character?")
    return text
