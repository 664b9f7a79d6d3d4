"""A guess at which column of a table is what, with its reasons; not binding."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from metajudge.readers.cells import cell, key_of
from metajudge.readers.conversations import is_chat
from metajudge.readers.guessed_values import (
    ANNOTATORS,
    LABEL_TIMES,
    NAMES,
    SIDES,
    as_turns,
    asked,
    base_name,
    column_that_names_columns,
    columns_of_models,
    few_values,
    inside,
    is_judges_name,
    is_label_name,
    meant,
    nested_paths,
    paired_columns,
    question_column,
    ruling_flag,
    suggested,
    unknown_values,
)
from metajudge.readers.lines import Line
from metajudge.readers.mapping import PREFIX, FieldMap, find_one_hot
from metajudge.readers.vocabulary import MOST_CATEGORIES, MOST_CHARACTERS, UnknownValueError, Vocabulary
from metajudge.types import Category, letters

Confidence = Literal["high", "medium", "low"]

_RATIONALES: Final = (
    *("rationale", "explanation", "reasoning", "reason", "justification", "critique", "judgment_text", "judgment"),
    *("judgement", "judge_response", "judge_output", "raw_completion", "comment", "feedback"),
)
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "verdict": (
        *("verdict", "winner", "preference", "preferred", "vote", "choice", "decision"),
        *("better", "best", "result"),
    ),
    "question": ("question", "prompt", "instruction", "query", "user_prompt", "input", "task", "problem"),
    "judge": ("judge", "judge_model", "judge_name", "annotator", "grader", "evaluator", "rater", "judge_id", "scorer"),
    "rationale": _RATIONALES,
    "id": ("id", "judgment_id", "row_id", "uuid", "uid", "annotation_id"),
    "item_id": ("item_id", "question_id", "qid", "pair_id", "prompt_id", "example_id", "sample_id", "task_id", "item"),
    "turn": ("turn", "turn_number", "turn_id"),
    "category": ("category", "domain", "subset", "topic", "task_type"),
    "reference": ("reference", "reference_answer", "gold_answer", "expected", "ideal", "target", "reference_output"),
    "instruction": ("judge_instruction", "judge_prompt", "system_prompt", "rubric", "grading_prompt"),
    "order": ("order", "presentation_order", "position"),
    "swapped": ("swapped", "is_swapped", "flipped", "is_flipped", "reversed"),
    "no_verdict": ("no_verdict", "error"),
    "meta": ("meta", "metadata"),
}
_GRADES: Final = ("score", "grade", "rating")
_WORDS: Final = ("passed", "pass", "is_correct", "correct", "label")
"""Names of a judge's category of a single response, where nothing else is a verdict."""
_MODELS: Final = ("model", "model_name", "model_id", "generator", "candidate", "system")
_LISTS: Final = ("human_labels", "labels", "annotations", "human_annotations", "responses_by_people")
_SINGLE: Final = ("response", "output", "answer", "completion", "model_output", "prediction")
_TEXT_COLUMN = re.compile(
    r"(?:response|output|answer|completion|candidate|reply|conversation)s?[\s_.-]?([a-h]|[1-8])", re.I
)
_MODEL_COLUMN = re.compile(r"(?:model|generator|system|assistant)(?:_?name)?s?[\s_.-]?([a-h]|[1-8])(?:_name)?", re.I)
_TEXTS: Final = ("question", "responses", "rationale")
_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class FieldGuess:
    """One field, the column taken for it, how sure that is, and why."""

    field: str
    column: str
    confidence: Confidence
    why: str


@dataclass(slots=True)
class Guess:
    """A mapping as guessed.

    Attributes:
        fields: what was taken for what.
        values: meanings for words of verdicts and labels.
        verdicts: how often each value of the verdict column occurs among the rows looked at.
        problems: what a person must say.
    """

    fields: list[FieldGuess] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    verdicts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def mapping(self) -> FieldMap:
        """The same as a mapping; it may lack fields (see ``problems``)."""
        return FieldMap(columns={one.field: one.column for one in self.fields}, values=self.values)


