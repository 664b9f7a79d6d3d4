"""What the scores of an Inspect sample say: by which model, of what, and what people changed.

A score is a model's judgment where its metadata contains the grader's conversation (``metadata.grading``, as
``model_graded_qa`` and ``model_graded_fact`` leave it), or where its scorer is one of these. ``C``, ``P`` and ``I`` are
the grades 1, 0.5 and 0, as Inspect counts them, any other word a category; ``N``, and a score without a value (NaN),
are no verdict, with the scorer's reason. The judge is the grader's model, with ``/SCORER`` behind it unless the scorer
is ``model_graded_qa``. A majority of several graders (``metadata.panel``) is a verdict of each of them, a score with
several values a verdict a value.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metajudge.readers.conversations import text_of
from metajudge.readers.lines import BadLine
from metajudge.readers.people import PersonScore
from metajudge.readers.scales import grade_of
from metajudge.readers.vocabulary import MOST_CHARACTERS
from metajudge.types import Category, Grade

STANDARD = "model_graded_qa"
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0}
_SAME = "UNCHANGED"


@dataclass(frozen=True, slots=True)
class Said:
    """One verdict of one grader.

    Attributes:
        name: of the score.
        asked: the first score of the sample with the same instruction.
        key: of the value, where the score has several.
        member: number of the panel's member, where the score is a panel's.
        missing: why there is no value, where the log says so.
        model: the grader's; None where the log does not name it.
    """

    name: str
    asked: str
    key: str | None
    member: int | None
    value: Any
    missing: str | None
    answer: Any
    explanation: Any
    instruction: str | None
    model: str | None

    @property
    def aspect(self) -> str:
        """What is graded."""
        return self.asked if self.key is None else f"{self.asked}/{self.key}"

    @property
    def part(self) -> tuple[str, ...]:
        """What comes behind the score's name in ids."""
        return tuple(str(one) for one in (self.key, self.member) if one is not None)

    @property
    def standard(self) -> bool:
        """Whether the judge is called by its model alone."""
        return _base(self.name) == STANDARD

    @property
    def judge(self) -> str:
        """What the judge is called."""
        if self.model is None:
            return self.name if self.member is None else f"{self.name}/{self.member}"
        return self.model if self.standard else f"{self.model}/{self.name}"


def is_graded(name: str, score: Any) -> bool:
    """Whether a model gave a score."""
    if not isinstance(score, dict) or _is_by_person(score):
        return False
    metadata = _as_judged(score).get("metadata")
    grading = metadata.get("grading") if isinstance(metadata, dict) else None
    return bool(grading) or _base(name).startswith("model_graded")


def said_in(sample: Mapping[str, Any], run: Mapping[str, Any]) -> Iterator[Said]:
    """Every verdict of a model on a sample.

    Args:
        sample: of a log.
        run: the log's ``eval``, which names scorers and their models.
    """
    asked: dict[str, str] = {}
    for name, score in (sample.get("scores") or {}).items():
        if not is_graded(name, score):
            continue
        judged = _as_judged(score)
        found = judged.get("metadata")
        metadata = found if isinstance(found, dict) else {}
        prompt, grader, reply = _grading(metadata)
        instruction = prompt.partition("[END DATA]")[2].strip() or None
        first = name if instruction is None else asked.setdefault(instruction, name)
        panel = metadata.get("panel")
        votes = panel.get("votes") if isinstance(panel, dict) else None
        common = {"name": name, "answer": judged.get("answer"), "instruction": instruction}
        if isinstance(panel, dict) and isinstance(votes, list) and len(votes) > 1:
            models = _panel_models(name, run, len(votes), grader)
            for at, value in enumerate(votes):
                shown = reply if at == 0 and grader else judged.get("explanation")
                more = {"explanation": shown, "model": models[at], "missing": _failure(panel, at)}
                yield from _parts(value, {**common, **more, "asked": first, "member": at + 1})
        else:
            more = {
                "explanation": judged.get("explanation"),
                "model": grader or _role(run),
                "missing": _missing(judged),
            }
            yield from _parts(judged.get("value"), {**common, **more, "asked": first, "member": None})


def _parts(value: Any, common: dict[str, Any]) -> Iterator[Said]:
    """One verdict, or one for each value of a score that has several."""
    several = value.items() if isinstance(value, dict) and value else [(None, value)]
    for key, one in several:
        yield Said(key=None if key is None else str(key), value=one, **common)


