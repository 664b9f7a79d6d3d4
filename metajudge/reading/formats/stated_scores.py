"""What other tools write for one score: a bare value, or an object with the value, the reason and who gave it.

Readers of evaluation tools share these rules, so that a score means the same whichever tool wrote it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from metajudge.reading.conversations import text_of
from metajudge.reading.people import time_of

VALUES: Final = ("score", "value", "verdict", "label", "grade", "rating", "passed", "pass", "result")
"""Keys of the value, the first one that is there."""
REASONS: Final = (
    *("reason", "reasoning", "rationale", "explanation", "justification", "comment", "critique", "feedback"),
    *("summary", "analysis", "text"),
)
"""Keys of the reason, and endings of columns that give the reason of another column."""
JUDGES: Final = ("judge", "judge_model", "evaluator", "grader", "evaluation_model", "evaluationModel", "model")
_PROGRAMS: Final = re.compile(
    r"(?:exact_match|quasi_exact_match|acc(?:_norm|_mutual_info)?|f1|precision|recall|em|ter|mcc|brier_score|perplexity"
    r"|word_perplexity|byte_perplexity|bits_per_byte|(?:sacre)?bleu(?:_score)?|chrf(?:_score)?|rouge\w*"
    r"|string_present|string_presence|non_llm_\w+|semantic_similarity|pass_at_\d+|pass@\d+)(?:\W.*)?",
    re.I,
)
_SCORED: Final = re.compile(r"(.+?)_(?:score|value|verdict|label|grade|rating)")


class StatedScore(NamedTuple):
    """A score as a tool states it: the reason is of any type, the judge is the model where it is named."""

    value: Any
    reason: Any = None
    judge: str | None = None
    error: str | None = None


def stated(value: Any) -> StatedScore:
    """A value of a tool as a score.

    An object whose keys are none of :data:`VALUES` is left as it is: it is no verdict, and its reject says so.
    """
    if not isinstance(value, Mapping):
        return StatedScore(value)
    key = next((name for name in VALUES if name in value), None)
    error = value.get("error") or value.get("error_message") or None
    if key is None and error is None:
        return StatedScore(value)
    judge = next((value[name] for name in JUDGES if isinstance(value.get(name), str)), None)
    reason = next((value[name] for name in REASONS if name != key and value.get(name) is not None), None)
    return StatedScore(value[key] if key else None, reason, judge, None if error is None else reason_text(error))


def stated_columns(row: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, StatedScore]]:
    """The scores in these columns of a row, each with the reason beside it (``tone`` and ``tone_reason``).

    A column that is called a reason and nothing else (``explanation``) is that of the only score, and never a score.
    """
    given = list(names)
    among = [name for name in given if name not in REASONS]
    bare = next((name for name in given if name in REASONS), None)
    beside = {name: reason_column(name, among) for name in among}
    scores = [name for name in among if name not in beside.values()]
    for name in scores:
        score, column = stated(row.get(name)), beside[name] or (bare if len(scores) == 1 else None)
        if score.reason is None and column is not None:
            score = score._replace(reason=row.get(column))
        yield name, score


def metrics(row: Mapping[str, Any], names: Iterable[str], model: str | None = None) -> Iterator[dict[str, Any]]:
    """The scores in columns as entries of a record; ``model`` gave those that name no judge and are no program's."""
    for name, score in stated_columns(row, names):
        code = is_program(name)
        by = score.judge or (None if code else model)
        yield {"name": name, "by": by, "source": "CODE" if code else None, **score._asdict()}


def reason_text(value: Any) -> str:
    """A reason as text: of an object its text, of a list one line each; anything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        inner = next((value[name] for name in (*REASONS, "message", "content") if value.get(name)), None)
        return text_of(dict(value)) if inner is None else reason_text(inner)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    return text_of(value)


def is_program(name: str) -> bool:
    """Whether a metric's name is that of one that a program computes, such as ``exact_match`` or ``rouge_l``."""
    return bool(_PROGRAMS.fullmatch(name))


def time_text(value: Any) -> str | None:
    """A time as recorded, in ISO 8601; as it is where it cannot be read, None where there is none."""
    if value in (None, ""):
        return None
    found = time_of(value)
    return str(value) if found is None else found.isoformat()


def reason_column(name: str, among: Iterable[str]) -> str | None:
    """The column with the reason of a score: ``tone_reason`` of ``tone``, ``judge_reason`` of ``judge_score``."""
    scored = _SCORED.fullmatch(name)
    stems = (name, *((scored[1],) if scored else ()))
    return next((one for one in among for stem in stems for end in REASONS if one == f"{stem}_{end}"), None)