def guess_mapping(columns: Sequence[str], rows: Sequence[Line]) -> Guess:
    """Guesses by the names of the columns and by their values.

    Args:
        columns: the table's columns.
        rows: some of its rows.
    """
    paths = (path for row in rows[:20] for path in (*_paths(row.data), *nested_paths(row.data)))
    names = list(dict.fromkeys([*columns, *paths]))
    guess = Guess()
    taken = _responses(names, rows, guess)
    _verdict(names, rows, guess, taken)
    _labels(names, rows, guess, taken)
    for name in ("question", "judge", "id", "item_id", "rationale", *_NAMES):
        if name not in taken.values() and (name != "turn" or _chats(rows, taken)):
            _by_name(name, names, guess, taken)
    _by_values(names, rows, guess, taken)
    _asked_in_chat(rows, guess, taken)
    _drop_ambiguous_ids(rows, guess, taken)
    guess.values = _values(rows, guess)
    found = guess.mapping.columns
    texts = {name: inside(rows, column) for name, column in found.items() if name.split(".")[0] in _TEXTS}
    found |= texts | as_turns(rows, found)
    guess.fields = [replace(one, column=found[one.field]) for one in guess.fields]
    _missing(guess)
    return guess


def is_text_name(column: str) -> bool:
    """Whether a column's name says that it has a question, a response or a verdict."""
    name = base_name(column)
    known = (*_NAMES["question"], *NAMES["question"], *_NAMES["verdict"], *NAMES["verdict"], *_SINGLE)
    return (name in known and name != "result") or _TEXT_COLUMN.fullmatch(name) is not None


def verdict_values(rows: Sequence[Line], column: str) -> Counter[str]:
    """How often each value of a column occurs."""
    return Counter(key_of(cell(row.data, column)) for row in rows)


def _responses(names: Sequence[str], rows: Sequence[Line], guess: Guess) -> dict[str, str]:
    """The columns of responses and models; column -> field."""
    taken: dict[str, str] = {}
    for family, pattern in (("responses", _TEXT_COLUMN), ("models", _MODEL_COLUMN)):
        ids = {one.field.split(".")[1] for one in guess.fields}
        for name in names:
            found = pattern.fullmatch(name) or (pattern.fullmatch(name.split(".")[-1]) if "." in name else None)
            if found is None:
                continue
            mark = found[1].upper()
            target = f"{family}.{letters(int(mark) - 1) if mark.isdigit() else mark}"
            if target in taken.values() or (family == "models" and target.split(".")[1] not in ids):
                continue
            _take(guess, taken, target, name, "high", f"the name ends in {found[1]}")
    for mark, name in paired_columns(names, rows).items() if not guess.fields else ():
        why = f"its name and that of another column differ in {mark} alone"
        _take(guess, taken, f"responses.{mark}", name, "medium", why)
    if not guess.fields:
        single = _named(_SINGLE, names)
        if single is not None:
            _take(guess, taken, "responses.A", single, "medium", "the only column of responses: a grade")
            model = _named(_MODELS, names)
            if model is not None:
                _take(guess, taken, "models.A", model, "medium", "the name")
    return taken


def _verdict(names: Sequence[str], rows: Sequence[Line], guess: Guess, taken: dict[str, str]) -> None:
    ids = guess.mapping.response_ids
    if len(ids) > 1 and _one_hot_verdict(names, rows, guess, taken):
        return
    known = (*_GRADES, *_NAMES["verdict"], *_WORDS) if len(ids) == 1 else (*_NAMES["verdict"], *NAMES["verdict"])
    best: tuple[float, int, str] | None = None
    for place, name in _verdict_columns(known, names, taken):
        share = _understood(rows, name, guess)
        if best is None or share > best[0]:
            best = (share, place, name)
    if best is None:
        return
    share, place, name = best
    confidence: Confidence = "high" if share == 1 and place < 3 else "medium" if share >= 0.5 else "low"
    values = verdict_values(rows, name)
    shown = ", ".join(value or "(empty)" for value, _ in values.most_common(6))
    guess.verdicts = values
    guess.fields.insert(0, FieldGuess("verdict", name, confidence, f"the name; its values: {shown}"))
    taken[name] = "verdict"


def _verdict_columns(known: Sequence[str], names: Sequence[str], taken: Mapping[str, str]) -> list[tuple[int, str]]:
    """Columns that may be the verdict, the likeliest first, each with its place: a judge's own by name come first."""
    free = [name for name in names if name not in taken]
    found = [(0, name) for name in free if is_judges_name(name)]
    judged = any(base_name(name) in _NAMES["judge"] for name in free)
    for place, wanted in enumerate(known):
        # A label is a judge's only where a judge is named, and no other person.
        if wanted == "label" and (not judged or any(base_name(name) in ANNOTATORS for name in free)):
            continue
        found += [(place, name) for name in free if base_name(name) == wanted and (place, name) not in found]
    return found