def verdict_of(said: Said) -> tuple[Grade | Category | None, str | None]:
    """The verdict, or why there is none.

    Raises:
        BadLine: a value that is neither a grade nor a word.
    """
    value = said.value
    if isinstance(value, str):
        text = value.strip()
        if text in _GRADES:
            return Grade(_GRADES[text]), None
        if text == "N":
            return None, "the scorer said N: no answer, or a refusal"
        if text and not _is_number(text) and len(text) <= MOST_CHARACTERS:
            return Category(text), None
    if value is None or isinstance(value, bool | int | float | str):
        grade, missing = grade_of(value, "value")
        reason = f" ({said.missing})" if said.missing else ""
        return grade, None if missing is None else f"the scorer gave no value{reason}"
    raise BadLine(f"the value {str(value)[:60]!r} is none of C, P, I or a number")


def edits_of(score: Any, asked: str, item: str) -> Iterator[PersonScore]:
    """What people changed or added, the last value of each.

    Args:
        score: of a sample.
        asked: the first score of the sample with the same instruction, else its own name.
        item: id of what it is about.
    """
    last: dict[str, tuple[Any, Any]] = {}
    for edit in _history(score):
        by = edit.get("provenance")
        if isinstance(by, dict) and by.get("author") and edit.get("value", _SAME) != _SAME:
            last[str(by["author"])] = edit["value"], by.get("timestamp")
    for author, (value, time) in last.items():
        for key, one in value.items() if isinstance(value, dict) else [("", value)]:
            shown = _GRADES.get(one, one) if isinstance(one, str) else finite(one)
            yield PersonScore(f"{asked}/{key}" if key else asked, author, item, shown, time)


def finite(value: Any) -> Any:
    """The value, or None for a number that is none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _history(score: Any) -> list[dict[str, Any]]:
    history = score.get("history") if isinstance(score, dict) else None
    return [one for one in history if isinstance(one, dict)] if isinstance(history, list) else []


def _is_by_person(score: dict[str, Any]) -> bool:
    """Whether a person added the score: its first entry has an author."""
    history = _history(score)
    return bool(history) and isinstance(history[0].get("provenance"), dict)


def _as_judged(score: dict[str, Any]) -> dict[str, Any]:
    """The score before anybody edited it."""
    history = _history(score)
    return score if not history else {**score, **{key: one for key, one in history[0].items() if one != _SAME}}


def _grading(metadata: Mapping[str, Any]) -> tuple[str, str | None, str | None]:
    """The grader's prompt, its model, and its reply."""
    grading = metadata.get("grading")
    spoken = [one for one in grading if isinstance(one, dict)] if isinstance(grading, list) else []
    prompt = next((text_of(one.get("content") or "") for one in spoken if one.get("role") == "user"), "")
    replied = next((one for one in spoken if one.get("role") == "assistant"), {})
    return prompt, replied.get("model") or None, text_of(replied["content"]) if replied.get("content") else None


def _role(run: Mapping[str, Any]) -> str | None:
    role = (run.get("model_roles") or {}).get("grader")
    return role.get("model") if isinstance(role, dict) else None


def _panel_models(name: str, run: Mapping[str, Any], size: int, first: str | None) -> Sequence[str | None]:
    """The models of a panel's members, called as the first one's replies call it."""
    scorers = [one for one in run.get("scorers") or () if isinstance(one, dict) and one.get("name") == name]
    named = (scorers[0].get("options") or {}).get("model") if scorers else None
    roles = (run.get("model_roles") or {}).get("grader")
    if not isinstance(named, list) and isinstance(roles, list):
        named = [role.get("model") if isinstance(role, dict) else role for role in roles]
    if not isinstance(named, list) or len(named) != size:
        return [first, *[None] * (size - 1)]
    models = [str(one) for one in named]
    prefix = models[0].removesuffix(first) if first and models[0].endswith(first) else ""
    return [one.removeprefix(prefix) for one in models]


def _failure(panel: Mapping[str, Any], at: int) -> str | None:
    failures = panel.get("failures")
    listed = [one for one in failures if isinstance(one, dict)] if isinstance(failures, list) else []
    return next((str(one.get("reason")) for one in listed if one.get("index") == at and one.get("reason")), None)


def _missing(score: Mapping[str, Any]) -> str | None:
    metadata = score.get("metadata")
    legacy = metadata.get("unscored_reason") if isinstance(metadata, dict) else None
    reason = score.get("reason") or legacy
    return None if reason is None else str(reason)


def _is_number(text: str) -> bool:
    """Whether a text is a number, a boolean, or a word for none."""
    if text.casefold() in ("true", "false", "none", "null", "n/a"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def _base(name: str) -> str:
    """The scorer's name without its package and number."""
    return name.split("/")[-1].rstrip("0123456789")
