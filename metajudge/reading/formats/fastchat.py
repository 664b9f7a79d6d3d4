"""FastChat's judgments of MT-Bench (``fastchat.llm_judge.gen_judgment``): pairs in both orders, and single grades.

The shape is what fschat 0.2.36 writes to ``model_judgment/``: ``JUDGE_pair.jsonl`` (``question_id, model_1, model_2,
g1_winner, g2_winner, judge, g1_user_prompt, g1_judgment, g2_user_prompt, g2_judgment, turn, tstamp``) and
``JUDGE_single.jsonl`` (``question_id, model, judge, user_prompt, judgment, score, turn, tstamp``). ``judge`` is the
model with the name of its prompt.

The first game shows model_1 as assistant A, the second one model_2; the winners are recorded as models. Response
``A`` is model_1's. The winner ``error`` and the score -1 stand for a text in which no verdict was found. Texts are in
the prompts alone, between the template's marks: a judged text that contains such marks makes a record ambiguous, and it
is rejected. Of the second turn the whole conversation is the question and the answer.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from metajudge.reading.containers.lines import BadLine
from metajudge.reading.conversations import chat_of, exchange
from metajudge.reading.formats.scored_runs import AssessedRun, RecordedRun, RecordedScore
from metajudge.reading.formats.stated_scores import time_text

PAIRS = "FastChat pair judgments"
GRADES = "FastChat single judgments"
_WINNERS: Final = {"model_1": "A", "model_2": "B", "tie": "tie"}
_UNREAD: Final = "FastChat found no verdict in the judge's text"


class _Shown(NamedTuple):
    """What a prompt shows: each side's messages, and the reference."""

    sides: tuple[list[dict[str, str]], ...]
    reference: str | None


def pair_of(row: Mapping[str, Any]) -> AssessedRun:
    """A record of two games as a run with two verdicts.

    Raises:
        BadLine: a prompt is none of FastChat's, or the games show different texts.
    """
    first = _shown(row.get("g1_user_prompt"), "g1_user_prompt")
    second = _shown(row.get("g2_user_prompt"), "g2_user_prompt")
    if len(first.sides) == 1 == len(second.sides):  # two single grades made a pair
        first, second = (_Shown((first.sides[0], second.sides[0]), first.reference),) * 2
    elif len(first.sides) != 2 or first.sides != second.sides[::-1]:
        raise BadLine("g1_user_prompt and g2_user_prompt do not show the same answers in both orders")
    models = {"A": str(row["model_1"]), "B": str(row["model_2"])}
    name = f"{row['question_id']}/{models['A']}/{models['B']}{_turn(row)}"
    scores = [
        _score(row, f"{name}/{game}", _WINNERS.get(str(row[f"{game}_winner"])), row.get(f"{game}_judgment"), order)
        for game, order in {"g1": ("A", "B"), "g2": ("B", "A")}.items()
    ]
    return AssessedRun(_run(name, first, models), scores)


def grade_of(row: Mapping[str, Any]) -> AssessedRun:
    """A record of one grade as a run with one verdict.

    Raises:
        BadLine: the prompt is none of FastChat's.
    """
    shown = _shown(row["user_prompt"], "user_prompt")
    if len(shown.sides) != 1:
        raise BadLine("user_prompt shows two answers, and a single grade is about one")
    name, score = f"{row['question_id']}/{row['model']}{_turn(row)}", row["score"]
    found = _score(row, name, None if score == -1 else score, row.get("judgment"), None)
    return AssessedRun(_run(name, shown, {"A": str(row["model"])}), [found])


def _score(row: Mapping[str, Any], name: str, value: Any, text: Any, order: tuple[str, str] | None) -> RecordedScore:
    by = row["judge"]
    model, template = (by[0], by[1]) if isinstance(by, list | tuple) and len(by) == 2 else (by, None)
    told = row.get("tstamp")
    # A repeat of a judgment is appended to the same file: only its time tells the two apart.
    return RecordedScore(
        id="/".join(str(part) for part in (name, model, template, told) if part is not None),
        judge=str(model),
        value=value,
        comment=None if text is None else str(text),
        meta={"template": template, "turn": row.get("turn"), "time": time_text(told)},
        error=None if value is not None else _UNREAD,
        order=order,
    )


def _turn(row: Mapping[str, Any]) -> str:
    turn = row.get("turn")
    return f"/turn-{turn}" if isinstance(turn, int) and turn > 1 else ""


def _run(name: str, shown: _Shown, models: dict[str, str]) -> RecordedRun:
    found = exchange(shown.sides[0], dict(zip(models, shown.sides, strict=True)))
    said = {"answers": found.answers, "models": models, "reference": shown.reference, **found.beside()}
    return RecordedRun(name, found.question, None, **said)


def _shown(prompt: Any, field: str) -> _Shown:
    """What a prompt shows. Raises BadLine: it is none of FastChat's, or a text in it contains the template's marks."""
    if not isinstance(prompt, str):
        raise BadLine(f"{field}: the prompt is missing, and the texts are stored nowhere else")
    talks = {name: [f"<|The {end} of Assistant {name}'s Conversation with User|>" for end in _ENDS] for name in "AB"}
    spoken = {name: _between(prompt, f"{start}\n", end) for name, (start, end) in talks.items() if start in prompt}
    if spoken:
        sides = tuple(_conversation(text, name, field) for name, text in spoken.items())
        reference = _between(prompt, *_REFERENCES)
        last = None if reference is None else reference.rpartition("### Reference answer:\n")[2].strip()
        return _Shown(sides, last)
    question = next((found for mark in _QUESTIONS if (found := _between(prompt, mark, "\n\n[The Start of "))), None)
    marks = ((f"[The Start of {name}'s Answer]\n", f"\n[The End of {name}'s Answer]") for name in _ANSWERS)
    answers = [found for start, end in marks if (found := _between(prompt, start, end)) is not None]
    if question is None or len(answers) not in (1, 2) or prompt.count("[The Start of Assistant") != len(answers):
        raise BadLine(
            f"{field} is no prompt of FastChat's templates, or a text in it contains the template's marks ([The Start "
            "of Assistant A's Answer], ...)"
        )
    sides = tuple(chat_of([(question, text)]) for text in answers)
    return _Shown(sides, _between(prompt, *_REFERENCE))


def _conversation(text: str | None, name: str, field: str) -> list[dict[str, str]]:
    """The turns between the marks of a conversation."""
    mark = f"\n\n### Assistant {name}:\n"
    body = (text or "").lstrip("\n").removesuffix("\n\n")
    head, *spoken = f"\n\n{body}".split("\n\n### User:\n")
    turns = [one.split(mark) for one in spoken]
    if head.strip() or not turns or any(len(turn) != 2 for turn in turns):
        raise BadLine(f"{field}: a conversation is no alternation of the user and assistant {name}")
    return chat_of((user, said) for user, said in turns)


def _between(text: str, start: str, end: str) -> str | None:
    """The text between two marks, each of which stands in it; None where one is missing, or the end stands twice."""
    _, found, rest = text.partition(start)
    inner, ended, after = rest.partition(end)
    return inner if found and ended and (end not in after or not end.startswith("\n[The End")) else None


_ENDS: Final = ("Start", "End")
_ANSWERS: Final = ("Assistant A", "Assistant B", "Assistant")
_QUESTIONS: Final = ("[User Question]\n", "[Question]\n")
_REFERENCE: Final = ("[The Start of Reference Answer]\n", "\n[The End of Reference Answer]")
_REFERENCES: Final = ("<|The Start of Reference Answer|>\n", "<|The End of Reference Answer|>")