def _one_hot_verdict(names: Sequence[str], rows: Sequence[Line], guess: Guess, taken: dict[str, str]) -> bool:
    """Whether several columns of zeros and ones are the verdict."""
    numbers = [str(number) for number in range(1, len(guess.mapping.response_ids) + 1)]
    data = [row.data for row in rows]
    free = [name for name in names if name not in taken]
    found = find_one_hot(free, data, guess.mapping.response_ids) or find_one_hot(free, data, numbers)
    if found is None:
        return False
    columns = [*found.columns.values(), *([found.tie] if found.tie else [])]
    guess.verdicts = Counter(
        next((name for name in columns if key_of(cell(row, name)) in ("1", "true")), "(none)") for row in data
    )
    why = "one of these columns is 1"
    guess.fields.insert(0, FieldGuess("verdict", PREFIX + ",".join(columns), "high", why))
    taken.update(dict.fromkeys(columns, "verdict"))
    return True


def _understood(rows: Sequence[Line], column: str, guess: Guess) -> float:
    """The share of a column's values that mean a verdict."""
    ids, models = guess.mapping.response_ids, guess.mapping.model_columns
    if not rows or not ids:
        return 0.0
    good, words = 0, set()
    for row in rows:
        named = {name: key_of(cell(row.data, model)) for name, model in models.items()}
        try:
            found = _VOCABULARY.read(cell(row.data, column), ids, named)
        except UnknownValueError:
            continue
        good += 1
        words |= {found.value} if isinstance(found, Category) else set()
    return 0.0 if len(words) > MOST_CATEGORIES else good / len(rows)


_VOCABULARY: Final = Vocabulary({}, categories=True)


def _by_name(target: str, names: Sequence[str], guess: Guess, taken: dict[str, str]) -> None:
    for place, wanted in enumerate((*_NAMES[target], *NAMES.get(target, ()))):
        # A column of the table itself goes before one inside nested data.
        for name in sorted((name for name in names if base_name(name) == wanted and name not in taken), key=_level):
            sure: Confidence = "high" if name == target or (place < 2 and _level(name) == 0) else "medium"
            _take(guess, taken, target, name, sure, "the name")
            return


def _labels(names: Sequence[str], rows: Sequence[Line], guess: Guess, taken: dict[str, str]) -> None:
    """People's labels: columns with such a name, lists of labels, and who gave the one label of a row."""
    flag = ruling_flag(names, lambda name: [key_of(cell(row.data, name)) for row in rows])
    free = sorted((name for name in names if name not in (*taken, flag) and is_label_name(name)), key=_level)
    found = [name for name in free if not _is_judges_own(name, names, rows, guess) and _is_filled(rows, name)]
    first = next((name for name in found if base_name(name) == "label"), found[0] if len(found) == 1 else None)
    for name in found:
        target = "label" if name == first else f"label.{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}"
        sure: Confidence = "high" if base_name(name) == "label" and _level(name) == 0 else "medium"
        _take(guess, taken, target, name, sure, "the name: people's label")
    for name in (name for wanted in _LISTS for name in names if base_name(name) == wanted and name not in taken):
        if any(_is_list(cell(row.data, name)) for row in rows):
            _take(guess, taken, "human_labels", name, "medium", "the name; its values are lists")
            break
    if first is None or "verdict" not in taken.values():
        return
    for target, wanted in (("annotator", ANNOTATORS), ("label_time", LABEL_TIMES)):
        column = _named(wanted, [name for name in names if name not in taken])
        if column is not None:
            _take(guess, taken, target, column, "medium", "the name, beside a label")
        elif target == "annotator":
            return
    if flag is not None:
        _take(guess, taken, "ruling", flag, "medium", "the name, beside an annotator")


def _by_values(names: Sequence[str], rows: Sequence[Line], guess: Guess, taken: dict[str, str]) -> None:
    """What names did not say: by the values of columns, with little confidence."""
    free = [name for name in names if name not in taken]
    if not guess.mapping.response_ids and "verdict" not in guess.mapping.columns:
        found = column_that_names_columns(free, rows)
        if found is not None:
            verdict, columns = found
            why = "its values are the names of two other columns"
            guess.verdicts = verdict_values(rows, verdict)
            _take(guess, taken, "verdict", verdict, "medium", why)
            for place, name in enumerate(columns):
                _take(guess, taken, f"responses.{letters(place)}", name, "medium", f"{verdict!r} names it")
    ids = guess.mapping.response_ids
    if "verdict" not in taken.values() and len(ids) > 1:
        for name in few_values([name for name in names if name not in taken and not is_label_name(name)], rows):
            unknown = [value for value in _unknown(rows, name, guess) if value not in ("1", "2")]
            if all(suggested(value, ids) for value in unknown):
                guess.verdicts = verdict_values(rows, name)
                _take(guess, taken, "verdict", name, "low", "all of its values are verdicts")
                break
    column = guess.mapping.columns.get("verdict")
    if column is not None and len(ids) == 2 and "models.A" not in guess.mapping.columns:
        models = columns_of_models([name for name in names if name not in taken], rows, column)
        for mark, name in zip(ids, models or (), strict=False):
            _take(guess, taken, f"models.{mark}", name, "medium", f"{column!r} has its values")
    if "question" not in taken.values() and not _chats(rows, taken):
        question = question_column([name for name in names if name not in taken], rows)
        if question is not None:
            _take(guess, taken, "question", question, "low", "its texts look like questions")


def _take(guess: Guess, taken: dict[str, str], target: str, name: str, sure: Confidence, why: str) -> None:
    taken[name] = target
    guess.fields.append(FieldGuess(target, name, sure, why))


def _named(wanted: Sequence[str], names: Sequence[str]) -> str | None:
    return next((name for known in wanted for name in names if base_name(name) == known), None)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, str) and value.lstrip().startswith("["))


def _is_filled(rows: Sequence[Line], column: str) -> bool:
    """Whether a column has short values: texts are answers of people, not labels."""
    values = [key_of(cell(row.data, column)) for row in rows]
    return not rows or (any(values) and all(len(value) <= _LONGEST_LABEL for value in values))


_LONGEST_LABEL: Final = 200


def _is_judges_own(name: str, names: Sequence[str], rows: Sequence[Line], guess: Guess) -> bool:
    """Whether a label is the judge's own output: as in Phoenix, or its score in other words."""
    parent = name.rpartition(".")[0]
    beside = {base_name(one) for one in names if one.rpartition(".")[0] == parent and one != name}
    annotation = any(base_name(one) in ("annotator_kind", "annotation_name") for one in names)
    if beside & {"score", "explanation"} and (bool(parent) or annotation):
        return True
    column = guess.mapping.columns.get("verdict")
    if column is None or column.startswith(PREFIX) or base_name(name) != "label":
        return False
    pairs = {(key_of(cell(row.data, column)), key_of(cell(row.data, name))) for row in rows}
    scores, words = {score for score, _ in pairs}, {word for _, word in pairs}
    if not len(pairs) == len(scores) == len(words) > 1 or scores == words:
        return False
    guess.problems.append(
        f"{name!r} says in other words what {column!r} says, so it is taken for the judge's own: if people gave it, "
        f"--map label={name}"
    )
    return True


def _asked_in_chat(rows: Sequence[Line], guess: Guess, taken: dict[str, str]) -> None:
    """Where the responses are chats and no column is the question: the first message of the first one."""
    found = _chats(rows, taken)
    if found is None or "question" in taken.values():
        return
    column, chats = found
    single = all(len(chat) <= 2 and chat[0].get("role") != "system" for chat in chats)
    path = f"{column}.0.content" if single else column
    why = f"the first message of {column}" if single else f"what the user says in {column}"
    guess.fields.append(FieldGuess("question", path, "medium", why))
    taken[path] = "question" if single else taken[column]


def _chats(rows: Sequence[Line], taken: Mapping[str, str]) -> tuple[str, list[Any]] | None:
    """The column of the first response and its values, where all of them are lists of messages."""
    column = next((name for name, target in taken.items() if target.startswith("responses.")), None)
    if column is None or not rows:
        return None
    chats = [cell(row.data, column) for row in rows]
    return (column, chats) if all(is_chat(chat) for chat in chats) else None


def _drop_ambiguous_ids(rows: Sequence[Line], guess: Guess, taken: dict[str, str]) -> None:
    """Takes an id of several rows for the item's, and one that stands with different texts for the question's."""
    columns = guess.mapping.columns
    texts = [column for name, column in columns.items() if name == "question" or name.startswith("responses.")]
    own = [*texts, *(columns[name] for name in ("verdict", "judge") if name in columns)]
    one_a_row = "annotator" in columns
    for target, content in (("id", own if one_a_row else None), ("item_id", texts)):
        column = guess.mapping.columns.get(target)
        if column is None or _names_one(rows, column, content):
            continue
        guess.fields = [one for one in guess.fields if one.field != target]
        del taken[column]
        question = [columns["question"]] if "question" in columns else []
        other = "item_id" if target == "id" and _names_one(rows, column, texts) else "question_id"
        if other in taken.values() or (other == "question_id" and not _apart(rows, column, question, columns)):
            continue
        _take(guess, taken, other, column, "medium", "the name; it stands in several rows")


def _apart(rows: Sequence[Line], column: str, question: Sequence[str], columns: Mapping[str, str]) -> bool:
    """Whether a column names questions, each with several responses that are told apart by their model."""
    model = columns.get("models.A")
    single = "responses.A" in columns and "responses.B" not in columns
    if not single or not question or not _names_one(rows, column, question):
        return False
    return model is None or all(key_of(cell(row.data, model)) for row in rows)


def _names_one(rows: Sequence[Line], column: str, content: Sequence[str] | None) -> bool:
    """Whether each value of a column stands with one content; None: whether each stands in one row."""
    seen: dict[str, str] = {}
    for number, row in enumerate(rows):
        key = key_of(cell(row.data, column))
        signature = str(number) if content is None else repr([cell(row.data, one) for one in content])
        if key == "" or seen.setdefault(key, signature) != signature:
            return False
    return True


def _values(rows: Sequence[Line], guess: Guess) -> dict[str, str]:
    """Meanings for words that are not understood as they are; numbers and marks are asked about."""
    ids = guess.mapping.response_ids
    found: dict[str, str] = {}
    for one in guess.fields if ids else ():
        if one.field.split(".")[0] not in ("verdict", "label") or one.column.startswith(PREFIX):
            continue
        unknown = _unknown(rows, one.column, guess, one.field)
        if len(ids) == 1:  # a text is no verdict, whatever it may mean
            unknown = [value for value in unknown if len(value) <= MOST_CHARACTERS]
        meanings = {value: meaning for value in unknown if (meaning := meant(value, ids)) is not None}
        left = [value for value in unknown if value not in meanings]
        if any(suggested(value, ids) is None for value in left):  # "right" may be the opposite of "wrong"
            left += [value for value in meanings if value.casefold() in SIDES]
            meanings = {value: meaning for value, meaning in meanings.items() if value not in left}
        found |= meanings
        if ties := [value for value, meaning in meanings.items() if meaning == "tie"]:
            guess.problems.append(f"{', '.join(map(repr, ties))} in {one.column!r} are taken for ties; check that")
        if left:
            guess.problems.append(asked(one.field, one.column, left, verdict_values(rows, one.column), len(ids) > 1))
    return found


def _unknown(rows: Sequence[Line], column: str, guess: Guess, field: str = "verdict") -> list[str]:
    return unknown_values(rows, FieldMap(columns={**guess.mapping.columns, field: column}), field)


def _missing(guess: Guess) -> None:
    says = {
        "verdict": "no column looks like a verdict: --map verdict=COLUMN",
        "question": "no column looks like the question: --map question=COLUMN",
        "judge": "no column names the judge: --map judge=COLUMN, or judge:=NAME for one judge",
        "responses.A": "no column looks like a response: --map responses.A=COLUMN,responses.B=COLUMN",
    }
    guess.problems += [says[name] for name in guess.mapping.missing()]


def _level(name: str) -> int:
    return name.count(".")


def _paths(data: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[str]:
    """Dotted paths to values inside nested objects."""
    for key, value in data.items():
        if prefix:
            yield f"{prefix}{key}"
        if isinstance(value, dict) and depth < _DEPTH:
            yield from _paths(value, f"{prefix}{key}.", depth + 1)
